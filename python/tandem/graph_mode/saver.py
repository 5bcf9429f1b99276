"""tf.compat.v1.train.Saver: the variables of a graph in a session, as a checkpoint."""

import os
import time

from tandem import _core
from tandem.checkpoint import state as states
from tandem.checkpoint.reader import CheckpointReader
from tandem.framework import gfile
from tandem.framework.errors import InvalidArgumentError, NotFoundError
from tandem.graph_mode.collections import GraphKeys, get_collection, global_variables


class Saver:
    """Saves and restores variables by name. `var_list`: variables, or {name in the checkpoint: variable}."""

    def __init__(
        self, var_list=None, reshape=False, sharded=False, max_to_keep=5, keep_checkpoint_every_n_hours=10000.0, name=None,
        restore_sequentially=False, saver_def=None, builder=None, defer_build=False, allow_empty=False, write_version=2,
        pad_step_number=False, save_relative_paths=False, filename=None,
    ):  # fmt: skip
        if defer_build and var_list:
            raise ValueError("If `var_list` is provided then build cannot be deferred. Either set defer_build=False or "
                             "var_list=None.")
        self._given, self._reshape, self._allow_empty = var_list, reshape, allow_empty
        self._max_to_keep, self._every_hours = max_to_keep, keep_checkpoint_every_n_hours
        self._pad = pad_step_number
        self._kept = []  # (path, time)
        self._next_preserved = time.time() + (keep_checkpoint_every_n_hours or 0) * 3600
        self._variables = None
        if not defer_build:
            self.build()

    def build(self):
        if self._variables is not None:
            return
        wanted = self._given
        if wanted is None:
            wanted = [*global_variables(), *get_collection(GraphKeys.SAVEABLE_OBJECTS)]
        named = dict(wanted) if isinstance(wanted, dict) else {}
        if not isinstance(wanted, dict):
            for variable in wanted:
                name = variable._plain_name
                if name in named:
                    raise ValueError(f"At least two variables have the same name: {name}")
                named[name] = variable
        if not named and not self._allow_empty:
            raise ValueError("No variables to save")
        self._variables = named

    # ---- What was saved

    @property
    def last_checkpoints(self):
        return [path for path, _ in self._kept]

    def set_last_checkpoints(self, last_checkpoints):
        self._kept = [(path, float("inf")) for path in last_checkpoints]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time):
        self._kept = list(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths):
        self._kept = [(path, os.path.getmtime(path + ".index")) for path in checkpoint_paths if _exists(path)]

    def as_saver_def(self):
        raise NotImplementedError("Savers have no SaverDef in Tandem; make the Saver again where it is needed.")

    to_proto = as_saver_def

    # ---- Saving

    def save(
        self, sess, save_path, global_step=None, latest_filename=None, meta_graph_suffix="meta", write_meta_graph=True,
        write_state=True, strip_default_attrs=False, save_debug_info=False,
    ):  # fmt: skip
        """Writes the values; returns the checkpoint's path. Graphs are not written: they are built by the program."""
        self.build()
        if os.path.split(latest_filename or "checkpoint")[0]:
            raise ValueError("'latest_filename' must not contain path components")
        if global_step is not None:
            if not isinstance(global_step, int):
                global_step = int(sess.run(global_step) if sess is not None else global_step)
            save_path = f"{save_path}-{global_step:08d}" if self._pad else f"{save_path}-{global_step}"
        path = gfile.local_path(save_path)
        folder = os.path.dirname(path)
        if folder and not os.path.isdir(folder):
            raise ValueError(f"Parent directory of {save_path} doesn't exist, can't save.")
        if not self._variables:
            return None
        names = sorted(self._variables)
        _core.save_checkpoint(path, names, [_value(sess, self._variables[name]) for name in names])
        if write_state:
            self._note(path, folder, latest_filename)
        return save_path

    def _note(self, path, folder, latest_filename):
        self._kept = [entry for entry in self._kept if entry[0] != path] + [(path, time.time())]
        too_old = []
        while self._max_to_keep and len(self._kept) > self._max_to_keep:
            old, when = self._kept.pop(0)
            if self._every_hours and when > self._next_preserved:
                self._next_preserved += self._every_hours * 3600
            else:
                too_old.append(old)
        states.update_checkpoint_state(folder, path, self.last_checkpoints, latest_filename)
        for old in too_old:
            states.remove_checkpoint(old)

    # ---- Restoring

    def restore(self, sess, save_path):
        """Gives the variables the values of a checkpoint; they need not be initialized."""
        self.build()
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        path = gfile.local_path(save_path)
        if not _exists(path):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {save_path}")
        reader = CheckpointReader(path)
        for name, variable in self._variables.items():
            if not reader.has_tensor(name):
                raise NotFoundError(None, None, f"Key {name} not found in checkpoint {save_path}. Restore with the variables "
                                    "that were saved, or give Saver a dictionary of names.")
            _load(sess, variable, self._fitting(variable, reader.read(name), name))

    def _fitting(self, variable, value, name):
        if variable.shape.is_compatible_with(value.shape):
            return value
        if self._reshape:
            return _core.execute("Reshape", value, variable.shape.as_list())
        raise InvalidArgumentError(
            None, None, f"Assign requires shapes of both tensors to match. lhs shape= {variable.shape.as_list()} rhs shape= "
            f"{value.shape.as_list()}: variable {variable.name}, key {name} of the checkpoint."
        )  # fmt: skip


def _exists(path):
    return os.path.exists(path + ".index")


def _values_of(session):
    inner = getattr(session, "_values", None)
    return inner if inner is not None else session._sess._values


def _value(session, variable):
    if getattr(variable, "_initializer", None) is None:
        return variable.read_value()
    return _values_of(session).value(variable)


def _load(session, variable, value):
    if getattr(variable, "_initializer", None) is None:
        variable.assign(value)
    else:
        _values_of(session).load(variable, value)


def export_meta_graph(*args, **kwargs):
    raise NotImplementedError("Tandem stores no graphs of sessions: build the graph by the program, and save its variables "
                              "with tf.train.Saver, or what can be called with tf.saved_model.save.")


def import_meta_graph(meta_graph_or_file, *args, **kwargs):
    raise NotImplementedError("Tandem stores no graphs of sessions: build the graph by the program that made it, and restore "
                              "its variables with tf.train.Saver().restore().")


def init_from_checkpoint(ckpt_dir_or_file, assignment_map):
    """Variables begin with what a checkpoint has: their initializers read it."""
    from tandem.checkpoint.reader import load_checkpoint

    reader = load_checkpoint(ckpt_dir_or_file)
    stored = reader.get_variable_to_shape_map()
    for name, target in dict(assignment_map).items():
        for key, variable in _targets(name, target, stored):
            if key not in stored:
                raise ValueError(f"Assignment map with scope only name {name} should map to scope only {target}. Tensor {key} "
                                 "is not found in the checkpoint.")
            if not variable.shape.is_compatible_with(stored[key]):
                raise ValueError(f"Shape of variable {variable.name} ({variable.shape}) doesn't match with shape of tensor "
                                 f"{key} ({stored[key]}) from checkpoint reader.")
            _begin_with(variable, reader, key)


def _targets(name, target, stored):
    if isinstance(target, _core.VariableBase):
        return [(name, target)]
    if isinstance(target, (list, tuple)):
        return [(name, v) for v in target]
    variables = {v.op.name: v for v in global_variables()}
    if not target.endswith("/") and target in variables:
        return [(name, variables[target])]
    start, scope = "" if name == "/" else name, "" if target == "/" else target
    found = [(start + v[len(scope):], variable) for v, variable in variables.items() if v.startswith(scope)]
    return [(key, variable) for key, variable in found if key in stored]


def _begin_with(variable, reader, key):
    graph = variable.graph
    with graph.as_default(), graph.control_dependencies(None):
        from tandem.graph_mode.ops import constant_in_graph

        value = constant_in_graph(reader.read(key), None, f"{variable._plain_name}/checkpoint_initializer/")
        variable._initializer = variable.assign(value, read_value=False)
        variable._initial_value = value
