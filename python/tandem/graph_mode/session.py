"""tf.Session: runs parts of a graph.

A run is a compiled function from what is fed to what is fetched. It is taken out of the graph once for each set of
fetches and feeds, and kept; the compiled function keeps its plans by shapes. A session has values of its own for the
graph's variables.
"""

import threading

import numpy as np

from tandem import _core
from tandem.framework.errors import InvalidArgumentError
from tandem.graph_mode import graph as graphs
from tandem.graph_mode.feeds import feed_parts, fit
from tandem.graph_mode.fetches import Fetches, key_of

_KEPT_RUNS = 1000
_DTYPES = {"float32": "float", "float64": "double", "float16": "half"}


class _Plan:
    """A run that is kept: from the values of a feed_dict to the answer."""

    __slots__ = ("run", "fetches", "feeds", "sources", "effects", "kept")


class BaseSession:
    def __init__(self, target="", graph=None, config=None):
        if target:
            raise NotImplementedError("Sessions run in this process; there are no servers to connect to.")
        if graph is None:
            graph = graphs.default_graph()
        if not isinstance(graph, graphs.Graph):
            raise TypeError(f"Argument `graph` must be a tf.Graph, but got \"{type(graph).__name__}\"")
        if config is not None:
            config._apply()
        self._graph, self._config = graph, config
        self._values = _core.SessionValues()
        self._plans = {}
        self._closed = False
        self._state = {}  # of iterators, tables and queues of this session
        self._lock = threading.RLock()

    graph = property(lambda self: self._graph)
    sess_str = property(lambda self: "")

    @property
    def graph_def(self):
        return self._graph.as_graph_def()

    def list_devices(self):
        return [_Device(d) for d in _core.config.list_logical_devices()]

    def close(self):
        self._closed = True
        self._plans.clear()

    def as_default(self):
        return _default_session(self)

    # ---- Running

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        """The values of `fetches`, in their structure; None for operations."""
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        key = []
        key_of(fetches, key)
        if feed_dict:
            for fed in feed_dict:
                key.append(fed if type(fed) is str else id(fed))
        key = tuple(key)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plan(key, fetches, feed_dict)
        values = _given(plan.feeds, feed_dict) if feed_dict else []
        for source, components in plan.sources:
            parts = source(self)
            values += [parts[c] for c in components]
        for effect in plan.effects:
            effect(self, feed_dict)
        if run_metadata is None:
            return plan.fetches.build(plan.run(values))
        return plan.fetches.build(run_metadata._of(plan.run, values, options))

    def _plan(self, key, fetches, feed_dict):
        with self._lock:
            plan = _Plan()
            plan.fetches = self._fetches(fetches)
            plan.feeds = [feed_parts(self._graph, fed) for fed in feed_dict or ()]
            plan.kept = list(feed_dict or ())
            fed = [_core.place_of(part) for parts in plan.feeds for part in parts.tensors]
            self._find_sources(plan, fed)
            plan.run = self._graph._extract(self._values, plan.fetches.places, plan.fetches.operations, fed, plan.fetches.late)
            if len(self._plans) >= _KEPT_RUNS:
                self._plans.pop(next(iter(self._plans)))
            self._plans[key] = plan
            return plan

    def _fetches(self, fetches):
        """Taken apart. In an empty graph there are only composite tensors that were made of values."""
        if len(self._graph):
            return Fetches(self._graph, fetches)
        try:
            found = Fetches(self._graph, fetches)
        except (TypeError, ValueError):
            found = None
        if found is None or not found.has_values:
            raise RuntimeError("The Session graph is empty. Add operations to the graph before calling run().")
        return found

    def _find_sources(self, plan, fed):
        """What else has to be given or done; a placeholder that nobody feeds is an error."""
        graph, sources, plan.effects = self._graph, {}, []
        for node in graph._needed(plan.fetches.places, plan.fetches.operations, fed):
            if node in graph._effects:
                plan.effects.append(graph._effects[node])
            elif node in graph._sources:
                function, component = graph._sources[node]
                sources.setdefault(function, []).append((node, component))
            elif graph._operation(node).type == "Placeholder" and (node, 0) not in fed:
                _refuse(graph._operation(node))
        plan.sources = [(function, [c for _, c in parts]) for function, parts in sources.items()]
        fed += [(node, 0) for parts in sources.values() for node, _ in parts]

    def make_callable(self, fetches, feed_list=None, accept_options=False):
        """A function of the values of `feed_list` that gives those of `fetches`."""
        feeds = list(feed_list or ())

        def call(*values, options=None, run_metadata=None):
            if len(values) != len(feeds):
                raise TypeError(f"Expected {len(feeds)} values for the feeds, got {len(values)}.")
            return self.run(fetches, dict(zip(feeds, values)), options, run_metadata)

        return call

    def partial_run_setup(self, fetches, feeds=None):
        raise NotImplementedError("A run of Tandem's is one compiled function: fetch what you need in one run() instead "
                                  "of partial_run().")

    def partial_run(self, handle, fetches, feed_dict=None):
        self.partial_run_setup(fetches)


class _Device:
    def __init__(self, device):
        self.name, self.device_type = device.name, device.device_type
        self.memory_limit_bytes, self.incarnation = 0, 0

    def __repr__(self):
        return f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes}, {self.incarnation})"


def _refuse(operation):
    tensor = operation.outputs[0]
    name = _DTYPES.get(tensor.dtype.name, tensor.dtype.name)
    shape = tensor.shape
    known = "" if shape.rank is None else f" and shape [{','.join('?' if d is None else str(d) for d in shape.as_list())}]"
    raise InvalidArgumentError(
        operation.node_def, operation,
        f"You must feed a value for placeholder tensor '{operation.name}' with dtype {name}{known}\n"
        f"\t [[{{{{node {operation.name}}}}}]]",
    )  # fmt: skip


def _given(feeds, feed_dict):
    """The values of a feed_dict as arrays of the right dtype."""
    values = []
    for feed, value in zip(feeds, feed_dict.values()):
        if feed.only is not None:
            kind = type(value)
            if kind is np.ndarray and value.dtype == feed.numpy and feed.fits(value.shape):
                values.append(value)
            else:
                values.append(fit(feed.only, value))
        else:
            values += [fit(part, v) for part, v in zip(feed.tensors, feed.split(value))]
    return values


# ---- Default sessions


class _Thread(threading.local):
    def __init__(self):
        self.sessions = []


_thread = _Thread()


class _default_session:  # noqa: N801
    def __init__(self, session):
        self._session = session

    def __enter__(self):
        _thread.sessions.append(self._session)
        return self._session

    def __exit__(self, *exception):
        _thread.sessions.remove(self._session)


def get_default_session():
    return _thread.sessions[-1] if _thread.sessions else None


def session_for(graph, session, method, kind):
    """The session that is given or the default one, which has to be one of the graph."""
    if session is None:
        session = get_default_session()
        if session is None:
            what = "evaluate tensor using `eval()`" if method == "eval" else "execute operation using `run()`"
            raise ValueError(f"Cannot {what}: No default session is registered. Use `with sess.as_default()` or pass an "
                             f"explicit session to `{method}(session=sess)`")
    if session.graph is not graph:
        raise ValueError(f"Cannot use the default session to {method} the {kind}: the {kind}'s graph is different from "
                         "the session's graph. Pass an explicit session.")
    return session


class Session(BaseSession):
    """Runs parts of a graph; as a block, it is the default session, and its graph the default graph."""

    def __init__(self, target="", graph=None, config=None):
        super().__init__(target, graph, config)
        self._blocks = []

    def __enter__(self):
        blocks = [self._graph.as_default(), self.as_default()]
        for block in blocks:
            block.__enter__()
        self._blocks.append(blocks)
        return self

    def __exit__(self, *exception):
        for block in reversed(self._blocks.pop()):
            block.__exit__(None, None, None)
        self.close()
        return False

    @staticmethod
    def reset(target, containers=None, config=None):
        """Resources belong to sessions and go with them."""


class InteractiveSession(BaseSession):
    """A session that is the default one from the beginning."""

    def __init__(self, target="", graph=None, config=None):
        super().__init__(target, graph, config)
        self._block = self.as_default()
        self._block.__enter__()
        self._graph_block = None
        if graph is not None or graphs.is_eager_enabled():
            self._graph_block = self._graph.as_default()
            self._graph_block.__enter__()

    def close(self):
        if self._closed:
            return
        super().close()
        if self in _thread.sessions:
            self._block.__exit__(None, None, None)
        if self._graph_block is not None:
            self._graph_block.__exit__(None, None, None)
            self._graph_block = None
