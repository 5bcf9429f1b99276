"""Signatures of public functions as data: which names, in which order, with which defaults.

Shared by make_signature_reference.py, which runs with TensorFlow, and tests/python/test_signatures.py, which runs with
Tandem. A parameter is [name, kind, default]; the default is absent where there is none.
"""

import ast
import enum
import inspect
import re

NAMESPACES = (
    "", "math", "nn", "linalg", "random", "strings", "image", "io", "config", "distribute", "train", "summary",
    "debugging", "sparse", "ragged", "signal", "data.Dataset", "nest", "audio", "bitwise", "saved_model", "autograph",
    "types.experimental", "data", "data.experimental", "config.experimental", "random.experimental", "io.gfile",
    "data.Iterator", "GradientTape", "Variable", "TensorArray", "RaggedTensor", "random.Generator",
    "train.Checkpoint", "train.CheckpointManager", "distribute.Strategy", "Module", "TensorShape",
)  # fmt: skip


def described(function):
    """The parameters of a function or class; None where Python does not know them. Those of an enumeration are
    Python's own, and others in each version of it."""
    if isinstance(function, enum.EnumMeta):
        return None
    native = _native(function)
    if native is not None:
        return native
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    found = []
    for p in parameters:
        entry = [p.name, p.kind.name]
        if p.default is not p.empty:
            entry.append(_default(p.default))
        found.append(entry)
    return found


def _native(function):
    """The parameters of a function of the native module, which knows them as text; None where it does not."""
    if isinstance(function, type):
        made = _native(function.__init__)
        return made[1:] if made else None
    overloads = getattr(function, "__nb_signature__", None)
    if not overloads or len(overloads) != 1:
        return None
    text, _, defaults = overloads[0]
    defaults = list(defaults or ())
    text = re.sub(r"= ?\\(\d+)", r"=_defaults[\1]", text)
    try:
        made = ast.parse(f"{text}: ...").body[0].args
    except SyntaxError:
        return None
    found = []
    for kind, arguments, given in (
        ("POSITIONAL_ONLY", made.posonlyargs, []),
        ("POSITIONAL_OR_KEYWORD", made.args, made.defaults),
    ):
        blank = [None] * (len(arguments) - len(given))
        for argument, default in zip(arguments, [*blank, *given]):
            entry = [argument.arg, kind]
            if default is not None:
                entry.append(_default(eval(ast.unparse(default), {"_defaults": defaults})))  # noqa: S307
            found.append(entry)
    return found


def _default(value):
    """A default as text that says the same of TensorFlow and of Tandem."""
    if isinstance(value, enum.Enum):
        return str(value.value)
    if value is None or isinstance(value, (bool, str)):
        return repr(value)
    if isinstance(value, (int, float)):
        return repr(float(value))
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(map(_default, value)) + "]"
    if hasattr(value, "as_numpy_dtype"):
        return value.name
    return "an object"


def public_callables(root):
    """(dotted name, object) of everything that can be called in the namespaces."""
    for space in NAMESPACES:
        owner = root
        for part in space.split(".") if space else []:
            owner = getattr(owner, part, None)
        if owner is None:
            continue
        for name in sorted(dir(owner)):
            if name.startswith("_"):
                continue
            try:
                value = getattr(owner, name)
            except Exception:  # noqa: BLE001  (a name that is only mentioned)
                continue
            if callable(value) and not inspect.ismodule(value):
                yield f"{space}.{name}" if space else name, value


def differences(wanted, given):
    """What a caller of `wanted` would stumble over in `given`, as texts."""
    if given is None:
        return []
    problems = []
    takes_any = {p[1] for p in given} & {"VAR_POSITIONAL", "VAR_KEYWORD"}
    mine = {p[0]: p for p in given}
    positional = [p[0] for p in given if p[1] in ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")]
    at = 0
    for name, kind, *default in wanted:
        if kind in ("VAR_POSITIONAL", "VAR_KEYWORD"):
            if kind not in takes_any:
                problems.append(f"no {'*' if kind == 'VAR_POSITIONAL' else '**'}{name}")
            continue
        if name not in mine:
            problems.append(f"no parameter {name}")
            at += 1
            continue
        if kind == "POSITIONAL_OR_KEYWORD":
            if name not in positional:
                problems.append(f"{name} cannot be given by position")
            elif positional.index(name) != at:
                problems.append(f"{name} is at position {positional.index(name)} instead of {at}")
            at += 1
        own = mine[name][2:]
        if default and not own:
            problems.append(f"{name} has no default (wanted {default[0]})")
        elif default and own != default:
            problems.append(f"{name} is {own[0]} by default (wanted {default[0]})")
    known = {p[0] for p in wanted}
    for name, kind, *default in given:
        if name not in known and not default and kind not in ("VAR_POSITIONAL", "VAR_KEYWORD"):
            problems.append(f"{name} must be given")
    return problems
