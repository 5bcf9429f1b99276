"""Queues of a graph: enqueue() is an operation, dequeue() gives tensors. What is in a queue belongs to the session."""

import collections
import random
import threading

import numpy as np

from tandem import _core
from tandem._namespaces import get
from tandem.framework.errors import CancelledError, OutOfRangeError
from tandem.framework.shape import as_shape
from tandem.graph_mode import graph as graphs, ops


class _Contents:
    """What a queue holds in one session. Threads wait for room and for elements."""

    def __init__(self, capacity, order, least):
        self._capacity, self._order, self._least = capacity, order, least
        self._items, self._closed, self._cancelled = collections.deque(), False, False
        self._change = threading.Condition()

    def put(self, item, name):
        with self._change:
            while not self._closed and len(self._items) >= self._capacity > 0:
                self._change.wait()
            if self._cancelled or self._closed:
                raise CancelledError(None, None, f"Queue '{name}' is closed.")
            self._items.append(item)
            self._change.notify_all()

    def take(self, count, name, at_most=False):
        """`count` items; fewer of a closed queue with `at_most`."""
        with self._change:
            # A shuffled queue keeps some to choose from, until it is closed.
            while not self._closed and len(self._items) < count + self._least:
                self._change.wait()
            if self._cancelled and len(self._items) < count:
                raise OutOfRangeError(None, None, f"Queue '{name}' is closed and has insufficient elements")
            if len(self._items) < count and not (at_most and self._items):
                raise OutOfRangeError(
                    None, None, f"{self._order}Queue '_0_{name}' is closed and has insufficient elements (requested {count}, "
                    f"current size {len(self._items)})"
                )  # fmt: skip
            taken = [self._next() for _ in range(min(count, len(self._items)))]
            self._change.notify_all()
            return taken

    def _next(self):
        if self._order == "RandomShuffle":
            at = random.randrange(len(self._items))
            item = self._items[at]
            del self._items[at]
            return item
        if self._order == "Priority":
            first = min(range(len(self._items)), key=lambda i: int(self._items[i][0]))
            item = self._items[first]
            del self._items[first]
            return item
        return self._items.popleft()

    def close(self, cancel):
        with self._change:
            self._closed, self._cancelled = True, cancel
            self._change.notify_all()

    size = property(lambda self: len(self._items))
    closed = property(lambda self: self._closed)


class QueueBase:
    """A queue of elements with one or several components."""

    _order, _padded = "FIFO", False

    def __init__(self, dtypes, shapes, names, capacity, name, least=0):
        if graphs.current() is None:
            raise RuntimeError("Queues of TensorFlow 1 belong to graphs: use tf.queue, or build a graph.")
        dtypes = dtypes if isinstance(dtypes, (list, tuple)) else [dtypes]
        self._dtypes = [_core.as_dtype(d) for d in dtypes]
        self._shapes = self._own_shapes(shapes)
        self._names = None if names is None else ([names] if isinstance(names, str) else list(names))
        self._capacity, self._name, self._least = capacity, graphs.current()._unique_name(name), least

    def _own_shapes(self, shapes):
        if shapes is None:
            return [as_shape(None)] * len(self._dtypes)
        if len(self._dtypes) == 1 and not (isinstance(shapes, (list, tuple)) and shapes and not isinstance(shapes[0], int)):
            shapes = [shapes]
        if len(shapes) != len(self._dtypes):
            raise ValueError("Queue shapes must have the same length as dtypes, received "
                             f"len(shapes)={len(shapes)}, len(dtypes)={len(self._dtypes)}")
        return [as_shape(s) for s in shapes]

    dtypes = property(lambda self: self._dtypes)
    shapes = property(lambda self: self._shapes)
    names = property(lambda self: self._names)
    name = property(lambda self: self._name)

    def _in(self, session):
        found = session._state.get(self)
        if found is None:
            found = session._state.setdefault(self, _Contents(self._capacity, self._order, self._least))
        return found

    # ---- Putting in

    def _components(self, vals):
        if isinstance(vals, dict):
            if self._names is None:
                raise ValueError("Queue must have names to enqueue a dictionary")
            vals = [vals[name] for name in self._names]
        elif not isinstance(vals, (list, tuple)) or (len(self._dtypes) == 1 and not (
                len(vals) == 1 and isinstance(vals[0], _core.Tensor))):  # fmt: skip
            vals = [vals]
        if len(vals) != len(self._dtypes):
            raise ValueError(f"Queue has {len(self._dtypes)} components, got {len(vals)} values.")
        return [get("convert_to_tensor")(v, dtype=d) for v, d in zip(vals, self._dtypes)]

    def enqueue(self, vals, name=None):
        tensors = self._components(vals)

        def put(session, feed_dict):
            self._in(session).put(session.run(tensors, feed_dict), self._name)

        return ops.effect(name or f"{self._name}_enqueue", put)

    def enqueue_many(self, vals, name=None):
        tensors = self._components(vals)

        def put(session, feed_dict):
            for row in zip(*session.run(tensors, feed_dict)):
                self._in(session).put(list(row), self._name)

        return ops.effect(name or f"{self._name}_EnqueueMany", put)

    # ---- Taking out

    def _taken(self, name, take, shapes):
        """Tensors of an element, or of several together."""

        def source(session):
            with _core.init_scope():
                return [_core.convert_to_tensor(part, dtype) for part, dtype in zip(take(session), self._dtypes)]

        parts = [ops.source(dtype, shape, name, (source, i)) for i, (dtype, shape) in enumerate(zip(self._dtypes, shapes))]
        if self._names is not None:
            return dict(zip(self._names, parts))
        return parts[0] if len(parts) == 1 else parts

    def dequeue(self, name=None):
        return self._taken(name or f"{self._name}_Dequeue", lambda s: self._in(s).take(1, self._name)[0], self._shapes)

    def _many(self, n, name, at_most):
        count = _core.static_value(n) if isinstance(n, _core.Tensor) else n
        if count is None:
            raise NotImplementedError("How many elements are taken has to be known when the graph is built.")
        count = int(count)
        shapes = [as_shape([None if at_most else count]).concatenate(s) for s in self._shapes]

        def take(session):
            rows = self._in(session).take(count, self._name, at_most)
            return [self._together(part) for part in zip(*rows)]

        return self._taken(name, take, shapes)

    def _together(self, parts):
        arrays = [np.asarray(p) for p in parts]
        if not self._padded:
            return np.stack(arrays)
        size = [max(a.shape[i] for a in arrays) for i in range(arrays[0].ndim)]
        return np.stack([np.pad(a, [(0, s - n) for s, n in zip(size, a.shape)]) for a in arrays])

    def dequeue_many(self, n, name=None):
        return self._many(n, name or f"{self._name}_DequeueMany", False)

    def dequeue_up_to(self, n, name=None):
        return self._many(n, name or f"{self._name}_DequeueUpTo", True)

    # ---- The queue itself

    def close(self, cancel_pending_enqueues=False, name=None):
        return ops.effect(name or f"{self._name}_Close", lambda session, _: self._in(session).close(cancel_pending_enqueues))

    def size(self, name=None):
        return self._asked("int32", name or f"{self._name}_Size", lambda c: np.int32(c.size))

    def is_closed(self, name=None):
        return self._asked("bool", name or f"{self._name}_is_closed", lambda c: np.bool_(c.closed))

    def _asked(self, dtype, name, ask):
        def source(session):
            with _core.init_scope():
                return [_core.convert_to_tensor(ask(self._in(session)))]

        return ops.source(dtype, [], name, (source, 0))


class FIFOQueue(QueueBase):
    def __init__(self, capacity, dtypes, shapes=None, names=None, shared_name=None, name="fifo_queue"):
        super().__init__(dtypes, shapes, names, capacity, name)


class RandomShuffleQueue(QueueBase):
    _order = "RandomShuffle"

    def __init__(
        self, capacity, min_after_dequeue, dtypes, shapes=None, names=None, seed=None, shared_name=None,
        name="random_shuffle_queue",
    ):  # fmt: skip
        super().__init__(dtypes, shapes, names, capacity, name, min_after_dequeue)


class PaddingFIFOQueue(QueueBase):
    _padded = True

    def __init__(self, capacity, dtypes, shapes, names=None, shared_name=None, name="padding_fifo_queue"):
        super().__init__(dtypes, shapes, names, capacity, name)


class PriorityQueue(QueueBase):
    _order = "Priority"

    def __init__(self, capacity, types, shapes=None, names=None, shared_name=None, name="priority_queue"):
        types = types if isinstance(types, (list, tuple)) else [types]
        shapes = [[]] * (1 + len(types)) if shapes is None else [[], *shapes]
        super().__init__(["int64", *types], shapes, names, capacity, name)
