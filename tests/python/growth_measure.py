"""What is counted while a program runs, and when that has grown. Used by growth_cases.py.

Objects of the package and bytes of every device must be the same after many rounds as after few. malloc's memory and
resident memory also move without growing: how much, a control of the same run says, which computes on batches like those
of the program and keeps nothing. What is found is growth when it goes on: it must be found in each of three windows.
"""

import ctypes
import gc

import numpy as np

import tandem as tf
from tandem import _core

# Rounds whose counts are taken together: what a device is not done with may be a tensor more or less.
_COUNTED = 4
# Rounds until a slope says something.
_FOR_A_SLOPE = 30
_WINDOWS = 3


def resident():
    """KiB."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4


class _MallInfo(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    ]


def given_out():
    """KiB that malloc has given out and that were not returned."""
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = _MallInfo
    info = mallinfo2()
    return (info.uordblks + info.hblkhd) >> 10


def settle():
    _core.synchronize()
    gc.collect()


def counts():
    settle()
    names = [d.name.replace("/device:", "") for d in tf.config.list_logical_devices()]
    made = {name: tf.config.experimental.get_memory_info(name)["current"] for name in names}
    made["objects"] = sum(1 for o in gc.get_objects() if str(type(o).__module__).startswith("tandem"))
    return made


class Memory:
    """What malloc has given out, and what is resident, while a program runs: KiB, at equal distances."""

    def __init__(self):
        self.samples = {"malloc's memory": [], "resident memory": []}

    def look(self):
        settle()
        for values, now in zip(self.samples.values(), (given_out(), resident())):
            values.append(now)

    def range(self):
        return {what: float(np.ptp(values)) for what, values in self.samples.items()}


def rise_and_noise(samples):
    """How far memory rises, and how far it strays from a straight line meanwhile."""
    samples = np.asarray(samples, dtype=float)
    quarter = max(1, len(samples) // 4)
    rise = np.median(samples[-quarter:]) - np.median(samples[:quarter])
    straight = np.polyval(np.polyfit(np.arange(len(samples)), samples, 1), np.arange(len(samples)))
    return rise, 3 * np.abs(samples - straight).max()


def compare(before, after):
    """What is more in every count `after` than in any `before`: name → text."""
    most = {k: max(c[k] for c in before) for k in before[0]}
    least = {k: min(c[k] for c in after) for k in before[0]}
    return {k: f"{k}: {most[k]} then {least[k]}" for k in most if least[k] > most[k]}


class Watched:
    """A program that goes on in rounds. `control`: a round that keeps nothing; without one only counts are compared.
    `apart`: rounds from one look at memory to the next."""

    def __init__(self, one_round, control=None, apart=1):
        self.one_round = one_round
        self.control = control
        self.apart = apart
        self.rose = {}  # of the last window, KiB, and the noise

    def grows(self, rounds):
        """What grew in every window of `rounds`, as text; empty: nothing."""
        control = Memory()
        if self.control and rounds >= _FOR_A_SLOPE:
            for _ in range(2 + rounds // self.apart):
                self.control()
                control.look()
        # The first rounds bring what the control needs itself.
        noise = {k: float(np.ptp(v[2:])) for k, v in control.samples.items() if len(v) > 2}
        before, found = self._counted(), None
        for window in range(_WINDOWS):
            wrong = self._window(rounds, noise)
            after = self._counted()
            wrong |= compare(before, after)
            found = wrong if found is None else {k: wrong[k] for k in found if k in wrong}
            if not found:
                return ""
            before = after
        return "; ".join(found.values())

    def _counted(self):
        taken = []
        for _ in range(_COUNTED):
            self.one_round()
            taken.append(counts())
        return taken

    def _window(self, rounds, noise):
        memory = Memory()
        for i in range(rounds):
            self.one_round()
            if noise and i % self.apart == 0:
                memory.look()
        found = {}
        for what, values in memory.samples.items() if noise else ():
            rise, own = rise_and_noise(values)
            allowed = own + noise[what]
            self.rose[what] = (rise, allowed)
            if rise > allowed:
                found[what] = f"{what} rose by {rise:.0f} KiB in {rounds} rounds, noise {allowed:.0f}"
        return found
