"""tensorflow.python.ops.clip_ops."""

from tandem import _namespaces


def clip_by_average_norm(t, clip_norm, name=None):
    get = _namespaces.get
    t = get("convert_to_tensor")(t)
    count = get("cast")(get("size")(t), t.dtype)
    inverse = 1 / get("sqrt")(get("reduce_sum")(t * t))
    return t * clip_norm * get("minimum")(inverse * count, get("cast")(1.0, t.dtype) / clip_norm)
