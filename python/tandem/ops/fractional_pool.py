"""tf.nn.fractional_max_pool and fractional_avg_pool: windows of one or two steps, in random or even order."""

import collections

import numpy as np

from tandem._core import convert_to_tensor, execute
from tandem.ops import check

FractionalMaxPool = collections.namedtuple("FractionalMaxPool", ["output", "row_pooling_sequence", "col_pooling_sequence"])
FractionalAvgPool = collections.namedtuple("FractionalAvgPool", FractionalMaxPool._fields)


def _ends(size, ratio, pseudo_random, random):
    """Where the windows of an axis begin, and its end."""
    count = int(size / ratio)
    if count < 1:
        raise ValueError(f"Fractional pooling: pooling_ratio {ratio} is larger than the size {size}.")
    if pseudo_random:
        alpha = size / count
        largest = int(size - (count - 1) * alpha) or 1
        start = random.uniform() * min(1.0, largest)
        ends = np.floor(alpha * (np.arange(count) + start)) - np.floor(alpha * start)
        ends = np.append(ends, size)
    else:
        steps = np.full(count, int(size // count))
        steps[: size - int(steps.sum())] += 1
        random.shuffle(steps)
        ends = np.concatenate([[0], np.cumsum(steps)])
    return ends.astype(np.int64).tolist()


def _windows(x, ends, axis, overlapping, largest):
    """The windows along one axis, each as one row."""
    found = []
    for start, end in zip(ends, ends[1:]):
        end = min(end + 1, x.shape[axis]) if overlapping else end
        place = [slice(None)] * 4
        place[axis] = slice(start, end)
        found.append(execute("Max" if largest else "Mean", x[tuple(place)], axis=[axis]))
    return execute("Pack", found, axis=axis)


def pooled(x, rows, columns, overlapping, largest):
    """The largest or mean numbers of windows that begin at `rows` and `columns`, whose last numbers are the ends."""
    return _windows(_windows(x, rows, 1, overlapping, largest), columns, 2, overlapping, largest)


def _pool(kind, value, pooling_ratio, pseudo_random, overlapping, seed, largest):
    value = check.with_rank(value, 4, 4)
    if None in value.shape.as_list()[1:3]:
        raise ValueError(f"Fractional pooling: the sizes of the images must be known, got {value.shape}.")
    if not isinstance(pooling_ratio, (int, float, list, tuple)):
        raise TypeError(f"`pooling_ratio` should be a number or a list. Received: {pooling_ratio!r}")
    ratio = list(pooling_ratio) if isinstance(pooling_ratio, (list, tuple)) else [1.0, pooling_ratio, pooling_ratio, 1.0]
    ratio = [1.0, *ratio, 1.0] if len(ratio) == 2 else ratio
    if len(ratio) != 4:
        raise ValueError(f"`pooling_ratio` should have one, two or four numbers. Received: {pooling_ratio}")
    if any(r < 1.0 for r in ratio):
        raise ValueError(f"`pooling_ratio` should be >= 1.0. Received: pooling_ratio={pooling_ratio}")
    if ratio[0] != 1.0 or ratio[3] != 1.0:
        from tandem.framework.errors import UnimplementedError

        raise UnimplementedError(None, None, "Fractional pooling is not yet supported on the batch nor channel dimension.")
    random = np.random.RandomState(seed % 2**32 or None)
    rows, columns = (_ends(value.shape[a], ratio[a], pseudo_random, random) for a in (1, 2))
    found = pooled(value, rows, columns, overlapping, largest)
    return kind(found, convert_to_tensor(rows, "int64"), convert_to_tensor(columns, "int64"))


def fractional_max_pool(value, pooling_ratio, pseudo_random=False, overlapping=False, seed=0, name=None):
    """The largest numbers of windows of uneven size."""
    return _pool(FractionalMaxPool, value, pooling_ratio, pseudo_random, overlapping, seed, True)


def fractional_avg_pool(value, pooling_ratio, pseudo_random=False, overlapping=False, seed=0, name=None):
    """The mean numbers of windows of uneven size."""
    return _pool(FractionalAvgPool, value, pooling_ratio, pseudo_random, overlapping, seed, False)
