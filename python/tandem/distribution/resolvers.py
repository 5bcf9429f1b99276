"""tf.distribute.cluster_resolver: which processes there are. Tandem's programs are one process, so far."""

import json
import os

from tandem.framework.cluster import ClusterSpec


class ClusterResolver:
    """Base of those who know a cluster."""

    task_type = None
    task_id = None
    rpc_layer = None
    environment = ""

    def cluster_spec(self):
        raise NotImplementedError(f"{type(self).__name__} has no cluster_spec().")

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        """The address to talk to: that of a task, or nothing where there is no cluster."""
        spec = self.cluster_spec()
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        if not spec.jobs or task_type is None or task_id is None:
            return ""
        layer = rpc_layer or self.rpc_layer
        address = spec.task_address(task_type, task_id)
        return f"{layer}://{address}" if layer else address

    def num_accelerators(self, task_type=None, task_id=None, config_proto=None):
        from tandem import _core

        found = len(_core.config.list_logical_devices("GPU"))
        return {"GPU": found} if found else {}


class SimpleClusterResolver(ClusterResolver):
    """A cluster that the program names."""

    def __init__(self, cluster_spec, master="", task_type=None, task_id=None, environment="", num_accelerators=None,
                 rpc_layer=None):  # fmt: skip
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError("cluster_spec must be a `tf.train.ClusterSpec`.")
        self._cluster_spec, self._master = cluster_spec, master
        self.task_type, self.task_id, self.environment, self.rpc_layer = task_type, task_id, environment, rpc_layer
        self._num_accelerators = num_accelerators

    def cluster_spec(self):
        return self._cluster_spec

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        return super().master(task_type, task_id, rpc_layer) or self._master

    def num_accelerators(self, task_type=None, task_id=None, config_proto=None):
        return self._num_accelerators or {}


class TFConfigClusterResolver(ClusterResolver):
    """What the variable TF_CONFIG says, which launchers of clusters set."""

    def __init__(self, task_type=None, task_id=None, rpc_layer=None, environment=None):
        self._task = task_type, task_id
        self._rpc_layer, self._environment = rpc_layer, environment

    @staticmethod
    def _said():
        return json.loads(os.environ.get("TF_CONFIG", "{}") or "{}")

    @property
    def task_type(self):
        given = self._task[0]
        return self._said().get("task", {}).get("type") if given is None else str(given)

    @property
    def task_id(self):
        given = self._task[1]
        found = self._said().get("task", {}).get("index") if given is None else given
        return None if found is None else int(found)

    @property
    def environment(self):
        return self._environment

    @property
    def rpc_layer(self):
        return self._said().get("rpc_layer") if self._rpc_layer is None else self._rpc_layer

    def cluster_spec(self):
        return ClusterSpec(self._said().get("cluster", {}))
