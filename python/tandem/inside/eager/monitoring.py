"""tensorflow.python.eager.monitoring: counters that nothing collects. They count, and give their values back."""

import contextlib


class _Cell:
    def __init__(self, value):
        self._value = value

    def increase_by(self, value):
        self._value += value

    def set(self, value):
        self._value = value

    def add(self, value):
        self._value = value

    def value(self):
        return self._value


class Metric:
    _start = 0

    def __init__(self, name, description="", *labels):
        self._cells = {}

    def get_cell(self, *labels):
        return self._cells.setdefault(labels, _Cell(self._start))


class Counter(Metric):
    pass


class IntGauge(Metric):
    pass


class StringGauge(Metric):
    _start = ""


class BoolGauge(Metric):
    _start = False


class Buckets:
    def __init__(self, buckets=None):
        self.buckets = buckets


class ExponentialBuckets(Buckets):
    def __init__(self, scale, growth_factor, bucket_count):
        super().__init__([scale * growth_factor**i for i in range(bucket_count)])


class Sampler(Metric):
    def __init__(self, name, buckets, description="", *labels):
        super().__init__(name, description, *labels)


class MonitoredTimer(contextlib.nullcontext):
    def __init__(self, cell=None, **kwargs):
        super().__init__()


def monitored_timer(metric=None, state_tracker=None):
    return lambda function: function
