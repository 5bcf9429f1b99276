"""Lists what TensorFlow has, as tables of facts: python/tandem/facts/api.txt, modules.txt and raw_ops.txt.

Usage: make_api_tables.py    (a Python that has tensorflow 2.21 and does not import tandem)

api.txt      by defining module: what the thing is called there, its kind (c class, f function, m module, v value),
             and its public names. `1:` before a name: of compat.v1 only; `2:` of tf only; without: of both.
modules.txt  every module, and the names that it defines; name@module for those that it takes from another one, *@module
             for all of one's. Of names that begin with an underscore, classes and functions.
raw_ops.txt  by generated module: op, its function there, the op's parameters with their defaults, and after -> its
             results where they are several with names.
Names are those of one version: they change when TensorFlow's do, and only then is this run again.
"""

import ast
import inspect
import os
import pathlib
import re
import sys
import types

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

PACKAGE = pathlib.Path(tf.__file__).parent
OUT = pathlib.Path(__file__).resolve().parents[2] / "python/tandem/facts"
HEAD = f"# TensorFlow {tf.__version__}'s, by tools/reference/make_api_tables.py.\n"
# Programs and test data that nobody imports.
SKIPPED = re.compile(
    r"\b(include|_api|kernel_tests|xla_aot_runtime_src|test_module\d|schema_py_generated|test_ops|testing)\b|_pywrap_"
)
RAW = re.compile(r'^(\w+) = tf_export\("raw_ops\.\w+"\)\(_ops\.to_raw_op\((\w+)\)\)', re.M)


def short(module):
    return module.removeprefix("tensorflow.")


def api_files():
    """(public namespace, file): compat.v2 repeats tf and is left out."""
    yield "", PACKAGE / "__init__.py"
    root = PACKAGE / "_api/v2"
    for path in sorted(root.rglob("__init__.py")):
        space = ".".join(path.parent.relative_to(root).parts)
        if space and not re.match(r"compat\.(v1\.compat|v2|v1\.raw_ops)\b|raw_ops$", space):
            yield space, path


def kind_of(value):
    if isinstance(value, types.ModuleType):
        return "m"
    if inspect.isclass(value):
        return "c"
    return "f" if callable(value) else "v"


def public_value(name):
    value = tf
    for part in name.split("."):
        value = getattr(value, part)
    return value


def api_table():
    found = {}  # (module, name there) → public names
    for space, path in api_files():
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("tensorflow."):
                continue
            if node.module.startswith("tensorflow._api"):
                continue
            for alias in node.names:
                public = f"{space}.{alias.asname or alias.name}".lstrip(".")
                leaf = public.rpartition(".")[2]
                if leaf.startswith("_") and not leaf.startswith("__"):
                    continue
                found.setdefault((node.module, alias.name), []).append(public)
    lines, last = [], None
    for (module, name), publics in sorted(found.items()):
        if module != last:
            lines.append("=" + short(module))
            last = module
        first = {p.removeprefix("compat.v1.") for p in publics if p.startswith("compat.v1.")}
        second = {p for p in publics if not p.startswith("compat.v1.")}
        marked = sorted(first & second) + sorted("1:" + p for p in first - second) + sorted("2:" + p for p in second - first)
        try:
            kind = kind_of(public_value(publics[0]))
        except AttributeError:
            kind = "v"
        lines.append(" ".join([name, kind, *marked]))
    return lines


def module_files():
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        name = ".".join(parts)
        if parts and not SKIPPED.search(name):
            yield name, path


def statements(body):
    """The statements of a module, also those under `if` and `try`."""
    for node in body:
        yield node
        for part in ("body", "orelse", "finalbody"):
            if isinstance(node, (ast.If, ast.Try)):
                yield from statements(getattr(node, part, []))
        for handler in getattr(node, "handlers", []):
            yield from statements(handler.body)


def defined(tree, modules):
    """Names of a module's own, and those it takes from a module of TensorFlow."""
    names = {}
    for node in statements(tree.body):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names[node.name] = node.name
        elif isinstance(node, ast.Assign):
            targets = [t for t in node.targets if isinstance(t, ast.Name)]
            for target in node.targets:
                targets += [t for t in getattr(target, "elts", []) if isinstance(t, ast.Name)]
            names.update((t.id, t.id) for t in targets)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names[node.target.id] = node.target.id
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tensorflow."):
            names.update(imported(node, modules))
    private = {n.name for n in statements(tree.body) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    return [text for own, text in sorted(names.items()) if not own.startswith("_") or (own in private and own[1] != "_")]


def imported(node, modules):
    source = short(node.module)
    if source not in modules:
        return
    for alias in node.names:
        own = alias.asname or alias.name
        if alias.name == "*":
            yield f"*{source}", f"*@{source}"
        elif f"{source}.{alias.name}" not in modules and alias.name in modules[source].read_text():
            yield own, f"{own}@{source}" + ("" if own == alias.name else "." + alias.name)


def messages(name):
    """What a module of generated messages holds."""
    module = __import__("tensorflow." + name, fromlist=["x"])
    return sorted(n for n in vars(module) if not n.startswith("_") and n not in ("DESCRIPTOR",))


def module_table():
    files = dict(module_files())
    lines = []
    for name, path in files.items():
        leaf = name.rpartition(".")[2]
        if leaf.endswith("_pb2"):
            names = messages(name)
        elif leaf.startswith("gen_") and "_op" in leaf:
            names = []  # raw_ops.txt
        else:
            names = defined(ast.parse(path.read_text()), files)
        lines.append(" ".join([name, *names]))
    return lines


def raw_table():
    lines = []
    for name, path in module_files():
        if not name.rpartition(".")[2].startswith("gen_"):
            continue
        rows = RAW.findall(path.read_text())
        if rows:
            lines.append("=" + name)
        for op, function in rows:
            if not hasattr(tf.raw_ops, op):
                continue
            parameters = inspect.signature(getattr(tf.raw_ops, op)).parameters.values()
            lines.append(" ".join([op, function, *(with_default(p) for p in parameters if p.name != "name"), *results(op)]))
    return lines


def with_default(parameter):
    value = parameter.default
    if value is parameter.empty:
        return parameter.name
    value = value.name if isinstance(value, tf.DType) else value
    if not isinstance(value, (int, float, str, list, type(None))):  # a message
        return f"{parameter.name}=None"
    return f"{parameter.name}={re.sub(', ', ',', repr(value)).replace(' ', chr(92) + 'x20')}"


def results(op):
    """The names of an op's results, where it has several or a list of tensors that have names of their own."""
    definition = op_def_registry.get(op)
    outputs = [] if definition is None else [arg.name for arg in definition.output_arg]
    return ["->", *outputs] if len(outputs) > 1 else []


def main():
    OUT.mkdir(exist_ok=True)
    for file, lines in (("api", api_table()), ("modules", module_table()), ("raw_ops", raw_table())):
        path = OUT / f"{file}.txt"
        path.write_text(HEAD + "\n".join(lines) + "\n")
        print(f"{os.path.relpath(path)}: {len(lines)} lines, {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
