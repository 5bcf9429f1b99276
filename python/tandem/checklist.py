"""The names of TensorFlow that its guides and tutorials use, by namespace: what `tandem coverage` counts.

Those that only ParameterServerStrategy needs are left out.
"""

NAMES = {
    "tf": """
        GradientTape Module RaggedTensor.from_nested_row_splits RaggedTensor.from_row_lengths
        RaggedTensor.from_row_splits RaggedTensor.from_sparse RaggedTensor.from_tensor
        RaggedTensor.from_uniform_row_length RaggedTensor.from_value_rowids RaggedTensorSpec SparseTensor Tensor
        TensorArray TensorShape TensorSpec UnconnectedGradients.ZERO Variable __version__ abs add add_n argmax
        argmin bool broadcast_to cast clip_by_norm clip_by_value concat cond constant convert_to_tensor cumsum
        custom_gradient device einsum equal exp expand_dims eye fill float16 float32 float64 function gather
        gather_nd greater identity init_scope int16 int32 int64 less linspace map_fn matmul maximum meshgrid
        minimum multiply newaxis norm not_equal numpy_function one_hot ones ones_like pad pow print py_function
        random_normal_initializer range rank reduce_all reduce_max reduce_mean reduce_min reduce_prod reduce_sum
        reshape reverse roll scatter_nd shape sigmoid sign size slice split sqrt square squeeze stack
        stop_gradient string tanh tensor_scatter_nd_add tensor_scatter_nd_max tensor_scatter_nd_min
        tensor_scatter_nd_sub tile transpose type_spec_from_value uint8 vectorized_map where while_loop zeros
        zeros_like
    """,
    "tf.audio": """
        decode_wav
    """,
    "tf.autograph": """
        to_code
    """,
    "tf.config": """
        LogicalDeviceConfiguration list_logical_devices list_physical_devices run_functions_eagerly
        set_logical_device_configuration set_soft_device_placement set_visible_devices
    """,
    "tf.config.experimental": """
        VirtualDeviceConfiguration set_memory_growth set_virtual_device_configuration
    """,
    "tf.config.optimizer": """
        get_experimental_options set_experimental_options
    """,
    "tf.data": """
        AUTOTUNE Dataset Dataset.from_generator Dataset.from_tensor_slices Dataset.from_tensors
        Dataset.list_files Dataset.range Dataset.sample_from_datasets Dataset.zip Options TFRecordDataset
        TextLineDataset
    """,
    "tf.data.experimental": """
        AUTOTUNE AutoShardPolicy.DATA AutoShardPolicy.OFF Counter CsvDataset cardinality dense_to_ragged_batch
        make_csv_dataset
    """,
    "tf.debugging": """
        check_numerics set_log_device_placement
    """,
    "tf.distribute": """
        HierarchicalCopyAllReduce MirroredStrategy MultiWorkerMirroredStrategy OneDeviceStrategy ReduceOp.SUM
        get_strategy
    """,
    "tf.distribute.experimental": """
        CentralStorageStrategy CommunicationImplementation.NCCL CommunicationOptions
    """,
    "tf.dtypes": """
        float32 int32 int64 string
    """,
    "tf.errors": """
        InvalidArgumentError
    """,
    "tf.experimental": """
        BatchableExtensionType DynamicRaggedShape DynamicRaggedShape.from_lengths ExtensionType
        RowPartition.from_row_lengths dispatch_for_api dispatch_for_binary_elementwise_apis
        dispatch_for_unary_elementwise_apis unregister_dispatch_for
    """,
    "tf.experimental.numpy": """
        add arange asarray copy exp expand_dims experimental_enable_numpy_behavior float32 float64 int32 int64
        matmul maximum ndarray newaxis ones sqrt square sum
    """,
    "tf.experimental.numpy.random": """
        randn
    """,
    "tf.image": """
        ResizeMethod.NEAREST_NEIGHBOR adjust_brightness adjust_contrast adjust_saturation central_crop
        convert_image_dtype decode_image decode_png flip_left_right random_crop random_flip_left_right resize
        resize_with_crop_or_pad resize_with_pad rgb_to_grayscale rot90 sobel_edges stateless_random_brightness
        stateless_random_contrast stateless_random_crop total_variation
    """,
    "tf.initializers": """
        zeros
    """,
    "tf.io": """
        FixedLenFeature RaggedFeature TFRecordWriter decode_csv decode_image decode_jpeg decode_png decode_raw
        parse_example parse_single_example read_file
    """,
    "tf.io.gfile": """
        listdir makedirs rmtree
    """,
    "tf.keras": """
        Input Model Sequential
    """,
    "tf.keras.applications": """
        EfficientNetB0 InceptionV3 MobileNet MobileNetV2 VGG19
    """,
    "tf.keras.applications.inception_v3": """
        preprocess_input
    """,
    "tf.keras.applications.mobilenet": """
        preprocess_input
    """,
    "tf.keras.applications.mobilenet_v2": """
        decode_predictions preprocess_input
    """,
    "tf.keras.applications.vgg19": """
        decode_predictions preprocess_input
    """,
    "tf.keras.callbacks": """
        BackupAndRestore Callback EarlyStopping LearningRateScheduler ModelCheckpoint TensorBoard
    """,
    "tf.keras.datasets": """
        fashion_mnist mnist
    """,
    "tf.keras.datasets.cifar10": """
        load_data
    """,
    "tf.keras.datasets.fashion_mnist": """
        load_data
    """,
    "tf.keras.datasets.mnist": """
        load_data
    """,
    "tf.keras.initializers": """
        Constant Zeros
    """,
    "tf.keras.layers": """
        Activation BatchNormalization CategoryEncoding Concatenate Conv1D Conv2D Conv2DTranspose Conv3D Dense
        Dropout Embedding Flatten GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D Input
        InputLayer IntegerLookup LSTM LSTMCell Lambda Layer LayerNormalization LeakyReLU MaxPooling2D
        Normalization RNN RandomFlip RandomRotation RandomZoom ReLU Rescaling Reshape Resizing Softmax
        StringLookup TextVectorization TimeDistributed ZeroPadding2D add concatenate
    """,
    "tf.keras.losses": """
        BinaryCrossentropy CategoricalCrossentropy Huber MSE MeanSquaredError Reduction.NONE Reduction.SUM
        SparseCategoricalCrossentropy mae mean_absolute_error mean_squared_error
    """,
    "tf.keras.metrics": """
        AUC Accuracy BinaryAccuracy BinaryCrossentropy FalseNegatives FalsePositives Mean MeanAbsoluteError
        MeanSquaredError Precision Recall SparseCategoricalAccuracy TrueNegatives TruePositives
    """,
    "tf.keras.mixed_precision": """
        LossScaleOptimizer Policy set_global_policy
    """,
    "tf.keras.models": """
        Model Sequential load_model
    """,
    "tf.keras.optimizers": """
        Adam Optimizer RMSprop SGD
    """,
    "tf.keras.optimizers.legacy": """
        RMSprop SGD
    """,
    "tf.keras.optimizers.schedules": """
        InverseTimeDecay
    """,
    "tf.keras.preprocessing.image": """
        ImageDataGenerator
    """,
    "tf.keras.regularizers": """
        L2 l2
    """,
    "tf.keras.saving": """
        register_keras_serializable
    """,
    "tf.keras.utils": """
        array_to_img audio_dataset_from_directory get_file image_dataset_from_directory img_to_array load_img
        plot_model text_dataset_from_directory timeseries_dataset_from_array
    """,
    "tf.linalg": """
        diag einsum eye matmul norm solve svd
    """,
    "tf.lite": """
        Interpreter TFLiteConverter.from_keras_model
    """,
    "tf.math": """
        abs add add_n argmax argmin confusion_matrix cumsum equal exp greater is_nan less log maximum minimum
        multiply not_equal pow reduce_all reduce_max reduce_mean reduce_min reduce_prod reduce_std reduce_sum
        sigmoid sign sin softplus sqrt square tanh
    """,
    "tf.metrics": """
        BinaryAccuracy SparseCategoricalAccuracy
    """,
    "tf.nn": """
        compute_average_loss elu embedding_lookup relu scale_regularization_loss sigmoid
        sigmoid_cross_entropy_with_logits softmax softplus sparse_softmax_cross_entropy_with_logits
    """,
    "tf.profiler.experimental": """
        start
    """,
    "tf.ragged": """
        constant map_flat_values range
    """,
    "tf.random": """
        Generator.from_non_deterministic_state Generator.from_seed categorical get_global_generator normal
        set_seed shuffle split stateless_normal truncated_normal uniform
    """,
    "tf.saved_model": """
        LoadOptions SaveOptions load save
    """,
    "tf.signal": """
        rfft stft
    """,
    "tf.sparse": """
        SparseTensor add concat from_dense map_values reduce_max slice sparse_dense_matmul to_dense transpose
    """,
    "tf.strings": """
        bytes_split join lower regex_replace split substr to_hash_bucket_fast to_number unicode_decode
        unicode_split
    """,
    "tf.summary": """
        create_file_writer scalar trace_export trace_on
    """,
    "tf.train": """
        BytesList Checkpoint CheckpointManager ClusterSpec Example Example.FromString Feature Features FloatList
        Int64List latest_checkpoint list_variables load_checkpoint
    """,
    "tf.types.experimental": """
        TraceType
    """,
    "tf.version": """
        VERSION
    """,
}
