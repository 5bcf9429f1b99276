"""Kills processes that save, at random moments, and looks at what they leave: `killed_writers.py ROUNDS [WRITER...]`, or
`killed_writers.py calls MOST [WRITER...]`: before each call that changes files, one after the other (MOST of them at most).

Keras is loaded once, and every round forks. A round's process first checks what the one before has left: the version
that was acknowledged last, or the one that was being written, and every part of it of one version. Then it saves
version after version until it is killed. Prints `WRITER: N kills, M unloadable` for each, and what was wrong. The next save
removes what killed ones left beside.
"""

import csv
import ctypes
import logging
import os
import random
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings

import numpy as np

import tandem as tf
from tandem import keras

SIZE = 256
MARK = ".tandem-new-"


class Writer:
    """save(version) into `folder`; stored() gives the version that is there, or None."""

    def __init__(self, folder):
        self.folder = folder
        self.path = os.path.join(folder, type(self).file)

    file = "x"
    every_version = False  # one file holds all versions, the newest last

    def stored(self):
        return self.load() if os.path.exists(self.path) else None


def model_of(version):
    model = keras.Sequential([keras.Input((SIZE,)), keras.layers.Dense(SIZE), keras.layers.Dense(SIZE)])
    model.compile("sgd", "mse")
    fill(model, version)
    return model


def fill(model, version):
    for variable in model.weights:
        variable.assign(np.full(variable.shape, version, np.float32))


def one(arrays):
    """The version that all values are of."""
    values = {float(v) for array in arrays for v in np.unique(np.asarray(array))}
    assert len(values) == 1, f"values of the versions {sorted(values)} in one save"
    return int(values.pop())


class KerasFile(Writer):
    file = "m.keras"
    model = None

    def save(self, version):
        if self.model is None:
            self.model = model_of(version)
        fill(self.model, version)
        self.write()

    def write(self):
        self.model.save(self.path)

    def load(self):
        return one(keras.models.load_model(self.path).get_weights())


class LegacyH5(KerasFile):
    file = "m.h5"

    def load(self):
        # Keras cannot read the losses of these files by their short names.
        return one(keras.models.load_model(self.path, compile=False).get_weights())


class Weights(KerasFile):
    file = "m.weights.h5"

    def write(self):
        self.model.save_weights(self.path)

    def load(self):
        model = model_of(-1)
        model.load_weights(self.path)
        return one(model.get_weights())


class ShardedWeights(Weights):
    file = "m.weights.json"

    def write(self):
        self.model.save_weights(self.path, max_shard_size=3e-4)


class Checkpointing(KerasFile):
    """ModelCheckpoint."""

    file = "best.keras"

    def write(self):
        callback = keras.callbacks.ModelCheckpoint(self.path)
        callback.set_model(self.model)
        callback.on_epoch_end(0, {})


class Backup(KerasFile):
    file = "backup"

    def callback(self, model):
        made = keras.callbacks.BackupAndRestore(self.path)
        made.set_model(model)
        return made

    def save(self, version):
        super().save(version)
        self.made.on_epoch_end(version - 1, {})

    def write(self):
        self.made = self.callback(self.model)

    def load(self):
        model = model_of(-1)
        model._initial_epoch = -1
        self.callback(model).on_train_begin()
        assert one(model.get_weights()) == model._initial_epoch, "weights and epoch are of two backups"
        return None if model._initial_epoch == -1 else model._initial_epoch


class ElementsOfVersion(Writer):
    file = "dataset"

    def dataset(self, version):
        return tf.data.Dataset.range(4).map(lambda i: tf.fill([20000], tf.cast(version, tf.float32)))

    def save(self, version):
        self.dataset(version).save(self.path, shard_func=lambda x: tf.cast(x[0], tf.int64) * 0 + 1)

    def load(self):
        if not os.path.exists(os.path.join(self.path, "dataset.json")):
            return None
        elements = list(tf.data.Dataset.load(self.path))
        assert len(elements) == 4
        return one(e.numpy() for e in elements)


class CacheFile(ElementsOfVersion):
    """A file for each version, written by a complete pass."""

    file = "cache"

    def save(self, version):
        made = self.cached(version)
        assert sum(1 for _ in made) == 4

    def cached(self, version):
        return self.dataset(version).cache(f"{self.path}-{version}")

    def is_whole(self, name):
        return name.startswith(self.file + "-")

    def stored(self):
        names = [n for n in os.listdir(self.folder) if self.is_whole(n)]
        versions = [int(n[len(self.file) + 1 :].removesuffix(".index")) for n in names]
        for version in versions:
            elements = [e.numpy() for e in self.cached(version)]
            assert len(elements) == 4 and one(elements) == version
        return max(versions, default=None)


class Snapshot(CacheFile):
    file = "snapshot"

    def is_whole(self, name):
        return os.path.exists(os.path.join(self.folder, name, "snapshot.index"))

    def cached(self, version):
        return self.dataset(version).snapshot(f"{self.path}-{version}")


class Scaled(tf.Module):
    def __init__(self, version):
        super().__init__()
        self.v = tf.Variable(tf.fill([20000], float(version)))
        self.w = tf.Variable(float(version))

    @tf.function(input_signature=[])
    def __call__(self):
        return self.v * 1.0 + tf.zeros([20000])


class SavedModel(Writer):
    file = "model"

    def save(self, version):
        module = Scaled(version)
        for number in range(version % 3):
            setattr(module, f"more{number}", tf.function(lambda x: x + float(version), input_signature=[tf.TensorSpec([])]))
        path = os.path.join(self.folder, "words")
        with open(path, "w", encoding="utf-8") as out:
            out.write(f"{version}\n" * 1000)
        module.words = tf.saved_model.Asset(path)
        tf.saved_model.save(module, self.path)

    def load(self):
        if not tf.saved_model.contains_saved_model(self.path):
            return None
        loaded = tf.saved_model.load(self.path)
        with open(loaded.words.asset_path.numpy().decode(), encoding="utf-8") as words:
            asset = {float(line) for line in words}
        more = [getattr(loaded, f"more{n}")(tf.constant(0.0)).numpy() for n in range(int(loaded.w.numpy()) % 3)]
        other = tf.Module()
        other.w = tf.Variable(-1.0)
        tf.train.Checkpoint(other).restore(self.path).expect_partial()
        return one([loaded().numpy(), loaded.w.numpy(), list(asset), other.w.numpy(), *more])


class Checkpoint(Writer):
    file = "ck.index"

    def objects(self, version):
        module = tf.Module()
        module.parts = [tf.Variable(tf.fill([20000], float(version))) for _ in range(8)]
        return module

    def save(self, version):
        tf.train.Checkpoint(m=self.objects(version)).write(os.path.join(self.folder, "ck"))

    def restored(self, path):
        module = self.objects(-1)
        tf.train.Checkpoint(m=module).restore(path).expect_partial()
        return one(v.numpy() for v in module.parts)

    def load(self):
        return self.restored(os.path.join(self.folder, "ck"))


class Manager(Checkpoint):
    file = "checkpoint"

    def save(self, version):
        made = tf.train.CheckpointManager(tf.train.Checkpoint(m=self.objects(version)), self.folder, max_to_keep=2)
        made.save(checkpoint_number=version)

    def load(self):
        made = tf.train.CheckpointManager(tf.train.Checkpoint(), self.folder, max_to_keep=2)
        # The oldest may be on its way out.
        assert self.restored(made.latest_checkpoint) == int(made.latest_checkpoint.rsplit("-", 1)[1])
        return self.restored(made.latest_checkpoint)


class Summaries(Writer):
    """Every process writes an event file of its own."""

    file = "logs"
    every_version = True
    made = None

    def save(self, version):
        if self.made is None:
            self.made = tf.summary.create_file_writer(self.path)
        with self.made.as_default():
            for _ in range(50):
                tf.summary.scalar("x", float(version), step=version)
        self.made.flush()

    def stored(self):
        found = {}
        for name in os.listdir(self.path) if os.path.isdir(self.path) else ():
            try:
                for event in tf.compat.v1.train.summary_iterator(os.path.join(self.path, name)):
                    found[event.step] = found.get(event.step, 0) + 1
            except tf.errors.DataLossError:
                pass  # the end of the file, cut off
        whole = [step for step, count in found.items() if count >= 50 and step > 0]
        return max(whole, default=None) if sorted(whole) == list(range(1, len(whole) + 1)) else -1


class Board(KerasFile):
    """The TensorBoard callback."""

    file = "board"

    def save(self, version):
        if self.model is None:
            self.model = model_of(version)
            self.made = keras.callbacks.TensorBoard(self.path, write_graph=False)
            self.made.set_model(self.model)
            self.made.on_train_begin()
        self.made.on_epoch_end(version, {"loss": float(version)})
        self.made._train_writer.flush()

    def load(self):
        steps = set()
        for name in os.listdir(os.path.join(self.path, "train")):
            try:
                for event in tf.compat.v1.train.summary_iterator(os.path.join(self.path, "train", name)):
                    steps |= {event.step} if event.WhichOneof("what") is None or event.HasField("summary") else set()
            except tf.errors.DataLossError:
                pass
        return max(steps - {0}, default=None)


class Table(Writer):
    """CSVLogger."""

    file = "log.csv"
    every_version = True
    made = None

    def save(self, version):
        if self.made is None:
            self.made = keras.callbacks.CSVLogger(self.path, append=True)
            self.made.on_train_begin()
        self.made.on_epoch_end(version, {"loss": float(version)})

    def load(self):
        with open(self.path, newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row.get("loss")]
        versions = [int(row["epoch"]) for row in rows if float(row["loss"]) == float(row["epoch"])]
        assert len(versions) == len(rows)
        return max(versions, default=None)


class Records(Writer):
    """TFRecordWriter: what was flushed is there."""

    file = "records"
    every_version = True
    made = None
    kind = ""

    def save(self, version):
        if self.made is None:
            self.base = version
            self.made = tf.io.TFRecordWriter(f"{self.path}-{version}", self.kind)
        self.made.write(f"{version}".encode() * 1000)
        self.made.flush()

    def stored(self):
        newest = None
        for name in os.listdir(self.folder):
            try:
                for record in tf.data.TFRecordDataset(os.path.join(self.folder, name), self.kind):
                    text = record.numpy().decode()
                    version = int(text[: len(text) // 1000])
                    newest = version if newest is None else max(newest, version)
            except tf.errors.DataLossError:
                pass
        return newest


class PackedRecords(Records):
    kind = "GZIP"


WRITERS = {
    "keras": KerasFile, "weights": Weights, "sharded_weights": ShardedWeights, "h5": LegacyH5,
    "model_checkpoint": Checkpointing, "backup": Backup, "dataset": ElementsOfVersion, "cache": CacheFile,
    "snapshot": Snapshot, "saved_model": SavedModel, "checkpoint": Checkpoint, "manager": Manager,
    "summary": Summaries, "tensorboard": Board, "csv": Table, "records": Records,
    "packed_records": PackedRecords,
}  # fmt: skip


# ---- Before each call that changes files (ptrace of the thread that saves)

# write, pwrite64, writev, pwritev, ftruncate, rename, mkdir, rmdir, creat, link, unlink, symlink, chmod, fchmod, fsync,
# fdatasync, open, openat, mkdirat, unlinkat, renameat, linkat, renameat2, close, flock: of x86-64
CALLS = {1, 18, 20, 296, 77, 82, 83, 84, 85, 86, 87, 88, 90, 91, 74, 75, 2, 257, 258, 263, 264, 265, 316, 3, 73}
TRACE_ME, GET_REGISTERS, SYSCALL, SET_OPTIONS = 0, 12, 24, 0x4200
GOOD_STOPS, EXIT_KILL = 1, 0x100000
ORIG_RAX = 15


def ptrace(request, process, data=None):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    if libc.ptrace(request, process, None, data) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def killed_before(child, number):
    """Kills the process before its call of that number; (whether it came so far, how many calls there were)."""
    registers, count, entering, signal_to_pass = (ctypes.c_ulonglong * 27)(), 0, True, None
    os.waitpid(child, 0)  # it has stopped
    ptrace(SET_OPTIONS, child, GOOD_STOPS | EXIT_KILL)
    while True:
        ptrace(SYSCALL, child, signal_to_pass)
        signal_to_pass = None
        _, status = os.waitpid(child, 0)
        if not os.WIFSTOPPED(status):
            return False, count
        if os.WSTOPSIG(status) != signal.SIGTRAP | 0x80:
            signal_to_pass = os.WSTOPSIG(status)
            continue
        if entering:
            ptrace(GET_REGISTERS, child, ctypes.addressof(registers))
            if registers[ORIG_RAX] in CALLS:
                count += 1
                if count == number:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                    return True, count
        entering = not entering


def save_once(kind, folder, acknowledged, to):
    """The process that is traced: it looks at what is there and saves the next version."""
    writer = kind(folder)
    version = writer.stored()
    assert version in (acknowledged, acknowledged + 1), f"version {acknowledged} was saved, and {version} is there"
    os.write(to, f"{version}\n".encode())
    ptrace(TRACE_ME, 0)
    os.kill(os.getpid(), signal.SIGSTOP)
    writer.save(version + 1)


def every_call(name, kind, folder, most):
    """(kills, rounds that went wrong)."""
    good, acknowledged = round_of(kind, folder, 0, True)
    assert good, f"{name} cannot save"
    calls, kills, bad = None, 0, 0
    numbers = iter(range(10**9, 10**9 + 1))  # first the whole of a save
    while (number := next(numbers, None)) is not None:
        source, to = os.pipe()
        child = os.fork()
        if not child:
            quietly(lambda: save_once(kind, folder, acknowledged, to))
        os.close(to)
        with open(source, "rb") as lines_of:
            text = lines_of.readline()
            if not text:  # it found something else than it should
                os.waitpid(child, 0)
                bad += 1
                print(f"{name}: wrong after the kill before call {number}", flush=True)
                break
            acknowledged = int(text)
            killed, count = killed_before(child, number)
        kills += killed
        if not killed:
            acknowledged += 1
        if calls is None:
            calls = count
            numbers = iter(range(1, count + 1) if count <= most else sorted(random.sample(range(1, count + 1), most)))
    good, acknowledged = round_of(kind, folder, acknowledged, True)
    return calls, kills, bad + (not good)


def quietly(work):
    """In a new process: does that and ends."""
    try:
        keras.utils.disable_interactive_logging()
        logging.disable(logging.WARNING)
        warnings.simplefilter("ignore")
        work()
        status = 0
    except BaseException:  # noqa: BLE001
        traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
        status = 1
    os._exit(status)


_temporary = None  # a folder of this program's own for temporary files


def left_beside(folder):
    beside = [os.path.join(where, name) for where, folders, files in os.walk(folder)
              for name in [*folders, *files] if MARK in name]  # fmt: skip
    if _temporary:
        # Sources that functions are made from lie there as long as their process lives.
        names = [name for name in os.listdir(_temporary) if not name.startswith("__autograph_")]
        beside += [os.path.join(_temporary, name) for name in names]
    return beside


def work(kind, folder, acknowledged, to, last):
    """The process of a round. `last`: it saves once and ends."""
    writer = kind(folder)
    version = writer.stored()
    if acknowledged and version not in (acknowledged, acknowledged + 1):
        raise AssertionError(f"version {acknowledged} was saved, and {version} is there")
    version = max(version or 0, acknowledged)
    while True:
        begin = time.monotonic()
        version += 1
        writer.save(version)
        os.write(to, f"{version} {time.monotonic() - begin}\n".encode())
        if last:
            break
    if writer.stored() != version:
        raise AssertionError(f"version {version} was saved, and {writer.stored()} is there")
    if left_beside(folder):
        raise AssertionError(f"left beside: {left_beside(folder)}")


def fork(kind, folder, acknowledged, last):
    source, to = os.pipe()
    child = os.fork()
    if child:
        os.close(to)
        return child, source
    os.close(source)
    quietly(lambda: work(kind, folder, acknowledged, to, last))


def lines(source):
    """Lines as they come, until the process ends."""
    text = b""
    while True:
        part = os.read(source, 4096)
        if not part:
            return
        *whole, text = (text + part).split(b"\n")
        yield from whole


def round_of(kind, folder, acknowledged, last):
    """(whether the process found what it should, newest version that was acknowledged)."""
    child, source = fork(kind, folder, acknowledged, last)
    wait_for = random.randint(1, 3)
    try:
        for number, line in enumerate(lines(source), 1):
            version, seconds = line.split()
            acknowledged = int(version)
            if not last and number == wait_for:
                # Until some moment of the next save. Versions that are saved meanwhile count, too.
                select.select([], [], [], random.uniform(0, 1.3 * float(seconds)))
                os.kill(child, signal.SIGKILL)
    finally:
        os.close(source)
        _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    return (killed and not last) or (last and status == 0), acknowledged


def main():
    global _temporary
    arguments = sys.argv[1:]
    at_calls = arguments[0] == "calls"
    rounds = int(arguments.pop(int(at_calls)))
    seed = int(os.environ.get("TANDEM_SEED", random.SystemRandom().randrange(2**32)))
    print(f"TANDEM_SEED={seed}", flush=True)
    random.seed(seed)
    home = tempfile.gettempdir()
    tempfile.tempdir = _temporary = tempfile.mkdtemp(prefix="killed-temporary-")
    for name in arguments[int(at_calls) :] or WRITERS:
        folder = tempfile.mkdtemp(prefix=f"killed-{name}-", dir=home)
        if at_calls:
            calls, kills, bad = every_call(name, WRITERS[name], folder, rounds)
            print(f"{name}: {kills} kills at {calls} calls, {bad} unloadable", flush=True)
            shutil.rmtree(folder)
            continue
        acknowledged, bad = 0, 0
        begin = time.monotonic()
        for number in range(rounds + 1):
            good, acknowledged = round_of(WRITERS[name], folder, acknowledged, number == rounds)
            if not good:
                bad += 1
                print(f"{name}: round {number} failed", flush=True)
                shutil.rmtree(folder)
                os.makedirs(folder)
                acknowledged = 0
        print(f"{name}: {rounds} kills, {bad} unloadable ({time.monotonic() - begin:.1f} s)", flush=True)
        shutil.rmtree(folder)


if __name__ == "__main__":
    try:
        main()
    finally:
        if _temporary:
            shutil.rmtree(_temporary)
