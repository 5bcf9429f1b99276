"""What TensorFlow's functions and classes call themselves (`__name__`) where that is not the last part of their public
name. Keras writes these names into the files of models, and finds its own functions and initializers by them.
A star: one of several names of one function here, which are several functions there.
"""

import types

_TABLE = """
DeviceSpec DeviceSpecV2
VariableAggregation VariableAggregationV2
__operators__.add _add_dispatch
__operators__.eq tensor_equals
__operators__.getitem _slice_helper
__operators__.ne tensor_not_equals
__operators__.ragged_getitem ragged_tensor_getitem
argmax argmax_v2
argmin argmin_v2
assert_equal assert_equal_v2
assert_greater assert_greater_v2
assert_less assert_less_v2
assert_rank assert_rank_v2
batch_to_space batch_to_space_v2
boolean_mask boolean_mask_v2
case case_v2
cond cond_for_tf_v2
config.experimental.VirtualDeviceConfiguration LogicalDeviceConfiguration
config.experimental.get_virtual_device_configuration get_logical_device_configuration
config.experimental.set_virtual_device_configuration set_logical_device_configuration
config.experimental_functions_run_eagerly experimental_functions_run_eagerly *
config.experimental_run_functions_eagerly experimental_run_functions_eagerly *
config.optimizer.get_experimental_options get_optimizer_experimental_options
config.optimizer.get_jit get_optimizer_jit
config.optimizer.set_experimental_options set_optimizer_experimental_options
config.optimizer.set_jit set_optimizer_jit
constant_initializer Constant
convert_to_tensor convert_to_tensor_v2_with_dispatch
data.Dataset DatasetV2
data.FixedLengthRecordDataset FixedLengthRecordDatasetV2
data.Iterator IteratorBase
data.TFRecordDataset TFRecordDatasetV2
data.TextLineDataset TextLineDatasetV2
data.experimental.Counter CounterV2
data.experimental.CsvDataset CsvDatasetV2
data.experimental.RandomDataset RandomDatasetV2
data.experimental.SqlDataset SqlDatasetV2
data.experimental.choose_from_datasets choose_from_datasets_v2
data.experimental.enumerate_dataset enumerate_dataset *
data.experimental.make_batched_features_dataset make_batched_features_dataset_v2
data.experimental.make_csv_dataset make_csv_dataset_v2
data.experimental.sample_from_datasets sample_from_datasets_v2
debugging.assert_all_finite verify_tensor_all_finite_v2
debugging.assert_equal assert_equal_v2
debugging.assert_greater assert_greater_v2
debugging.assert_greater_equal assert_greater_equal_v2
debugging.assert_integer assert_integer_v2
debugging.assert_less assert_less_v2
debugging.assert_less_equal assert_less_equal_v2
debugging.assert_near assert_near_v2
debugging.assert_negative assert_negative_v2
debugging.assert_non_negative assert_non_negative_v2
debugging.assert_non_positive assert_non_positive_v2
debugging.assert_none_equal assert_none_equal_v2
debugging.assert_positive assert_positive_v2
debugging.assert_rank assert_rank_v2
debugging.assert_rank_at_least assert_rank_at_least_v2
debugging.assert_rank_in assert_rank_in_v2
debugging.assert_scalar assert_scalar_v2
debugging.assert_shapes assert_shapes_v2
debugging.assert_type assert_type_v2
device device_v2
distribute.DistributedDataset DistributedDatasetInterface
distribute.DistributedIterator DistributedIteratorInterface
distribute.MultiWorkerMirroredStrategy CollectiveAllReduceStrategy
distribute.ParameterServerStrategy ParameterServerStrategyV2
distribute.StrategyExtended StrategyExtendedV2
distribute.TPUStrategy TPUStrategyV2
distribute.cluster_resolver.UnionResolver UnionClusterResolver
distribute.experimental.CommunicationOptions _OptionsExported
distribute.experimental.MultiWorkerMirroredStrategy CollectiveAllReduceStrategy
distribute.experimental.ParameterServerStrategy ParameterServerStrategyV2
expand_dims expand_dims_v2
experimental.numpy.absolute absolute *
experimental.numpy.all all *
experimental.numpy.amax amax *
experimental.numpy.amin amin *
experimental.numpy.any any *
experimental.numpy.around around *
experimental.numpy.array array *
experimental.numpy.asanyarray asanyarray *
experimental.numpy.ascontiguousarray ascontiguousarray *
experimental.numpy.bitwise_and bitwise_and
experimental.numpy.bitwise_or bitwise_or
experimental.numpy.bitwise_xor bitwise_xor
experimental.numpy.bool_ bool
experimental.numpy.conj conj *
experimental.numpy.conjugate conjugate *
experimental.numpy.dsplit f
experimental.numpy.empty empty *
experimental.numpy.empty_like empty_like *
experimental.numpy.experimental_enable_numpy_behavior enable_numpy_behavior
experimental.numpy.fabs fabs *
experimental.numpy.flatten flatten *
experimental.numpy.hsplit f
experimental.numpy.max max *
experimental.numpy.mean mean *
experimental.numpy.min min *
experimental.numpy.nanprod nan_reduction
experimental.numpy.nansum nan_reduction
experimental.numpy.ndarray Tensor
experimental.numpy.ones ones *
experimental.numpy.prod prod *
experimental.numpy.round round *
experimental.numpy.sum sum *
experimental.numpy.tril tril
experimental.numpy.triu triu
experimental.numpy.vsplit f
experimental.numpy.zeros zeros *
feature_column.categorical_column_with_vocabulary_file categorical_column_with_vocabulary_file_v2
feature_column.make_parse_example_spec make_parse_example_spec_v2
feature_column.shared_embeddings shared_embedding_columns_v2
foldl foldl_v2
foldr foldr_v2
gather gather_v2
gather_nd gather_nd_v2
get_current_name_scope get_current_name_scope *
get_static_value constant_value
gradients gradients_v2
hessians HessiansV2
image.crop_and_resize crop_and_resize_v2
image.decode_webp decode_web_p
image.draw_bounding_boxes draw_bounding_boxes_v2
image.extract_glimpse extract_glimpse_v2
image.extract_patches extract_image_patches_v2
image.non_max_suppression_overlaps non_max_suppression_with_overlaps
image.resize resize_images_v2
image.resize_with_crop_or_pad resize_image_with_crop_or_pad
image.resize_with_pad resize_image_with_pad_v2
image.sample_distorted_bounding_box sample_distorted_bounding_box_v2
io.decode_csv decode_csv_v2
io.decode_proto decode_proto_v2
io.gfile.copy copy_v2
io.gfile.exists file_exists_v2
io.gfile.glob get_matching_files_v2
io.gfile.isdir is_directory_v2
io.gfile.listdir list_directory_v2
io.gfile.makedirs recursive_create_dir_v2
io.gfile.mkdir create_dir_v2
io.gfile.remove delete_file_v2
io.gfile.rename rename_v2
io.gfile.rmtree delete_recursively_v2
io.gfile.stat stat_v2
io.gfile.walk walk_v2
io.parse_example parse_example_v2
io.parse_single_example parse_single_example_v2
io.serialize_many_sparse serialize_many_sparse_v2
io.serialize_sparse serialize_sparse_v2
linalg.band_part matrix_band_part
linalg.det matrix_determinant
linalg.diag matrix_diag
linalg.diag_part matrix_diag_part
linalg.eigh self_adjoint_eig
linalg.eigvalsh self_adjoint_eigvals
linalg.expm matrix_exponential
linalg.inv matrix_inverse
linalg.logm matrix_logarithm
linalg.lstsq matrix_solve_ls
linalg.norm norm_v2
linalg.set_diag matrix_set_diag
linalg.slogdet log_matrix_determinant
linalg.solve matrix_solve
linalg.sqrtm matrix_square_root
linalg.tensor_diag diag
linalg.triangular_solve matrix_triangular_solve
linspace linspace_nd
make_ndarray MakeNdarray
map_fn map_fn_v2
math.argmax argmax_v2
math.argmin argmin_v2
math.count_nonzero count_nonzero_v2
math.divide_no_nan div_no_nan
math.floormod floor_mod
math.in_top_k in_top_k_v2
math.log_softmax log_softmax_v2
math.mod floor_mod
math.negative neg
math.nextafter next_after
math.scalar_mul scalar_mul_v2
math.softmax softmax_v2
name_scope name_scope_v2
negative neg
nn.avg_pool avg_pool_v2
nn.batch_norm_with_global_normalization batch_norm_with_global_normalization_v2
nn.conv1d conv1d_v2
nn.conv2d conv2d_v2
nn.conv2d_transpose conv2d_transpose_v2
nn.conv3d conv3d_v2
nn.conv3d_transpose conv3d_transpose_v2
nn.convolution convolution_v2
nn.crelu crelu_v2
nn.ctc_beam_search_decoder ctc_beam_search_decoder_v2
nn.ctc_loss ctc_loss_v3
nn.depth_to_space depth_to_space_v2
nn.depthwise_conv2d depthwise_conv2d_v2
nn.depthwise_conv2d_backprop_filter depthwise_conv2d_native_backprop_filter
nn.depthwise_conv2d_backprop_input depthwise_conv2d_native_backprop_input
nn.dilation2d dilation2d_v2
nn.dropout dropout_v2
nn.embedding_lookup embedding_lookup_v2
nn.embedding_lookup_sparse embedding_lookup_sparse_v2
nn.erosion2d erosion2d_v2
nn.fractional_avg_pool fractional_avg_pool_v2
nn.fractional_max_pool fractional_max_pool_v2
nn.in_top_k in_top_k_v2
nn.local_response_normalization lrn
nn.log_softmax log_softmax_v2
nn.max_pool max_pool_v2
nn.max_pool_with_argmax max_pool_with_argmax_v2
nn.moments moments_v2
nn.nce_loss nce_loss_v2
nn.pool pool_v2
nn.safe_embedding_lookup_sparse safe_embedding_lookup_sparse_v2
nn.sampled_softmax_loss sampled_softmax_loss_v2
nn.separable_conv2d separable_conv2d_v2
nn.sigmoid_cross_entropy_with_logits sigmoid_cross_entropy_with_logits_v2
nn.silu swish
nn.softmax softmax_v2
nn.softmax_cross_entropy_with_logits softmax_cross_entropy_with_logits_v2
nn.space_to_batch space_to_batch_v2 *
nn.space_to_depth space_to_depth_v2
nn.sparse_softmax_cross_entropy_with_logits sparse_softmax_cross_entropy_with_logits_v2
nn.sufficient_statistics sufficient_statistics_v2
nn.weighted_cross_entropy_with_logits weighted_cross_entropy_with_logits_v2
nn.weighted_moments weighted_moments_v2
nondifferentiable_batch_function batch_function
norm norm_v2
ones_initializer Ones
ones_like ones_like_v2
pad pad_v2
print print_v2
profiler.experimental.server.start start_server
py_function eager_py_func
ragged_fill_empty_rows ragged_fill_empty_rows
random.experimental.stateless_fold_in fold_in
random.experimental.stateless_split split
random.gamma random_gamma
random.normal random_normal
random.poisson random_poisson_v2
random.shuffle random_shuffle
random.stateless_binomial stateless_random_binomial
random.stateless_gamma stateless_random_gamma
random.stateless_normal stateless_random_normal
random.stateless_poisson stateless_random_poisson
random.stateless_uniform stateless_random_uniform
random.uniform random_uniform
random_normal_initializer RandomNormal
random_uniform_initializer RandomUniform
realdiv real_div
reverse reverse_v2
reverse_sequence reverse_sequence_v2
scalar_mul scalar_mul_v2
scan scan_v2
sets.difference set_difference
sets.intersection set_intersection
sets.size set_size
sets.union set_union
shape shape_v2
signal.fftnd _fftn
signal.ifftnd _ifftn
signal.irfft _irfft
signal.irfft2d _irfft
signal.irfft3d _irfft
signal.irfftnd _irfftn
signal.rfft _rfft
signal.rfft2d _rfft
signal.rfft3d _rfft
signal.rfftnd _rfftn
size size_v2
space_to_batch space_to_batch_v2 *
sparse.add sparse_add_v2
sparse.bincount sparse_bincount
sparse.concat sparse_concat_v2
sparse.cross sparse_cross
sparse.cross_hashed sparse_cross_hashed
sparse.expand_dims sparse_expand_dims
sparse.eye sparse_eye
sparse.fill_empty_rows sparse_fill_empty_rows
sparse.mask sparse_mask
sparse.maximum sparse_maximum
sparse.minimum sparse_minimum
sparse.reduce_max sparse_reduce_max_v2
sparse.reduce_sum sparse_reduce_sum_v2
sparse.reorder sparse_reorder
sparse.reset_shape sparse_reset_shape
sparse.reshape sparse_reshape
sparse.retain sparse_retain
sparse.segment_mean sparse_segment_mean_v2
sparse.segment_sqrt_n sparse_segment_sqrt_n_v2
sparse.segment_sum sparse_segment_sum_v2
sparse.slice sparse_slice
sparse.softmax sparse_softmax
sparse.sparse_dense_matmul sparse_tensor_dense_matmul
sparse.split sparse_split_v2
sparse.to_dense sparse_tensor_to_dense
sparse.to_indicator sparse_to_indicator
sparse.transpose sparse_transpose
squeeze squeeze_v2
strings.bytes_split string_bytes_split
strings.format string_format
strings.join string_join
strings.length string_length_v2
strings.lower string_lower
strings.reduce_join reduce_join_v2
strings.split string_split_v2
strings.strip string_strip
strings.substr substr_v2
strings.to_hash_bucket string_to_hash_bucket
strings.to_hash_bucket_fast string_to_hash_bucket_fast
strings.to_hash_bucket_strong string_to_hash_bucket_strong
strings.to_number string_to_number
strings.upper string_upper
summary.create_file_writer create_file_writer_v2
tensor_scatter_nd_add tensor_scatter_add
tensor_scatter_nd_max tensor_scatter_max
tensor_scatter_nd_min tensor_scatter_min
tensor_scatter_nd_sub tensor_scatter_sub
test.TestCase TensorFlowTestCase
transpose transpose_v2
truncatediv truncate_div
truncatemod truncate_mod
tuple tuple_v2
types.experimental.TensorLike Union
where where_v2
while_loop while_loop_v2
xla.experimental.jit_scope experimental_jit_scope
zeros_initializer Zeros
zeros_like zeros_like_v2
"""

OTHER_NAMES = dict(line.split()[:2] for line in _TABLE.split("\n") if line)
_COPIED = frozenset(line.split()[0] for line in _TABLE.split("\n") if line.endswith("*"))
_GENERATED = "tandem._generated.ops"


def named(value, full):
    """A public object under TensorFlow's `__name__`."""
    wanted = OTHER_NAMES.get(full)
    is_function = isinstance(value, types.FunctionType)
    if wanted is None:
        if not is_function or value.__module__ != _GENERATED:
            return value
        wanted = full.rpartition(".")[2]
    if full in _COPIED:
        return _copy(value, wanted)
    if (is_function or isinstance(value, type)) and value.__name__ != wanted:
        value.__name__ = wanted
    return value


def _copy(function, name):
    """A function of its own, of one that has several public names and as many of TensorFlow's."""
    made = types.FunctionType(
        function.__code__, function.__globals__, name, function.__defaults__, function.__closure__
    )  # fmt: skip
    made.__kwdefaults__, made.__doc__, made.__module__ = function.__kwdefaults__, function.__doc__, function.__module__
    made.__dict__.update(function.__dict__)
    return made
