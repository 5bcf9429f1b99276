"""A dataset without elements, of given dtypes and shapes: what an iterator is made from before its dataset is known."""

from tandem import _core
from tandem.framework.shape import TensorShape
from tandem.framework.spec import TensorSpec
from tandem.pipeline import structure


def of_types(types, shapes=None):
    from tandem.pipeline.dataset import Dataset

    if shapes is None:
        shapes = structure.map_structure(lambda _: TensorShape(None), types)
    flat = [TensorShape(s) for s in _shapes_like(types, shapes)]
    specs = iter([TensorSpec(s, _core.as_dtype(t)) for s, t in zip(flat, structure.flatten(types))])
    signature = structure.map_structure(lambda _: next(specs), types)
    with _core.init_scope():
        return Dataset.from_generator(lambda: iter(()), output_signature=signature)


def _shapes_like(types, shapes):
    if not structure.is_nested(types):
        return [shapes]
    found = []
    for t, s in zip(structure.children(types)[0], structure.children(shapes)[0]):
        found += _shapes_like(t, s)
    return found


# ---- TensorFlow 1's names of specs: the dtype comes first


def TensorStructure(dtype, shape):  # noqa: N802
    return TensorSpec(shape, dtype)


def SparseTensorStructure(dtype, shape):  # noqa: N802
    from tandem._namespaces import get

    return get("SparseTensorSpec")(shape, dtype)


def TensorArrayStructure(dtype, element_shape, dynamic_size, infer_shape):  # noqa: N802
    from tandem._namespaces import get

    return get("TensorArraySpec")(element_shape, dtype, dynamic_size, infer_shape)


def RaggedTensorStructure(dtype, shape, ragged_rank):  # noqa: N802
    from tandem._namespaces import get

    return get("RaggedTensorSpec")(shape, dtype, ragged_rank)
