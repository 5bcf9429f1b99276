"""Input pipelines of TensorFlow 1: queues that threads fill, which start_queue_runners() starts."""

from tandem import _core
from tandem._namespaces import get
from tandem.framework import nest
from tandem.framework.errors import OutOfRangeError
from tandem.graph_mode import ops
from tandem.graph_mode.queues import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from tandem.graph_mode.runners import QueueRunner, add_queue_runner


def _rounds(rows, shuffle, seed, num_epochs):
    """A function of the session that gives one row after the other, round after round."""

    def next_of(session, key):
        state = session._state.get(key)
        if state is None:
            state = session._state[key] = _all(session.run(rows), shuffle, seed, num_epochs)
        row = next(state, None)
        if row is None:
            raise OutOfRangeError(None, None, f"Reached limit of {num_epochs}")
        return row

    return next_of


def _all(values, shuffle, seed, num_epochs):
    import itertools
    import random

    chance = random.Random(seed)
    for _ in itertools.count() if num_epochs is None else range(num_epochs):
        order = list(range(len(values)))
        if shuffle:
            chance.shuffle(order)
        for i in order:
            yield values[i]


def input_producer(
    input_tensor, element_shape=None, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None,
    summary_name=None, name=None, cancel_op=None,
):  # fmt: skip
    """A queue with the rows of a tensor."""
    rows = get("convert_to_tensor")(input_tensor)
    queue = FIFOQueue(capacity, [rows.dtype], [rows.shape[1:]], name=name or "input_producer")
    take = _rounds(rows, shuffle, seed, num_epochs)

    def put(session, feed_dict):
        queue._in(session).put([take(session, (queue, "rows"))], queue.name)

    add_queue_runner(QueueRunner(queue, [ops.effect(f"{queue.name}_enqueue", put)]))
    return queue


def string_input_producer(
    string_tensor, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None, name=None, cancel_op=None
):
    if not isinstance(string_tensor, _core.Tensor) and not list(string_tensor):
        raise ValueError("string_input_producer requires a non-null input tensor")
    return input_producer(get("convert_to_tensor")(string_tensor, dtype="string"), [], num_epochs, shuffle, seed, capacity,
                          name=name or "input_producer")  # fmt: skip


def range_input_producer(limit, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None, name=None):
    return input_producer(get("range")(limit), [], num_epochs, shuffle, seed, capacity, name=name or "input_producer")


def slice_input_producer(tensor_list, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None, name=None):
    tensors = [get("convert_to_tensor")(t) for t in tensor_list]
    if not tensors:
        raise ValueError("Expected at least one tensor in slice_input_producer().")
    index = range_input_producer(get("shape")(tensors[0])[0], num_epochs, shuffle, seed, capacity, name=name).dequeue()
    return [get("gather")(t, index) for t in tensors]


def limit_epochs(tensor, num_epochs=None, name=None):
    """The tensor, as often; then OutOfRangeError."""
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")

    def count(session, feed_dict):
        key = (operation, "epochs")
        session._state[key] = session._state.get(key, 0) + 1
        if session._state[key] > num_epochs:
            raise OutOfRangeError(None, None, f"Reached limit of {num_epochs}")

    operation = ops.effect("epochs", count)
    return ops.with_dependencies([operation], tensor, name)


# ---- Batches


def _made(queue, rows, batch_size, enqueue_many, allow_smaller, keep_input=True):
    """Threads that put the rows into the queue, and the batch that comes out; `rows`: one list for each thread."""
    add_queue_runner(QueueRunner(queue, [_conditional(queue, row, enqueue_many, keep_input) for row in rows]))
    return queue.dequeue_up_to(batch_size) if allow_smaller else queue.dequeue_many(batch_size)


def _conditional(queue, row, enqueue_many, keep_input):
    keep = None if keep_input is True else get("convert_to_tensor")(keep_input)
    wanted = list(row) + ([] if keep is None else [keep])

    def put(session, feed_dict):
        values = session.run(wanted, feed_dict)
        keeps = True if keep is None else values.pop()
        contents = queue._in(session)
        for number, item in enumerate(zip(*values) if enqueue_many else [values]):
            if keeps if keep is None or keep.shape.rank == 0 else keeps[number]:
                contents.put(list(item), queue.name)

    return ops.effect(f"{queue.name}_enqueue", put)


def _flat(tensors):
    flat = [get("convert_to_tensor")(t) for t in nest.flatten(tensors)]
    if not flat:
        raise ValueError("Expected at least one tensor in batch().")
    return flat


def _batched(make, tensors_of_threads, structure, batch_size, enqueue_many, shapes, dynamic_pad, allow_smaller, keep=True):
    rows = [_flat(t) for t in tensors_of_threads]
    known = shapes or [t.shape[1:] if enqueue_many else t.shape for t in rows[0]]
    out = _made(make(rows[0], known), rows, batch_size, enqueue_many, allow_smaller, keep)
    out = out if isinstance(out, list) else [out]
    single = not isinstance(structure, (list, tuple, dict)) or (isinstance(structure, list) and len(structure) == 1)
    return out[0] if single else nest.pack_sequence_as(structure, out)


def _fifo(capacity, dynamic_pad, name):
    kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    return lambda row, shapes: kind(capacity, [t.dtype for t in row], shapes, name=name)


def _shuffled(capacity, least, name):
    return lambda row, shapes: RandomShuffleQueue(capacity, least, [t.dtype for t in row], shapes, name=name)


def batch(
    tensors, batch_size, num_threads=1, capacity=32, enqueue_many=False, shapes=None, dynamic_pad=False,
    allow_smaller_final_batch=False, shared_name=None, name=None,
):  # fmt: skip
    return maybe_batch(tensors, True, batch_size, num_threads, capacity, enqueue_many, shapes, dynamic_pad,
                       allow_smaller_final_batch, shared_name, name)  # fmt: skip


def maybe_batch(
    tensors, keep_input, batch_size, num_threads=1, capacity=32, enqueue_many=False, shapes=None, dynamic_pad=False,
    allow_smaller_final_batch=False, shared_name=None, name=None,
):  # fmt: skip
    return _batched(_fifo(capacity, dynamic_pad, name or "batch"), [tensors] * num_threads, tensors, batch_size, enqueue_many,
                    shapes, dynamic_pad, allow_smaller_final_batch, keep_input)  # fmt: skip


def batch_join(
    tensors_list, batch_size, capacity=32, enqueue_many=False, shapes=None, dynamic_pad=False,
    allow_smaller_final_batch=False, shared_name=None, name=None,
):  # fmt: skip
    return maybe_batch_join(tensors_list, True, batch_size, capacity, enqueue_many, shapes, dynamic_pad,
                            allow_smaller_final_batch, shared_name, name)  # fmt: skip


def maybe_batch_join(
    tensors_list, keep_input, batch_size, capacity=32, enqueue_many=False, shapes=None, dynamic_pad=False,
    allow_smaller_final_batch=False, shared_name=None, name=None,
):  # fmt: skip
    return _batched(_fifo(capacity, dynamic_pad, name or "batch_join"), tensors_list, tensors_list[0], batch_size,
                    enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch, keep_input)  # fmt: skip


def shuffle_batch(
    tensors, batch_size, capacity, min_after_dequeue, num_threads=1, seed=None, enqueue_many=False, shapes=None,
    allow_smaller_final_batch=False, shared_name=None, name=None,
):  # fmt: skip
    return maybe_shuffle_batch(tensors, batch_size, capacity, min_after_dequeue, True, num_threads, seed, enqueue_many,
                               shapes, allow_smaller_final_batch, shared_name, name)  # fmt: skip


def maybe_shuffle_batch(
    tensors, batch_size, capacity, min_after_dequeue, keep_input, num_threads=1, seed=None, enqueue_many=False,
    shapes=None, allow_smaller_final_batch=False, shared_name=None, name=None,
):  # fmt: skip
    return _batched(_shuffled(capacity, min_after_dequeue, name or "shuffle_batch"), [tensors] * num_threads, tensors,
                    batch_size, enqueue_many, shapes, False, allow_smaller_final_batch, keep_input)  # fmt: skip


def shuffle_batch_join(
    tensors_list, batch_size, capacity, min_after_dequeue, seed=None, enqueue_many=False, shapes=None,
    allow_smaller_final_batch=False, shared_name=None, name=None,
):  # fmt: skip
    return maybe_shuffle_batch_join(tensors_list, batch_size, capacity, min_after_dequeue, True, seed, enqueue_many, shapes,
                                    allow_smaller_final_batch, shared_name, name)  # fmt: skip


def maybe_shuffle_batch_join(
    tensors_list, batch_size, capacity, min_after_dequeue, keep_input, seed=None, enqueue_many=False, shapes=None,
    allow_smaller_final_batch=False, shared_name=None, name=None,
):  # fmt: skip
    return _batched(_shuffled(capacity, min_after_dequeue, name or "shuffle_batch_join"), tensors_list, tensors_list[0],
                    batch_size, enqueue_many, shapes, False, allow_smaller_final_batch, keep_input)  # fmt: skip
