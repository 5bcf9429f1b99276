"""tensorflow.python.distribute.distribute_lib: what is no public name of its own."""

from tandem.distribution.context import variable_sync_on_read_context  # noqa: F401
from tandem.distribution.strategy import Strategy, StrategyExtended  # noqa: F401

StrategyBase = Strategy
StrategyExtendedV1 = StrategyExtendedV2 = StrategyExtended
