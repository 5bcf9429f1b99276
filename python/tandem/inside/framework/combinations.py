"""tensorflow.python.framework.combinations: tests that run once eagerly and once in a graph."""

import functools

from tandem.inside.framework import test_combinations


class EagerGraphCombination(test_combinations.TestCombination):
    """mode="eager" and mode="graph"."""

    def context_managers(self, kwargs):
        from tandem.inside.eager import context

        mode = kwargs.pop("mode", None)
        if mode is None:
            return []
        if mode == "eager":
            return [context.eager_mode()]
        if mode == "graph":
            return [context.graph_mode()]
        raise ValueError(f"Argument 'mode' must be either 'eager' or 'graph'. Received: {mode}.")

    def parameter_modifiers(self):
        return [test_combinations.OptionalParameter("mode")]


class TFVersionCombination(test_combinations.TestCombination):
    """tf_api_version=1 or 2: Tandem is version 2."""

    def should_execute_combination(self, kwargs):
        if kwargs.pop("tf_api_version", None) == 1:
            return False, "Skipping a TF1 test: Tandem's behavior is that of TF2."
        return True, None

    def parameter_modifiers(self):
        return [test_combinations.OptionalParameter("tf_api_version")]


generate = functools.partial(
    test_combinations.generate, test_combinations=(EagerGraphCombination(), TFVersionCombination())
)
combine = test_combinations.combine
times = test_combinations.times
NamedObject = test_combinations.NamedObject
