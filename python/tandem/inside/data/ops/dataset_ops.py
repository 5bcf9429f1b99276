"""tensorflow.python.data.ops.dataset_ops: iterators and types of TensorFlow 1, as far as they mean something eagerly."""

from tandem import _core, _namespaces
from tandem.framework.graph import session_graph
from tandem.pipeline.dataset import Dataset as DatasetV1  # noqa: F401


def make_one_shot_iterator(dataset):
    if session_graph() is not None:
        from tandem.graph_mode import data

        return data.make_one_shot_iterator(dataset)
    if not _core.executing_eagerly():
        raise NotImplementedError("make_one_shot_iterator is there outside of functions: loop over the dataset.")
    return iter(dataset)


def _spec(dataset_or_iterator):
    return dataset_or_iterator.element_spec


def get_legacy_output_types(dataset_or_iterator):
    return _namespaces.get("nest").map_structure(lambda spec: spec.dtype, _spec(dataset_or_iterator))


def get_legacy_output_shapes(dataset_or_iterator):
    return _namespaces.get("nest").map_structure(lambda spec: spec.shape, _spec(dataset_or_iterator))


def get_legacy_output_classes(dataset_or_iterator):
    return _namespaces.get("nest").map_structure(lambda spec: spec.value_type, _spec(dataset_or_iterator))
