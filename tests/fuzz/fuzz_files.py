#!/usr/bin/env python3
"""Files with mutations, read through the public API: what reads them may give values or TensorFlow's errors.

    tests/fuzz/fuzz_files.py [--seconds N | --cases N] [--seed S] [--kind KIND ...]
    tests/fuzz/fuzz_files.py --seed S --kind KIND --case N        runs one case again, without a guard

The files are read in a process of their own. A finding is an exception of another class, a process that dies, a case
that takes more than 10 s, or more than 2 GiB of memory.
"""

import argparse
import json
import os
import random
import resource
import select
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import wave
from pathlib import Path

HERE = Path(__file__).resolve().parent
MOST_SECONDS = 10
MOST_BYTES = 2 << 30


# ---- Mutations


def mutated(rng, data):
    """The bytes with one to four changes."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(out) + 1)
        length = min(rng.choice((1, 2, 4, 8, 64)), len(out) - at)
        how = rng.randrange(8)
        if how == 0 and length:
            out[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            out[at : at + length] = rng.randbytes(length)
        elif how == 2:
            out[at : at + length] = rng.choice((b"\0", b"\xff", b"\x7f", b"\x80")) * length
        elif how == 3:
            del out[at : at + length]
        elif how == 4:
            out[at:at] = rng.randbytes(rng.choice((1, 4, 100)))
        elif how == 5:
            del out[at:]
        elif how == 6:
            other = rng.randrange(len(out) + 1)
            out[at:at] = out[other : other + 32]
        else:
            out[at : at + length] = rng.choice((b'"', b"{}", b"null", b"-1", b"1e999", b"9" * 20, b"\n", b","))
    return bytes(out)


def mutate_files(rng, folder):
    """Changes one of the files in the folder, or takes it away."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = rng.choice(files)
    how = rng.randrange(20)
    if how == 0:
        path.unlink()
    elif how == 1:
        path.write_bytes(b"")
    elif how == 2:
        path.write_bytes(rng.choice(files).read_bytes())
    else:
        path.write_bytes(mutated(rng, path.read_bytes()))


# ---- Kinds of files: what makes right ones in a folder, and what reads them


def _kinds(tf, np):
    from seeds import SEEDS

    def one(contents):
        return lambda folder, rng: [(folder / "file").write_bytes(c) for c in [contents]]

    def records(kind):
        def make(folder, rng):
            with tf.io.TFRecordWriter(str(folder / "file"), kind) as out:
                for size in (3, 0, 500):
                    out.write(b"r" * size)

        return make

    def packed(kind, text):
        import gzip
        import zlib

        return one({"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}[kind](text))

    def all_of(dataset):
        return [None for _ in dataset.take(2000)]

    def file(folder):
        return str(folder / "file")

    def contents(folder):
        return tf.io.read_file(str(folder / "file")).numpy()

    csv = b"id,name,score\n" + b"".join(b'%d,"n, %d",%d.5\n' % (i, i, i) for i in range(12))
    kinds = {}
    for kind in ("", "GZIP", "ZLIB"):
        kinds[f"records{kind}"] = records(kind), lambda f, k=kind: all_of(tf.data.TFRecordDataset(file(f), k))
        kinds[f"lines{kind}"] = packed(kind, csv), lambda f, k=kind: all_of(tf.data.TextLineDataset(file(f), k))
        kinds[f"fixed{kind}"] = packed(kind, csv), lambda f, k=kind: all_of(
            tf.data.FixedLengthRecordDataset(file(f), 13, 3, 4, compression_type=k)
        )
        kinds[f"csv{kind}"] = packed(kind, csv), lambda f, k=kind: all_of(
            tf.data.experimental.CsvDataset(file(f), [tf.int32, tf.string, [0.0]], compression_type=k, header=True)
        )
    for kind in ("", "GZIP"):
        kinds[f"make_csv{kind}"] = packed(kind, csv), lambda f, k=kind: all_of(
            tf.data.experimental.make_csv_dataset(file(f), 4, num_epochs=1, compression_type=k or None)
        )

    features = {
        "i": tf.io.VarLenFeature(tf.int64), "f": tf.io.FixedLenFeature([2], tf.float32, [0.0, 0.0]),
        "t": tf.io.FixedLenSequenceFeature([], tf.string, allow_missing=True), "u": tf.io.RaggedFeature(tf.int64),
    }  # fmt: skip
    seed = next(SEEDS["example"]())
    kinds["example"] = one(seed), lambda f: tf.io.parse_example([contents(f), seed], features)
    dtypes = [tf.float32, tf.float64, tf.int32, tf.uint8, tf.string]
    kinds["tensor"] = (
        lambda folder, rng: (folder / "file").write_bytes(rng.choice(list(SEEDS["tensor"]())[:5])),
        lambda f: tf.io.parse_tensor(contents(f)[1:], dtypes[contents(f)[0] % 5] if contents(f) else tf.int32),
    )
    images = [s[1:] for n in ("png", "jpeg", "bmp") for s in SEEDS[n]()] + list(SEEDS["gif"]())
    kinds["image"] = (
        lambda folder, rng: (folder / "file").write_bytes(rng.choice(images)),
        lambda f: tf.io.decode_image(contents(f)),
    )

    def make_wav(folder, rng):
        with wave.open(file(folder), "wb") as out:
            out.setnchannels(2)
            out.setsampwidth(2)
            out.setframerate(8000)
            out.writeframes(bytes(range(80)))

    kinds["wav"] = make_wav, lambda f: tf.audio.decode_wav(contents(f))
    kinds["raw"] = one(bytes(64)), lambda f: tf.io.decode_raw(tf.io.read_file(file(f)), tf.int32)
    kinds["base64"] = one(b"aGVsbG8td29ybGQ_"), lambda f: tf.io.decode_base64(contents(f))

    def make_events(folder, rng):
        writer = tf.summary.create_file_writer(str(folder / "log"))
        with writer.as_default(step=1):
            tf.summary.scalar("loss", 0.5)
            tf.summary.text("note", ["a"])
        writer.close()
        path = next((folder / "log").iterdir())
        path.rename(folder / "file")
        (folder / "log").rmdir()

    def read_events(folder):
        for event in tf.compat.v1.train.summary_iterator(file(folder)):
            for value in event.summary.value:
                if value.tensor.dtype:
                    tf.make_ndarray(value.tensor)

    kinds["events"] = make_events, read_events

    def variables():
        return tf.train.Checkpoint(v=tf.Variable([1.0, 2.0]), s=tf.Variable(["a", "b"]), n=tf.Variable(3))

    def read_checkpoint(folder):
        variables().restore(str(folder / "c")).expect_partial()
        reader = tf.train.load_checkpoint(str(folder / "c"))
        for name in reader.get_variable_to_shape_map():
            reader.get_tensor(name)

    kinds["checkpoint"] = lambda folder, rng: variables().write(str(folder / "c")), read_checkpoint

    def manager(folder):
        return tf.train.CheckpointManager(tf.train.Checkpoint(n=tf.Variable(3)), str(folder / "list"), max_to_keep=2)

    def make_list(folder, rng):
        kept = manager(folder)
        for _ in range(3):
            kept.save()

    def read_list(folder):
        tf.train.latest_checkpoint(str(folder / "list"))
        kept = manager(folder)
        kept.restore_or_initialize()
        kept.save()
        kept.save()

    kinds["list"] = make_list, read_list

    def read_table(folder):
        index = tf.lookup.TextFileIndex
        for key, value in ((0, 1), (index.WHOLE_LINE, index.LINE_NUMBER), (1, 0)):
            dtypes = [tf.string if i in (0, index.WHOLE_LINE) else tf.int64 for i in (key, value)]
            entries = tf.lookup.TextFileInitializer(file(folder), dtypes[0], key, dtypes[1], value)
            table = tf.lookup.StaticHashTable(entries, "" if dtypes[1] == tf.string else -1)
            table.lookup(tf.constant(["a"] if dtypes[0] == tf.string else [1], dtypes[0]))

    kinds["table"] = one(b"a\t1\nb\t2\r\n\xc3\xa4\t-3\n"), read_table

    def make_model(folder, rng):
        model = tf.Module()
        model.v = tf.Variable([1.0, 2.0])
        model.run = tf.function(lambda x: x @ tf.constant([[1.0, 2.0], [3.0, 4.0]]) + model.v,
                                input_signature=[tf.TensorSpec([None, 2])])  # fmt: skip
        tf.saved_model.save(model, str(folder / "m"))

    def read_model(folder):
        model = tf.saved_model.load(str(folder / "m"))
        if hasattr(model, "run"):
            model.run(tf.ones([3, 2]))

    kinds["saved_model"] = make_model, read_model

    def elements():
        return tf.data.Dataset.from_tensor_slices({"x": np.arange(6.0).reshape(3, 2), "s": ["a", "", "ccc"]})

    kinds["dataset"] = (
        lambda folder, rng: elements().save(str(folder / "d")), lambda f: all_of(tf.data.Dataset.load(str(f / "d"))),
    )  # fmt: skip
    kinds["cache"] = (
        lambda folder, rng: all_of(elements().cache(str(folder / "c"))), lambda f: all_of(elements().cache(str(f / "c"))),
    )  # fmt: skip
    kinds["snapshot"] = (
        lambda folder, rng: all_of(elements().snapshot(str(folder / "s"))),
        lambda f: all_of(elements().snapshot(str(f / "s"))),
    )  # fmt: skip
    return kinds


# ---- The process that reads


def work(names, seed, first, once):
    """Reads cases from `first` on, until it is ended; says on its output what it does."""
    import numpy as np
    import tandem as tf

    kinds = _kinds(tf, np)
    allowed = dict.fromkeys(kinds, (tf.errors.OpError,))
    # What TensorFlow raises, too: for columns that cannot be inferred, and for a folder without a model.
    allowed["make_csv"] = allowed["make_csvGZIP"] = (tf.errors.OpError, ValueError)
    allowed["saved_model"] = (tf.errors.OpError, OSError)
    names = [name for name in kinds if not names or name in names]
    right = Path(tempfile.mkdtemp())
    try:
        for name in names:
            (right / name).mkdir()
            kinds[name][0](right / name, random.Random(name))
            kinds[name][1](right / name)  # reads what is right
        say = sys.stdout.write
        case = first
        while True:
            name = names[case % len(names)]
            rng = random.Random(f"{seed}:{name}:{case}")
            say(json.dumps({"kind": name, "case": case}) + "\n")
            sys.stdout.flush()
            folder = right / "case"
            shutil.copytree(right / name, folder)
            if name in ("image", "tensor"):
                kinds[name][0](folder, rng)  # one of several right ones
            mutate_files(rng, folder)
            try:
                kinds[name][1](folder)
            except allowed[name]:
                pass
            except Exception:
                say(json.dumps({"finding": traceback.format_exc(limit=-3)}) + "\n")
            shutil.rmtree(folder)
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > MOST_BYTES:
                say(json.dumps({"finding": "more than 2 GiB of memory", "stop": True}) + "\n")
                sys.stdout.flush()
                return
            case += 1
            if once:
                return
    finally:
        shutil.rmtree(right, ignore_errors=True)


# ---- The process that watches


class Worker:
    def __init__(self, names, seed, first, temporary):
        command = [sys.executable, __file__, "--work", str(first), "--seed", str(seed)]
        command += ["--kind", *names] if names else []
        environment = dict(os.environ, TANDEM_LOG="error", TMPDIR=temporary)
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors, env=environment)
        self.rest = b""

    def line(self, seconds):
        """The next line, None at the end of the process; TimeoutError."""
        while b"\n" not in self.rest:
            if not select.select([self.process.stdout], [], [], seconds)[0]:
                raise TimeoutError
            part = os.read(self.process.stdout.fileno(), 1 << 16)
            if not part:
                return None
            self.rest += part
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def end(self):
        self.process.kill()
        self.process.wait()

    def last_words(self):
        self.errors.seek(0)
        return self.errors.read()[-600:]


def watch(options, temporary):
    cases = findings = 0
    now = {"kind": "", "case": -1}

    def found(what):
        nonlocal findings
        findings += 1
        print(f"FINDING --seed {options.seed} --kind {now['kind']} --case {now['case']}: {what}", flush=True)

    end = time.monotonic() + options.seconds
    worker = Worker(options.kind, options.seed, 0, temporary)
    try:
        while findings < 20 and (cases < options.cases if options.cases else time.monotonic() < end):
            started = now["case"] >= 0
            try:
                line = worker.line(MOST_SECONDS if started else 120)
            except TimeoutError:
                line, words = None, f"takes more than {MOST_SECONDS} s"
            else:
                words = None
            if line and "finding" in line:
                found(line["finding"])
            elif line:
                now = line
                cases += 1
            if line is None or line.get("stop"):
                worker.end()
                if words or line is None:
                    found(words or f"the process ended with {worker.process.returncode}: {worker.last_words()}")
                if not started:
                    break  # right files cannot be read
                worker = Worker(options.kind, options.seed, now["case"] + 1, temporary)
                now = {"kind": "", "case": -1}
    finally:
        worker.end()
    print(f"fuzz_files: {cases} calls, {findings} findings")
    return 1 if findings else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--cases", type=int, default=0, help="so many files, in place of --seconds")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--kind", nargs="+", default=[])
    parser.add_argument("--case", type=int, default=None)
    parser.add_argument("--work", type=int, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.randrange(1 << 31)
    first = options.work if options.work is not None else options.case
    if first is not None:
        work(options.kind, options.seed, first, options.case is not None)
        return 0
    print(f"fuzz_files: --seed {options.seed}")
    with tempfile.TemporaryDirectory() as temporary:
        return watch(options, temporary)


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    package = os.environ.get("TANDEM_PACKAGE", str(HERE.parents[1] / "build/dev/python"))
    sys.path.insert(0, package)
    sys.exit(main())
