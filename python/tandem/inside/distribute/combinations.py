"""tensorflow.python.distribute.combinations: tests that run under several strategies."""

import functools

from tandem.inside.framework import combinations, test_combinations

combine, times, NamedObject = test_combinations.combine, test_combinations.times, test_combinations.NamedObject


class NamedDistribution:
    """A strategy for tests, made when it is asked for; what it needs decides whether the test runs."""

    def __init__(self, name, distribution_fn, required_gpus=0, required_physical_gpus=0, required_tpu=False,
                 use_cloud_tpu=False, has_chief=False, num_workers=1, num_ps=0, **kwargs):  # fmt: skip
        self._name, self._make = name, distribution_fn
        self.required_gpus = max(required_gpus or 0, required_physical_gpus or 0)
        self.required_tpu = required_tpu or use_cloud_tpu
        self.num_workers, self.num_ps = num_workers, num_ps

    @functools.cached_property
    def strategy(self):
        return self._make()

    def missing(self):
        """Why there is no such strategy here, or None."""
        from tandem import _core

        if self.required_tpu:
            return "Test requires a TPU."
        if self.num_workers > 1 or self.num_ps:
            return "Test requires several processes that train together, which Tandem does not start."
        gpus = len(_core.config.list_logical_devices("GPU"))
        if gpus < self.required_gpus:
            return f"Test requires {self.required_gpus} GPU(s); there are {gpus}."
        return None

    def __repr__(self):
        return self._name


class DistributionParameter(test_combinations.ParameterModifier):
    """Gives tests the strategies themselves."""

    def modified_arguments(self, kwargs, requested_parameters):
        return {key: value.strategy for key, value in kwargs.items() if isinstance(value, NamedDistribution)}


class DistributionCombination(test_combinations.TestCombination):
    def should_execute_combination(self, kwargs):
        for value in kwargs.values():
            reason = value.missing() if isinstance(value, NamedDistribution) else None
            if reason is not None:
                return False, reason
        return True, None

    def parameter_modifiers(self):
        names = ("required_gpus", "required_physical_gpus", "required_tpu", "use_cloud_tpu", "has_chief", "num_workers",
                 "share_gpu", "runner")  # fmt: skip
        return [DistributionParameter(), *map(test_combinations.OptionalParameter, names)]


generate = functools.partial(
    test_combinations.generate,
    test_combinations=(
        DistributionCombination(), combinations.EagerGraphCombination(), combinations.TFVersionCombination(),
    ),
)  # fmt: skip


def env():
    """What the processes of a test know of each other: there is one."""
    raise ValueError("There is one process: combinations over several are skipped.")


def in_main_process():
    return True
