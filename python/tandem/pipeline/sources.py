"""Static methods of tf.data.Dataset: where elements come from, and several datasets as one."""

import glob

import numpy as np

from tandem import _core
from tandem.framework import gfile, nest as plain_nest
from tandem.framework.dtypes import int64
from tandem.framework.errors import InvalidArgumentError
from tandem.framework.graph import session_graph
from tandem.framework.ragged import RaggedTensor, RaggedTensorSpec
from tandem.framework.sparse import SparseTensor, SparseTensorSpec
from tandem.framework.spec import TensorSpec, TypeSpec
from tandem.ops.random import seed_of
from tandem.pipeline import structure as nest
from tandem.pipeline.base import BaseDataset, make

_data = _core.data


def _of_a_graph(value):
    """Whether there are tensors of a session's graph in it."""
    if session_graph() is None:
        return False
    return any(isinstance(leaf, _core.Tensor) and leaf._symbolic for leaf in plain_nest.flatten(value))


def _later(method, tensors):
    from tandem.graph_mode.deferred import deferred
    from tandem.pipeline.dataset import Dataset

    return deferred(getattr(Dataset, method), tensors)


class Sources:
    @staticmethod
    def from_tensors(tensors, name=None):
        if _of_a_graph(tensors):
            return _later("from_tensors", tensors)
        element = nest.normalize(tensors)
        return make(_data.tensors(nest.parts_of(element)), nest.structure_of(element), "_TensorDataset")

    @staticmethod
    def from_tensor_slices(tensors, name=None):
        if _of_a_graph(tensors):
            return _later("from_tensor_slices", tensors)
        element = nest.normalize(tensors)
        if any(isinstance(leaf, (RaggedTensor, SparseTensor)) for leaf in nest.flatten(element)):
            return _composite_rows(element)
        parts = nest.parts_of(element)
        if not parts:
            raise ValueError("Invalid `tensors`. `tensors` should not be empty.")
        for part in parts:
            if part.shape.rank == 0:
                raise ValueError(f"Unbatching a tensor is only supported for rank >= 1, got {part}.")
        core = _data.slices(parts)
        structure = nest.structure_of(element).with_components(core.components)
        return make(core, structure, "_TensorSliceDataset")

    @staticmethod
    def from_generator(
        generator, output_types=None, output_shapes=None, args=None, output_signature=None, name=None
    ):
        if not callable(generator):
            raise TypeError("`generator` must be a Python callable.")
        if output_signature is not None:
            if output_types is not None:
                raise TypeError(
                    "The `output_types` argument can not be used together with the `output_signature` argument."
                )
            if output_shapes is not None:
                raise TypeError(
                    "The `output_shapes` argument can not be used together with the `output_signature` argument."
                )
            for leaf in nest.flatten(output_signature):
                if not isinstance(leaf, TypeSpec):
                    raise TypeError(
                        "`output_signature` must contain objects that are subclass of `tf.TypeSpec` but found "
                        f"{type(leaf)} which is not."
                    )
            structure = nest.Structure(nest.map_structure(_unnamed, output_signature))
        elif output_types is None:
            raise TypeError(
                "To specify the output signature you need to provide either the `output_signature` argument or the "
                "`output_types` argument."
            )
        else:
            structure = nest.structure_from_types(output_types, output_shapes)
        given = () if args is None else tuple(_core.convert_to_tensor(a).numpy() for a in args)
        core = _data.generator(lambda: _flat_elements(generator, given, structure), structure.components())
        return make(core, structure, "_FlatMapDataset")

    @staticmethod
    def range(*args, **kwargs):
        dtype = _core.as_dtype(kwargs.pop("output_type", "int64"))
        kwargs.pop("name", None)
        if kwargs:
            raise TypeError(f"range() got an unexpected keyword argument {next(iter(kwargs))!r}")
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Invalid `args`. The length of `args` should be between 1 and 3 but was {len(args)}.")
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1) if len(args) == 2 else args
        core = _data.range(start, stop, step, dtype)
        return make(core, nest.Structure(TensorSpec((), dtype)), "_RangeDataset")

    @staticmethod
    def counter(start=0, step=1, dtype=int64, name=None):
        dtype = _core.as_dtype(dtype)
        stop = dtype.max if step >= 0 else dtype.min
        core = _data.take(_data.range(start, stop, step, dtype), -1)
        core = _data.assert_cardinality(core, -1)
        return make(core, nest.Structure(TensorSpec((), dtype)), "_CounterDataset")

    @staticmethod
    def random(seed=None, rerandomize_each_iteration=None, name=None):
        core = _data.random(None if seed is None else seed_of(seed), bool(rerandomize_each_iteration))
        return make(core, nest.Structure(TensorSpec((), "int64")), "_RandomDataset")

    @staticmethod
    def zip(*args, datasets=None, name=None):
        if not args and datasets is None:
            raise TypeError("Must pass at least one dataset to `zip`.")
        if args and datasets is not None:
            raise TypeError("Both `*args` and `datasets` cannot be set.")
        if len(args) == 1:
            datasets = args[0]
        elif len(args) > 1:
            datasets = args
        for dataset in nest.flatten(datasets):
            if not isinstance(dataset, BaseDataset):
                what = f"Encountered object of type {type(dataset)}."
                if isinstance(dataset, list):
                    what = "Python `list` is not supported and you should use `tuple` instead."
                raise TypeError(
                    "Invalid input to `zip`. Inputs are expected to be (nested) structures of "
                    f"`tf.data.Dataset` objects. {what}"
                )
        flat = nest.flatten(datasets)
        structure = nest.Structure(nest.map_structure(lambda d: d.element_spec, datasets))
        return make(_data.zip([d._core for d in flat]), structure, "_ZipDataset")

    @staticmethod
    def list_files(file_pattern, shuffle=None, seed=None, name=None):
        patterns = _core.convert_to_tensor(file_pattern, dtype=_core.as_dtype("string")).numpy()
        files = []
        for pattern in np.atleast_1d(np.asarray(patterns, dtype=object)):
            files.extend(sorted(glob.glob(gfile.local_path(pattern))))
        if not files:
            raise InvalidArgumentError(None, None, f"No files matched pattern: {np.asarray(patterns)}")
        dataset = Sources.from_tensor_slices(_core.convert_to_tensor(sorted(files)))
        if shuffle is None or shuffle:
            dataset = dataset.shuffle(len(files), seed=seed)
        return dataset

    @staticmethod
    def sample_from_datasets(
        datasets, weights=None, seed=None, stop_on_empty_dataset=False, rerandomize_each_iteration=None
    ):
        from tandem.ops import random as random_ops

        if len(datasets) == 0:
            raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
        if isinstance(weights, BaseDataset):
            return _sampled_by_dataset(datasets, weights, seed, stop_on_empty_dataset, rerandomize_each_iteration)
        if weights is None:
            weights = np.full([len(datasets)], 1.0 / len(datasets))
        weights = np.asarray(weights)
        if weights.shape != (len(datasets),):
            raise ValueError(
                "Invalid `weights`. The shape of `weights` should be compatible with `[len(datasets)]` but "
                f"is {weights.shape}."
            )
        # What is never chosen would be waited for when the others have ended.
        chosen = [dataset for dataset, weight in zip(datasets, weights) if weight > 0]
        datasets, weights = (chosen, weights[weights > 0]) if chosen else ([datasets[0].take(0)], [1.0])
        if len(datasets) == 1:
            return datasets[0]
        with np.errstate(divide="ignore"):
            logits = _core.convert_to_tensor(np.log(weights)[None, :])

        def select(seeds):
            return _core.execute("Squeeze", random_ops.stateless_categorical(logits, 1, seeds), axis=[0, 1])

        numbers = Sources.random(seed, rerandomize_each_iteration).batch(2)
        selector = numbers.map(select)
        return choose(selector, datasets, stop_on_empty_dataset)

    @staticmethod
    def choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset=True):
        if not datasets:
            raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
        if choice_dataset is None:
            raise ValueError("Invalid `choice_dataset`. `choice_dataset` should not be `None`.")
        spec = choice_dataset.element_spec
        if not (isinstance(spec, TensorSpec) and spec.dtype == _core.as_dtype("int64") and spec.shape.rank == 0):
            raise TypeError(
                "Invalid `choice_dataset`. Elements of `choice_dataset` must be scalar `tf.int64` tensors "
                f"but are {spec}."
            )
        return choose(choice_dataset, datasets, stop_on_empty_dataset)


def choose(selector, datasets, stop_on_empty):
    structure = datasets[0]._structure
    for number, other in enumerate(datasets[1:], 1):
        structure = _common(structure, other._structure, number)
    core = _data.choose(selector._core, [d._core for d in datasets], bool(stop_on_empty))
    return datasets[0]._like(core, "_DirectedInterleaveDataset", structure)


def _common(structure, other, number):
    """The structure of elements of both."""
    try:
        return nest.Structure(nest.common(structure.spec, other.spec))
    except (TypeError, ValueError):
        raise TypeError(
            "Invalid `datasets`. `datasets` must have compatible element specs.\n"
            f" Dataset 0 element_spec={structure.spec}\n Dataset {number} element_spec={other.spec}"
        ) from None


def _sampled_by_dataset(datasets, weights, seed, stop_on_empty, rerandomize):
    from tandem.ops import random as random_ops

    numbers = Sources.random(seed, rerandomize).batch(2)

    def select(probabilities, seeds):
        logits = _core.execute("ExpandDims", _core.execute("Log", probabilities), axis=0)
        return _core.execute("Squeeze", random_ops.stateless_categorical(logits, 1, seeds), axis=[0, 1])

    return choose(Sources.zip((weights, numbers)).map(select), datasets, stop_on_empty)


def _flat_elements(generator, args, structure):
    """The elements of a user's generator as flat lists of tensors."""
    for value in iter(generator(*args)):
        try:
            flat = nest.flatten_up_to(structure.spec, value)
        except (TypeError, ValueError) as error:
            raise TypeError(
                "`generator` yielded an element that did not match the expected structure. The expected structure was "
                f"{nest.map_structure(lambda s: s.dtype, structure.spec)}, but the yielded element was {value}."
            ) from error
        yield nest.parts_of(tuple(_generated(part, leaf) for part, leaf in zip(flat, structure.leaves)))


def _unnamed(spec):
    return TensorSpec(spec.shape, spec.dtype) if isinstance(spec, TensorSpec) else spec


def _generated(value, spec):
    if not isinstance(spec, TensorSpec):
        if not spec.is_compatible_with(value):
            raise TypeError(f"`generator` yielded {value!r} where an element of {spec} was expected.")
        return value
    if isinstance(value, _core.Tensor) and value.dtype == spec.dtype:
        tensor = value
    else:
        try:
            if isinstance(value, _core.Tensor):
                value = value.numpy()
            if spec.dtype != _core.as_dtype("string"):
                value = np.asarray(value, dtype=spec.dtype.as_numpy_dtype)
            tensor = _core.convert_to_tensor(value, dtype=spec.dtype)
        except (TypeError, ValueError) as error:
            raise TypeError(
                "`generator` yielded an element that could not be converted to the expected type. The "
                "expected type was "
                f"{spec.dtype.name}, but the yielded element was {value}."
            ) from error
    if not spec.shape.is_compatible_with(tensor.shape):
        raise TypeError(
            f"`generator` yielded an element of shape {tensor.shape} where an element of shape {spec.shape} "
            "was expected."
        )
    return tensor




def _composite_rows(element):
    """The rows of ragged and sparse tensors (and of tensors beside them), picked by number."""
    from tandem.ops.ragged_map import row_of

    leaves = nest.flatten(element)
    for leaf in leaves:
        if leaf is not None and leaf.shape.rank == 0:
            raise ValueError(f"Unbatching a tensor is only supported for rank >= 1, got {leaf}.")
    known = {leaf.shape[0] for leaf in leaves if leaf is not None} - {None}
    if len(known) > 1:
        raise ValueError(f"from_tensor_slices: all components need the same first dimension, they have {sorted(known)}.")
    composite = next(leaf for leaf in leaves if isinstance(leaf, (RaggedTensor, SparseTensor)))
    rows = composite.nrows(int64) if isinstance(composite, RaggedTensor) else composite.dense_shape[0]

    def spec(leaf):
        if leaf is None:
            return nest.NoneTensorSpec()
        if isinstance(leaf, RaggedTensor):
            return RaggedTensorSpec(leaf.shape[1:], leaf.dtype, leaf.ragged_rank - 1, leaf.row_splits.dtype)
        return (SparseTensorSpec if isinstance(leaf, SparseTensor) else TensorSpec)(leaf.shape[1:], leaf.dtype)

    made = Sources.range(known.pop() if known else rows).map(
        lambda i: nest.pack(element, iter([row_of(leaf, i) for leaf in leaves]))
    )
    structure = nest.Structure(nest.map_structure(spec, element))
    return made._like(made._core, "_TensorSliceDataset", structure)
