"""Raw ops of networks and images: convolutions, pools, normalization, boxes, codecs."""

import math

from tandem._core import convert_to_tensor, execute
from tandem.framework.gradients import GradientTape
from tandem.ops import nn as _nn
from tandem.ops.raw.arrays import text_of, values  # noqa: F401  (names in the table)

TABLE = """
AdjustContrast: ClipByValue(tf.image.adjust_contrast(tf.cast(images, 'float32'), contrast_factor), min_value, max_value)
AdjustContrastv2: tf.image.adjust_contrast(images, contrast_factor)
AdjustSaturation: tf.image.adjust_saturation(images, scale)
AudioSpectrogram: spectrogram(input, window_size, stride, magnitude_squared)
AvgPool: AvgPool(value, ksize=ksize, strides=strides, padding=padding, data_format=data_format)
BatchNormWithGlobalNormalization: global_norm(t, m, v, beta, gamma, variance_epsilon, scale_after_normalization)
BatchNormWithGlobalNormalizationGrad: global_norm_grad(t, m, v, gamma, backprop, variance_epsilon, scale_after_normalization)
BiasAddV1: BiasAdd(value, bias)
CombinedNonMaxSuppression: tf.image.combined_non_max_suppression(boxes, scores, max_output_size_per_class, max_total_size, iou_threshold, score_threshold, pad_per_class, clip_boxes)
Conv: tf.conv(input, filter, strides, padding, explicit_paddings, data_format, dilations, batch_dims, groups)
Conv2DBackpropFilterV2: Conv2DBackpropFilter(input, tf.shape(filter), out_backprop, strides=strides, padding=padding, explicit_paddings=explicit_paddings, data_format=data_format, dilations=dilations)
Conv2DBackpropInputV2: Conv2DBackpropInput(tf.shape(input), filter, out_backprop, strides=strides, padding=padding, explicit_paddings=explicit_paddings, data_format=data_format, dilations=dilations)
Conv3DBackpropFilter: Conv3DBackpropFilterV2(input, tf.shape(filter), out_backprop, strides=strides, padding=padding, dilations=dilations, data_format='NDHWC')
Conv3DBackpropInput: Conv3DBackpropInputV2(tf.shape(input), filter, out_backprop, strides=strides, padding=padding, dilations=dilations, data_format='NDHWC')
CropAndResizeGradBoxes: CropAndResizeGradBoxes(grads, image, boxes, box_ind)
CropAndResizeGradImage: tf.cast(CropAndResizeGradImage(grads, boxes, box_ind, image_size, method=method), T)
Dilation2D: tf.nn.dilation2d(input, filter, strides, padding, 'NHWC', rates)
Dilation2DBackpropFilter: gradient(lambda f: tf.nn.dilation2d(input, f, strides, padding, 'NHWC', rates), filter, out_backprop)
Dilation2DBackpropInput: gradient(lambda x: tf.nn.dilation2d(x, filter, strides, padding, 'NHWC', rates), input, out_backprop)
DrawBoundingBoxes: tf.image.draw_bounding_boxes(images, boxes, tf.zeros([0, 4]))
EncodeJpegVariableQuality: EncodeJpeg(images, quality=values(quality))
EncodeJpeg: EncodeJpeg(image, format=format, quality=quality, progressive=progressive, optimize_size=optimize_size, chroma_downsampling=chroma_downsampling, density_unit=density_unit, x_density=x_density, y_density=y_density)
ExtractGlimpse, ExtractGlimpseV2: tf.image.extract_glimpse(input, size, offsets, centered, normalized, noise)
ExtractImagePatches: tf.image.extract_patches(images, ksizes, strides, rates, padding)
ExtractJpegShape: ExtractJpegShape(contents, out_type=output_type)
FractionalAvgPool: tf.nn.fractional_avg_pool(value, pooling_ratio, pseudo_random, overlapping, seed + seed2)
FractionalMaxPool: tf.nn.fractional_max_pool(value, pooling_ratio, pseudo_random, overlapping, seed + seed2)
FractionalAvgPoolGrad: fractional_grad(False, tf.zeros(orig_input_tensor_shape, out_backprop.dtype), out_backprop, row_pooling_sequence, col_pooling_sequence, overlapping)
FractionalMaxPoolGrad: fractional_grad(True, orig_input, out_backprop, row_pooling_sequence, col_pooling_sequence, overlapping)
FusedBatchNorm, FusedBatchNormV2: FusedBatchNormV3(x, scale, offset, mean, variance, epsilon=epsilon, exponential_avg_factor=exponential_avg_factor, data_format=data_format, is_training=is_training)[:5]
FusedBatchNormGrad, FusedBatchNormGradV2: FusedBatchNormGradV3(y_backprop, x, scale, reserve_space_1, reserve_space_2, reserve_space_2, epsilon=epsilon, data_format=data_format, is_training=is_training)
FusedPadConv2D: Conv2D(MirrorPad(input, paddings, mode=mode), filter, strides=strides, padding=padding)
FusedResizeAndPadConv2D: Conv2D(MirrorPad(ResizeBilinear(input, size, align_corners=resize_align_corners), paddings, mode=mode), filter, strides=strides, padding=padding)
GenerateBoundingBoxProposals: tf.image.generate_bounding_box_proposals(scores, bbox_deltas, image_info, anchors, nms_threshold, pre_nms_topn, min_size, post_nms_topn)
ImageProjectiveTransformV2: ImageProjectiveTransformV3(images, transforms, output_shape, 0.0, interpolation=interpolation, fill_mode=fill_mode)
LRN: tf.nn.local_response_normalization(input, depth_radius, bias, alpha, beta)
LRNGrad: gradient(lambda x: tf.nn.local_response_normalization(x, depth_radius, bias, alpha, beta), input_image, input_grads)
MaxPoolV2: MaxPool(input, ksize=values(ksize), strides=values(strides), padding=padding, data_format=data_format)
MaxPoolGradV2: MaxPoolGrad(orig_input, orig_output, grad, ksize=values(ksize), strides=values(strides), padding=padding, data_format=data_format)
MaxPoolGradGradV2: MaxPoolGradGrad(orig_input, orig_output, grad, ksize=values(ksize), strides=values(strides), padding=padding, data_format=data_format)
MaxPoolWithArgmax: MaxPoolWithArgmax(input, ksize=ksize, strides=strides, padding=padding, argmax_type=Targmax, include_batch_in_index=include_batch_in_index)
MaxPoolGradGradWithArgmax: at_argmax(grad, argmax, include_batch_in_index)
NonMaxSuppression: tf.image.non_max_suppression(boxes, scores, max_output_size, iou_threshold)
NonMaxSuppressionV2: tf.image.non_max_suppression(boxes, scores, max_output_size, iou_threshold)
NonMaxSuppressionV3: tf.image.non_max_suppression(boxes, scores, max_output_size, iou_threshold, score_threshold)
NonMaxSuppressionV4: suppressed(boxes, scores, max_output_size, iou_threshold, score_threshold, pad_to_max_output_size)
NonMaxSuppressionV5: suppressed_softly(boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma, pad_to_max_output_size)
NonMaxSuppressionWithOverlaps: tf.image.non_max_suppression_overlaps(overlaps, scores, max_output_size, overlap_threshold, score_threshold)
RandomCrop: tf.image.random_crop(image, [*values(size), image.shape[2]], one_seed(seed, seed2))
SampleDistortedBoundingBox, SampleDistortedBoundingBoxV2: box(tf.image.sample_distorted_bounding_box, image_size, bounding_boxes, one_seed(seed, seed2) or 0, min_object_covered, aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes)
StatelessSampleDistortedBoundingBox: box(tf.image.stateless_sample_distorted_bounding_box, image_size, bounding_boxes, seed, min_object_covered, aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes)
"""


def one_seed(seed, seed2):
    from tandem.ops.raw.maths import one_seed as made

    return made(seed, seed2)


def gradient(function, x, backprop):
    """The gradient of an op with respect to one input."""
    x = convert_to_tensor(x)
    with GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x, output_gradients=convert_to_tensor(backprop))


def spectrogram(input, window_size, stride, squared):
    """[channels, frames, frequencies] of samples by channels, with a periodic Hann window."""
    from tandem.ops import signal

    length = 1
    while length < window_size:
        length *= 2
    rows = execute("Transpose", convert_to_tensor(input), perm=[1, 0])
    hann = convert_to_tensor([0.5 - 0.5 * math.cos(2 * math.pi * i / window_size) for i in range(window_size)], rows.dtype)
    found = signal.stft(rows, window_size, stride, length, window_fn=lambda size, dtype: hann)
    size = execute("ComplexAbs", found)
    return execute("Square", size) if squared else size


def global_norm(t, m, v, beta, gamma, epsilon, scaled):
    return _nn.batch_normalization(t, m, v, beta, gamma if scaled else None, epsilon)


def global_norm_grad(t, m, v, gamma, backprop, epsilon, scaled):
    inputs = [convert_to_tensor(x) for x in (t, m, v, gamma)]
    beta = execute("ZerosLike", inputs[1])
    with GradientTape() as tape:
        for x in (*inputs, beta):
            tape.watch(x)
        y = global_norm(inputs[0], inputs[1], inputs[2], beta, inputs[3], epsilon, scaled)
    t, m, v, gamma = inputs
    found = tape.gradient(y, [t, m, v, beta, gamma], output_gradients=convert_to_tensor(backprop))
    return found[:4] + [execute("ZerosLike", gamma) if found[4] is None else found[4]]


def fractional_grad(largest, input, backprop, rows, columns, overlapping):
    from tandem.ops import fractional_pool

    return gradient(lambda x: fractional_pool.pooled(x, values(rows), values(columns), overlapping, largest), input, backprop)


def at_argmax(grad, argmax, with_batch):
    """Elements of a tensor of the input's shape at the places of the largest ones."""
    grad, argmax = convert_to_tensor(grad), convert_to_tensor(argmax)
    if with_batch:
        return execute("GatherV2", execute("Reshape", grad, [-1]), argmax, axis=0)
    flat = execute("Reshape", grad, [grad.shape[0], -1])
    picked = execute("GatherV2", flat, execute("Reshape", argmax, [argmax.shape[0], -1]), axis=1, batch_dims=1)
    return execute("Reshape", picked, execute("Shape", argmax))


def suppressed(boxes, scores, most, overlap, score, padded):
    from tandem import image

    if padded:
        return image.non_max_suppression_padded(boxes, scores, most, overlap, score, pad_to_max_output_size=True)
    found = image.non_max_suppression(boxes, scores, most, overlap, score)
    return found, execute("Size", found)


def suppressed_softly(boxes, scores, most, overlap, score, sigma, padded):
    found, kept = execute("NonMaxSuppressionV5", boxes, scores, most, overlap, score, sigma)[:2]
    count = execute("Size", found)
    if padded:
        more = [[0, convert_to_tensor(most) - count]]
        found, kept = execute("Pad", found, more), execute("Pad", kept, more)
    return found, kept, count


def box(sample, size, boxes, seed, covered, ratios, areas, attempts, use_image):
    return sample(size, boxes, seed, covered, ratios, areas, attempts, use_image)
