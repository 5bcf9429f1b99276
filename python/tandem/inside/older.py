"""Functions of TensorFlow 1 that differ from those of today in the order and names of their arguments alone.

`ARGUMENTS` says for each module what such a function is called there, its arguments, the public function that does it,
and which argument is meant where the name is an older one. `<` stands for an argument that has no effect any more.
"""

import inspect

from tandem import _namespaces

ARGUMENTS = {
    "python.autograph.impl.api": """
        to_code_v1(entity, recursive=True, arg_values=None, arg_types=None, indentation='  ',
          experimental_optional_features=None) = autograph.to_code arg_values< arg_types< indentation<
        to_graph_v1(entity, recursive=True, arg_values=None, arg_types=None, experimental_optional_features=None)
          = autograph.to_graph arg_values< arg_types<
    """,
    "python.data.experimental.ops.counter": """
        CounterV1(start=0, step=1, dtype='int64') = data.experimental.Counter
    """,
    "python.data.experimental.ops.interleave_ops": """
        choose_from_datasets_v1(datasets, choice_dataset, stop_on_empty_dataset=False)
          = data.experimental.choose_from_datasets
        sample_from_datasets_v1(datasets, weights=None, seed=None, stop_on_empty_dataset=False)
          = data.experimental.sample_from_datasets
    """,
    "python.framework.ops": "device(device_name_or_function) = device device_name_or_function>device_name",
    "python.framework.tensor_conversion": """
        convert_to_tensor_v1_with_dispatch(value, dtype=None, name=None, preferred_dtype=None, dtype_hint=None)
          = convert_to_tensor preferred_dtype>dtype_hint
    """,
    "python.lib.io.file_io": """
        copy(oldpath, newpath, overwrite=False) = io.gfile.copy oldpath>src newpath>dst
        create_dir(dirname) = io.gfile.mkdir dirname>path
        delete_file(filename) = io.gfile.remove filename>path
        delete_recursively(dirname) = io.gfile.rmtree dirname>path
        file_exists(filename) = io.gfile.exists filename>path
        get_matching_files(filename) = io.gfile.glob filename>pattern
        is_directory(dirname) = io.gfile.isdir dirname>path
        list_directory(dirname) = io.gfile.listdir dirname>path
        recursive_create_dir(dirname) = io.gfile.makedirs dirname>path
        rename(oldname, newname, overwrite=False) = io.gfile.rename oldname>src newname>dst
        walk(top, in_order=True) = io.gfile.walk in_order>topdown
    """,
    "python.ops.array_ops": """
        boolean_mask(tensor, mask, name='boolean_mask', axis=None) = boolean_mask
        depth_to_space(input, block_size, name=None, data_format='NHWC') = nn.depth_to_space
        expand_dims(input, axis=None, name=None, dim=None) = expand_dims dim>axis
        gather(params, indices, validate_indices=None, name=None, axis=None, batch_dims=0) = gather
        gather_nd(params, indices, name=None, batch_dims=0, bad_indices_policy='') = gather_nd
        ones_like(tensor, dtype=None, name=None, optimize=True) = ones_like tensor>input optimize<
        pad(tensor, paddings, mode='CONSTANT', name=None, constant_values=0) = pad
        reverse_sequence(input, seq_lengths, seq_axis=None, batch_axis=None, name=None, seq_dim=None, batch_dim=None)
          = reverse_sequence seq_dim>seq_axis batch_dim>batch_axis
        shape(input, name=None, out_type=None) = shape
        size(input, name=None, out_type=None) = size
        space_to_depth(input, block_size, name=None, data_format='NHWC') = nn.space_to_depth
        squeeze(input, axis=None, name=None, squeeze_dims=None) = squeeze squeeze_dims>axis
        transpose(a, perm=None, name='transpose', conjugate=False) = transpose
        zeros_like(tensor, dtype=None, name=None, optimize=True) = zeros_like tensor>input optimize<
    """,
    "python.ops.bincount_ops": """
        bincount_v1(arr, weights=None, minlength=None, maxlength=None, dtype='int32') = math.bincount
    """,
    "python.ops.check_ops": """
        assert_equal(x, y, data=None, summarize=None, message=None, name=None) = debugging.assert_equal data<
        assert_greater(x, y, data=None, summarize=None, message=None, name=None) = debugging.assert_greater data<
        assert_greater_equal(x, y, data=None, summarize=None, message=None, name=None)
          = debugging.assert_greater_equal data<
        assert_integer(x, message=None, name=None) = debugging.assert_integer
        assert_less(x, y, data=None, summarize=None, message=None, name=None) = debugging.assert_less data<
        assert_less_equal(x, y, data=None, summarize=None, message=None, name=None) = debugging.assert_less_equal data<
        assert_near(x, y, rtol=None, atol=None, data=None, summarize=None, message=None, name=None)
          = debugging.assert_near data<
        assert_negative(x, data=None, summarize=None, message=None, name=None) = debugging.assert_negative data<
        assert_non_negative(x, data=None, summarize=None, message=None, name=None) = debugging.assert_non_negative data<
        assert_non_positive(x, data=None, summarize=None, message=None, name=None) = debugging.assert_non_positive data<
        assert_none_equal(x, y, data=None, summarize=None, message=None, name=None) = debugging.assert_none_equal data<
        assert_positive(x, data=None, summarize=None, message=None, name=None) = debugging.assert_positive data<
        assert_rank(x, rank, data=None, summarize=None, message=None, name=None) = debugging.assert_rank data< summarize<
        assert_rank_at_least(x, rank, data=None, summarize=None, message=None, name=None)
          = debugging.assert_rank_at_least data< summarize<
        assert_rank_in(x, ranks, data=None, summarize=None, message=None, name=None)
          = debugging.assert_rank_in data< summarize<
        assert_scalar(tensor, name=None, message=None) = debugging.assert_scalar
        assert_shapes(shapes, data=None, summarize=None, message=None, name=None) = debugging.assert_shapes
        assert_type(tensor, tf_type, message=None, name=None) = debugging.assert_type
    """,
    "python.ops.cond": """
        cond(pred, true_fn=None, false_fn=None, strict=False, name=None, fn1=None, fn2=None)
          = cond strict< fn1>true_fn fn2>false_fn
    """,
    "python.ops.control_flow_case": """
        case(pred_fn_pairs, default=None, exclusive=False, strict=False, name='case') = case
    """,
    "python.ops.control_flow_ops": "tuple(tensors, name=None, control_inputs=None) = tuple",
    "python.ops.confusion_matrix": """
        confusion_matrix_v1(labels, predictions, num_classes=None, dtype='int32', name=None, weights=None)
          = math.confusion_matrix
    """,
    "python.ops.functional_ops": """
        foldl(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None) = foldl
        foldr(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None) = foldr
        scan(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, infer_shape=True,
          reverse=False, name=None) = scan
    """,
    "python.ops.gradients_impl": """
        gradients(ys, xs, grad_ys=None, name='gradients', colocate_gradients_with_ops=False, gate_gradients=False,
          aggregation_method=None, stop_gradients=None, unconnected_gradients='none')
          = gradients colocate_gradients_with_ops<
        hessians(ys, xs, name='hessians', colocate_gradients_with_ops=False, gate_gradients=False,
          aggregation_method=None) = hessians colocate_gradients_with_ops<
    """,
    "python.ops.image_ops_impl": """
        crop_and_resize_v1(image, boxes, box_ind=None, crop_size=None, method='bilinear', extrapolation_value=0,
          name=None, box_indices=None) = image.crop_and_resize box_ind>box_indices
        draw_bounding_boxes(images, boxes, name=None, colors=None) = image.draw_bounding_boxes
    """,
    "python.ops.linalg_ops": """
        norm(tensor, ord='euclidean', axis=None, keepdims=None, name=None, keep_dims=None) = linalg.norm keep_dims>keepdims
    """,
    "python.ops.map_fn": """
        map_fn(fn, elems, dtype=None, parallel_iterations=None, back_prop=True, swap_memory=False, infer_shape=True,
          name=None, fn_output_signature=None) = map_fn
    """,
    "python.ops.math_ops": """
        argmax(input, axis=None, name=None, dimension=None, output_type='int64') = argmax dimension>axis
        argmin(input, axis=None, name=None, dimension=None, output_type='int64') = argmin dimension>axis
        arg_max(input, dimension, output_type='int64', name=None) = argmax dimension>axis
        arg_min(input, dimension, output_type='int64', name=None) = argmin dimension>axis
        count_nonzero(input_tensor=None, axis=None, keepdims=None, dtype='int64', name=None, reduction_indices=None,
          keep_dims=None, input=None) = math.count_nonzero input_tensor>input reduction_indices>axis keep_dims>keepdims
        reduce_all_v1(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None)
          = reduce_all reduction_indices>axis keep_dims>keepdims
        reduce_any_v1(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None)
          = reduce_any reduction_indices>axis keep_dims>keepdims
        reduce_logsumexp_v1(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None)
          = reduce_logsumexp reduction_indices>axis keep_dims>keepdims
        reduce_max_v1(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None)
          = reduce_max reduction_indices>axis keep_dims>keepdims
        reduce_mean_v1(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None)
          = reduce_mean reduction_indices>axis keep_dims>keepdims
        reduce_min_v1(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None)
          = reduce_min reduction_indices>axis keep_dims>keepdims
        reduce_prod_v1(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None)
          = reduce_prod reduction_indices>axis keep_dims>keepdims
        reduce_sum_v1(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None)
          = reduce_sum reduction_indices>axis keep_dims>keepdims
        scalar_mul(scalar, x, name=None) = scalar_mul
        sparse_segment_mean(data, indices, segment_ids, name=None, num_segments=None, sparse_gradient=False)
          = sparse.segment_mean
        sparse_segment_sqrt_n(data, indices, segment_ids, name=None, num_segments=None, sparse_gradient=False)
          = sparse.segment_sqrt_n
        sparse_segment_sum(data, indices, segment_ids, name=None, num_segments=None, sparse_gradient=False)
          = sparse.segment_sum
    """,
    "python.ops.nn_impl": """
        moments(x, axes, shift=None, name=None, keep_dims=None, keepdims=None) = nn.moments keep_dims>keepdims
        sufficient_statistics(x, axes, shift=None, keep_dims=None, name=None, keepdims=None)
          = nn.sufficient_statistics keep_dims>keepdims
        weighted_cross_entropy_with_logits(labels=None, logits=None, pos_weight=None, name=None, targets=None)
          = nn.weighted_cross_entropy_with_logits targets>labels
        weighted_moments(x, axes, frequency_weights, name=None, keep_dims=None, keepdims=None)
          = nn.weighted_moments keep_dims>keepdims
    """,
    "python.ops.nn_ops": """
        avg_pool(value, ksize, strides, padding, data_format='NHWC', name=None, input=None) = nn.avg_pool value>input
        conv1d(value=None, filters=None, stride=None, padding=None, use_cudnn_on_gpu=None, data_format=None, name=None,
          input=None, dilations=None) = nn.conv1d value>input use_cudnn_on_gpu<
        conv2d(input, filter=None, strides=None, padding=None, use_cudnn_on_gpu=True, data_format='NHWC',
          dilations=[1, 1, 1, 1], name=None, filters=None) = nn.conv2d filter>filters use_cudnn_on_gpu<
        conv2d_transpose(value=None, filter=None, output_shape=None, strides=None, padding='SAME', data_format='NHWC',
          name=None, input=None, filters=None, dilations=None) = nn.conv2d_transpose value>input filter>filters
        conv3d_v1(input, filter=None, strides=None, padding=None, data_format='NDHWC', dilations=[1, 1, 1, 1, 1],
          name=None, filters=None) = nn.conv3d filter>filters
        conv3d_transpose(value, filter=None, output_shape=None, strides=None, padding='SAME', data_format='NDHWC',
          name=None, input=None, filters=None, dilations=None) = nn.conv3d_transpose value>input filter>filters
        convolution(input, filter, padding, strides=None, dilation_rate=None, name=None, data_format=None, filters=None,
          dilations=None) = nn.convolution filter>filters dilation_rate>dilations
        crelu(features, name=None, axis=-1) = nn.crelu
        in_top_k(predictions, targets, k, name=None) = math.in_top_k
        log_softmax(logits, axis=None, name=None, dim=None) = nn.log_softmax dim>axis
        max_pool(value, ksize, strides, padding, data_format='NHWC', name=None, input=None) = nn.max_pool value>input
        pool(input, window_shape, pooling_type, padding, dilation_rate=None, strides=None, name=None, data_format=None,
          dilations=None) = nn.pool dilation_rate>dilations
        softmax(logits, axis=None, name=None, dim=None) = nn.softmax dim>axis
        softmax_cross_entropy_with_logits_v2_helper(labels, logits, axis=None, name=None, dim=None)
          = nn.softmax_cross_entropy_with_logits dim>axis
    """,
    "python.ops.numerics": """
        verify_tensor_all_finite(t=None, msg=None, name=None, x=None, message=None)
          = debugging.assert_all_finite t>x msg>message
    """,
    "python.ops.parsing_ops": """
        decode_csv(records, record_defaults, field_delim=',', use_quote_delim=True, name=None, na_value='',
          select_cols=None) = io.decode_csv
        decode_raw_v1(input_bytes=None, out_type=None, little_endian=True, name=None, bytes=None)
          = io.decode_raw bytes>input_bytes
        parse_example(serialized, features, name=None, example_names=None) = io.parse_example
        parse_single_example(serialized, features, name=None, example_names=None) = io.parse_single_example
    """,
    "python.ops.random_ops": """
        random_poisson(lam, shape, dtype='float32', seed=None, name=None) = random.poisson
    """,
    "python.ops.sparse_ops": """
        sparse_add(a, b, threshold=None, thresh=None) = sparse.add thresh>threshold
        sparse_concat(axis, sp_inputs, name=None, expand_nonconcat_dim=False, concat_dim=None,
          expand_nonconcat_dims=None) = sparse.concat expand_nonconcat_dim>expand_nonconcat_dims concat_dim>axis
        sparse_reduce_max(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None)
          = sparse.reduce_max reduction_axes>axis keep_dims>keepdims
        sparse_reduce_sum(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None)
          = sparse.reduce_sum reduction_axes>axis keep_dims>keepdims
        sparse_split(*, sp_input=None, num_split=None, axis=None, name=None, split_dim=None)
          = sparse.split split_dim>axis
    """,
    "python.ops.string_ops": """
        reduce_join(inputs, axis=None, keep_dims=None, separator='', name=None, reduction_indices=None, keepdims=None)
          = strings.reduce_join keep_dims>keepdims reduction_indices>axis
        string_length(input, name=None, unit='BYTE') = strings.length
        string_to_hash_bucket_v1(string_tensor=None, num_buckets=None, name=None, input=None)
          = strings.to_hash_bucket string_tensor>input
        string_to_number_v1(string_tensor=None, out_type='float32', name=None, input=None)
          = strings.to_number string_tensor>input
        substr(input, pos, len, name=None, unit='BYTE') = strings.substr
        substr_deprecated(input, pos, len, name=None, unit='BYTE') = strings.substr
    """,
    "python.saved_model.loader_impl": """
        maybe_saved_model_directory(export_dir) = saved_model.contains_saved_model
    """,
}


def find(module, name):
    """The function of a module of TensorFlow's, or None."""
    text = ARGUMENTS.get(module, "")
    for entry in _entries(text):
        if entry.startswith(name + "("):
            return _made(name, entry)
    return None


def _entries(text):
    """The entries of a table: one goes on where a line does not begin with another name and bracket."""
    entry = ""
    for line in filter(None, (line.strip() for line in text.split("\n"))):
        if entry and "(" in line.split(",")[0].split("=")[0].split(" ")[0]:
            yield entry
            entry = ""
        entry += " " + line if entry else line
    if entry:
        yield entry


def _made(name, entry):
    head, _, rest = entry.rpartition(") = ")
    target, *notes = rest.split()
    signature = _signature(head[len(name) + 1 :])
    renamed = dict(note.split(">") for note in notes if ">" in note)
    dropped = {note[:-1] for note in notes if note.endswith("<")}

    def function(*args, **kwargs):
        given = signature.bind(*args, **kwargs).arguments
        passed = {}
        for own, value in given.items():
            wanted = renamed.get(own, own)
            if own in dropped or (value is None and wanted != own):
                continue
            if wanted in passed and passed[wanted] is not None:
                raise ValueError(f"{name}: `{own}` and `{wanted}` are the same argument; give one of them.")
            passed[wanted] = value
        made = _namespaces.get(target)
        return made(**{k: v for k, v in passed.items() if v is not None or not _has_default(made, k)})

    function.__name__ = function.__qualname__ = name
    function.__signature__ = signature
    function.__doc__ = f"TensorFlow 1's form of tf.{target}."
    return function


def _has_default(function, name):
    """None stands for the default, whatever it is."""
    try:
        return inspect.signature(function).parameters[name].default is not inspect.Parameter.empty
    except (KeyError, ValueError, TypeError):
        return False


def _signature(text):
    """The signature that a list of arguments describes; defaults are constants."""
    import ast

    arguments = ast.parse(f"lambda {text}: 0", mode="eval").body.args
    missing = [inspect.Parameter.empty] * (len(arguments.args) - len(arguments.defaults))
    defaults = missing + [ast.literal_eval(d) for d in arguments.defaults]
    kind = inspect.Parameter
    parameters = [kind(a.arg, kind.POSITIONAL_OR_KEYWORD, default=d) for a, d in zip(arguments.args, defaults)]
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults)
    parameters += [kind(a.arg, kind.KEYWORD_ONLY, default=ast.literal_eval(d)) for a, d in pairs]
    return inspect.Signature(parameters)
