"""Expressions whose numbers TensorFlow decides; tools/reference/make_numeric_reference.py stores its answers.

They see `tf`, `np` and the inputs made here, which are the same wherever this runs.
"""

import numpy as np

_RANDOM = np.random.RandomState(7)
INPUTS = {
    "I": _RANDOM.rand(9, 11, 3).astype(np.float32),  # an image
    "U": (_RANDOM.rand(6, 7, 3) * 255).astype(np.uint8),
    "B": _RANDOM.rand(1, 16, 18, 2).astype(np.float32),
    "S": _RANDOM.rand(13).astype(np.float32),
    "M": _RANDOM.rand(4, 4).astype(np.float32),
}
_CORNERS = _RANDOM.rand(12, 2) * 0.6
INPUTS["X"] = np.concatenate([_CORNERS, _CORNERS + 0.1 + _RANDOM.rand(12, 2) * 0.3], 1).astype(np.float32)  # boxes

CASES = r"""
tf.image.resize(I, [5, 14])
tf.image.resize(I, [5, 14], 'bicubic')
tf.image.resize(I, [5, 14], 'area')
tf.image.resize(I, [5, 14], 'nearest')
tf.image.resize(I, [5, 14], 'lanczos3')
tf.image.resize(I, [5, 14], 'lanczos3', antialias=True)
tf.image.resize(I, [5, 14], 'lanczos5')
tf.image.resize(I, [5, 14], 'gaussian', antialias=True)
tf.image.resize(I, [5, 14], 'mitchellcubic')
tf.image.resize(I, [5, 6], 'bilinear', antialias=True)
tf.image.resize(I, [5, 6], 'bicubic', antialias=True)
tf.image.resize(U, [4, 20], preserve_aspect_ratio=True)
tf.image.resize_with_pad(I, 12, 7)
tf.image.resize_with_crop_or_pad(I, 12, 7)
tf.image.central_crop(I, 0.4)
tf.image.crop_to_bounding_box(I, 1, 2, 5, 6)
tf.image.pad_to_bounding_box(U, 1, 2, 9, 10)
tf.image.rot90(U, 3)
tf.image.adjust_brightness(U, 0.2)
tf.image.adjust_contrast(I, 1.7)
tf.image.adjust_contrast(U, 1.7)
tf.image.adjust_hue(I, 0.3)
tf.image.adjust_hue(U, -0.2)
tf.image.adjust_saturation(I, 0.4)
tf.image.adjust_gamma(I, 0.4)
tf.image.adjust_jpeg_quality(U, 75)
tf.image.rgb_to_hsv(I)
tf.image.hsv_to_rgb(I)
tf.image.rgb_to_grayscale(U)
tf.image.rgb_to_yiq(I)
tf.image.yuv_to_rgb(I)
tf.image.convert_image_dtype(I, tf.uint8)
tf.image.convert_image_dtype(U, tf.uint16)
tf.image.convert_image_dtype(U, tf.float32)
tf.image.per_image_standardization(U)
tf.image.total_variation(I)
tf.image.sobel_edges(I[None])
tf.image.psnr(I, I * 0.9, 1.0)
tf.image.ssim(B, B * 0.9, 1.0)
tf.image.extract_patches(I[None], [1, 3, 2, 1], [1, 2, 3, 1], [1, 2, 1, 1], 'VALID')
tf.image.extract_patches(I[None], [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], 'SAME')
tf.image.non_max_suppression(X, S[:12], 5, 0.3)
tf.image.non_max_suppression_with_scores(X, S[:12], 5, 1.0, soft_nms_sigma=0.5)
tf.image.crop_and_resize(I[None], [[0.1, 0.2, 0.7, 0.9], [0.5, 0.5, 1.2, 1.1]], [0, 0], [4, 5])
tf.image.draw_bounding_boxes(I[None], [[[0.1, 0.2, 0.7, 0.9]]], None)
tf.image.stateless_random_crop(I, [5, 5, 3], seed=[1, 2])
tf.image.stateless_random_flip_left_right(B, seed=[1, 2])
tf.image.stateless_random_brightness(I, 0.2, seed=[1, 2])
tf.image.stateless_random_hue(I, 0.2, seed=[1, 2])
tf.image.stateless_sample_distorted_bounding_box([40, 50, 3], [[[0.1, 0.2, 0.8, 0.9]]], seed=(3, 4))
tf.io.decode_png(tf.io.encode_png(U), channels=1)
tf.io.decode_jpeg(tf.io.encode_jpeg(U))
tf.signal.fft(tf.cast(S, tf.complex64))
tf.signal.ifft2d(tf.cast(B[0, :, :, 0], tf.complex64))
tf.signal.rfft(B[0, :3, :, 0], [23])
tf.signal.irfft(tf.signal.rfft(B[0, :3, :, 0]), [15])
tf.signal.rfft2d(B[0, :5, :, 0], [6, 7])
tf.signal.stft(S, 8, 2)
tf.signal.inverse_stft(tf.signal.stft(S, 8, 2), 8, 2, window_fn=tf.signal.inverse_stft_window_fn(2))
tf.signal.hann_window(9)
tf.signal.kaiser_bessel_derived_window(8)
tf.signal.dct(S, norm='ortho')
tf.signal.dct(S, type=3)
tf.signal.mdct(S, 8)
tf.signal.linear_to_mel_weight_matrix(5, 17)
tf.linalg.expm(M)
tf.linalg.sqrtm(tf.linalg.matmul(M, M, transpose_b=True) + tf.eye(4))
tf.linalg.lu_solve(*tf.linalg.lu(M), M[:, :2])
tf.linalg.tridiagonal_solve(M[:3], M[:, :2])
tf.linalg.eigh_tridiagonal(S[:5], S[5:9])
tf.linalg.normalize(M, axis=1)
tf.linalg.set_diag(M, [1., 2., 3., 4.])
tf.math.erfcinv([0.1, 0.2, 1.5])
tf.math.lbeta([[1., 2.], [3., 4.]])
tf.math.unsorted_segment_mean([1., 2., 3.], [0, 1, 0], 3)
tf.nn.local_response_normalization(B, depth_radius=1)
tf.nn.log_poisson_loss(S, S, compute_full_loss=True)
tf.nn.weighted_cross_entropy_with_logits(S, S, 2.0)
tf.nn.weighted_moments(M, [0], M + 1)
tf.nn.max_pool_with_argmax(B, 3, 2, 'SAME')
tf.nn.dilation2d(B, tf.ones([3, 3, 2]), [1, 1, 1, 1], 'SAME', 'NHWC', [1, 1, 1, 1])
tf.nn.erosion2d(B, tf.ones([3, 2, 2]), [1, 2, 2, 1], 'VALID', 'NHWC', [1, 1, 1, 1])
tf.random.Generator.from_seed(5).normal([3])
tf.random.Generator.from_seed(5).uniform([3], 0, 100, dtype=tf.int32)
tf.random.Generator.from_seed(5).truncated_normal([3])
tf.random.Generator.from_seed(5).make_seeds(2)
tf.random.split([1, 2], 3)
tf.random.fold_in([1, 2], 7)
tf.sparse.sparse_dense_matmul(tf.sparse.from_dense([[0., 1.], [2., 0.]]), [[1., 2.], [3., 4.]])
tf.sparse.to_dense(tf.sparse.transpose(tf.sparse.from_dense([[0, 1, 2], [2, 0, 0]])))
tf.strings.to_hash_bucket_fast(['', 'a', 'abcdefgh', 'x' * 30, 'y' * 60, 'z' * 300], 2**40)
tf.strings.to_hash_bucket_strong(['', 'a', 'abcdefghij'], 2**40, [3, 4])
tf.unravel_index([22, 41, 37], (7, 6))
tf.dynamic_stitch([[0, 2], [1, 3]], [[[1, 2], [5, 6]], [[3, 4], [7, 8]]])
"""


def cases():
    return [line for line in CASES.strip().splitlines() if not line.startswith("#")]


def evaluate(expression, tf):
    """The arrays that an expression gives."""
    value = eval(expression, {"tf": tf, "np": np, **{k: tf.constant(v) for k, v in INPUTS.items()}})
    values = value if isinstance(value, (tuple, list)) else [value]
    return [np.asarray(v) for v in values]
