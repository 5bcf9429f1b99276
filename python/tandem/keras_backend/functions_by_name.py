"""Tandem's functions in the files of Keras models.

Keras writes a function as its `__name__`, and finds only its own again. Here those of tf.nn, tf.math and the
other namespaces that compute, and nothing else, are found too; a file of a model that names one of them was written
with Tandem or with TensorFlow. What reads, writes or calls back is never found by what stands in a file.
"""

import functools
import types

# In this order, where two functions have one name.
_SPACES = ("nn.", "math.", "", "linalg.", "random.", "signal.", "image.", "bitwise.", "strings.", "sparse.", "ragged.",
           "quantization.", "sets.", "dtypes.", "experimental.numpy.")  # fmt: skip
# Of the names without a namespace, those that are defined where nothing but tensors is computed.
_COMPUTING = ("tandem._generated.ops", "tandem.ops.array", "tandem.ops.math", "tandem.ops.math_more", "tandem.ops.nn",
              "tandem.ops.linalg", "tandem.ops.random", "tandem.ops.strings", "tandem.ops.sets")  # fmt: skip
_INITIALIZERS = ("constant_initializer", "ones_initializer", "zeros_initializer", "random_normal_initializer",
                 "random_uniform_initializer")  # fmt: skip


_OWN = "tandem>"  # begins names of functions that share theirs with others


def install(module):
    """keras.src.saving.serialization_lib"""
    find, deserialize = module._retrieve_class_or_fn, module.deserialize_keras_object
    registration = module.object_registration
    registered_name = registration.get_registered_name

    @functools.wraps(find)
    def retrieve(name, registered_name, module, obj_type, full_config, custom_objects=None):
        try:
            return find(name, registered_name, module, obj_type, full_config, custom_objects)
        except TypeError:
            found = _found(name, module, obj_type)
            if found is None:
                raise
            return found

    @functools.wraps(deserialize)
    def deserialize_keras_object(config, custom_objects=None, safe_mode=True, **kwargs):
        # Where Keras expects one of its own (losses, regularizers, ...) it gives back the name of any other.
        own = kwargs.get("module_objects")
        if own is not None and isinstance(config, dict) and config.get("class_name") == "function":
            name = config.get("config")
            known = registration.get_registered_object(name, custom_objects, own) if isinstance(name, str) else name
            taken = known is not None and not isinstance(known, type)  # `ones`: a class there, a function here
            found = None if taken else _found(name, config.get("module"), "function")
            if found is not None:
                return found
        return deserialize(config, custom_objects=custom_objects, safe_mode=safe_mode, **kwargs)

    @functools.wraps(registered_name)
    def get_registered_name(obj):
        if isinstance(obj, types.FunctionType) and (obj.__module__ or "").startswith("tandem."):
            return _stored_name(obj) or registered_name(obj)
        return registered_name(obj)

    module._retrieve_class_or_fn = retrieve
    module.deserialize_keras_object = deserialize_keras_object
    registration.get_registered_name = get_registered_name


def _stored_name(function):
    """Another name than `__name__` for a function that would be taken for one that is called the same."""
    if _by_name().get(function.__name__, function) is function:
        return None
    return next((_OWN + full for full, other in _allowed().items() if other is function), None)


def _found(name, module, obj_type):
    # Keras says "builtins" of what is a function, wherever it comes from.
    if not isinstance(module, str) or module.partition(".")[0] not in ("builtins", "tandem", "tensorflow"):
        return None
    if obj_type == "function":
        return _allowed().get(name.removeprefix(_OWN)) if name.startswith(_OWN) else _by_name().get(name)
    return _classes().get(name) if "init" in module else None


@functools.cache
def _by_name():
    """`__name__` → function"""
    found = {}
    for function in _allowed().values():
        found.setdefault(function.__name__, function)
    return found


@functools.cache
def _allowed():
    """Public name → function, of all that a file may name."""
    import tandem as tf
    from tandem._generated.names import NAMES

    found = {}
    for space in _SPACES:
        for full in NAMES:
            leaf = full.removeprefix(space)
            if not full.startswith(space) or "." in leaf or leaf.startswith("_"):
                continue
            value = functools.reduce(getattr, full.split("."), tf)
            if isinstance(value, types.FunctionType) and (space or value.__module__ in _COMPUTING):
                found[full] = value
    return found


def may_be_named(full):
    """The function of a public name that a file may name, or None: the same as `_allowed()`, looked up alone."""
    import tandem as tf
    from tandem._generated.names import NAMES

    name = full.removeprefix("compat.v2.")
    plain = name.removeprefix("compat.v1.")
    space = next((s for s in _SPACES if s and plain.startswith(s)), "")
    known = plain in NAMES and "." not in plain.removeprefix(space) and not plain.startswith("_")
    if not known and not plain.startswith("__operators__."):
        return None
    try:
        value = functools.reduce(getattr, name.split("."), tf)
    except AttributeError:
        return None
    if not isinstance(value, types.FunctionType):
        return None
    return value if space or plain.startswith("__operators__.") or value.__module__ in _COMPUTING else None


@functools.cache
def _classes():
    import tandem as tf

    return {getattr(tf, name).__name__: getattr(tf, name) for name in _INITIALIZERS}
