"""Strategy.run: a function for every replica, traced once."""

import re

from tandem import _core
from tandem.distribution import context
from tandem.distribution.replica import ReplicaContext
from tandem.distribution.values import PerReplica
from tandem.distribution.variables import copies_of
from tandem.framework import nest


_DEVICE = re.compile(r"(?:.*/)?(?:device:)?([A-Za-z_]+):(\d+)$")


def kind_and_number(device):
    """What a device's name says: ("GPU", 0)."""
    text = getattr(device, "name", device)
    found = _DEVICE.match(text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"{device!r} is not a device. Give a name such as '/GPU:0'.")
    return found[1].upper(), int(found[2])


def device_name(device):
    """The full name of a logical device: /job:localhost/replica:0/task:0/device:GPU:0."""
    kind, number = kind_and_number(device)
    short = f"/device:{kind}:{number}"
    there = [d.name for d in _core.config.list_logical_devices()]
    if short not in there and kind == "CPU":
        # As in TensorFlow, where every number of a CPU that is not there is the first one.
        short = "/device:CPU:0"
    if short not in there:
        raise ValueError(f"Device {short} is not there. Logical devices: {', '.join(there)}.")
    return "/job:localhost/replica:0/task:0" + short


def part(structure, replica):
    """What one replica gets of a structure with values per replica."""
    return nest.map_structure(lambda v: v.values[replica] if isinstance(v, PerReplica) else v, structure)


def packed(structures):
    """One structure out of those of all replicas, with values per replica in it."""
    if len(structures) == 1:
        return structures[0]
    return nest.map_structure(lambda *values: PerReplica(values), *structures)


def run(strategy, fn, args, kwargs):
    now = context.place()
    if now is not None and now.replica is not None and strategy.num_replicas_in_sync > 1:
        raise RuntimeError("strategy.run() was called inside a replica; call it across replicas.")
    if strategy.num_replicas_in_sync == 1:
        return _run_alone(strategy, fn, args, kwargs)
    if _core.executing_eagerly():
        return _run_eagerly(strategy, fn, args, kwargs)
    return _run_traced(strategy, fn, args, kwargs)


def _run_alone(strategy, fn, args, kwargs):
    device = strategy.extended.worker_devices[0]
    with context.entered(context.Place(strategy, ReplicaContext(strategy))):
        if device is None:
            return fn(*args, **kwargs)
        with _core.DeviceScope(device):
            return fn(*part(args, 0), **part(kwargs, 0))


def _run_traced(strategy, fn, args, kwargs):
    count = strategy.num_replicas_in_sync
    flat = nest.flatten((args, kwargs))
    places = [i for i, v in enumerate(flat) if isinstance(v, PerReplica)]
    # A ragged or sparse value goes to its replica as the tensors that it is made of.
    arguments = [[t for i in places for t in nest.flatten(flat[i].values[r], expand_composites=True)] for r in range(count)]
    results = []  # the structure of the replica's results, with tensors in it
    merged = []  # those of its tensors that are one for all replicas

    def body(tensors):
        given, tensors = list(flat), iter(tensors)
        for i in places:
            given[i] = _with_tensors(flat[i].values[0], tensors)
        their_args, their_kwargs = nest.pack_sequence_as((args, kwargs), given)
        replica = ReplicaContext(strategy)
        with context.entered(context.Place(strategy, replica)):
            results.append(fn(*their_args, **their_kwargs))
        merged.extend(replica._merged)
        return [t for v in nest.flatten(results[0]) for t in _tensors_of(v)]

    by_replica = _core.call_replicas(list(strategy.extended.worker_devices), copies_of, arguments, body)
    made = [iter(tensors) for tensors in by_replica]

    def of_all(value):
        if not _tensors_of(value):
            return value
        parts = [_with_tensors(value, tensors) for tensors in made]
        return parts[0] if any(value is t for t in merged) else PerReplica(parts)

    return nest.map_structure(of_all, results[0])


def _tensors_of(value):
    """The tensors of a result; [] where a part is none."""
    parts = nest.flatten(value, expand_composites=True)
    return parts if all(isinstance(part, _core.Tensor) for part in parts) else []


def _with_tensors(value, tensors):
    """A value like this one, of the next tensors."""
    parts = [next(tensors) for _ in nest.flatten(value, expand_composites=True)]
    return nest.pack_sequence_as(value, parts, expand_composites=True)


def _run_eagerly(strategy, fn, args, kwargs):
    """Traces for this call alone: what Python does in fn happens at every call, as in TensorFlow."""
    from tandem.framework.function import function

    flat = nest.flatten((args, kwargs))
    places = [i for i, v in enumerate(flat) if isinstance(v, PerReplica)]
    structure = []

    def across(*tensors):
        given, rest = list(flat), iter(tensors)
        for i in places:
            given[i] = _with_tensors(flat[i], rest)
        their_args, their_kwargs = nest.pack_sequence_as((args, kwargs), given)
        structure.append(_run_traced(strategy, fn, their_args, their_kwargs))
        parts = [v for v in nest.flatten(structure[0]) if isinstance(v, (PerReplica, _core.Tensor))]
        return nest.flatten(parts, expand_composites=True)

    tensors = [_core.convert_to_tensor(t) for i in places for t in nest.flatten(flat[i], expand_composites=True)]
    values = iter(function(across, autograph=False)(*tensors))
    return nest.map_structure(
        lambda v: _with_tensors(v, values) if isinstance(v, (PerReplica, _core.Tensor)) else v, structure[0]
    )
