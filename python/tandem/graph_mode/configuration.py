"""ConfigProto, RunOptions and the like: what a session is told about devices and threads."""

class _Message:
    """Fields with defaults; a field that is a message is one of its own class."""

    _fields = {}

    def __init__(self, **given):
        for name, default in self._fields.items():
            value = given.pop(name, None)
            made = default() if callable(default) else default
            if value is not None and isinstance(made, dict):
                made.update(value)
                value = None
            setattr(self, name, made if value is None else value)
        if given:
            raise ValueError(f'Protocol message {type(self).__name__} has no "{next(iter(given))}" field.')

    def CopyFrom(self, other):  # noqa: N802
        for name in self._fields:
            setattr(self, name, getattr(other, name))

    MergeFrom = CopyFrom

    def HasField(self, name):  # noqa: N802
        return getattr(self, name) != self._fields[name]

    def Clear(self):  # noqa: N802
        self.__init__()

    def SerializeToString(self):  # noqa: N802
        return repr(self).encode()

    def __eq__(self, other):
        return type(other) is type(self) and vars(self) == vars(other)

    __hash__ = None

    def __repr__(self):
        lines = [f"{name}: {value}" for name, value in vars(self).items() if value not in (None, "", 0, False, {}, [])]
        return "\n".join(lines)


class GPUOptions(_Message):
    class Experimental(_Message):
        _fields = {"virtual_devices": list, "use_unified_memory": False, "num_dev_to_dev_copy_streams": 0}

    _fields = {
        "per_process_gpu_memory_fraction": 0.0, "allow_growth": False, "allocator_type": "", "deferred_deletion_bytes": 0,
        "visible_device_list": "", "polling_active_delay_usecs": 0, "polling_inactive_delay_msecs": 0,
        "force_gpu_compatible": False, "experimental": Experimental,
    }  # fmt: skip


class OptimizerOptions(_Message):
    L1, L0 = 0, -1
    DEFAULT, OFF, ON_1, ON_2 = 0, -1, 1, 2
    _fields = {
        "do_common_subexpression_elimination": False, "do_constant_folding": False, "do_function_inlining": False,
        "opt_level": 0, "global_jit_level": 0, "max_folded_constant_in_bytes": 0, "cpu_global_jit": False,
    }  # fmt: skip


class RewriterConfig(_Message):
    DEFAULT, ON, OFF, AGGRESSIVE = 0, 1, 2, 3
    _fields = {
        "layout_optimizer": 0, "constant_folding": 0, "shape_optimization": 0, "remapping": 0,
        "arithmetic_optimization": 0, "dependency_optimization": 0, "loop_optimization": 0, "function_optimization": 0,
        "disable_model_pruning": False, "memory_optimization": 0, "disable_meta_optimizer": False,
        "auto_mixed_precision": 0, "pin_to_host_optimization": 0, "min_graph_nodes": 0, "optimizers": list,
    }  # fmt: skip


class GraphOptions(_Message):
    _fields = {
        "enable_recv_scheduling": False, "optimizer_options": OptimizerOptions, "build_cost_model": 0,
        "infer_shapes": False, "place_pruned_graph": False, "enable_bfloat16_sendrecv": False, "timeline_step": 0,
        "rewrite_options": RewriterConfig,
    }  # fmt: skip


class ConfigProto(_Message):
    class Experimental(_Message):
        _fields = {"collective_group_leader": "", "executor_type": "", "use_numa_affinity": False,
                   "collective_deterministic_sequential_execution": False, "xla_fusion_autotuner_thresh": 0}  # fmt: skip

    _fields = {
        "device_count": dict, "intra_op_parallelism_threads": 0, "inter_op_parallelism_threads": 0,
        "use_per_session_threads": False, "session_inter_op_thread_pool": list, "placement_period": 0,
        "device_filters": list, "gpu_options": GPUOptions, "allow_soft_placement": False, "log_device_placement": False,
        "graph_options": GraphOptions, "operation_timeout_in_ms": 0, "cluster_def": None, "isolate_session_state": False,
        "share_cluster_devices_in_session": False, "experimental": Experimental,
    }  # fmt: skip

    def _apply(self):
        """What Tandem configures for the process. What can be said only before the devices are open is left then."""
        from tandem._namespaces import get

        config = get("config")
        if self.log_device_placement:
            get("debugging.set_log_device_placement")(True)
        if self.allow_soft_placement:
            config.set_soft_device_placement(True)
        actions = []
        if self.device_count.get("GPU", 1) == 0:
            actions.append(lambda: config.set_visible_devices([], "GPU"))
        if self.intra_op_parallelism_threads:
            actions.append(lambda: config.threading.set_intra_op_parallelism_threads(self.intra_op_parallelism_threads))
        if self.inter_op_parallelism_threads:
            actions.append(lambda: config.threading.set_inter_op_parallelism_threads(self.inter_op_parallelism_threads))
        if self.gpu_options.allow_growth:
            actions += [lambda d=d: config.experimental.set_memory_growth(d, True)
                        for d in config.list_physical_devices("GPU")]  # fmt: skip
        for action in actions:
            try:
                action()
            except (RuntimeError, ValueError):  # the devices are open already
                pass


class RunOptions(_Message):
    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = 0, 1, 2, 3
    _fields = {
        "trace_level": 0, "timeout_in_ms": 0, "inter_op_thread_pool": 0, "output_partition_graphs": False,
        "debug_options": None, "report_tensor_allocations_upon_oom": False, "experimental": None,
    }  # fmt: skip


class _StepStats(_Message):
    """What was measured of a run: by device, when each kernel ran. `_trace` is the recording as JSON."""

    _fields = {"dev_stats": list}
    _trace = '{"traceEvents": []}'


class _DeviceStepStats(_Message):
    _fields = {"device": "", "node_stats": list, "thread_names": dict}


class _NodeExecStats(_Message):
    _fields = {"node_name": "", "all_start_micros": 0, "op_start_rel_micros": 0, "op_end_rel_micros": 0,
               "all_end_rel_micros": 0, "timeline_label": "", "thread_id": 0}  # fmt: skip


def _step_stats(trace):
    """A recording in Chrome's form as the message."""
    import json

    events = json.loads(trace)["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e.get("ph") == "M" and e.get("name") == "process_name"}
    by_device = {}
    for event in events:
        if event.get("ph") == "X":
            took = int(event.get("dur", 0))
            by_device.setdefault(names.get(event["pid"], str(event["pid"])), []).append(_NodeExecStats(
                node_name=event["name"], all_start_micros=int(event["ts"]), op_end_rel_micros=took, all_end_rel_micros=took,
                timeline_label=event["name"], thread_id=event.get("tid", 0)))  # fmt: skip
    made = _StepStats(dev_stats=[_DeviceStepStats(device=d, node_stats=n) for d, n in by_device.items()])
    made._trace = trace
    return made


class RunMetadata(_Message):
    """What a run says about itself: `explain()` of the plan that it followed."""

    _fields = {"step_stats": _StepStats, "cost_graph": None, "partition_graphs": list, "function_graphs": list}

    def _of(self, run, values, options):
        """The results of a run, which is recorded when the options ask for a trace."""
        from tandem import _core

        self._run = run
        if options is None or not options.trace_level or _core.profiling():
            return run(values)
        _core.start_profile()
        try:
            return run(values)
        finally:
            self.step_stats = _step_stats(_core.stop_profile().chrome_trace())

    def explain(self):
        """The plan of the run: Tandem's own."""
        return self._run.explain()
