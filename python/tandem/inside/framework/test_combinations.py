"""tensorflow.python.framework.test_combinations: products of arguments for tests."""

import collections
import functools
import itertools
import re


class NamedObject:
    def __init__(self, name, obj):
        self._name, self._obj = name, obj

    def __getattr__(self, name):
        return getattr(self._obj, name)

    def __call__(self, *args, **kwargs):
        return self._obj(*args, **kwargs)

    def __repr__(self):
        return self._name


class ParameterModifier:
    def __init__(self, parameter_name=None):
        self._parameter_name = parameter_name

    def modified_arguments(self, kwargs, requested_parameters):
        return {}


class OptionalParameter(ParameterModifier):
    pass


class TestCombination:
    def should_execute_combination(self, kwargs):
        return True, None

    def parameter_modifiers(self):
        return []

    def context_managers(self, kwargs):
        return []


def combine(**kwargs):
    """All combinations of the values of each argument; a value that is no list is the only one."""
    if not kwargs:
        return [collections.OrderedDict()]
    lists = [[(key, value) for value in (values if isinstance(values, list) else [values])] for key, values in sorted(kwargs.items())]
    return [collections.OrderedDict(pairs) for pairs in itertools.product(*lists)]


def times(*combined):
    return [collections.OrderedDict(sum((list(c.items()) for c in each), [])) for each in itertools.product(*combined)]


def _name(combination):
    return "_test" + "".join(f"_{key}_{re.sub(r'[^A-Za-z0-9]', '', str(value))}" for key, value in combination.items())


def generate(combinations, test_combinations=()):
    """Decorates a test, or all tests of a class, to run once for each combination."""

    def decorate(target):
        if isinstance(target, type):
            for name, value in list(vars(target).items()):
                if name.startswith("test") and callable(value):
                    setattr(target, name, decorate(value))
            return target

        @functools.wraps(target)
        def each(self, *args, **kwargs):
            for combination in combinations:
                with self.subTest(_name(combination)):
                    target(self, *args, **{k: v for k, v in combination.items() if k != "mode"}, **kwargs)

        return each

    return decorate
