"""`tandem coverage FILE|FOLDER|PACKAGE`: what a program would miss, said before it runs. Nothing of it is executed."""

import ast
import os
import sys
from importlib.machinery import PathFinder

from tandem import import_map
from tandem.coverage import status_of

_ROOTS = ("tensorflow", "tandem")


def report(target):
    files = files_of(target)
    if files is None:
        sys.stderr.write(f"tandem coverage: {target} is no file, folder or installed package\n")
        return 2
    used, unread = {}, []
    for path in files:
        try:
            with open(path, "rb") as file:
                tree = ast.parse(file.read(), path)
        except (SyntaxError, ValueError):
            unread.append(path)
            continue
        for name, line, tried in names_used(tree):
            used.setdefault(name, []).append((path, line, tried))
    missing = 0
    for name in sorted(used):
        said = sentence(name)
        if said is None:
            continue
        needed = [place for place in used[name] if not place[2]]
        missing += bool(needed)
        path, line, _ = (needed or used[name])[0]
        more = f" and {len(used[name]) - 1} more" if len(used[name]) > 1 else ""
        print(f"{os.path.relpath(path)}:{line}{more}: {said}{'' if needed else ' (the program tries it)'}")
    for path in unread:
        print(f"{os.path.relpath(path)}: cannot be read as Python")
    print(f"{len(used) - missing} of {len(used)} names of TensorFlow in {len(files)} files are there")
    return 1 if missing else 0


def files_of(target):
    """The Python files of a program, a folder or an installed package."""
    if os.path.isfile(target):
        return [target]
    if not os.path.isdir(target):
        target = _package(target)
        if target is None or os.path.isfile(target):
            return target and [target]
    found = (os.path.join(folder, n) for folder, _, names in os.walk(target) for n in names if n.endswith(".py"))
    return sorted(found)


def _package(name):
    """The folder or file of a module, found without importing what it is in."""
    path, spec = None, None
    for i in range(len(name.split("."))):
        spec = PathFinder.find_spec(".".join(name.split(".")[: i + 1]), path)
        if spec is None:
            return None
        path = spec.submodule_search_locations
    return list(path)[0] if path else spec.origin


def names_used(tree):
    """(name under tensorflow, line, whether the program is ready for its absence)."""
    tried = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.Try) and _ready(node) for inner in ast.walk(node)}
    known = {}  # names of the program that stand for modules or parts of TensorFlow
    for node in ast.walk(tree):
        for own, full in _imported(node):
            known[own] = full
            if full:
                yield full, node.lineno, id(node) in tried
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            parts, value = [node.attr], node.value
            while isinstance(value, ast.Attribute):
                parts.append(value.attr)
                value = value.value
            if isinstance(value, ast.Name) and value.id in known:
                yield ".".join(filter(None, [known[value.id], *reversed(parts)])), node.lineno, id(node) in tried


def _imported(node):
    """(name in the program, name under tensorflow) of an import."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            root, _, rest = alias.name.partition(".")
            if root in _ROOTS:
                yield (alias.asname, rest) if alias.asname else (root, "")
                if rest and not alias.asname:
                    yield alias.name, rest
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").partition(".")[0] in _ROOTS:
        rest = node.module.partition(".")[2]
        for alias in node.names:
            if alias.name != "*":
                yield alias.asname or alias.name, f"{rest}.{alias.name}".lstrip(".")


def _ready(node):
    names = {n.id for handler in node.handlers for n in ast.walk(handler.type or ast.Name("Exception")) if isinstance(n, ast.Name)}
    return bool(names & {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "NotImplementedError"})


def sentence(name):
    """What is said of a name that is not there, or None. Parts of classes are not looked at."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        status, value = status_of(".".join(parts[:end]))
        if value is not None:
            return value.__doc__
        if status == "missing":
            inside = end > 1 and not _is_module(".".join(parts[: end - 1]))
            return None if inside else f"tf.{'.'.join(parts[:end])} is not in TensorFlow 2.21."
    return None


def _is_module(dotted):
    plain = import_map.target_of("tensorflow." + dotted)
    return plain.startswith("keras") or import_map.is_known("tensorflow." + dotted)
