"""`tandem coverage`: which of TensorFlow's names there are, and why the others are not."""

import importlib
import pkgutil
import types

STATUSES = ("there", "missing", "absent", "later", "out of scope")


def report(absent=False):
    """Prints the counts; `absent`: also each name that is not there."""
    spaces, counts, others = guide_counts()
    for space, (here, of) in spaces.items():
        print(f"{space:<48}{here:5} of {of}")
    print(f"{'names that the guides of TensorFlow use':<48}{counts['there']:5} of {sum(counts.values())}")
    for status, name, why in sorted(others):
        print(f"  {status}: {name}{'. ' + why if why else ''}")
    print("all public names of TensorFlow 2.21")
    for group, found in all_counts().items():
        rest = {status: len(names) for status, names in found.items() if names and status != "there"}
        said = ", ".join(f"{count} {status}" for status, count in rest.items())
        of = sum(map(len, found.values()))
        print(f"  {group:<46}{len(found['there']):5} of {of}   {len(found['there']) / of:.1%}{'   ' + said if said else ''}")
        if absent:
            print_absent(found)
    if not absent:
        print("  (tandem coverage --absent lists those that are not there, with the reasons)")
    return 1 if counts["missing"] else 0


def print_absent(found):
    for status in STATUSES[1:]:
        reasons = {}
        for name, why in found[status]:
            reasons.setdefault(why, []).append(name)
        for why, names in sorted(reasons.items()):
            print(f"    {status}{': ' + why if why else ''}\n      " + " ".join(names))


def guide_counts():
    """({namespace: (there, of)}, counts by status, (status, name, sentence) of what is not there)."""
    from tandem.checklist import NAMES as WANTED

    spaces, counts, others = {}, {"there": 0, "missing": 0, "later": 0, "out of scope": 0}, []
    for space, names in WANTED.items():
        here = 0
        for name in names.split():
            status, value = status_of(f"{space}.{name}"[3:])
            status = "missing" if status == "absent" else status
            here += status == "there"
            counts[status] += 1
            if status != "there":
                others.append((status, f"{space}.{name}", value.__doc__ if value is not None else ""))
        spaces[space] = here, len(names.split())
    return spaces, counts, others


def all_counts():
    """{group: {status: names}}; those that are not there as (name, reason)."""
    from tandem import _tables

    groups = {"tf": [], "tf.keras": keras_names(), "tf.compat.v1": [], "tf.raw_ops": []}
    for name in sorted(_tables.public()):
        groups["tf.compat.v1" if name.startswith("compat.v1.") else "tf"].append(name)
    groups["tf.raw_ops"] = [f"raw_ops.{op}" for op in sorted(_tables.raw_ops())]
    counts = {}
    for group, names in groups.items():
        found = counts[group] = {status: [] for status in STATUSES}
        for name in names:
            status, value = status_of(name)
            found[status].append((name, getattr(value, "alternative", "")))
    return counts


def keras_names():
    """The public names of TensorFlow's form of Keras."""
    from tandem import keras_loader

    keras_loader.load()
    api = importlib.import_module("keras._tf_keras.keras")
    names = []
    for found in pkgutil.walk_packages(api.__path__, "keras._tf_keras.keras."):
        module = importlib.import_module(found.name)
        space = found.name.removeprefix("keras._tf_keras.")
        names += [f"{space}.{n}" for n in _public_in(module)]
    return sorted(names + [f"keras.{n}" for n in _public_in(api)])


def _public_in(module):
    return [n for n, v in vars(module).items() if not n.startswith("_") and not isinstance(v, types.ModuleType)]


def status_of(dotted):
    """(status, the absent object or None) of a name such as "nn.relu"."""
    import tandem

    value = tandem
    for part in dotted.split("."):
        try:
            value = getattr(value, part)
        except (AttributeError, NotImplementedError):
            if not getattr(value, "absent", False):
                return "missing", None
            break
        except ImportError:
            return "there", None  # with a package that is not installed, which it names
    if getattr(value, "absent", False):
        return value.status, value
    return "there", None
