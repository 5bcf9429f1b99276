"""The tables of what TensorFlow has (facts/*.txt, by tools/reference/make_api_tables.py).

Nothing is read before somebody asks for a name or module that Tandem's own table does not have. Finders of modules
ask here, too: nothing is imported, because Python calls them under a lock that every import takes.
"""

_read = {}
_FOLDER = __file__.rpartition("/")[0] + "/facts/"


def _lines(name):
    with open(f"{_FOLDER}{name}.txt", encoding="utf-8") as file:
        return [line for line in file.read().split("\n") if line and line[0] != "#"]


def _kept(key, make):
    value = _read.get(key)
    if value is None:  # two threads may both make it; they make the same
        value = _read[key] = make()
    return value


def public():
    """{public name: (module, name there, kind)}; those of compat.v1 begin with it, those of compat.v2 are tf's."""
    return _kept("api", _read_api)[0]


def publics_of(module, name):
    """The public names of what a module of TensorFlow calls `name`, those of tf before those of compat.v1."""
    return _kept("api", _read_api)[1].get((module, name), ())


def spaces():
    """The names of modules among the public names: "math", "compat.v1.math"."""
    return _kept("api", _read_api)[2]


def _read_api():
    names, places, found, module = {}, {}, {"compat", "compat.v1", "raw_ops", "compat.v1.raw_ops"}, ""
    for line in _lines("api"):
        if line[0] == "=":
            module = line[1:]
            continue
        name, kind, *publics = line.split()
        here = [p.removeprefix("2:") for p in publics if p[:2] != "1:"]
        here += ["compat.v1." + p.removeprefix("1:") for p in publics if p[:2] != "2:"]
        places[module, name] = here
        for full in here:
            names[full] = module, name, kind
            if kind == "m":
                found.add(full)
            space = full.rpartition(".")[0]
            while space and space not in found:
                found.add(space)
                space = space.rpartition(".")[0]
    return names, places, found


def modules():
    """{module of TensorFlow's inside: the rest of its line}."""
    return _kept("modules", lambda: {m: rest for m, _, rest in (line.partition(" ") for line in _lines("modules"))})


def inside(module, name):
    """What a module of TensorFlow calls `name`: None where there is no such, "" for its own, else "module.name"."""
    entries = [entry.partition("@") for entry in modules().get(module, "").split()]
    for own, _, source in entries:
        if own == name:
            if not source:
                return ""
            return f"{source}.{name}" if source in modules() else source
    for own, _, source in entries:
        if own == "*" and (inside(source, name) is not None or publics_of(source, name) or generated(source, name)):
            return f"{source}.{name}"
    return None


def names_of(module):
    """The names in a module of TensorFlow."""
    for entry in modules().get(module, "").split():
        own, _, source = entry.partition("@")
        if own == "*":
            yield from names_of(source)
        else:
            yield own


def raw_ops():
    """{op: (module, function there, parameters)}."""
    return _kept("raw_ops", _read_raw_ops)[0]


def raw_op(op):
    """What `def` takes of an op's parameters ("x, y, adj_x=False"), and the names of its results where they are several."""
    return _kept("raw_ops", _read_raw_ops)[2][op]


def generated(module, name):
    """The raw op behind a function of a generated module, or None."""
    return _kept("raw_ops", _read_raw_ops)[1].get((module, name))


def _read_raw_ops():
    ops, functions, calls, module = {}, {}, {}, ""
    for line in _lines("raw_ops"):
        if line[0] == "=":
            module = line[1:]
            continue
        line, _, results = line.partition(" -> ")
        op, function, *parameters = line.split()
        ops[op] = module, function, [p.partition("=")[0] for p in parameters]
        functions[module, function] = op
        calls[op] = ", ".join(parameters), results.split()
    return ops, functions, calls


def is_module(path):
    """Whether TensorFlow has a module of this name ("python.ops.math_ops", "compat.v1.math")."""
    return path in modules() or path in spaces()
