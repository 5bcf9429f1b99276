"""rejection_resample: elements are dropped so that classes come as often as wanted."""

import numpy as np

from tandem import _core


def rejection_resample(dataset, class_func, target_dist, initial_dist, seed):
    target = np.asarray(target_dist, np.float32)
    if initial_dist is None:
        initial_dist = _estimate(dataset, class_func, len(target))
    initial = np.maximum(np.asarray(initial_dist, np.float32), np.finfo(np.float32).tiny)
    ratios = target / initial
    acceptance = _core.convert_to_tensor((ratios / ratios.max()).astype(np.float32))
    with_class = dataset.map(lambda *element: (class_func(*element), element if len(element) > 1 else element[0]))
    numbers = type(dataset).random(seed=seed).batch(2)

    def keep(pair, seeds):
        from tandem.ops import random as random_ops

        draw = random_ops.stateless_uniform([], seeds)
        return _core.execute("Less", draw, _core.execute("GatherV2", acceptance, pair[0], axis=0))

    return type(dataset).zip((with_class, numbers)).filter(keep).map(lambda pair, seeds: pair)


def _estimate(dataset, class_func, classes):
    """How often each class comes, from the first elements."""
    counts = np.ones(classes)
    labels = dataset.take(1024).map(lambda *element: class_func(*element))
    for label in labels.as_numpy_iterator():
        if 0 <= label < classes:  # what picks elements refuses the others
            counts[int(label)] += 1
    return counts / counts.sum()
