"""tensorflow.python.framework.test_combinations: one test as many, one for each combination of arguments.

The tests are made with absl's parameterized cases, whose names libraries select tests by.
"""

import collections
import contextlib
import functools
import inspect
import itertools
import re
import types
import unittest


class NamedObject:
    """An object with a name of its own in the names of tests."""

    def __init__(self, name, obj):
        self._name, self._obj = name, obj

    def __getattr__(self, name):
        return getattr(self._obj, name)

    def __call__(self, *args, **kwargs):
        return self._obj(*args, **kwargs)

    def __iter__(self):
        return iter(self._obj)

    def __repr__(self):
        return self._name


class ParameterModifier:
    """Changes the arguments before a test is called with them."""

    DO_NOT_PASS_TO_THE_TEST = object()

    def __init__(self, parameter_name=None):
        self._parameter_name = parameter_name

    def modified_arguments(self, kwargs, requested_parameters):
        return {}

    def __eq__(self, other):
        return self is other or (type(self) is type(other) and self._parameter_name == other._parameter_name)

    def __hash__(self):
        return id(self if self._parameter_name is None else self._parameter_name)


class OptionalParameter(ParameterModifier):
    """An argument that a test need not take."""

    def modified_arguments(self, kwargs, requested_parameters):
        if self._parameter_name in requested_parameters:
            return {}
        return {self._parameter_name: ParameterModifier.DO_NOT_PASS_TO_THE_TEST}


class TestCombination:
    """Decides which combinations run, and within what."""

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
    lists = [
        [(key, value) for value in (values if isinstance(values, list) else [values])]
        for key, values in sorted(kwargs.items())
    ]
    return [collections.OrderedDict(pairs) for pairs in itertools.product(*lists)]


def times(*combined):
    """Products of several lists of combinations, which must not share arguments."""
    made = []
    for each in itertools.product(*combined):
        names = [name for combination in each for name in combination]
        if len(names) != len(set(names)):
            raise ValueError(f"Keys need to not overlap: {[set(combination) for combination in each]}")
        made.append(collections.OrderedDict(pair for combination in each for pair in combination.items()))
    return made


def _name(combination):
    parts = (part for pair in combination.items() for part in pair)
    return "_test" + "".join("_" + re.sub(r"[^A-Za-z0-9]", "", str(part)) for part in parts)


def _values(combination):
    return {key: value._obj if isinstance(value, NamedObject) else value for key, value in combination.items()}


def generate(combinations, test_combinations=()):
    """Decorates a test, or all tests of a class, to be one test for each combination."""

    def decorate(target):
        if not isinstance(target, type):
            return _cases(target, combinations, test_combinations)
        for name, value in list(vars(target).items()):
            if name.startswith(unittest.TestLoader.testMethodPrefix) and isinstance(value, types.FunctionType):
                delattr(target, name)
                for combination in map(_ordered, combinations):
                    made = _bound(_within(value, test_combinations), combination)
                    made.__name__ = name + _name(combination)
                    setattr(target, made.__name__, made)
        return target

    return decorate


def _ordered(combination):
    if isinstance(combination, collections.OrderedDict):
        return combination
    return collections.OrderedDict(sorted(combination.items()))


def _bound(test, combination):
    """The test of one combination."""

    @functools.wraps(test)
    def bound(self):
        return test(self, **combination)

    del bound.__wrapped__  # it takes nothing
    return bound


def _cases(test, combinations, test_combinations):
    """Cases for the metaclass of absl's parameterized tests; None where there are no combinations."""
    from absl.testing import parameterized

    named = [{**combination, "testcase_name": _name(combination)} for combination in map(_ordered, combinations)]
    return parameterized.named_parameters(*named)(_within(test, test_combinations)) if named else None


def _within(test, test_combinations):
    """The test, called in the contexts of a combination and with the arguments that it takes."""

    @functools.wraps(test)
    def call(*args, **kwargs):
        kwargs = _values(kwargs)
        for part in test_combinations:
            runs, reason = part.should_execute_combination(dict(kwargs))
            if not runs:
                args[0].skipTest(reason)
        passed = _passed(test, kwargs, test_combinations)
        with contextlib.ExitStack() as stack:
            for part in test_combinations:
                for manager in part.context_managers(dict(kwargs)):
                    stack.enter_context(manager)
            return test(*args, **passed)

    return call


def _parameters(test):
    """Those of the test itself; of a decorator's function that passes everything on, of what it calls."""
    spec = inspect.getfullargspec(test)
    while spec.varkw is not None and hasattr(test, "__wrapped__"):
        test = test.__wrapped__
        spec = inspect.getfullargspec(test)
    return spec.args


def _passed(test, kwargs, test_combinations):
    requested = _parameters(test)
    modifiers = [modifier for part in test_combinations for modifier in part.parameter_modifiers()]
    known = {modifier._parameter_name for modifier in modifiers}
    passed = dict(kwargs)
    for modifier in modifiers:
        passed.update(modifier.modified_arguments(dict(passed), requested))
    passed = {key: value for key, value in passed.items() if value is not ParameterModifier.DO_NOT_PASS_TO_THE_TEST}
    unknown = set(passed) - set(requested) - known
    if unknown:
        raise ValueError(f"The test does not take parameters that were passed : {unknown} .")
    return passed
