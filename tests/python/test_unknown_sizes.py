"""A function whose inputs have sizes, ranks or values that are known only when it runs gives what the eager call gives.
The fuzzer of calls (tests/fuzz/fuzz_ops.py) looks for more of them."""

import gc

import numpy as np
import pytest
import tandem as tf


def floats(*shape, dtype=np.float32):
    return np.random.default_rng().uniform(0.1, 1.0, shape).astype(dtype)


BYTES = np.random.default_rng().integers(0, 256, [6, 7, 3]).astype(np.uint8)
REGULAR = np.float32([[4, 1, 0], [1, 5, 2], [0, 2, 6]])

# Of functions, what each takes; those whose rank has to be known as well come after.
ANY_RANK = {
    "adjoint": (tf.linalg.adjoint, [floats(2, 3, 4)]),
    "matrix_transpose of complex": (lambda x: tf.linalg.matrix_transpose(x, conjugate=True), [floats(3, 4) * (1 + 2j)]),
    "sqrtm": (tf.linalg.sqrtm, [REGULAR[None]]),
    "expm": (tf.linalg.expm, [REGULAR]),
    "expm of large ones": (tf.linalg.expm, [-8 * REGULAR]),
    "expm of 0": (tf.linalg.expm, [0 * REGULAR]),
    "bincount": (tf.math.bincount, [np.int32([3, 1, 4, 1, 5])]),
    "bincount of none": (tf.math.bincount, [np.int32([])]),
    "bincount within bounds": (lambda x: tf.math.bincount(x, minlength=9, maxlength=12), [np.int32([30, 1, 11])]),
    "confusion_matrix": (tf.math.confusion_matrix, [np.int32([0, 1, 1]), np.int32([2, 1, 0])]),
    "einsum": (lambda x: tf.einsum("ii->i", x), [REGULAR]),
    "einsum of two": (lambda x, y: tf.einsum("ij,jk->ik", x, y), [REGULAR, floats(3, 2)]),
    "stack": (tf.stack, [floats(3, 2)]),
    "np.stack": (tf.experimental.numpy.stack, [floats(3, 2)]),
    "np.concatenate": (tf.experimental.numpy.concatenate, [floats(3, 2)]),
    "np.size": (tf.experimental.numpy.size, [floats(3, 2)]),
    "collapse_repeated": (tf.nn.collapse_repeated, [np.int32([[1, 1, 2], [3, 3, 3]]), np.int32([3, 2])]),
    "collapse_repeated of none": (tf.nn.collapse_repeated, [np.int32([[1, 1, 2]]), np.int32([0])]),
    "scale_regularization_loss": (tf.nn.scale_regularization_loss, [floats(2, 3)]),
    "unicode_encode": (lambda x: tf.strings.unicode_encode(x, "UTF-8"), [np.int32([[97, 233], [98, 99]])]),
    "unicode_encode of none": (lambda x: tf.strings.unicode_encode(x, "UTF-8"), [np.zeros([2, 0], np.int32)]),
    "unicode_encode of one": (lambda x: tf.strings.unicode_encode(x, "UTF-8"), [np.int32([97, 233])]),
    "conv2d": (lambda x, y: tf.nn.conv2d(x, y, 2, "SAME"), [floats(1, 6, 7, 2), floats(3, 3, 2, 4)]),
    "conv1d_transpose": (lambda x, y: tf.nn.conv1d_transpose(x, y, [2, 8, 2], 2), [floats(2, 4, 3), floats(3, 2, 3)]),
    "per_image_standardization": (tf.image.per_image_standardization, [BYTES]),
    "encode_png": (tf.image.encode_png, [BYTES]),
    "extract_patches": (lambda x: tf.image.extract_patches(x, [1, 3, 2, 1], [1, 2, 2, 1], [1, 1, 2, 1], "SAME"), [floats(2, 6, 7, 2)]),
    "extract_patches inside": (lambda x: tf.image.extract_patches(x, [1, 3, 3, 1], [1, 2, 2, 1], [1] * 4, "VALID"), [floats(2, 6, 7, 2)]),
    "extract_glimpse": (lambda x: tf.image.extract_glimpse(x, [4, 5], [[0.1, 0.2]], noise="zero"), [floats(1, 6, 7, 2)]),
    "ssim": (lambda x, y: tf.image.ssim(x, y, 1.0), [floats(1, 16, 18, 2), floats(1, 16, 18, 2)]),
    "frame": (lambda x: tf.signal.frame(x, 4, 2), [floats(2, 13)]),
    "frame of a short one": (lambda x: tf.signal.frame(x, 4, 2), [floats(2, 3)]),
    "frame with an end": (lambda x: tf.signal.frame(x, 4, 3, pad_end=True, pad_value=7), [floats(13)]),
    "overlap_and_add": (lambda x: tf.signal.overlap_and_add(x, 2), [floats(2, 3, 4)]),
    "stft": (lambda x: tf.signal.stft(x, 8, 2), [floats(29)]),
    "inverse_stft": (lambda x: tf.signal.inverse_stft(tf.signal.stft(x, 8, 2), 8, 2), [floats(29)]),
    "inverse_stft of longer pieces": (lambda x: tf.signal.inverse_stft(tf.signal.stft(x, 8, 2), 10, 2), [floats(29)]),
    "dct": (tf.signal.dct, [floats(2, 5)]),
    "dct 1": (lambda x: tf.signal.dct(x, type=1), [floats(5)]),
    "dct 2, scaled": (lambda x: tf.signal.dct(x, norm="ortho"), [floats(5)]),
    "dct 3": (lambda x: tf.signal.dct(x, type=3), [floats(5)]),
    "dct 3, scaled": (lambda x: tf.signal.dct(x, type=3, norm="ortho"), [floats(5)]),
    "dct 4, scaled": (lambda x: tf.signal.dct(x, type=4, norm="ortho"), [floats(5)]),
    "dct of more": (lambda x: tf.signal.dct(x, n=7), [floats(2, 5)]),
    "mfccs": (tf.signal.mfccs_from_log_mel_spectrograms, [floats(2, 5)]),
    "stateless_random_crop": (lambda x: tf.image.stateless_random_crop(x, [4, 5, 3], [1, 2]), [BYTES]),
    "max_pool2d": (lambda x: tf.nn.max_pool2d(x, 2, 2, "SAME"), [floats(1, 5, 6, 2)]),
    "avg_pool3d": (lambda x: tf.nn.avg_pool3d(x, 2, 1, "VALID"), [floats(1, 5, 6, 3, 2)]),
    "np.tile": (lambda x: tf.experimental.numpy.tile(x, [2, 1, 3]), [floats(2, 3)]),
    "np.tile with less": (lambda x: tf.experimental.numpy.tile(x, [2]), [floats(2, 3)]),
    "np.tile by numbers": (tf.experimental.numpy.tile, [floats(2, 3), np.int64([2, 1, 2])]),
    "rot90": (tf.image.rot90, [floats(2, 3, 4)]),
    "rot90 of a batch": (lambda x: tf.image.rot90(x, 3), [floats(2, 3, 4, 1)]),
    "transpose": (tf.image.transpose, [floats(2, 3, 4)]),
    "transpose of none": (tf.image.transpose, [floats(2, 0, 4, 1)]),
    "np.flip": (tf.experimental.numpy.flip, [floats(2, 3)]),
    "boolean_mask of rows": (lambda x: tf.ragged.boolean_mask(x, [[True, False, True], [False] * 3]).to_tensor(), [floats(2, 3, 4)]),
    "boolean_mask": (lambda x: tf.ragged.boolean_mask(x, [True, False]), [floats(2, 3)]),
    "overlap_and_add of nothing": (lambda x: tf.signal.overlap_and_add(x, 2), [floats(2, 0, 3)]),
    "expm of nothing": (tf.linalg.expm, [floats(2, 0, 0)]),
    "pad_to_bounding_box": (lambda x: tf.image.pad_to_bounding_box(x, 1, 2, 9, 9), [BYTES]),
    "np.ndim": (tf.experimental.numpy.ndim, [floats(2, 5)]),
    "mdct": (lambda x: tf.signal.mdct(x, 8), [floats(33)]),
    "fftshift": (tf.signal.fftshift, [floats(3, 4, 5)]),
    "fftshift of an axis": (lambda x: tf.signal.fftshift(x, axes=-1), [floats(3, 5)]),
    "ifftshift": (tf.signal.ifftshift, [floats(3, 4, 5)]),
    "fftshift of none": (tf.signal.fftshift, [floats(0, 3)]),
    "fftnd": (lambda x: tf.signal.fftnd(x, [2, 6], [0, 1]), [floats(3, 4) * (1 + 2j)]),
    "ifftnd": (lambda x: tf.signal.ifftnd(x, norm="ortho"), [floats(3, 4) * (1 + 2j)]),
    "rfftnd": (lambda x: tf.signal.rfftnd(x, norm="forward"), [floats(3, 5)]),
    "irfftnd": (tf.signal.irfftnd, [floats(3, 4) * (1 + 2j)]),
    "frame of another axis": (lambda x: tf.signal.frame(x, 4, 2, axis=0), [floats(13, 2)]),
    "sobel_edges": (tf.image.sobel_edges, [floats(2, 5, 6, 3)]),
    "np.tensordot": (tf.experimental.numpy.tensordot, [floats(3, 4), floats(3, 4)]),
    "tensordot of one axis": (lambda x, y: tf.tensordot(x, y, 1), [floats(2, 3), floats(3, 4, 5)]),
    "np.transpose": (tf.experimental.numpy.transpose, [floats(2, 3, 4)]),
    "np.swapaxes": (lambda x: tf.experimental.numpy.swapaxes(x, -1, 0), [floats(2, 3, 4)]),
    "np.moveaxis": (lambda x: tf.experimental.numpy.moveaxis(x, 0, -1), [floats(2, 3, 4)]),
    "np.atleast_1d": (tf.experimental.numpy.atleast_1d, [floats()]),
    "np.atleast_2d": (tf.experimental.numpy.atleast_2d, [floats()]),
    "np.matmul": (tf.experimental.numpy.matmul, [floats(3, 2), floats(2)]),
    "np.dot of numbers": (tf.experimental.numpy.dot, [floats(), floats(3)]),
    "np.tile of nothing": (lambda x: tf.experimental.numpy.tile(x, [2, 1]), [np.zeros([0, 2**31], np.uint8)]),
    "pool": (lambda x: tf.nn.pool(x, [2, 2], "AVG", strides=[1, 1], padding="SAME"), [floats(1, 5, 6, 2)]),
    "einsum of what is left": (lambda x, y: tf.einsum("...i,...i->...", x, y), [floats(2, 3), floats(2, 3)]),
    "sufficient_statistics of integers": (lambda x: tf.nn.sufficient_statistics(x, [0])[:3], [np.int32([[1, 2], [3, 4]])]),
    "np.atleast_1d of booleans": (tf.experimental.numpy.atleast_1d, [np.array(True)]),
    "np.size of an axis": (lambda x: tf.experimental.numpy.size(x, True), [floats(2, 3)]),
    "lu_solve": (lambda x, y: tf.linalg.lu_solve(*tf.linalg.lu(x), y), [REGULAR[None], floats(1, 3, 2)]),
    "lu_reconstruct": (lambda x: tf.linalg.lu_reconstruct(*tf.linalg.lu(x)), [REGULAR]),
    "eigh_tridiagonal": (tf.linalg.eigh_tridiagonal, [floats(4) * (1 + 0j), floats(3) * (1 + 2j)]),
    "segment_mean": (lambda x: tf.sparse.segment_mean(x, [0, 1, 2], [0, 0, 2], num_segments=4), [floats(4, 2)]),
    "unsorted_segment_mean": (lambda x: tf.math.unsorted_segment_mean(x, [0, 2, 0], 4), [floats(3, 2)]),
    "isotonic_regression": (tf.nn.isotonic_regression, [floats(2, 5)]),
    "softmax_cross_entropy": (tf.nn.softmax_cross_entropy_with_logits, [floats(2, 3, 4), floats(2, 3, 4)]),
    "softmax_cross_entropy of an axis": (lambda x, y: tf.nn.softmax_cross_entropy_with_logits(x, y, axis=0), [floats(3, 4)] * 2),
    "compute_average_loss": (tf.nn.compute_average_loss, [floats(4)]),
    "embedding_lookup with a norm": (lambda x, i: tf.nn.embedding_lookup(x, i, max_norm=1.0), [floats(4, 3), np.int32([[1, 3]])]),
    "ragged from_tensor": (lambda x: tf.RaggedTensor.from_tensor(x, lengths=[1, 0, 3]).to_tensor(), [floats(3, 4)]),
    "strings.split": (lambda x: tf.strings.split(x).to_tensor(), [np.array([b"a b", b"c"])]),
    "bincount up to less than nothing": (lambda x: tf.math.bincount(x, maxlength=-(2**63)), [np.int32([3, 1])]),
}  # fmt: skip
KNOWN_RANK = {
    "ssim_multiscale": (lambda x, y: tf.image.ssim_multiscale(x, y, 1.0, filter_size=3), [floats(1, 50, 55, 1), floats(1, 50, 55, 1)]),
    "tridiagonal_solve": (tf.linalg.tridiagonal_solve, [floats(3, 5) + np.float32([[0], [3], [0]]), floats(5, 2)]),
    "tridiagonal_solve of one": (tf.linalg.tridiagonal_solve, [floats(3, 1) + 3, floats(1, 2)]),
}


def open_specs(values, ranks):
    return [tf.TensorSpec([None] * np.ndim(v) if ranks else None, tf.as_dtype(np.asarray(v).dtype)) for v in values]


def assert_same(found, wanted):
    found, wanted = tf.nest.flatten(found), tf.nest.flatten(wanted)
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        b = tf.convert_to_tensor(b)
        assert a.dtype is b.dtype and a.shape == b.shape
        if b.dtype is tf.string:
            np.testing.assert_array_equal(a.numpy(), b.numpy())
        else:
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [*ANY_RANK, *KNOWN_RANK])
def test_sizes_that_are_known_later(name):
    function, values = (ANY_RANK | KNOWN_RANK)[name]
    traced = tf.function(function, open_specs(values, True), autograph=False)
    assert_same(traced(*values), function(*map(tf.constant, values)))


@pytest.mark.parametrize("reps", [[2], [2, 1], [2, 1, 3]])
def test_tiles_of_numbers_that_are_known_later(reps):
    traced = tf.function(tf.experimental.numpy.tile, autograph=False)
    array = floats(2, 3)
    assert_same(traced(tf.constant(array), tf.constant(reps)), np.tile(array, reps))


@pytest.mark.parametrize("name", ANY_RANK)
def test_ranks_that_are_known_later(name):
    function, values = ANY_RANK[name]
    traced = tf.function(function, open_specs(values, False), autograph=False)
    assert_same(traced(*values), function(*map(tf.constant, values)))


REFUSED = {
    "grayscale_to_rgb": (tf.image.grayscale_to_rgb, [floats(2, 2, 3)]),
    "rgb_to_grayscale": (tf.image.rgb_to_grayscale, [floats(2, 2, 1)]),
    "resize_with_crop_or_pad": (lambda x: tf.image.resize_with_crop_or_pad(x, 3, 0), [floats(2, 2, 3)]),
    "assert_rank": (lambda x: tf.debugging.assert_rank(x, 1), [floats(2, 2)]),
    "assert_rank_at_least": (lambda x: tf.debugging.assert_rank_at_least(x, 3), [floats(2, 2)]),
    "assert_rank_in": (lambda x: tf.debugging.assert_rank_in(x, [1, 3]), [floats(2, 2)]),
    "scalar_mul": (lambda x: tf.math.scalar_mul(x, tf.ones([2])), [floats(2)]),
    "crop_to_bounding_box below": (lambda x: tf.image.crop_to_bounding_box(x, 1, 2, -2, 3), [BYTES]),
    "crop_to_bounding_box beyond": (lambda x: tf.image.crop_to_bounding_box(x, 1, 2, 6, 3), [BYTES]),
    "pad_to_bounding_box": (lambda x: tf.image.pad_to_bounding_box(x, 1, 2, 6, 20), [BYTES]),
    "resize_with_crop_or_pad of nothing": (lambda x: tf.image.resize_with_crop_or_pad(x, 1, 3), [floats(1, 0, 1, 1)]),
    "resize_with_pad": (lambda x: tf.image.resize_with_pad(x, 3, 0), [floats(2, 2, 3)]),
    "central_crop": (lambda x: tf.image.central_crop(x, 0.5), [floats(2, 3)]),
    "rot90": (tf.image.rot90, [floats(2, 3)]),
    "transpose": (tf.image.transpose, [floats(2, 3)]),
    "flip_up_down": (tf.image.flip_up_down, [floats(2, 3)]),
    "random_flip_left_right": (tf.image.random_flip_left_right, [floats(3, 0)]),
    "foldl": (lambda x, y: tf.foldl(lambda a, b: a, [x, y], tf.zeros([2])), [floats(0, 2), floats(3, 2)]),
    "dct 1 of one": (lambda x: tf.signal.dct(x, type=1), [floats(1)]),
    "mfccs of none": (tf.signal.mfccs_from_log_mel_spectrograms, [floats(2, 0)]),
    "boolean_mask": (lambda x: tf.ragged.boolean_mask(x, [[True, False], [False, True]]), [floats(2, 3)]),
    "boolean_mask by a mask": (lambda x: tf.ragged.boolean_mask(floats(2), x), [np.array([True, False])]),
    "decode_csv into nothing": (lambda x: tf.io.decode_csv(x, []), [np.array([b"3,4"])]),
    "map_fn into a tensor": (lambda x: tf.map_fn(lambda row: True, x, fn_output_signature=x), [floats(2, 3)]),
    "bincount of bytes": (tf.math.bincount, [np.uint8([255, 1])]),
    "local_response_normalization": (tf.nn.local_response_normalization, [floats(2, 3, 4)]),
    "np.split by places": (lambda x: tf.experimental.numpy.split(tf.range(8), x), [np.float32([1.5])]),
    "band_part": (lambda n: tf.linalg.band_part(REGULAR, n, -1), [np.complex64([1])]),
    "sparse_softmax_cross_entropy": (tf.nn.sparse_softmax_cross_entropy_with_logits, [np.int32([0, 1, 1]), floats(1, 3, 4)]),
    "crop_to_bounding_box far away": (lambda x: tf.image.crop_to_bounding_box(x, 1, 2, 5, 2**62), [floats(9, 11, 3)]),
    "times a ragged tensor": (lambda x: tf.ragged.constant([[1, 2], []]) * x, [np.ones([2, 8, 3, 8], np.int32)]),
    "assert_shapes": (lambda x: tf.debugging.assert_shapes([(x, ([1], "Q"))]), [floats(2, 3)]),
    "padded_batch": (lambda x: tf.data.Dataset.range(3).padded_batch(x, []), [np.array(b"SAME")]),
    "from_tensor_slices": (lambda x: tf.data.Dataset.from_tensor_slices(tf.reshape(x, [])), [floats(1)]),
    "sparse.split": (lambda x: tf.sparse.split(tf.sparse.from_dense(tf.ensure_shape(x, [2, 3])), 2**32, 1), [floats(2, 3)]),
    "eigh_tridiagonal": (tf.linalg.eigh_tridiagonal, [floats(2), floats(2)]),
    "expm": (tf.linalg.expm, [floats(0, 3)]),
    "compute_average_loss": (tf.nn.compute_average_loss, [np.array([True])]),
    "swapaxes": (lambda x: tf.experimental.numpy.swapaxes(x, 2, 0), [floats(2, 3)]),
    "insert": (lambda x: dense_table().insert(x, x), [np.int64([1, -1])]),
}


def dense_table():
    return tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, 0, empty_key=-1, deleted_key=-2)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_refused_later(name):
    function, values = REFUSED[name]
    if name != "boolean_mask by a mask":  # a mask that is there may be one of rows
        with pytest.raises((ValueError, TypeError, tf.errors.InvalidArgumentError)):
            function(*map(tf.constant, values))
    with pytest.raises((ValueError, TypeError, tf.errors.InvalidArgumentError)):
        tf.function(function, open_specs(values, False), autograph=False)(*values)


@pytest.mark.parametrize(
    "function, right, wrong",
    [
        (tf.image.crop_to_bounding_box, [1, 2, 3, 5], [[-1, 2, 3, 5], [1, 2, 0, 5], [1, 2, 6, 5], [1, 2**31 - 1, 3, 5]]),
        (tf.image.pad_to_bounding_box, [1, 2, 9, 9], [[-1, 2, 9, 9], [1, 2, 6, 9], [1, 2, -(2**31), 9], [1, 2, 9, -(2**31)]]),
        (tf.image.resize_with_crop_or_pad, [4, 9], [[0, 9], [4, -1]]),
        (tf.image.resize_with_pad, [4, 9], [[0, 9], [4, -1]]),
        (tf.image.central_crop, [0.5], [[0.0], [1.5], [-1.0]]),
        (tf.image.rot90, [3], []),
        (tf.image.adjust_gamma, [2.0], [[-1.0]]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_boxes_that_are_known_later(function, right, wrong):
    """They gave images of other sizes than were asked for, without a word."""
    image = tf.constant(BYTES)
    specs = [tf.TensorSpec([], tf.constant(v).dtype) for v in right]
    one = tf.function(function, [tf.TensorSpec([None, None, 3], tf.uint8), *specs])
    batch = tf.function(function, [tf.TensorSpec(None, tf.uint8), *specs])
    wanted = function(image, *right)
    assert_same(one(image, *right), wanted)
    assert_same(batch(image[None], *right), wanted[None])
    assert_same(function(image, *map(tf.constant, right)), wanted)
    for values in wrong:
        with pytest.raises(ValueError):
            function(image, *values)
        for call in (lambda: one(image, *values), lambda: batch(image[None], *values),
                     lambda: function(image, *map(tf.constant, values))):  # fmt: skip
            with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
                call()


def test_known_sizes_of_boxes_stay_known():
    @tf.function(input_signature=[tf.TensorSpec([None, None, 3]), tf.TensorSpec([], tf.int32)])
    def sizes(image, at):
        shapes.extend([tf.image.crop_to_bounding_box(image, at, at, 4, 5).shape, tf.image.pad_to_bounding_box(image, at, at, 9, 8).shape])

    shapes = []
    sizes(floats(6, 7, 3), 1)
    assert shapes == [[4, 5, 3], [9, 8, 3]]


def test_a_rank_that_fits():
    for check in (lambda x: tf.debugging.assert_rank(x, 2), lambda x: tf.debugging.assert_rank_at_least(x, 1),
                  lambda x: tf.debugging.assert_rank_in(x, [2, 5])):  # fmt: skip
        tf.function(check, open_specs([floats(2, 2)], False), autograph=False)(floats(2, 2))


def test_complex_numbers_that_are_near():
    near = tf.function(tf.debugging.assert_near)
    near(tf.constant([1 + 2j]), tf.constant([1 + 2j]))
    with pytest.raises(tf.errors.InvalidArgumentError):
        near(tf.constant([1 + 2j]), tf.constant([1 + 3j]))
    assert tf.signal.vorbis_window(0).shape == [0]


def find(keys):
    entries = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    return tf.lookup.StaticHashTable(entries, -1).lookup(keys)


@pytest.mark.parametrize("wrapped", [find, lambda keys: tf.cond(tf.size(keys) > 1, lambda: find(keys), lambda: find(keys) + 1)],
                         ids=["plain", "in a branch"])  # fmt: skip
def test_a_table_lives_as_long_as_the_function_that_made_it(wrapped):
    traced = tf.function(wrapped)
    for _ in range(2):
        assert traced(tf.constant(["b", "x"])).numpy().tolist() == [2, -1]
        gc.collect()
    concrete = traced.get_concrete_function(tf.TensorSpec([None], tf.string))
    del traced
    gc.collect()
    assert concrete(tf.constant(["a", "b", "c"])).numpy().tolist() == [1, 2, -1]


def test_the_error_of_an_empty_result_is_not_lost(run_python):
    """A copy of no bytes did not wait for what made it."""
    status, output, errors = run_python(
        """
        import tandem as tf

        rows, place = tf.ones([2, 0]), tf.constant(7, tf.int64)
        for _ in range(500):
            try:
                tf.gather(rows, place).numpy()
                print("a value")
            except tf.errors.InvalidArgumentError:
                pass
        """,
        gpus=2,
    )
    assert status == 0, errors
    assert output == ""


def test_a_list_of_symbolic_tensors_of_another_dtype():
    traced = tf.function(lambda x: tf.convert_to_tensor([x, 1], tf.int32))
    assert traced(tf.constant(31.5)).numpy().tolist() == [31, 1]
    # A size is never cut.
    with pytest.raises((ValueError, TypeError, tf.errors.InvalidArgumentError)):
        tf.function(lambda n: tf.zeros([n, 0]))(tf.constant(2.5))


def test_a_map_of_no_rows():
    """The function is traced for what a row would be."""
    assert tf.vectorized_map(lambda row: row[:2] > 0, tf.zeros([0, 3])).shape == [0, 2]
    assert tf.vectorized_map(lambda row: row[:2] > 0, tf.zeros([0, 3])).dtype is tf.bool


def test_sizes_of_arrays_below_zero():
    """As TensorFlow: eagerly a list of none, which only a dynamic one can be written to."""
    assert tf.TensorArray(tf.float32, -2).size() == 0
    assert tf.TensorArray(tf.int32, -2, dynamic_size=True).unstack([1, 2, 3]).read(1) == 2
    with pytest.raises(tf.errors.OutOfRangeError):
        tf.TensorArray(tf.float32, -2).write(0, 1.0)
    with pytest.raises(tf.errors.OutOfRangeError):
        tf.TensorArray(tf.float32, 2).scatter([0, 2], [1.0, 2.0])
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        tf.function(lambda: tf.TensorArray(tf.float32, -2).write(0, 1.0).stack())()


def test_parts_between_places():
    """np.split takes places where tf.split takes sizes, and they were taken for sizes."""
    array = np.arange(24).reshape(4, 6)
    for places, axis in (([1, 3], 0), ([0, 2, 9], 1), (2, 1), ([], 0), ([2, 4], -1)):
        for a, b in zip(tf.experimental.numpy.split(array, places, axis), np.split(array, places, axis), strict=True):
            np.testing.assert_array_equal(a, b)
    for places in ([5, 2], [-1, 3]):
        with pytest.raises(ValueError):
            tf.experimental.numpy.split(array, places)
    assert [len(p) for p in tf.experimental.numpy.split(tf.range(8), tf.constant([2, 5]))] == [2, 3, 3]


def test_what_a_ragged_tensor_is_to_numpy():
    rows = tf.ragged.constant([[1, 2], [3]])
    assert np.array([rows]).dtype == object
    with pytest.raises(TypeError):
        tf.experimental.numpy.arcsinh(rows)


def test_a_scalar_stacked_is_itself():
    assert tf.stack(tf.constant(3)) == 3


def test_more_parts_than_a_graph_holds():
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.function(lambda x: tf.sparse.split(tf.sparse.from_dense(x), 2**32, 1), open_specs([floats(2, 3)], True))(floats(2, 3))


def test_multiples_beyond_int32():
    """They were cut to 32 bits: a tile of 2**32 rows had none."""
    with pytest.raises((ValueError, tf.errors.OpError)):
        tf.function(lambda x: tf.experimental.numpy.tile(x, [2**32, 1]), open_specs([floats(4, 4)], False))(floats(4, 4))


def test_a_shape_of_symbolic_floats():
    with pytest.raises(TypeError):
        tf.function(lambda x: tf.ensure_shape(x, [x[0], x[1]]))(floats(2))


def test_numbers_are_counted_past():
    """What a range is skipped over is not made one by one: this took a minute."""
    far = tf.data.Dataset.range(2**40)
    assert [int(x) for x in far.skip(2**40 - 2)] == [2**40 - 2, 2**40 - 1]
    assert [int(x) for x in tf.data.Dataset.range(10, 0, -3).skip(2)] == [4, 1]
    assert [int(x) for x in tf.data.Dataset.range(5).map(lambda x: x * 2).skip(3)] == [6, 8]
    windows = far.window(2, shift=2**39).flat_map(lambda window: window.batch(2))
    assert [x.numpy().tolist() for x in windows] == [[0, 1], [2**39, 2**39 + 1]]
    windows = tf.data.Dataset.range(7).window(2, shift=3).flat_map(lambda window: window.batch(2))
    assert [x.numpy().tolist() for x in windows] == [[0, 1], [3, 4], [6]]
