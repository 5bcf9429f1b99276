"""tensorflow.python.util.tf_export: what libraries register under public names. Nothing is exported: it is noted."""

_EXPORTED = {}


class api_export:
    def __init__(self, *args, api_name="tensorflow", v1=None, allow_multiple_exports=True, **kwargs):
        self._names, self._v1, self._api = args, v1 if v1 is not None else args, api_name

    def __call__(self, func):
        for name in (*self._names, *self._v1):
            _EXPORTED[self._api, name] = func
        if hasattr(func, "__dict__"):
            kind = "keras" if self._api == "keras" else "tf"
            func.__dict__.get(f"_{kind}_api_names") is None and _set(func, f"_{kind}_api_names", tuple(self._names))
            func.__dict__.get(f"_{kind}_api_names_v1") is None and _set(func, f"_{kind}_api_names_v1", tuple(self._v1))
        return func

    def export_constant(self, module_name, name):
        """The constant itself stays where it is."""


def _set(target, name, value):
    try:
        setattr(target, name, value)
    except (AttributeError, TypeError):
        pass


def tf_export(*args, **kwargs):
    return api_export(*args, **kwargs)


def keras_export(*args, **kwargs):
    return api_export(*args, api_name="keras", **kwargs)


def get_symbol_from_name(name):
    """What a library exported under a name, or the function of Tandem's that a file of a model may name: only those that
    compute (keras_backend/functions_by_name.py)."""
    found = _EXPORTED.get(("keras", name), _EXPORTED.get(("tensorflow", name)))
    if found is None and isinstance(name, str):
        from tandem.keras_backend.functions_by_name import may_be_named

        found = may_be_named(name)
    return found


def get_canonical_name_for_symbol(symbol, api_name="tensorflow", add_prefix_to_v1_names=False):
    """The public name of a symbol: the first that it was exported under, or the shortest one of Tandem's."""
    kind = "keras" if api_name == "keras" else "tf"
    names = getattr(symbol, "__dict__", {}).get(f"_{kind}_api_names")
    if names:
        return names[0]
    if kind == "keras":
        return None
    from tandem import _tables
    from tandem.extension import global_dispatch

    full = global_dispatch.public_name(symbol)
    if full is not None:
        return full

    module, name = getattr(symbol, "__module__", ""), getattr(symbol, "__name__", None)
    found = [full for full, (_, own, _) in _tables.public().items() if name in (own, full.rpartition(".")[2])]
    if not module.startswith("tandem") or not found:
        return None
    return min(found, key=len)


def get_canonical_name(api_names, deprecated_api_names=()):
    return next((n for n in api_names if n not in deprecated_api_names), api_names[0] if api_names else None)


def get_v1_names(symbol):
    return list(getattr(symbol, "__dict__", {}).get("_tf_api_names_v1", ()))


def get_v2_names(symbol):
    return list(getattr(symbol, "__dict__", {}).get("_tf_api_names", ()))


def kwarg_only(f):
    def wrapper(**kwargs):
        return f(**kwargs)

    return wrapper
