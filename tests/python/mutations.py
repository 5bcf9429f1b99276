"""Damaged files: bytes that were changed, and descriptions whose values are others."""

import json
import random


def mutated(data, seed):
    """Bytes with some changed, cut, doubled or replaced."""
    rng = random.Random(seed)
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(5)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[at:]
        elif kind == 2:
            data[at:at] = rng.choice([b'"', b"{", b"]", b"-1", b"1e999", b"\xff", b"null", b"[" * 3000, b"99999999999999999999"])
        elif kind == 3:
            del data[at : at + rng.randrange(1, 40)]
        else:
            data[at:at] = data[at : at + rng.randrange(1, 60)]
        if not data:
            break
    return bytes(data)


def mutated_json(text, seed):
    """The description with values of it replaced by others: what is no damage to the eye."""
    rng = random.Random(seed)
    model = json.loads(text)
    places = []

    def walk(item):
        for key in list(item if isinstance(item, dict) else range(len(item))):
            places.append((item, key))
            if isinstance(item[key], (dict, list)):
                walk(item[key])

    walk(model)
    for _ in range(rng.choice([1, 1, 3])):
        item, key = rng.choice(places)
        other, name = rng.choice(places)
        try:
            new = rng.choice([
                None, -1, 0, 1, 10**30, 1.5, "", "x", "__class__", "../x", [], {}, [[]], {"a": {}}, True,
                json.loads(json.dumps(other[name])), "DELETE",
            ])  # fmt: skip
            if new == "DELETE":
                del item[key]
            else:
                item[key] = new
        except (KeyError, IndexError):
            pass  # in a part that has gone
    return json.dumps(model).encode()
