"""Methods of tf.data.Dataset: one dataset into another, element by element or in batches."""


import numpy as np

from tandem import _core
from tandem.framework import gfile
from tandem.framework.dtypes import int64
from tandem.framework.shape import TensorShape, as_shape
from tandem.framework.spec import TensorSpec
from tandem.ops.random import seed_of
from tandem.pipeline import composite_batches
from tandem.pipeline import structure as nest
from tandem.pipeline.functions import ElementFunction, count_of, debug_mode, parallelism

_data = _core.data


class Transforms:
    """Methods that keep or change elements; the native stage of the same name does the work."""

    def map(
        self, map_func, num_parallel_calls=None, deterministic=None, synchronous=None, use_unbounded_threadpool=False,
        name=None,
    ):  # fmt: skip
        if synchronous and num_parallel_calls is not None:
            raise ValueError(
                "`synchronous` is not supported with `num_parallel_calls`, but `num_parallel_calls` was set to "
                f"{num_parallel_calls}"
            )
        function = ElementFunction(map_func, [self._structure], "map")
        calls = parallelism(num_parallel_calls)
        core = _data.map(
            self._core, function.native, calls, self._ordered(deterministic), function.structure.components()
        )
        return self._like(core, "_ParallelMapDataset" if calls else "_MapDataset", function.structure)

    def _ordered(self, deterministic):
        if deterministic is None:
            deterministic = self._options.deterministic
        return True if deterministic is None else bool(deterministic)

    def filter(self, predicate, name=None):
        core = _data.filter(self._core, self._predicate(predicate, "filter"))
        return self._like(core, "_FilterDataset", self._structure)

    def take_while(self, predicate, name=None):
        core = _data.take_while(self._core, self._predicate(predicate, "take_while"))
        return self._like(core, "_TakeWhileDataset", self._structure)

    def _predicate(self, predicate, kind):
        function = ElementFunction(predicate, [self._structure], kind)
        spec = function.structure.spec
        if not (isinstance(spec, TensorSpec) and spec.is_compatible_with(_BOOL)):
            raise ValueError(
                "Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but its return type "
                f"is {spec}."
            )
        return function.native

    def batch(self, batch_size, drop_remainder=False, num_parallel_calls=None, deterministic=None, name=None):
        if self._structure.has_composites():
            if self._has_rows_of_any_length():
                return self._ragged_rows_batch(batch_size, drop_remainder)
            if composite_batches.takes(self._structure):
                return composite_batches.batched(self, batch_size, drop_remainder)
            raise NotImplementedError(
                f"batch() stacks tensors; these elements have other components: {self.element_spec}. Use map() to turn "
                "them into tensors first."
            )
        calls = parallelism(num_parallel_calls)
        core = _data.batch(self._core, batch_size, bool(drop_remainder), calls, self._ordered(deterministic))
        return self._like(core, "_ParallelBatchDataset" if calls else "_BatchDataset")

    def _has_rows_of_any_length(self):
        """Whether all composite components are single rows of ragged tensors (ragged rank 0)."""
        from tandem.framework.ragged import RaggedTensorSpec

        rest = [leaf for leaf in self._structure.leaves if not isinstance(leaf, TensorSpec)]
        return all(isinstance(leaf, RaggedTensorSpec) and leaf.ragged_rank == 0 for leaf in rest)

    def _ragged_rows_batch(self, batch_size, drop_remainder):
        """Rows become those of ragged tensors, tensors are stacked."""
        from tandem.framework.ragged import RaggedTensorSpec

        leaves, ragged = [], []
        rows = int(batch_size) if drop_remainder else None
        for leaf in self._structure.leaves:
            shape = [rows, *leaf.shape.as_list()]
            ragged.append(isinstance(leaf, RaggedTensorSpec))
            leaves.append(RaggedTensorSpec(shape, leaf.dtype, 1, int64) if ragged[-1] else TensorSpec(shape, leaf.dtype))
        core = _data.ragged_batch(self._core, batch_size, bool(drop_remainder), ragged)
        return self._like(core, "_BatchDataset", nest.Structure(nest.pack(self.element_spec, iter(leaves))))

    def ragged_batch(self, batch_size, drop_remainder=False, row_splits_dtype=int64, name=None):
        from tandem.framework.ragged import RaggedTensorSpec

        leaves, ragged = [], []
        for leaf in self._structure.leaves:
            if not isinstance(leaf, TensorSpec) or leaf.shape.rank is None or None in leaf.shape.as_list()[1:]:
                raise NotImplementedError(
                    f"ragged_batch joins tensors whose first dimension alone is unknown; a component is {leaf}."
                )
            ragged.append(leaf.shape.rank > 0 and leaf.shape[0] is None)
            rows = batch_size if drop_remainder else None
            shape = [rows, *leaf.shape.as_list()]
            leaves.append(RaggedTensorSpec(shape, leaf.dtype, 1, "int64") if ragged[-1] else TensorSpec(shape, leaf.dtype))
        core = _data.ragged_batch(self._core, batch_size, bool(drop_remainder), ragged)
        return self._like(core, "_RaggedBatchDataset", nest.Structure(nest.pack(self.element_spec, iter(leaves))))

    def padded_batch(self, batch_size, padded_shapes=None, padding_values=None, drop_remainder=False, name=None):
        self._require_tensors("padded_batch")
        leaves = self._structure.leaves
        if padded_shapes is None:
            for leaf in leaves:
                if leaf.shape.rank is None:
                    raise ValueError(
                        f"You must provide `padded_shapes` argument because component {leaf} has unknown rank."
                    )
            shapes = [leaf.shape for leaf in leaves]
        else:
            shapes = [_padded_shape(s, leaf) for s, leaf in zip(self._up_to(padded_shapes), leaves)]
        if padding_values is None:
            values = [None] * len(leaves)
        else:
            if not nest.is_nested(padding_values):
                padding_values = nest.map_structure(lambda _: padding_values, self.element_spec)
            values = [_padding_value(v, leaf) for v, leaf in zip(self._up_to(padding_values), leaves)]
        core = _data.padded_batch(self._core, batch_size, shapes, values, bool(drop_remainder))
        return self._like(core, "_PaddedBatchDataset")

    def _require_tensors(self, what):
        for leaf in self._structure.leaves:
            if not isinstance(leaf, TensorSpec):
                raise TypeError(
                    f"`{what}` is only supported for datasets that produce tensor elements but type spec of elements "
                    f"in the input dataset is not a subclass of TensorSpec: `{leaf}`."
                )

    def _up_to(self, values):
        return nest.flatten_up_to(self.element_spec, values)

    def unbatch(self, name=None):
        from tandem.framework.ragged import RaggedTensorSpec
        from tandem.framework.sparse import SparseTensorSpec

        if any(getattr(leaf, "shape", TensorShape([])).rank == 0 for leaf in self._structure.leaves):
            raise ValueError(f"Cannot unbatch an input with scalar components. It gives {self.element_spec}.")
        rows = (leaf for leaf in self._structure.leaves if isinstance(leaf, (RaggedTensorSpec, SparseTensorSpec)))
        if any(isinstance(leaf, SparseTensorSpec) or leaf.ragged_rank for leaf in rows):
            whole = nest.is_nested(self.element_spec) and isinstance(self.element_spec, tuple)
            return self.flat_map(lambda *parts: type(self).from_tensor_slices(parts if whole else parts[0]))
        # Rows without a ragged dimension, whose elements are plain ones.
        leaves = [TensorSpec(leaf.shape[1:], leaf.dtype) if isinstance(leaf, RaggedTensorSpec) else leaf
                  for leaf in self._structure.leaves]  # fmt: skip
        core = _data.unbatch(self._core)
        structure = nest.Structure(nest.pack(self.element_spec, iter(leaves)))
        return self._like(core, "_UnbatchDataset", structure.with_components(core.components))

    def rebatch(self, batch_size, drop_remainder=False, name=None):
        if any(getattr(leaf, "shape", TensorShape([])).rank == 0 for leaf in self._structure.leaves):
            raise ValueError(
                "Invalid `batch_sizes`. Expected dataset with rank of >= 1 but found a dataset with scalar elements. "
                "Fix the issue by adding the `batch` transformation to the dataset."
            )
        given = _core.convert_to_tensor(batch_size, int64).numpy()
        if given.ndim > 1:
            raise ValueError(
                "Invalid `batch_sizes`. Expected `batch_sizes` to be a scalar or a vector. Received `batch_sizes` of "
                f"rank {given.ndim}."
            )
        sizes = [int(n) for n in np.atleast_1d(given)]
        return self._like(_data.rebatch(self._core, sizes, bool(drop_remainder)), "_RebatchDataset")

    def shuffle(self, buffer_size, seed=None, reshuffle_each_iteration=True, name=None):
        each = True if reshuffle_each_iteration is None else bool(reshuffle_each_iteration)
        seed = None if seed is None else seed_of(seed)
        return self._like(_data.shuffle(self._core, buffer_size, seed, each), "_ShuffleDataset", self._structure)

    def repeat(self, count=None, name=None):
        return self._like(_data.repeat(self._core, -1 if count is None else count), "_RepeatDataset", self._structure)

    def take(self, count, name=None):
        return self._like(_data.take(self._core, count), "_TakeDataset", self._structure)

    def skip(self, count, name=None):
        return self._like(_data.skip(self._core, count), "_SkipDataset", self._structure)

    def shard(self, num_shards, index, name=None):
        return self._like(_data.shard(self._core, num_shards, index), "_ShardDataset", self._structure)

    def enumerate(self, start=0, name=None):
        dtype = getattr(start, "dtype", None)
        dtype = _core.as_dtype("int64") if dtype is None else _core.as_dtype(dtype)
        numbers = _data.range(start, _core.as_dtype(dtype).max, 1, dtype)
        core = _data.zip([numbers, self._core])
        structure = nest.Structure((TensorSpec((), dtype), self.element_spec))
        return self._like(core, "_ZipDataset", structure)

    def concatenate(self, dataset, name=None):
        try:
            structure = nest.Structure(nest.common(self.element_spec, dataset.element_spec))
        except (TypeError, ValueError):
            raise TypeError(
                f"Incompatible dataset elements:\n  {self.element_spec} vs. {dataset.element_spec}\nBoth "
                "datasets need the "
                "same structure of the same dtypes."
            ) from None
        return self._like(_data.concatenate(self._core, dataset._core), "_ConcatenateDataset", structure)

    def cache(self, filename="", name=None):
        return self._like(_data.cache(self._core, gfile.local_path(filename)), "CacheDataset", self._structure)

    def prefetch(self, buffer_size=None, name=None):
        size = 0 if debug_mode() else -1 if buffer_size is None else count_of(buffer_size, "buffer_size")
        return self._like(_data.prefetch(self._core, size), "_PrefetchDataset", self._structure)

    def ignore_errors(self, log_warning=False, name=None):
        return self._like(_data.ignore_errors(self._core, bool(log_warning)), "_IgnoreErrorsDataset", self._structure)

    def unique(self, name=None):
        leaves = self._structure.leaves
        if len(leaves) != 1 or not isinstance(leaves[0], TensorSpec) or leaves[0].dtype.name not in ("int32", "int64", "string"):
            raise TypeError(
                "Only tensors of type int32, int64 and string are supported by unique(); elements are "
                f"{self.element_spec}."
            )
        return self._like(_data.unique(self._core), "_UniqueDataset", self._structure)


_BOOL = TensorSpec((), "bool")


def _padded_shape(shape, leaf):
    if isinstance(shape, _core.Tensor):
        if not shape.dtype.is_integer:
            raise TypeError(f"A padded shape must be a 1-D tensor of `tf.int64` values, but its element type is {shape.dtype.name}.")
        if shape.shape.rank != 1:
            raise ValueError(f"A padded shape must be a 1-D tensor of `tf.int64` values, but its shape is {shape.shape}.")
        shape = [None if n < 0 else n for n in shape.numpy().tolist()]
    elif not hasattr(shape, "rank") and shape is not None:
        shape = [shape] if isinstance(shape, (int, np.integer)) else shape
        shape = [None if n is None or int(n) < 0 else int(n) for n in shape]
    padded = as_shape(shape)
    if leaf.shape.rank is not None and padded.rank is not None and padded.rank != leaf.shape.rank:
        raise ValueError(
            f"The padded shape {padded} is not compatible with the shape {leaf.shape} of the corresponding "
            "input component."
        )
    if leaf.shape.rank is not None and padded.rank is not None:
        for wanted, known in zip(padded.as_list(), leaf.shape.as_list()):
            if wanted is not None and known is not None and wanted < known:
                raise ValueError(
                    f"The padded shape {padded} is not compatible with the shape {leaf.shape} of the "
                    "corresponding input "
                    "component."
                )
    return padded


def _padding_value(value, leaf):
    if value is None:
        return None
    value = _core.convert_to_tensor(value) if isinstance(value, _core.Tensor) else value
    if isinstance(value, _core.Tensor):
        if value.dtype != leaf.dtype:
            raise TypeError(f"The padding value should be of type {leaf.dtype}, but its type is {value.dtype}.")
    else:
        value = _core.convert_to_tensor(value, dtype=leaf.dtype)
    if value.shape.rank != 0:
        raise ValueError(f"`padding_values` must be scalars, but one has shape {value.shape}.")
    return value
