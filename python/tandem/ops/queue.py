"""tf.queue: queues between threads. The elements wait in the native queue, which blocks without holding the
interpreter; inside a tf.function a queue is used by a callback when the function runs."""

import itertools
import random as _random

from tandem import _core
from tandem._core import as_dtype, convert_to_tensor, execute
from tandem.framework.graph import session_graph
from tandem.framework.shape import TensorShape, as_shape

_numbers = itertools.count()


class QueueBase:
    """A queue of tuples of tensors, or of dicts where its components have names."""

    _order, _least, _seed = "fifo", 0, 0

    def __new__(cls, *args, **kwargs):
        if session_graph() is not None and cls.__module__ == __name__:
            from tandem.graph_mode import queues

            return getattr(queues, cls.__name__)(*args, **kwargs)
        return super().__new__(cls)

    def __init__(self, dtypes, shapes, names, queue_ref=None, *, capacity=-1, name="queue"):
        self._dtypes = [as_dtype(d) for d in (dtypes if isinstance(dtypes, (list, tuple)) else [dtypes])]
        if shapes is not None:
            shapes = shapes if self._is_list_of_shapes(shapes) else [shapes]
            if len(shapes) != len(self._dtypes):
                raise ValueError(f"Queue shapes must have the same length as dtypes, received len(shapes)={len(shapes)}, len(dtypes)={len(self._dtypes)}")
            self._shapes = [as_shape(s) for s in shapes]
        else:
            self._shapes = [TensorShape(None)] * len(self._dtypes)
        if names is not None:
            names = [names] if isinstance(names, str) else list(names)
            if len(names) != len(self._dtypes):
                raise ValueError(f"List of queue names must have the same length as dtypes, received len(names)={len(names)}, len(dtypes)={len(self._dtypes)}")
        self._names = names
        self._name = name
        said = f"{type(self).__name__} '_{next(_numbers)}_{name}'"
        self._queue = queue_ref or _core.ElementQueue(said, capacity, self._order, self._least, self._seed)

    @staticmethod
    def _is_list_of_shapes(shapes):
        return isinstance(shapes, (list, tuple)) and all(isinstance(s, (list, tuple, TensorShape)) or s is None for s in shapes) and len(shapes) > 0

    queue_ref = property(lambda self: self._queue)
    name = property(lambda self: self._name)
    dtypes = property(lambda self: list(self._dtypes))
    shapes = property(lambda self: list(self._shapes))
    names = property(lambda self: self._names)

    @classmethod
    def from_list(cls, index, queues):
        """One of several queues of the same components."""
        if not queues or not isinstance(queues, list) or not all(isinstance(q, QueueBase) for q in queues):
            raise TypeError("A list of queues expected")
        if any(q.dtypes != queues[0].dtypes for q in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        return queues[int(index)]

    # ---- Putting in

    def _components(self, vals, many=False):
        """The tensors of an element, in the order of the components, checked."""
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names) != sorted(vals):
                raise ValueError(f"Keys in dictionary to enqueue do not match names of Queue.  Dictionary: {sorted(vals)}, Queue: {sorted(self._names)}")
            vals = [vals[n] for n in self._names]
        else:
            if self._names:
                raise ValueError("You must enqueue a dictionary in a Queue with names")
            vals = list(vals) if isinstance(vals, (list, tuple)) else [vals]
        if len(vals) != len(self._dtypes):
            raise ValueError(f"Expected {len(self._dtypes)} components, got {len(vals)}.")
        found = [convert_to_tensor(v, None, d) if isinstance(v, _core.Tensor) else convert_to_tensor(v, d) for v, d in zip(vals, self._dtypes)]
        for tensor, dtype, shape in zip(found, self._dtypes, self._shapes):
            if tensor.dtype != dtype:
                raise ValueError(f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {tensor.dtype.name}: {tensor!r}")
            shape = TensorShape([None]).concatenate(shape) if many and shape.rank is not None else shape
            if not shape.is_compatible_with(tensor.shape):
                raise ValueError(f"Shape {tensor.shape} of a component is not compatible with {shape}.")
        return found

    def enqueue(self, vals, name=None):
        """Puts in one element, and waits until there is room."""
        return self._run(lambda *parts: self._put([parts]), self._components(vals))

    def enqueue_many(self, vals, name=None):
        """Puts in an element for each row."""

        def put(*parts):
            count = parts[0].shape[0]
            self._put(list(zip(*(execute("Unpack", p, num=count, axis=0) for p in parts))) if count else [])

        return self._run(put, self._components(vals, many=True))

    def _put(self, elements):
        self._queue.put([tuple(e) for e in elements], [self._key(e) for e in elements])

    def _key(self, element):
        return 0

    # ---- Taking out

    def dequeue(self, name=None):
        """The next element; waits until there is one."""
        return self._given(self._run(lambda: list(self._queue.take(1)[0]), [], self._dtypes, self._shapes))

    def dequeue_many(self, n, name=None):
        """The next n elements, in rows."""
        return self._several(n, False)

    def dequeue_up_to(self, n, name=None):
        """The next n elements, or what a closed queue has left."""
        return self._several(n, True)

    def _several(self, n, fewer):
        self._require_shapes()

        def take(n):
            rows = self._queue.take(int(n), fewer)
            return [self._rows(list(column), i) for i, column in enumerate(zip(*rows))] if rows else self._no_rows()

        wanted = [TensorShape([None if fewer or hasattr(n, "_symbolic") and n._symbolic else int(n)]).concatenate(s) for s in self._shapes]
        return self._given(self._run(take, [convert_to_tensor(n, "int32")], self._dtypes, wanted))

    def _require_shapes(self):
        if any(not s.is_fully_defined() for s in self._shapes):
            raise ValueError("dequeue_many and dequeue_up_to need queues whose components have fully defined shapes.")

    def _rows(self, tensors, component):
        return execute("Pack", tensors, axis=0)

    def _no_rows(self):
        return [convert_to_tensor([], d) if d.name == "string" else execute("Fill", [0, *s.as_list()], convert_to_tensor(0, d))
                for d, s in zip(self._dtypes, self._shapes)]  # fmt: skip

    def _given(self, tensors):
        if self._names:
            return dict(zip(self._names, tensors))
        return tensors[0] if len(tensors) == 1 else tensors

    def _run(self, function, inputs, dtypes=(), shapes=()):
        """Now, or by a callback when the function that is traced runs."""
        if _core.current_graph() is None:
            return function(*inputs)
        from tandem.ops.script import py_function, with_own_errors

        found = py_function(with_own_errors(function), inputs, list(dtypes))
        found = found if isinstance(found, (list, tuple)) else [found]
        for tensor, shape in zip(found, shapes):
            tensor.set_shape(shape)
        return list(found) if dtypes else None

    # ---- The end

    def close(self, cancel_pending_enqueues=False, name=None):
        """Nothing more can be put in; what waits for more than there is gets an error."""
        self._run(lambda: self._queue.close(bool(cancel_pending_enqueues)), [])

    def is_closed(self, name=None):
        """Whether it was closed."""
        return self._run(lambda: [convert_to_tensor(self._queue.is_closed())], [], [as_dtype("bool")], [TensorShape([])])[0]

    def size(self, name=None):
        """How many elements wait."""
        return self._run(lambda: [convert_to_tensor(self._queue.size(), "int32")], [], [as_dtype("int32")], [TensorShape([])])[0]


class FIFOQueue(QueueBase):
    """First in, first out."""

    def __init__(self, capacity, dtypes, shapes=None, names=None, shared_name=None, name="fifo_queue"):
        super().__init__(dtypes, shapes, names, capacity=int(capacity), name=name)


class PaddingFIFOQueue(QueueBase):
    """First in, first out; dequeue_many pads elements with zeros to one size."""

    def __init__(self, capacity, dtypes, shapes, names=None, shared_name=None, name="padding_fifo_queue"):
        super().__init__(dtypes, shapes, names, capacity=int(capacity), name=name)

    def _require_shapes(self):
        if any(s.rank is None for s in self._shapes):
            raise ValueError("The components of a PaddingFIFOQueue must have shapes of known rank.")

    def _rows(self, tensors, component):
        known = self._shapes[component].as_list()
        sizes = [max(t.shape[i] for t in tensors) if d is None else d for i, d in enumerate(known)]
        pad = lambda t: execute("Pad", t, [[0, s - h] for s, h in zip(sizes, t.shape.as_list())]) if sizes else t  # noqa: E731
        return execute("Pack", [pad(t) for t in tensors], axis=0)

    def _no_rows(self):
        return [execute("Fill", [0, *(d or 0 for d in s.as_list())], convert_to_tensor("" if t.name == "string" else 0, t))
                for t, s in zip(self._dtypes, self._shapes)]  # fmt: skip


class RandomShuffleQueue(QueueBase):
    """Elements come out in random order; `min_after_dequeue` of them stay until the queue is closed."""

    _order = "shuffle"

    def __init__(self, capacity, min_after_dequeue, dtypes, shapes=None, names=None, seed=None, shared_name=None,
                 name="random_shuffle_queue"):  # fmt: skip
        self._least = int(min_after_dequeue)
        if self._least < 0 or self._least >= capacity >= 0:
            from tandem.framework.errors import InvalidArgumentError

            raise InvalidArgumentError(None, None, f"min_after_dequeue {self._least} must be < capacity {capacity}")
        self._seed = _random.getrandbits(64) if seed is None else int(seed) % 2**64
        super().__init__(dtypes, shapes, names, capacity=int(capacity), name=name)


class PriorityQueue(QueueBase):
    """The element with the smallest first component, an int64, comes out first."""

    _order = "priority"

    def __init__(self, capacity, types, shapes=None, names=None, shared_name=None, name="priority_queue"):
        types = list(types) if isinstance(types, (list, tuple)) else [types]
        if shapes is not None:
            shapes = [[], *(shapes if self._is_list_of_shapes(shapes) else [shapes])]
        super().__init__([as_dtype("int64"), *types], shapes, names, capacity=int(capacity), name=name)

    def _key(self, element):
        return int(element[0])
