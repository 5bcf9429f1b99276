"""Methods of tf.data.Dataset that work with several elements, with datasets of them, or with a running state."""


import numpy as np

from tandem import _core
from tandem.framework.errors import InvalidArgumentError
from tandem.framework.spec import TensorSpec
from tandem.framework.shape import TensorShape
from tandem.pipeline import structure as nest
from tandem.pipeline.base import DatasetSpec
from tandem.pipeline.functions import ElementFunction, parallelism
from tandem.pipeline.traced import traced_reduce

_data = _core.data
_INT64 = nest.Structure(TensorSpec((), "int64"))


class Grouping:
    def flat_map(self, map_func, name=None):
        function, structure = self._dataset_function(map_func, "flat_map")
        core = _data.interleave(self._core, function.native, 1, 1, 0, structure.components())
        return self._like(core, "_FlatMapDataset", structure)

    def interleave(
        self, map_func, cycle_length=None, block_length=None, num_parallel_calls=None, deterministic=None, name=None
    ):
        function, structure = self._dataset_function(map_func, "interleave")
        calls = parallelism(num_parallel_calls)
        if cycle_length is None:
            cycle_length = -1
        core = _data.interleave(
            self._core, function.native, cycle_length, 1 if block_length is None else block_length, calls,
            structure.components(),
        )  # fmt: skip
        return self._like(core, "_ParallelInterleaveDataset" if calls else "_InterleaveDataset", structure)

    def _dataset_function(self, map_func, kind):
        function = ElementFunction(map_func, [self._structure], kind)
        spec = function.structure.spec
        if not isinstance(spec, DatasetSpec):
            raise TypeError(
                f"The `map_func` argument must return a `Dataset` object. Got {spec!r}."
            )
        return function, nest.Structure(spec.element_spec)

    def window(self, size, shift=None, stride=1, drop_remainder=False, name=None):
        if self._structure.has_leaves_of_several():
            raise NotImplementedError(
                f"window() makes a dataset of each component; these elements have other components: {self.element_spec}. "
                "Use map() to turn them into tensors first."
            )
        core = _data.window(self._core, size, size if shift is None else shift, stride, bool(drop_remainder))
        spec = nest.map_structure(_window_of, self.element_spec)
        return self._like(core, "_WindowDataset", nest.Structure(spec))

    def group_by_window(self, key_func, reduce_func, window_size=None, window_size_func=None, name=None):
        if (window_size is not None) == (window_size_func is not None):
            raise ValueError("Either the `window_size` argument or the `window_size_func` argument must be specified.")
        if window_size_func is None:

            def window_size_func(key):
                return _core.convert_to_tensor(window_size, dtype=_core.as_dtype("int64"))

        key = ElementFunction(key_func, [self._structure], "key_func")
        if not _is_int64(key.structure.spec):
            raise ValueError(
                "Invalid `key_func`. `key_func` must return a single `tf.int64` scalar tensor, but got "
                f"{key.structure.spec}."
            )
        size = ElementFunction(window_size_func, [_INT64], "window_size_func")
        if not _is_int64(size.structure.spec):
            raise ValueError(
                "Invalid `window_size_func`. `window_size_func` must return a single `tf.int64` scalar tensor, but "
                f"got {size.structure.spec}."
            )
        nested = nest.Structure(DatasetSpec(self.element_spec))
        reduce = ElementFunction(reduce_func, [_INT64, nested], "reduce_func")
        if not isinstance(reduce.structure.spec, DatasetSpec):
            raise TypeError(
                "Invalid `reduce_func`. `reduce_func` must return a single `tf.data.Dataset` object but got "
                f"{reduce.structure.spec}."
            )
        structure = nest.Structure(reduce.structure.spec.element_spec)
        core = _data.group_by_window(self._core, key.native, reduce.native, size.native, structure.components())
        return self._like(core, "_GroupByWindowDataset", structure)

    def bucket_by_sequence_length(
        self, element_length_func, bucket_boundaries, bucket_batch_sizes, padded_shapes=None, padding_values=None,
        pad_to_bucket_boundary=False, no_padding=False, drop_remainder=False, name=None,
    ):  # fmt: skip
        if not no_padding:
            self._require_tensors("bucket_by_sequence_length")
        boundaries, sizes = list(bucket_boundaries), list(bucket_batch_sizes)
        if len(sizes) != len(boundaries) + 1:
            raise ValueError(
                "`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but "
                f"`len(bucket_batch_sizes)={len(sizes)}` and `len(bucket_boundaries)={len(boundaries)}`."
            )
        int64 = _core.as_dtype("int64")
        limits, batch_sizes = (_core.convert_to_tensor(v, int64) for v in (boundaries, sizes))
        boundaries, sizes = (v.numpy().tolist() for v in (limits, batch_sizes))

        def bucket_of(*element):
            length = _core.execute("Cast", _core.convert_to_tensor(element_length_func(*element)), dtype=int64)
            below = _core.execute("Cast", _core.execute("LessEqual", limits, length), dtype=int64)
            return _core.execute("Sum", below, axis=[0])

        def size_of(bucket):
            return _core.execute("GatherV2", batch_sizes, bucket, axis=0)

        def shapes_of(grouped):
            shapes = padded_shapes
            if shapes is None:
                shapes = nest.map_structure(lambda spec: spec.shape, grouped.element_spec)
            return nest.map_structure(lambda s: TensorShape(s), nest.pack(
                grouped.element_spec, iter(nest.flatten_up_to(grouped.element_spec, shapes))))  # fmt: skip

        def batches(bucket, grouped):
            batch_size = size_of(bucket)
            if no_padding:
                return grouped.batch(batch_size, drop_remainder=drop_remainder)
            return grouped.padded_batch(batch_size, shapes_of(grouped), padding_values, drop_remainder=drop_remainder)

        if pad_to_bucket_boundary:
            return self._bucketed_to_boundaries(
                bucket_of, boundaries, sizes, shapes_of, padded_shapes, padding_values, drop_remainder
            )  # fmt: skip
        return self.group_by_window(bucket_of, batches, window_size_func=size_of)

    def _bucketed_to_boundaries(
        self, bucket_of, boundaries, sizes, shapes_of, padded_shapes, padding_values, drop_remainder
    ):  # fmt: skip
        """Every bucket pads to its own size: one function per bucket, chosen when the window is there."""

        def batches(bucket, grouped):
            if bucket >= len(boundaries):
                raise InvalidArgumentError(
                    None, None,
                    "When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries).",
                )  # fmt: skip
            limit = boundaries[bucket] - 1
            shapes = nest.map_structure(
                lambda s: [limit if n is None else n for n in s.as_list()], shapes_of(grouped)
            )
            return grouped.padded_batch(sizes[bucket], shapes, padding_values, drop_remainder=drop_remainder)

        # Buckets have batches of different sizes, and pad to sizes of their own.
        one_size = drop_remainder and len(set(sizes)) == 1
        template = self.padded_batch(sizes[0] if one_size else 1, padded_shapes, padding_values, drop_remainder=one_size)
        nested = DatasetSpec(self.element_spec)

        def reduce(key, window):
            return [batches(int(key), nested._from_tensor(window))._core]

        key = ElementFunction(bucket_of, [self._structure], "key_func")
        sizes_tensor = _core.convert_to_tensor(np.asarray(sizes, np.int64))
        size = ElementFunction(lambda bucket: _core.execute("GatherV2", sizes_tensor, bucket, axis=0), [_INT64], "size")
        core = _data.group_by_window(
            self._core, key.native, _data.callable(reduce), size.native, template._structure.components()
        )
        return self._like(core, "_GroupByWindowDataset", template._structure)

    def reduce(self, initial_state, reduce_func, name=None):
        state = nest.normalize(initial_state)
        structure, function = _state_function(reduce_func, state, self._structure, "reduce")
        if not _core.executing_eagerly():
            return traced_reduce(self, state, structure, reduce_func)
        parts = _data.reduce(self._core, nest.parts_of(state), function.native)
        return structure.element(parts)

    def scan(self, initial_state, scan_func, name=None):
        state = nest.normalize(initial_state)
        structure = nest.structure_of(state)
        function = ElementFunction(scan_func, [structure, self._structure], "scan")
        spec = function.structure.spec
        if not (isinstance(spec, tuple) and len(spec) == 2):
            raise TypeError(
                "Invalid `scan_func`. `scan_func` should return a pair consisting of new state and the output "
                f"value but its return type is {spec}."
            )
        _common_state(structure, nest.Structure(spec[0]))
        output = nest.Structure(spec[1])
        core = _data.scan(self._core, nest.parts_of(state), function.native, output.components())
        return self._like(core, "_ScanDataset", output)

    def get_single_element(self, name=None):
        iterator = iter(self)
        if not _core.executing_eagerly():
            return next(iterator)
        element = next(iterator, None)
        if element is None:
            raise InvalidArgumentError(None, None, "Dataset was empty.")
        if next(iterator, None) is not None:
            raise InvalidArgumentError(None, None, "Dataset had more than one element.")
        return element

    def rejection_resample(self, class_func, target_dist, initial_dist=None, seed=None, name=None):
        from tandem.pipeline.resample import rejection_resample

        return rejection_resample(self, class_func, target_dist, initial_dist, seed)


def _state_function(func, state, elements, kind):
    """A traced function of state and element whose new state fits the old one; shapes of the state may "
    "become unknown."""
    structure = nest.structure_of(state)
    for _ in range(3):
        function = ElementFunction(func, [structure, elements], kind)
        relaxed = _common_state(structure, function.structure)
        if relaxed.leaves == structure.leaves:
            break
        structure = relaxed
    return structure, function


def _common_state(structure, new):
    """The structure of a state and of the next one."""
    try:
        return nest.Structure(nest.common(structure.spec, new.spec))
    except (TypeError, ValueError):
        raise TypeError(
            "The element classes, types and structure of the new state must match the initial state. Expected "
            f"{structure.spec}; got {new.spec}."
        ) from None


def _window_of(spec):
    return spec if isinstance(spec, nest.NoneTensorSpec) else DatasetSpec(spec)


def _is_int64(spec):
    return isinstance(spec, TensorSpec) and spec.dtype == _core.as_dtype("int64") and spec.shape.rank == 0




