"""Where tandem has what TensorFlow's modules of graph mode define: "module: file of graph_mode | names"."""

import importlib

from tandem import _namespaces

_TABLE = """
python.client.session: session | Session InteractiveSession BaseSession
python.framework.stack: session | get_default_session
python.framework.ops: collections | GraphKeys add_to_collection add_to_collections get_collection get_collection_ref
python.framework.ops: operation | Operation
python.framework.ops: scopes | name_scope_v1=name_scope op_scope
python.framework.ops: switches | disable_eager_execution
python.framework.tensor: switches | disable_tensor_equality
python.framework.tensor_shape: switches | disable_v2_tensorshape
python.framework.sparse_tensor: values | SparseTensorValue
python.framework.indexed_slices: values | IndexedSlicesValue
python.framework.graph_util_impl: messages | GraphDef
python.ops.ragged.ragged_tensor_value: values | RaggedTensorValue
python.compat.v2_compat: switches | disable_v2_behavior
python.ops.control_flow_v2_toggles: switches | disable_control_flow_v2
python.ops.resource_variables_toggle: switches | disable_resource_variables
python.ops.variable_scope: scopes | AUTO_REUSE VariableScope get_local_variable get_variable get_variable_scope
python.ops.variable_scope: scopes | variable_creator_scope_v1=variable_creator_scope variable_op_scope variable_scope
python.ops.variables: collections | global_variables local_variables model_variables trainable_variables
python.ops.variables: collections | moving_average_variables all_variables=global_variables
python.ops.variables: variables | global_variables_initializer local_variables_initializer variables_initializer
python.ops.variables: variables | assert_variables_initialized report_uninitialized_variables
python.ops.variables: variables | initialize_all_variables=global_variables_initializer
python.ops.variables: variables | initialize_local_variables=local_variables_initializer
python.ops.variables: variables | initialize_variables=variables_initializer
python.ops.variable_v1: variables | is_variable_initialized
python.ops.array_ops: ops | placeholder placeholder_with_default sparse_placeholder
python.proto_exports: configuration | ConfigProto GPUOptions GraphOptions OptimizerOptions RunMetadata RunOptions
python.proto_exports: messages | NodeDef
python.proto_exports: proto | Summary HistogramProto SummaryDescription TensorInfo AttrValue NameAttrList MetaGraphDef
python.ops.metrics_impl: metrics | mean accuracy mean_absolute_error mean_squared_error root_mean_squared_error
python.ops.metrics_impl: metrics | mean_relative_error mean_cosine_distance percentage_below mean_tensor mean_iou
python.ops.metrics_impl: metrics | mean_per_class_accuracy
python.ops.metrics_impl: metrics_counts | true_positives true_negatives false_positives false_negatives
python.ops.metrics_impl: metrics_counts | true_positives_at_thresholds true_negatives_at_thresholds
python.ops.metrics_impl: metrics_counts | false_positives_at_thresholds false_negatives_at_thresholds
python.ops.metrics_impl: metrics_counts | precision_at_thresholds recall_at_thresholds sparse_precision_at_k
python.ops.metrics_impl: metrics_counts | sparse_average_precision_at_k precision recall auc
python.ops.metrics_impl: metrics_counts | sensitivity_at_specificity specificity_at_sensitivity precision_at_k
python.ops.metrics_impl: metrics_counts | recall_at_k precision_at_top_k recall_at_top_k average_precision_at_k
python.keras.optimizer_v2.legacy_learning_rate_decay: rates | exponential_decay natural_exp_decay inverse_time_decay
python.keras.optimizer_v2.legacy_learning_rate_decay: rates | polynomial_decay piecewise_constant cosine_decay
python.keras.optimizer_v2.legacy_learning_rate_decay: rates | cosine_decay_restarts linear_cosine_decay
python.keras.optimizer_v2.legacy_learning_rate_decay: rates | noisy_linear_cosine_decay
python.training.session_run_hook: hooks | SessionRunArgs SessionRunContext SessionRunHook SessionRunValues
python.training.basic_session_run_hooks: hooks | CheckpointSaverHook CheckpointSaverListener FeedFnHook FinalOpsHook
python.training.basic_session_run_hooks: hooks | GlobalStepWaiterHook LoggingTensorHook NanLossDuringTrainingError
python.training.basic_session_run_hooks: hooks | NanTensorHook ProfilerHook SecondOrStepTimer StepCounterHook
python.training.basic_session_run_hooks: hooks | StopAtStepHook SummarySaverHook
python.ops.losses.losses_impl: losses | Reduction compute_weighted_loss absolute_difference cosine_distance hinge_loss
python.ops.losses.losses_impl: losses | huber_loss log_loss mean_pairwise_squared_error mean_squared_error
python.ops.losses.losses_impl: losses | sigmoid_cross_entropy softmax_cross_entropy sparse_softmax_cross_entropy
python.ops.losses.util: losses | add_loss get_losses get_regularization_loss get_regularization_losses get_total_loss
python.training.training_util: steps | assert_global_step create_global_step get_global_step get_or_create_global_step
python.training.training_util: steps | global_step
python.training.saver: saver | Saver
python.training.checkpoint_utils: saver | init_from_checkpoint
python.training.monitored_session: monitored | ChiefSessionCreator MonitoredSession MonitoredTrainingSession Scaffold
python.training.monitored_session: monitored | SessionCreator SingularMonitoredSession WorkerSessionCreator
python.training.session_manager: monitored | SessionManager
python.training.basic_loops: monitored | basic_train_loop
python.data.ops.dataset_ops: data | make_initializable_iterator
python.data.ops.iterator_ops: data | Iterator=GraphIterator
python.ops.lookup_ops: lookup | StaticHashTableV1=StaticHashTable StaticVocabularyTableV1=StaticVocabularyTable
python.ops.lookup_ops: lookup | tables_initializer initialize_all_tables=tables_initializer
python.summary.summary: summary | audio get_summary_description histogram image merge merge_all scalar tensor_summary
python.summary.summary: summary | text
python.summary.writer.writer: summary | FileWriter
python.summary.writer.writer_cache: summary | FileWriterCache
python.ops.template: template | make_template
python.ops.partitioned_variables: template | fixed_size_partitioner min_max_variable_partitioner
python.ops.partitioned_variables: template | variable_axis_size_partitioner
python.keras.layers.legacy_rnn.rnn_cell_impl: rnn_cells | BasicLSTMCell BasicRNNCell DeviceWrapper DropoutWrapper
python.keras.layers.legacy_rnn.rnn_cell_impl: rnn_cells | GRUCell LSTMCell LSTMStateTuple MultiRNNCell RNNCell
python.keras.layers.legacy_rnn.rnn_cell_impl: rnn_cells | ResidualWrapper
python.ops.rnn: rnn | bidirectional_dynamic_rnn dynamic_rnn static_bidirectional_rnn static_rnn
python.checkpoint.checkpoint_management: checkpoints | checkpoint_exists get_checkpoint_mtimes remove_checkpoint
python.checkpoint.checkpoint_management: checkpoints | update_checkpoint_state generate_checkpoint_state_proto
python.training.warm_starting_util: checkpoints | VocabInfo warm_start
python.training.queue_runner_impl: runners | QueueRunner add_queue_runner start_queue_runners
python.training.supervisor: runners | Supervisor
python.training.device_setter: runners | replica_device_setter
python.framework.graph_io: forms | write_graph
python.framework.graph_util_impl: forms | extract_sub_graph must_run_on_cpu remove_training_nodes
python.framework.graph_util_impl: forms | tensor_shape_from_node_def_name
python.framework.indexed_slices: forms | convert_to_tensor_or_indexed_slices
python.framework.sparse_tensor: forms | convert_to_tensor_or_sparse_tensor
python.ops.numerics: forms | add_check_numerics_ops
python.ops.sparse_ops: forms | sparse_merge sparse_reduce_max_sparse sparse_reduce_sum_sparse
python.ops.ragged.ragged_string_ops: forms | string_split strings_split_v1
python.ops.ragged.ragged_factory_ops: forms | constant_value placeholder=ragged_placeholder
python.ops.gradient_checker: forms | compute_gradient compute_gradient_error
python.ops.image_ops_impl: images | ResizeMethodV1 resize_images resize_bilinear resize_nearest_neighbor resize_area
python.ops.image_ops_impl: images | resize_bicubic resize_image_with_pad_v1 extract_glimpse
python.ops.nn_impl: layers_nn | fused_batch_norm batch_norm_with_global_normalization
python.ops.nn_ops: layers_nn | depthwise_conv2d_native max_pool_with_argmax_v1 dilation2d_v1 erosion2d
python.ops.distributions.distribution: distributions | Distribution FULLY_REPARAMETERIZED NOT_REPARAMETERIZED
python.ops.distributions.distribution: distributions | ReparameterizationType
python.ops.distributions.kullback_leibler: distributions | RegisterKL kl_divergence
python.ops.distributions.bernoulli: distributions | Bernoulli
python.ops.distributions.beta: distributions | Beta
python.ops.distributions.categorical: distributions | Categorical
python.ops.distributions.dirichlet: distributions | Dirichlet
python.ops.distributions.dirichlet_multinomial: distributions | DirichletMultinomial
python.ops.distributions.exponential: distributions | Exponential
python.ops.distributions.gamma: distributions | Gamma
python.ops.distributions.laplace: distributions | Laplace
python.ops.distributions.multinomial: distributions | Multinomial
python.ops.distributions.normal: distributions | Normal
python.ops.distributions.student_t: distributions | StudentT
python.ops.distributions.uniform: distributions | Uniform
python.training.experimental.loss_scale: scaled | DynamicLossScale FixedLossScale LossScale
python.training.experimental.loss_scale_optimizer: scaled | MixedPrecisionLossScaleOptimizer
python.training.experimental.mixed_precision: scaled | disable_mixed_precision_graph_rewrite_v1=disable_mixed_precision_graph_rewrite
python.training.experimental.mixed_precision: scaled | enable_mixed_precision_graph_rewrite_v1=enable_mixed_precision_graph_rewrite
python.saved_model.builder_impl: exporting | SavedModelBuilder
python.saved_model.simple_save: exporting | simple_save
python.saved_model.loader_impl: exporting | load
python.saved_model.main_op_impl: exporting | main_op main_op_with_restore
python.saved_model.signature_def_utils_impl: exporting | build_signature_def classification_signature_def
python.saved_model.signature_def_utils_impl: exporting | is_valid_signature predict_signature_def regression_signature_def
python.saved_model.utils_impl: exporting | build_tensor_info get_tensor_from_tensor_info
python.proto_exports: proto | SessionLog LogMessage TaggedRunMetadata
python.training.training: proto | SaverDef ServerDef
python.lib.io.tf_record: proto | TFRecordCompressionType
python.ops.ctc_ops: older_ctc | ctc_loss ctc_loss_v2 ctc_beam_search_decoder
python.ops.data_flow_ops: queues | FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue
python.training.input: producers | batch batch_join input_producer limit_epochs maybe_batch maybe_batch_join
python.training.input: producers | maybe_shuffle_batch maybe_shuffle_batch_join range_input_producer shuffle_batch
python.training.input: producers | shuffle_batch_join slice_input_producer string_input_producer
python.data.util.structure: data_specs | _TensorStructure=TensorStructure _SparseTensorStructure=SparseTensorStructure
python.data.util.structure: data_specs | _TensorArrayStructure=TensorArrayStructure
python.data.util.structure: data_specs | _RaggedTensorStructure=RaggedTensorStructure
python.platform.googletest: testing | StubOutForTesting
python.platform.benchmark: testing | benchmark_config TensorFlowBenchmark=Benchmark
python.framework.test_util: testing | assert_equal_graph_def_v1=assert_equal_graph_def
python.ops.candidate_sampling_ops: samplers | all_candidate_sampler compute_accidental_hits
python.ops.candidate_sampling_ops: samplers | fixed_unigram_candidate_sampler log_uniform_candidate_sampler
python.ops.candidate_sampling_ops: samplers | uniform_candidate_sampler
python.ops.nn_impl: samplers | nce_loss sampled_softmax_loss
python.ops.nn_ops: layers_nn | depthwise_conv2d_native_backprop_filter depthwise_conv2d_native_backprop_input
python.ops.summary_ops_v2: summary | all_v2_summary_ops initialize
python.training.optimizer: optimizer | Optimizer
python.training.gradient_descent: optimizers | GradientDescentOptimizer
python.training.momentum: optimizers | MomentumOptimizer
python.training.adam: optimizers | AdamOptimizer
python.training.adagrad: optimizers | AdagradOptimizer
python.training.adagrad_da: optimizers | AdagradDAOptimizer
python.training.adadelta: optimizers | AdadeltaOptimizer
python.training.rmsprop: optimizers | RMSPropOptimizer
python.training.ftrl: optimizers | FtrlOptimizer
python.training.proximal_adagrad: optimizers | ProximalAdagradOptimizer
python.training.proximal_gradient_descent: optimizers | ProximalGradientDescentOptimizer
"""

# What is another form of a public name: "module: name=public name …".
_ALIASES = """
python.framework.device_spec: DeviceSpecV1=DeviceSpec
python.data.ops.readers: FixedLengthRecordDatasetV1=data.FixedLengthRecordDataset TFRecordDatasetV1=data.TFRecordDataset
python.data.ops.readers: TextLineDatasetV1=data.TextLineDataset
python.data.experimental.ops.readers: CsvDatasetV1=data.experimental.CsvDataset
python.data.experimental.ops.readers: make_csv_dataset_v1=data.experimental.make_csv_dataset
python.data.experimental.ops.readers: make_batched_features_dataset_v1=data.experimental.make_batched_features_dataset
python.data.experimental.ops.random_ops: RandomDatasetV1=data.experimental.RandomDataset
python.checkpoint.checkpoint: CheckpointV1=train.Checkpoint
python.training.py_checkpoint_reader: NewCheckpointReader=train.load_checkpoint
python.distribute.mirrored_strategy: MirroredStrategyV1=distribute.MirroredStrategy
python.distribute.one_device_strategy: OneDeviceStrategyV1=distribute.OneDeviceStrategy
python.distribute.distribute_lib: StrategyV1=distribute.Strategy StrategyExtendedV1=distribute.StrategyExtended
python.distribute.distribute_lib: ReplicaContextV1=distribute.ReplicaContext
python.distribute.collective_all_reduce_strategy: CollectiveAllReduceStrategyV1=distribute.MultiWorkerMirroredStrategy
python.types.data: DatasetV1=data.Dataset
python.ops.variables: VariableAggregation=VariableAggregation
python.ops.ragged.ragged_string_ops: string_split_v2=strings.split
"""


def _entries():
    found = {}
    for line in _TABLE.strip().splitlines():
        module, _, rest = line.partition(": ")
        file, _, names = rest.partition(" | ")
        for entry in names.split():
            own, _, here = entry.partition("=")
            found.setdefault(module, {})[own] = (file, here or own)
    return found


_PLACES = _entries()


def _aliases():
    for line in _ALIASES.strip().splitlines():
        module, _, names = line.partition(": ")
        for entry in names.split():
            own, _, public = entry.partition("=")
            yield (module, own), public


_PUBLIC = dict(_aliases())


def find(module, name):
    """The object of graph mode that a module of TensorFlow calls `name`, or None."""
    place = _PLACES.get(module, {}).get(name)
    if place is None:
        public = _PUBLIC.get((module, name))
        value = None if public is None else _namespaces.get(public)
        return None if getattr(value, "absent", False) else value
    return getattr(importlib.import_module("tandem.graph_mode." + place[0]), place[1])
