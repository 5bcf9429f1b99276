"""MonitoredSession and its like: sessions that initialize variables, run hooks, and save."""

import contextlib

from tandem._namespaces import get
from tandem.checkpoint.state import latest_checkpoint
from tandem.graph_mode import graph as graphs, hooks as _hooks, ops
from tandem.graph_mode.collections import GraphKeys, get_collection
from tandem.graph_mode.saver import Saver
from tandem.graph_mode.session import Session
from tandem.graph_mode.variables import global_variables_initializer, local_variables_initializer
from tandem.inside.training.coordinator import Coordinator


class Scaffold:
    """What a training program is made of: how it begins, what is ready, what is saved."""

    def __init__(
        self, init_op=None, init_feed_dict=None, init_fn=None, ready_op=None, ready_for_local_init_op=None,
        local_init_op=None, summary_op=None, saver=None, copy_from_scaffold=None, local_init_feed_dict=None,
    ):  # fmt: skip
        self.init_op, self.init_feed_dict, self._init_fn = init_op, init_feed_dict, init_fn
        self.ready_op, self.ready_for_local_init_op = ready_op, ready_for_local_init_op
        self.local_init_op, self.local_init_feed_dict = local_init_op, local_init_feed_dict
        self.summary_op, self.saver = summary_op, saver

    init_fn = property(lambda self: None if self._init_fn is None else lambda session: self._init_fn(self, session))

    def finalize(self):
        from tandem.graph_mode.summary import merge_all

        def found(value, key, make):
            return self.get_or_default(None, key, make) if value is None else value

        self.init_op = found(self.init_op, GraphKeys.INIT_OP, lambda: ops.group(global_variables_initializer()))
        self.local_init_op = found(self.local_init_op, GraphKeys.LOCAL_INIT_OP, self.default_local_init_op)
        self.summary_op = found(self.summary_op, GraphKeys.SUMMARY_OP, merge_all)
        self.saver = found(self.saver, GraphKeys.SAVERS, lambda: Saver(allow_empty=True))
        self.saver.build()
        return self

    @staticmethod
    def get_or_default(arg_name, collection_key, default_constructor):
        found = get_collection(collection_key)
        if found:
            return found[0]
        made = default_constructor()
        if made is not None:
            graphs.default_graph().add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op():
        from tandem.graph_mode.lookup import tables_initializer

        return ops.group(local_variables_initializer(), tables_initializer())


class SessionCreator:
    def create_session(self):
        raise NotImplementedError("create_session is not implemented for {}.".format(self))


class ChiefSessionCreator(SessionCreator):
    def __init__(self, scaffold=None, master="", config=None, checkpoint_dir=None, checkpoint_filename_with_path=None):
        self._scaffold, self._master, self._config = scaffold or Scaffold(), master, config
        self._folder, self._path = checkpoint_dir, checkpoint_filename_with_path

    def create_session(self):
        scaffold = self._scaffold.finalize()
        session = Session(self._master, graph=graphs.default_graph(), config=self._config)
        path = self._path or (latest_checkpoint(self._folder) if self._folder else None)
        if path is not None:
            scaffold.saver.restore(session, path)
        else:
            session.run(scaffold.init_op, feed_dict=scaffold.init_feed_dict)
            if scaffold.init_fn is not None:
                scaffold.init_fn(session)
        session.run(scaffold.local_init_op, feed_dict=scaffold.local_init_feed_dict)
        return session


class WorkerSessionCreator(ChiefSessionCreator):
    def __init__(self, scaffold=None, master="", config=None, max_wait_secs=30 * 60):
        super().__init__(scaffold, master, config)


class _MonitoredSession:
    def __init__(self, session_creator=None, hooks=None, stop_grace_period_secs=120):
        self._graph_was_finalized = graphs.default_graph().finalized
        self._hooks = list(hooks or ())
        for hook in self._hooks:
            hook.begin()
        self._coord = Coordinator(clean_stop_exception_types=())
        creator = session_creator or ChiefSessionCreator()
        self._sess = creator.create_session()
        self._stopped = False
        graph = self._sess.graph
        for runner in get_collection(GraphKeys.QUEUE_RUNNERS):
            runner.create_threads(self._sess, coord=self._coord, daemon=True, start=True)
        graph.finalize()
        for hook in self._hooks:
            hook.after_create_session(self._sess, self._coord)
        self._open = [graph.as_default(), self._sess.as_default()]

    graph = property(lambda self: self._sess.graph)

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        """The values of `fetches`; hooks may fetch and feed more."""
        context = _hooks.SessionRunContext(_hooks.SessionRunArgs(fetches, feed_dict), self._sess)
        wanted, feeds, asked = {"caller": fetches}, dict(feed_dict or {}), {}
        for number, hook in enumerate(self._hooks):
            args = hook.before_run(context)
            if args is None:
                continue
            asked[number] = args
            if args.fetches is not None:
                wanted[number] = args.fetches
            for key, value in (args.feed_dict or {}).items():
                if any(key is known for known in feeds):
                    raise RuntimeError("Same tensor is fed by two hooks or by a hook and the user.")
                feeds[key] = value
        values = self._sess.run(wanted, feeds or None, options, run_metadata)
        for number, hook in enumerate(self._hooks):
            hook.after_run(context, _hooks.SessionRunValues(values.get(number), options, run_metadata))
        self._stopped = self._stopped or context.stop_requested
        return values["caller"]

    def run_step_fn(self, step_fn):
        """step_fn(step_context) or step_fn(self, step_context), which runs the session without hooks."""
        return step_fn(_StepContext(self))

    def should_stop(self):
        return self._sess is None or self._stopped or self._coord.should_stop()

    def close(self):
        self._close(None)

    def _close(self, exception_type):
        try:
            if exception_type is None and self._sess is not None:
                for hook in self._hooks:
                    hook.end(self._sess)
        finally:
            if self._sess is not None:
                self._coord.request_stop()
                self._sess.close()
                self._sess = None

    def __enter__(self):
        self._blocks = contextlib.ExitStack()
        for block in self._open:
            self._blocks.enter_context(block)
        return self

    def __exit__(self, exception_type, exception_value, traceback):
        from tandem.framework.errors import OutOfRangeError

        if exception_type is not None and issubclass(exception_type, (OutOfRangeError, StopIteration)):
            exception_type = None
        with self._blocks:
            self._close(exception_type)
        return exception_type is None


class _StepContext:
    def __init__(self, session):
        self._monitored = session

    session = property(lambda self: self._monitored._sess)

    def run_with_hooks(self, *args, **kwargs):
        return self._monitored.run(*args, **kwargs)

    def request_stop(self):
        raise StopIteration("step_fn has requested the iterations to stop.")


class MonitoredSession(_MonitoredSession):
    StepContext = _StepContext


class SingularMonitoredSession(_MonitoredSession):
    StepContext = _StepContext

    def __init__(
        self, hooks=None, scaffold=None, master="", config=None, checkpoint_dir=None, stop_grace_period_secs=120,
        checkpoint_filename_with_path=None,
    ):  # fmt: skip
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super().__init__(creator, hooks)

    def raw_session(self):
        return self._sess


_NOT_GIVEN = object()


def MonitoredTrainingSession(  # noqa: N802
    master="", is_chief=True, checkpoint_dir=None, scaffold=None, hooks=None, chief_only_hooks=None,
    save_checkpoint_secs=_NOT_GIVEN, save_summaries_steps=_NOT_GIVEN, save_summaries_secs=_NOT_GIVEN, config=None,
    stop_grace_period_secs=120, log_step_count_steps=100, max_wait_secs=7200, save_checkpoint_steps=_NOT_GIVEN,
    summary_dir=None, save_graph_def=True,
):  # fmt: skip
    """A session that restores or initializes, saves checkpoints and summaries, and runs hooks."""
    if save_summaries_steps is _NOT_GIVEN and save_summaries_secs is _NOT_GIVEN:
        save_summaries_steps, save_summaries_secs = 100, None
    if save_checkpoint_secs is _NOT_GIVEN and save_checkpoint_steps is _NOT_GIVEN:
        save_checkpoint_secs, save_checkpoint_steps = 600, None
    given = lambda value: None if value is _NOT_GIVEN else value  # noqa: E731
    scaffold = scaffold or Scaffold()
    every = [*(hooks or ()), *(chief_only_hooks or ())] if is_chief else list(hooks or ())
    folder = summary_dir or checkpoint_dir
    if folder and is_chief:
        if log_step_count_steps:
            every.append(_hooks.StepCounterHook(log_step_count_steps, output_dir=folder))
        steps, seconds = given(save_summaries_steps), given(save_summaries_secs)
        if steps or seconds:
            every.append(_hooks.SummarySaverHook(steps, seconds, folder, scaffold=scaffold))
    if checkpoint_dir and is_chief:
        steps, seconds = given(save_checkpoint_steps), given(save_checkpoint_secs)
        if steps or seconds:
            get("io.gfile.makedirs")(checkpoint_dir)
            every.append(_hooks.CheckpointSaverHook(checkpoint_dir, seconds, steps, scaffold=scaffold))
    return MonitoredSession(ChiefSessionCreator(scaffold, master, config, checkpoint_dir), every)


class SessionManager:
    """Prepares sessions: restored from a checkpoint, or initialized."""

    def __init__(
        self, local_init_op=None, ready_op=None, ready_for_local_init_op=None, graph=None, recovery_wait_secs=30,
        local_init_run_options=None, local_init_feed_dict=None,
    ):  # fmt: skip
        self._local, self._local_feeds, self._graph = local_init_op, local_init_feed_dict, graph

    def prepare_session(
        self, master, init_op=None, saver=None, checkpoint_dir=None, checkpoint_filename_with_path=None,
        wait_for_checkpoint=False, max_wait_secs=7200, config=None, init_feed_dict=None, init_fn=None,
    ):  # fmt: skip
        session, restored = self.recover_session(master, saver, checkpoint_dir, checkpoint_filename_with_path)
        if not restored:
            if init_op is None and init_fn is None and self._local is None:
                raise RuntimeError("Model is not initialized and no init_op or init_fn or local_init_op was given")
            if init_op is not None:
                session.run(init_op, feed_dict=init_feed_dict)
            if init_fn is not None:
                init_fn(session)
        if self._local is not None:
            session.run(self._local, feed_dict=self._local_feeds)
        return session

    def recover_session(
        self, master, saver=None, checkpoint_dir=None, checkpoint_filename_with_path=None, wait_for_checkpoint=False,
        max_wait_secs=7200, config=None,
    ):  # fmt: skip
        session = Session(master, graph=self._graph, config=config)
        path = checkpoint_filename_with_path or (latest_checkpoint(checkpoint_dir) if checkpoint_dir else None)
        if saver is None or path is None:
            return session, False
        saver.restore(session, path)
        return session, True

    def wait_for_session(self, master, config=None, max_wait_secs=float("Inf")):
        return Session(master, graph=self._graph, config=config)


def basic_train_loop(supervisor, train_step_fn, args=None, kwargs=None, master=""):
    """Calls train_step_fn(session, ...) until the supervisor stops."""
    with supervisor.managed_session(master) as session:
        while not supervisor.should_stop():
            train_step_fn(session, *(args or ()), **(kwargs or {}))
