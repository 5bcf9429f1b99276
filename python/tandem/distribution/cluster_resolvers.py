"""tf.distribute.cluster_resolver: where the processes of a cluster are, from arguments or from TF_CONFIG."""

import json
import os

from tandem.framework.cluster import ClusterSpec


def format_master_url(master, rpc_layer=None):
    return f"{rpc_layer}://{master}" if rpc_layer else master


class ClusterResolver:
    """Base of what knows the addresses of a cluster."""

    task_type, task_id = None, None
    rpc_layer = ""

    def cluster_spec(self):
        raise NotImplementedError()

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        raise NotImplementedError()

    def num_accelerators(self, task_type=None, task_id=None, config_proto=None):
        """How many accelerators of each kind this process has."""
        from tandem import config

        count = len(config.list_logical_devices("GPU"))
        return {"GPU": count} if count else {}

    @property
    def environment(self):
        return ""


class SimpleClusterResolver(ClusterResolver):
    """What it is told."""

    def __init__(self, cluster_spec, master="", task_type=None, task_id=None, environment="", num_accelerators=None, rpc_layer=None):
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError("cluster_spec must be a `tf.train.ClusterSpec`.")
        if not isinstance(master, str):
            raise TypeError("master must be a string.")
        self._spec, self._master, self._environment, self._accelerators = cluster_spec, master, environment, num_accelerators
        self.task_type, self.task_id, self.rpc_layer = task_type, task_id, rpc_layer

    def cluster_spec(self):
        return self._spec

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        """The address of a task, or of the master that was given."""
        if task_type is not None and task_id is not None:
            master = self._spec.task_address(task_type, task_id)
        else:
            master = self._master
        return format_master_url(master, rpc_layer=rpc_layer or self.rpc_layer)

    environment = property(lambda self: self._environment)

    def num_accelerators(self, task_type=None, task_id=None, config_proto=None):
        return {} if self._accelerators is None else self._accelerators


class TFConfigClusterResolver(ClusterResolver):
    """What the variable TF_CONFIG says."""

    def __init__(self, task_type=None, task_id=None, rpc_layer=None, environment=None):
        self._type, self._id, self._layer, self._environment = task_type, task_id, rpc_layer, environment

    @staticmethod
    def _config():
        return json.loads(os.environ.get("TF_CONFIG", "{}"))

    def _task(self):
        return self._config().get("task", {})

    def _get_type(self):
        found = self._task().get("type") if self._type is None else self._type
        return str(found) if found is not None else None

    def _get_id(self):
        found = self._task().get("index") if self._id is None else self._id
        return int(found) if found is not None else None

    def _set_type(self, value):
        self._type = value

    def _set_id(self, value):
        self._id = value

    def _set_layer(self, value):
        self._layer = value

    task_type = property(_get_type, _set_type)
    task_id = property(_get_id, _set_id)
    rpc_layer = property(lambda self: self._config().get("rpc_layer") if self._layer is None else self._layer, _set_layer)
    environment = property(lambda self: self._environment)

    def cluster_spec(self):
        return ClusterSpec(self._config().get("cluster", {}))

    def num_accelerators(self, task_type=None, task_id=None, config_proto=None):
        return super().num_accelerators()

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        """The address of a task, of the first of all where none is said, and nothing where there is one process."""
        spec = self.cluster_spec()
        if not spec.as_dict() or (len(spec.jobs) == 1 and spec.num_tasks(spec.jobs[0]) == 1):
            return ""
        task_type = task_type if task_type is not None else self.task_type
        task_id = task_id if task_id is not None else self.task_id
        return format_master_url(spec.task_address(task_type, task_id), rpc_layer or self.rpc_layer)


class UnionResolver(ClusterResolver):
    """Several resolvers as one: their jobs together."""

    def __init__(self, *args, **kwargs):
        self._rpc_layer = kwargs.pop("rpc_layer", None)
        self._type, self._id = kwargs.pop("task_type", None), kwargs.pop("task_id", None)
        if kwargs:
            raise ValueError(f"Unexpected kwargs provided {kwargs!r}")
        if not args:
            raise ValueError("At least one ClusterResolver is required.")
        for resolver in args:
            if not isinstance(resolver, ClusterResolver):
                raise TypeError("All arguments must be a sub-class of `ClusterResolver.`")
        self._resolvers = args

    task_type = property(lambda self: self._type if self._type is not None else self._resolvers[0].task_type)
    task_id = property(lambda self: self._id if self._id is not None else self._resolvers[0].task_id)
    rpc_layer = property(lambda self: self._rpc_layer or self._resolvers[0].rpc_layer)
    environment = property(lambda self: self._resolvers[0].environment)

    def cluster_spec(self):
        """Tasks of a job that several have stand one after the other."""
        merged = {}
        for resolver in self._resolvers:
            for job, tasks in resolver.cluster_spec().as_dict().items():
                known = merged.setdefault(job, {} if isinstance(tasks, dict) else [])
                if isinstance(known, list) and isinstance(tasks, list):
                    known.extend(tasks)
                    continue
                known = dict(enumerate(known)) if isinstance(known, list) else known
                more = dict(enumerate(tasks)) if isinstance(tasks, list) else tasks
                if set(known) & set(more):
                    raise KeyError(f"Duplicate keys detected when merging two ClusterSpecs: {sorted(set(known) & set(more))}")
                merged[job] = {**known, **more}
        return ClusterSpec(merged)

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        if task_type is not None and task_id is not None:
            return format_master_url(self.cluster_spec().task_address(task_type, task_id), rpc_layer or self.rpc_layer)
        return self._resolvers[0].master(rpc_layer=rpc_layer)

    def num_accelerators(self, task_type=None, task_id=None, config_proto=None):
        return self._resolvers[0].num_accelerators(task_type, task_id, config_proto)
