"""Public functions have TensorFlow's parameters: names, order and defaults, as stored in data/signatures.json.

`tools/reference/make_signature_reference.py` writes that file. KNOWN says where Tandem differs on purpose.
"""

import json
import pathlib
import sys

import pytest
import tandem as tf

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools/reference"))
from signatures import described, differences  # noqa: E402

WANTED = json.loads((pathlib.Path(__file__).parent / "data/signatures.json").read_text())

# Names whose difference is wanted, and why.
_NOT_MADE_BY_USERS = "objects of this class come from other functions; its constructor is private"
KNOWN = {
    "RaggedTensor": _NOT_MADE_BY_USERS,
    "data.Dataset": _NOT_MADE_BY_USERS,
    "data.experimental.Optional": _NOT_MADE_BY_USERS,
    "distribute.DistributedDataset": _NOT_MADE_BY_USERS,
    "distribute.DistributedIterator": _NOT_MADE_BY_USERS,
    "distribute.ReplicaContext": _NOT_MADE_BY_USERS,
    "distribute.StrategyExtended": _NOT_MADE_BY_USERS,
    "types.experimental.ConcreteFunction": _NOT_MADE_BY_USERS,
}


def found(name):
    """The object of that name; None where Tandem has none."""
    value = tf
    for part in name.split("."):
        try:
            value = getattr(value, part)
        except (AttributeError, NotImplementedError):
            return None
    return None if getattr(value, "absent", False) else value


def problems(name):
    value = found(name)
    return [] if value is None else differences(WANTED[name], described(value))


@pytest.mark.parametrize("name", sorted(WANTED))
def test_signature(name):
    if name in KNOWN:
        assert problems(name), f"{name} does not differ any more: take it out of KNOWN ({KNOWN[name]})"
        return
    assert not problems(name)


def test_most_names_are_compared():
    compared = sum(found(name) is not None and described(found(name)) is not None for name in WANTED)
    assert compared > 0.8 * len(WANTED), f"{compared} of {len(WANTED)}"
