"""Where the program is: which strategy's scope, and inside a replica or across them. Per thread."""

import enum
import threading


class ReduceOp(enum.Enum):
    """How values of replicas become one."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def of(given):
        """The member for a name in any case, or the member itself."""
        if isinstance(given, ReduceOp):
            return given
        try:
            return ReduceOp[str(given).upper()]
        except KeyError:
            raise ValueError(f"Reduce op {given!r} is not known. Use tf.distribute.ReduceOp.SUM or MEAN.") from None


class Place:
    """An entry of the thread's stack."""

    def __init__(self, strategy, replica=None, merging=False):
        self.strategy = strategy
        self.replica = replica  # a ReplicaContext inside a replica
        self.merging = merging  # inside merge_call: the code of a replica, written across replicas


class _Stack(threading.local):
    def __init__(self):
        self.places = []
        self.syncing = 0  # blocks of variable_sync_on_read_context that the thread is in


_STACK = _Stack()


class entered:
    """The thread is at this place inside the block."""

    def __init__(self, place):
        self._place = place

    def __enter__(self):
        _STACK.places.append(self._place)
        return self._place.strategy

    def __exit__(self, *error):
        _STACK.places.pop()


def place():
    """The innermost place, or None outside every strategy."""
    return _STACK.places[-1] if _STACK.places else None


def tracing_replica():
    """Whether ops that run now run for every replica: inside one, or merging from one."""
    now = place()
    return now is not None and (now.merging or (now.replica is not None and now.strategy.num_replicas_in_sync > 1))


_global = []  # what experimental_set_strategy set
_default = []  # the strategy outside every scope, and its replica context; made on first use


def set_default(strategy, replica):
    _default[:] = [strategy, replica]


def get_strategy():
    """The strategy of the innermost scope, or the default one."""
    now = place()
    if now is not None:
        return now.strategy
    return _global[0] if _global else _default[0]


def has_strategy():
    """Whether a strategy other than the default one is in scope."""
    return get_strategy() is not _default[0]


def in_cross_replica_context():
    now = place()
    if now is None:
        return bool(_global)
    return now.replica is None


def get_replica_context():
    """What the code of a replica knows; None across replicas."""
    now = place()
    if now is None:
        return None if _global else _default[1]
    return now.replica


def experimental_set_strategy(strategy):
    """Makes a strategy the one outside every scope; None: the default again."""
    if place() is not None:
        raise RuntimeError("experimental_set_strategy() must not be called inside a strategy's scope.")
    _global[:] = [] if strategy is None else [strategy]


class variable_sync_on_read_context:
    """Within the block, replicas read of a variable that is synchronised on reading what all of them make together."""

    def __enter__(self):
        _STACK.syncing += 1

    def __exit__(self, *error):
        _STACK.syncing -= 1


def reads_together():
    """Whether a replica reads what all of them make together."""
    return _STACK.syncing > 0


def strategy_supports_no_merge_call():
    return True


def maybe_merge_call(fn, strategy, *args, **kwargs):
    """Calls fn(strategy, …): replicas need not wait for each other, they run one trace."""
    return fn(strategy, *args, **kwargs)
