"""Threads that fill queues, and the Supervisor, which prepares sessions and saves now and then."""

import contextlib
import threading

from tandem.checkpoint.state import latest_checkpoint
from tandem.framework.errors import CancelledError, OutOfRangeError
from tandem.graph_mode import graph as graphs
from tandem.graph_mode.collections import GraphKeys, add_to_collection, get_collection
from tandem.graph_mode.session import Session, get_default_session
from tandem.inside.training.coordinator import Coordinator


class QueueRunner:
    """Runs each of the operations that put something into a queue in a thread of its own, until one of them ends."""

    def __init__(
        self, queue=None, enqueue_ops=None, close_op=None, cancel_op=None, queue_closed_exception_types=None,
        queue_runner_def=None, import_scope=None,
    ):  # fmt: skip
        if not queue or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        self._queue, self._ops = queue, list(enqueue_ops)
        self._close = close_op if close_op is not None else queue.close()
        self._cancel = cancel_op if cancel_op is not None else queue.close(cancel_pending_enqueues=True)
        self._ends = tuple(queue_closed_exception_types or (OutOfRangeError,)) + (CancelledError,)
        self._raised = []
        self._left, self._lock = 0, threading.Lock()

    queue = property(lambda self: self._queue)
    enqueue_ops = property(lambda self: self._ops)
    close_op = property(lambda self: self._close)
    cancel_op = property(lambda self: self._cancel)
    exceptions_raised = property(lambda self: self._raised)
    name = property(lambda self: self._queue.name)

    def create_threads(self, sess, coord=None, daemon=False, start=False):
        with self._lock:
            if self._left:
                return []
            self._left, self._raised = len(self._ops), []
        threads = [threading.Thread(target=self._run, args=(sess, op, coord), daemon=daemon) for op in self._ops]
        if coord:
            threads.append(threading.Thread(target=self._close_on_stop, args=(sess, coord), daemon=daemon))
            for thread in threads:
                coord.register_thread(thread)
        if start:
            for thread in threads:
                thread.start()
        return threads

    def _run(self, sess, op, coord):
        try:
            while coord is None or not coord.should_stop():
                sess.run(op)
        except self._ends:
            pass
        except Exception as error:  # noqa: BLE001  (the coordinator's, or kept)
            if coord is None:
                self._raised.append(error)
                raise
            coord.request_stop(error)
        finally:
            with self._lock:
                self._left -= 1
                last = self._left == 0
            if last:
                with contextlib.suppress(Exception):
                    sess.run(self._close)

    def _close_on_stop(self, sess, coord):
        coord.wait_for_stop()
        with contextlib.suppress(Exception):
            sess.run(self._cancel)


def add_queue_runner(qr, collection=GraphKeys.QUEUE_RUNNERS):
    add_to_collection(collection, qr)


def start_queue_runners(sess=None, coord=None, daemon=True, start=True, collection=GraphKeys.QUEUE_RUNNERS):
    """Starts the threads of all runners of the graph."""
    session = sess if sess is not None else get_default_session()
    if session is None:
        raise ValueError("Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or pass "
                         "an explicit session to tf.start_queue_runners(sess=sess)")
    threads = []
    with session.graph.as_default():
        for runner in get_collection(collection):
            threads += runner.create_threads(session, coord=coord, daemon=daemon, start=start)
    return threads


class Supervisor:
    """Prepares a session from the newest checkpoint or by initializing, and saves when it stops."""

    USE_DEFAULT = 0

    def __init__(
        self, graph=None, ready_op=USE_DEFAULT, ready_for_local_init_op=USE_DEFAULT, is_chief=True, init_op=USE_DEFAULT,
        init_feed_dict=None, local_init_op=USE_DEFAULT, logdir=None, summary_op=USE_DEFAULT, saver=USE_DEFAULT,
        global_step=USE_DEFAULT, save_summaries_secs=120, save_model_secs=600, recovery_wait_secs=30,
        stop_grace_secs=120, checkpoint_basename="model.ckpt", session_manager=None, summary_writer=USE_DEFAULT,
        init_fn=None, local_init_run_options=None,
    ):  # fmt: skip
        from tandem.graph_mode.monitored import Scaffold
        from tandem.graph_mode.steps import get_global_step

        self._graph = graph or graphs.default_graph()
        given = lambda value: None if value is self.USE_DEFAULT else value  # noqa: E731
        with self._graph.as_default():
            self._scaffold = Scaffold(init_op=given(init_op), local_init_op=given(local_init_op), saver=given(saver),
                                      summary_op=given(summary_op)).finalize()  # fmt: skip
            self._step = get_global_step(self._graph) if global_step is self.USE_DEFAULT else global_step
        self._init_feeds, self._init_fn = init_feed_dict, init_fn
        self._folder, self._name = logdir, checkpoint_basename
        self.coord = self._coord = Coordinator()

    saver = property(lambda self: self._scaffold.saver)
    global_step = property(lambda self: self._step)
    init_op = property(lambda self: self._scaffold.init_op)

    def prepare_or_wait_for_session(self, master="", config=None, wait_for_checkpoint=False, max_wait_secs=7200,
                                    start_standard_services=True):  # fmt: skip
        session = Session(master, graph=self._graph, config=config)
        path = latest_checkpoint(self._folder) if self._folder else None
        if path is not None:
            self.saver.restore(session, path)
        else:
            session.run(self._scaffold.init_op, feed_dict=self._init_feeds)
            if self._init_fn is not None:
                self._init_fn(session)
        session.run(self._scaffold.local_init_op)
        start_queue_runners(session, self._coord)
        return session

    PrepareSession = prepare_or_wait_for_session

    @contextlib.contextmanager
    def managed_session(self, master="", config=None, start_standard_services=True, close_summary_writer=True):
        session = self.prepare_or_wait_for_session(master, config)
        try:
            with session.as_default(), self._graph.as_default():
                yield session
        except OutOfRangeError:
            pass
        finally:
            self.request_stop()
            if self._folder:
                import os

                os.makedirs(self._folder, exist_ok=True)
                self.saver.save(session, os.path.join(self._folder, self._name), self._step)
            session.close()

    def should_stop(self):
        return self._coord.should_stop()

    def request_stop(self, ex=None):
        self._coord.request_stop(ex)

    def stop(self, threads=None, close_summary_writer=True, ignore_live_threads=False):
        self._coord.request_stop()


def replica_device_setter(
    ps_tasks=0, ps_device="/job:ps", worker_device="/job:worker", merge_devices=True, cluster=None, ps_ops=None,
    ps_strategy=None,
):  # fmt: skip
    """None without parameter servers, which Tandem does not have."""
    if cluster is not None or ps_tasks:
        raise NotImplementedError("There are no parameter servers in Tandem: use tf.distribute.MirroredStrategy.")
    return None
