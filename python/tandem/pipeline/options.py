"""tf.data.Options: accepted, merged and shown as TensorFlow does. What has a meaning here says so."""

import copy
import enum


class AutoShardPolicy(enum.IntEnum):
    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class AutotuneAlgorithm(enum.Enum):
    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class ExternalStatePolicy(enum.Enum):
    WARN = 0
    IGNORE = 1
    FAIL = 2


class _Group:
    """Named settings, None until somebody sets one."""

    _fields = ()

    def __init__(self):
        for name, default in self._defaults().items():
            object.__setattr__(self, name, default)

    @classmethod
    def _defaults(cls):
        return {name: None for name in cls._fields}

    def __setattr__(self, name, value):
        if name not in self._defaults():
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        object.__setattr__(self, name, value)

    def __eq__(self, other):
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None

    def _merge(self, other):
        """These settings with those of `other` that are set."""
        result = copy.copy(self)
        for name, value in other.__dict__.items():
            if isinstance(value, _Group):
                object.__setattr__(result, name, getattr(self, name)._merge(value))
            elif value is not None:
                object.__setattr__(result, name, value)
        return result


class AutotuneOptions(_Group):
    _fields = ("enabled", "cpu_budget", "ram_budget", "autotune_algorithm", "initial_parallelism", "min_parallelism")


class DistributeOptions(_Group):
    _fields = ("auto_shard_policy", "num_devices")

    @classmethod
    def _defaults(cls):
        return {"auto_shard_policy": AutoShardPolicy.AUTO, "num_devices": None}


class OptimizationOptions(_Group):
    _fields = (
        "apply_default_optimizations",
        "filter_fusion",
        "filter_parallelization",
        "inject_prefetch",
        "seq_interleave_prefetch",
        "map_and_batch_fusion",
        "map_and_filter_fusion",
        "map_fusion",
        "map_parallelization",
        "noop_elimination",
        "parallel_batch",
        "shuffle_and_repeat_fusion",
    )


class ThreadingOptions(_Group):
    _fields = ("max_intra_op_parallelism", "private_threadpool_size")


class Options(_Group):
    """Options of a dataset. `deterministic` decides the order of parallel stages that do not say it themselves."""

    _fields = (
        "dataset_name",
        "deterministic",
        "experimental_deterministic",
        "experimental_external_state_policy",
        "experimental_slack",
        "experimental_symbolic_checkpoint",
        "experimental_threading",
        "experimental_warm_start",
        "framework_type",
    )

    @classmethod
    def _defaults(cls):
        return {
            **super()._defaults(),
            "autotune": AutotuneOptions(),
            "experimental_distribute": DistributeOptions(),
            "experimental_optimization": OptimizationOptions(),
            "threading": ThreadingOptions(),
        }

    def merge(self, options):
        return self._merge(options)
