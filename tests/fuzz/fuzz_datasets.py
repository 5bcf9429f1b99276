#!/usr/bin/env python3
"""Pipelines of random methods of tf.data.Dataset with random and hostile arguments.

    tests/fuzz/fuzz_datasets.py --seconds 60 [--seed 1]
    tests/fuzz/fuzz_datasets.py --seed 1 --only 4711        one pipeline, with what it gave
    tests/fuzz/fuzz_datasets.py --compare PYTHON --calls 2000    against the TensorFlow of that Python (not part of make test)

A pipeline is text. It is iterated eagerly, in a tf.function, and once more with calls in parallel, prefetching and
private threads wherever they may be, in a child process with bounded memory (fuzz_ops.py). A finding is a child that
dies, takes 10 s of processor time (or 60 s in all), or keeps memory, an exception of a class that TensorFlow does not
raise, and elements that are not those of the first pass. Pipeline number i of a seed is always the same one.
"""

import argparse
import collections
import json
import random
import re
import sys
import time

import fuzz_ops

MOST_ELEMENTS = 60
BATCH = 1000

SMALL = ["0", "1", "2", "3", "4", "5", "-1"]
SOURCES = [
    "D.range(7)", "D.range(0)", "D.range(10, 0, -3)", "D.range(2, 17, 5, output_type=tf.int32)",
    "D.from_tensor_slices(tf.range(5.0))", "D.from_tensor_slices([[1, 2], [3, 4], [5, 6]])",
    "D.from_tensor_slices({'a': [1, 2, 3], 'b': ['x', 'y', 'z']})", "D.from_tensor_slices(([1, 2, 3, 4], [[1.0], [2.0], [3.0], [4.0]]))",
    "D.from_tensor_slices(tf.ragged.constant([[1, 2], [], [3]]))", "D.from_tensor_slices(tf.sparse.eye(3))",
    "D.from_tensor_slices(tf.zeros([0, 3]))", "D.from_tensor_slices(['a', 'bb', ''])", "D.from_tensors([1.0, 2.0])",
    "D.from_tensors((1, {'k': tf.constant('v')}))", "D.from_tensors(tf.ragged.constant([[1], [2, 3]]))",
    "D.from_generator(lambda: iter([1, 2, 3]), output_signature=tf.TensorSpec([], tf.int64))",
    "D.from_generator(lambda: ([i] * i for i in range(4)), output_signature=tf.TensorSpec([None], tf.int32))",
    "D.from_generator(lambda: iter([1, 'a']), output_signature=tf.TensorSpec([], tf.int64))",
    "D.from_generator(lambda: 5, output_signature=tf.TensorSpec([], tf.int64))",
    "D.random(seed=3).take(6)", "tf.data.experimental.Counter(3, -2).take(5)", "D.counter(start=1, step=2).take(6)",
]  # fmt: skip
FUNCTIONS = [
    "lambda *a: a", "lambda x: x + 1", "lambda x: x * x", "lambda *a: a[0]", "lambda x: (x, x)", "lambda x: {'a': x}", "lambda *a: 1",
    "lambda x: tf.cast(x, tf.float32) / 2", "lambda x: tf.cast(x, tf.int32)", "lambda x: tf.ones([tf.cast(x, tf.int32), 2])",
    "lambda x: tf.fill([tf.cast(x, tf.int32) % 4], x)", "lambda x: tf.strings.as_string(x)", "lambda x: tf.reshape(x, [-1])",
    "lambda x: 12 // x", "lambda x: tf.gather([1, 2, 3], x)", "lambda x: tf.debugging.check_numerics(1.0 / tf.cast(x, tf.float32), 'm')",
    "lambda x: None", "lambda x, y: x", "lambda: 1", "lambda x: object()", "lambda x: [x, x]", "lambda x: 'text'",
    "lambda x: tf.RaggedTensor.from_tensor([[x, x]])", "lambda x: tf.sparse.from_dense([[x]])", "lambda x: x if x > 2 else -x",
    "lambda x: tf.py_function(lambda v: v + 1, [x], tf.int64)", "lambda x: tf.numpy_function(lambda v: v * 2, [x], tf.int64)",
    "lambda x: tf.data.Dataset.range(3)",
]  # fmt: skip
PREDICATES = ["lambda *a: True", "lambda *a: False", "lambda x: x > 2", "lambda x: tf.cast(x, tf.int32) % 2 == 0", "lambda x: 1",
              "lambda x: x", "lambda x: [True]", "lambda x, y: x > 1", "lambda x: tf.size(x) > 1"]  # fmt: skip
NESTED = ["lambda x: D.from_tensors(x)", "lambda x: D.range(3)", "lambda *a: D.from_tensors(a).repeat(2)", "lambda x: D.range(x)",
          "lambda x: D.from_tensors(x).repeat(x % 3)", "lambda x: D.range(4).map(lambda y: y // x)", "lambda x: x", "lambda x: None",
          "lambda x: D.from_tensor_slices(x)", "lambda x: D.range(2).concatenate(D.range(x % 4))", "lambda x: D.range(x % 6).batch(2)"]  # fmt: skip
TYPES = ["tf.float32", "tf.int64", "tf.int32", "tf.string", "tf.bool", "'float32'", "5"]
ANYTHING = ["None", "[]", "'a'", "1.5", "nan", "inf", "-inf", "True", "tf.constant(2)", "tf.constant(3, tf.int64)", "tf.constant([1, 2])",
            "tf.constant('a')", "object()", "{}", "[2]", "np.int64(2)", "np.zeros([2, 0])", "(lambda x: x)", "D.range(2)", "tf.int32",
            "slice(None)", "1j", "b'\\xff'", "[None]", "tf.TensorShape([2])", "range(3)"]  # fmt: skip

# What is no dataset, or no options, has not their attributes; in TensorFlow, too.
NO_DATASET = re.compile(r"\.(with_options\((?!tf\.data)|concatenate\((?!D|tf\.data))")
# What Python raises in py_function, and is not of Python's own classes.
OF_PYTHON = re.compile(r"UnknownError: .*PyFunc", re.DOTALL)
# A function plans a whole batch of so many before it is known that there are fewer.
WHOLE_BATCH = re.compile(r"batch\(2\*\*\d+[-+\d]*, drop_remainder=True|batch\(\d{5,}, drop_remainder=True")


class Generator:
    """Makes pipeline number i of a seed: what it is, and the same with work in parallel."""

    def __init__(self, seed):
        self._seed = seed

    def case(self, number):
        self._r = r = random.Random(f"{self._seed}:{number}")
        self._wild = r.choice([0.0, 0.0, 0.1, 0.3])
        self._methods = []
        plain, parallel = self.dataset(r.choice([1, 2, 2, 3, 3, 4, 5]))
        return {"number": number, "function": self._methods[-1], "mode": "dataset", "tensors": [], "call": plain,
                "parallel": parallel}  # fmt: skip

    def dataset(self, stages):
        r = self._r
        plain = parallel = self.source()
        for _ in range(stages):
            method, arguments, others = self.stage()
            self._methods.append(method)
            given, beside = (", ".join([f"{k}={v}" if k else v for k, v in values]) for values in (arguments, arguments + others))
            plain, parallel = f"{plain}.{method}({given})", f"{parallel}.{method}({beside})"
            if method == "repeat":  # it may have no end
                plain, parallel = (f"{text}.take({MOST_ELEMENTS})" for text in (plain, parallel))
            if r.random() < 0.3:
                parallel += f".prefetch({r.choice(['1', '2', '7', 'tf.data.AUTOTUNE'])})"
        return plain, parallel

    def source(self):
        r = self._r
        if r.random() < self._wild / 2:
            return r.choice([
                f"D.range({self.integer()}).take(9)", f"D.from_tensor_slices({self.anything()})", f"D.from_tensors({self.anything()})",
                f"D.range({self.anything()}).take(9)", f"D.range(1, 9, {self.integer()}).take(9)",
                f"D.from_generator({self.anything()}, output_types={r.choice(TYPES)})", f"D.random(seed={self.integer()}).take(4)",
                f"D.range(3, output_type={r.choice(TYPES)})",
            ])  # fmt: skip
        return r.choice(SOURCES) if r.random() < 0.6 else "D.range(9)"

    def stage(self):
        """A method's name, its arguments, and those that must not change what it gives."""
        r = self._r
        calls = [("num_parallel_calls", r.choice(["2", "3", "tf.data.AUTOTUNE"]))] if r.random() < 0.8 else []
        make = {
            "map": lambda: ([("", self.function(FUNCTIONS))], calls),
            "filter": lambda: ([("", self.function(PREDICATES))], []),
            "flat_map": lambda: ([("", self.function(NESTED))], []),
            "interleave": lambda: ([("", self.function(NESTED)), *self.some(cycle_length=self.size, block_length=self.size)], []),
            "batch": lambda: ([("", self.size()), *self.some(drop_remainder=self.flag)], calls),
            "padded_batch": lambda: ([("", self.size()), *self.some(padded_shapes=self.shapes, padding_values=self.padding,
                                                                     drop_remainder=self.flag)], []),
            "ragged_batch": lambda: ([("", self.size()), *self.some(drop_remainder=self.flag)], []),
            "unbatch": lambda: ([], []),
            "rebatch": lambda: ([("", r.choice([self.size(), "[2, 1]", "[1, 3, 2]", "[0]"])), *self.some(drop_remainder=self.flag)], []),
            "window": lambda: ([("", self.size()), *self.some(shift=self.size, stride=self.size, drop_remainder=self.flag)], []),
            "repeat": lambda: ([("", self.size())] * r.randrange(2), []),
            "take": lambda: ([("", self.size())], []),
            "skip": lambda: ([("", self.size())], []),
            "shard": lambda: ([("", self.size()), ("", self.size())], []),
            "shuffle": lambda: ([("", self.size()), ("seed", r.choice(["1", "2", self.size()])),
                                 *self.some(reshuffle_each_iteration=self.flag)], []),
            "prefetch": lambda: ([("", self.size())], []),
            "cache": lambda: ([], []),
            "enumerate": lambda: ([("", self.size())] * r.randrange(2), []),
            "concatenate": lambda: ([("", self.other())], []),
            "take_while": lambda: ([("predicate", self.function(PREDICATES))], []),
            "scan": lambda: ([("", r.choice(["0", "tf.constant(0, tf.int64)", self.anything()])),
                              ("", r.choice(["lambda s, x: (s + 1, x)", "lambda s, x: (s + x, s)", "lambda s, *x: (s, s)", "lambda s, x: s"]))], []),
            "unique": lambda: ([], []),
            "ignore_errors": lambda: ([], []),
            "group_by_window": lambda: ([
                ("", r.choice(["lambda x: x % 2", "lambda *a: tf.constant(0, tf.int64)", "lambda x: 0", self.anything()])),
                ("", r.choice(["lambda k, w: w.batch(3)", "lambda k, w: w", "lambda k, w: w.map(lambda x: x + k)", "lambda k, w: k"])),
                ("window_size", self.size())], []),
            "bucket_by_sequence_length": lambda: ([
                ("", r.choice(["lambda x: tf.size(x)", "lambda x: x", "lambda *a: 1"])), ("", r.choice(["[2, 4]", "[]", "[4, 2]", self.anything()])),
                ("", r.choice(["[2, 2, 2]", "[1, 2]", "[2]", "[0, 1, 2]"])), *self.some(drop_remainder=self.flag, pad_to_bucket_boundary=self.flag)], []),
            "apply": lambda: ([("", r.choice([
                "tf.data.experimental.assert_cardinality(" + self.size() + ")", "tf.data.experimental.ignore_errors()", "lambda d: d.batch(2)",
                "tf.data.experimental.dense_to_ragged_batch(" + self.size() + ")", "tf.data.experimental.unique()", "lambda d: d", "lambda d: 5",
                "tf.data.experimental.take_while(lambda *a: True)", "tf.data.experimental.enumerate_dataset()"]))], []),
            "with_options": lambda: ([("", r.choice(["tf.data.Options()", self.anything()]))], []),
        }  # fmt: skip
        method = r.choice(list(make))
        return method, *make[method]()

    def some(self, **makers):
        return [(name, make()) for name, make in makers.items() if self._r.random() < 0.4]

    def function(self, texts):
        return self.anything() if self._r.random() < self._wild / 3 else self._r.choice(texts)

    def other(self):
        return self._r.choice([*SOURCES, "D.range(3)", self.anything()])

    def size(self):
        r = self._r
        if r.random() < self._wild:
            return r.choice([self.integer(), self.anything()])
        return r.choice(SMALL)

    def integer(self):
        return self._r.choice(fuzz_ops.HOSTILE_INTS)

    def anything(self):
        return self._r.choice(ANYTHING)

    def flag(self):
        return self._r.choice(["True", "False", "True", "None" if self._r.random() < self._wild else "False"])

    def shapes(self):
        return self._r.choice(["[]", "[None]", "[3]", "[2, 2]", "[-1]", "([], [None])", "{'a': [], 'b': []}", "None", self.size(),
                               "[2**62]", "[2**31, 2**31]", "tf.TensorShape(None)"])  # fmt: skip

    def padding(self):
        return self._r.choice(["0", "None", "tf.constant(7, tf.int64)", "'x'", "(0, 1.5)", "-1.0", self.anything()])


# ---- The child


def elements_of(tf, np, dataset):
    return [parts_of(tf, np, element) for element in dataset.take(MOST_ELEMENTS)]


def parts_of(tf, np, element):
    """What an element is made of; of a dataset, its elements."""
    parts = []
    for leaf in tf.nest.flatten(element, expand_composites=True):
        if leaf is None:
            continue
        if isinstance(leaf, tf.data.Dataset):
            parts.append(elements_of(tf, np, leaf))
        else:
            parts.append(fuzz_ops.value_of(tf, np, tf.convert_to_tensor(leaf)))
    return parts


def is_nested(tf, dataset):
    return any(isinstance(spec, tf.data.DatasetSpec) for spec in tf.nest.flatten(dataset.element_spec))


def iterated(tf, np, text, way):
    """{"value": elements} or how it ended, with the elements until then."""
    tf.random.set_seed(7)
    names = {"tf": tf, "np": np, "D": tf.data.Dataset, "nan": float("nan"), "inf": float("inf")}
    seen = []

    def present(element):
        return [part for part in tf.nest.flatten(element, expand_composites=True) if part is not None]

    def note(*parts):
        seen.append([fuzz_ops.value_of(tf, np, tf.convert_to_tensor(p)) for p in parts])

    try:
        dataset = eval(text, names)  # noqa: S307
        if not isinstance(dataset, tf.data.Dataset):
            return {"value": type(dataset).__name__}
        if way == "function" and is_nested(tf, dataset):
            return None
        if way == "parallel":
            options = tf.data.Options()
            options.threading.private_threadpool_size = 3
            dataset = dataset.with_options(options).prefetch(2)
        limited = dataset.take(MOST_ELEMENTS)
        if way == "function":

            @tf.function
            def run():
                for element in limited:
                    tf.numpy_function(note, present(element), [])

            run()
        else:
            for element in limited:
                seen.append(parts_of(tf, np, element))
        return {"value": seen}
    except Exception as error:  # noqa: BLE001  whatever it is, it is judged
        return {"until": seen, **fuzz_ops.described(tf, error)}


def outcome_of(tf, np, case, begin):
    outcome = {"eager": iterated(tf, np, case["call"], "eager")}
    if tf.__name__ == "tandem":
        for way, text in (("function", case["call"]), ("parallel", case["parallel"])):
            begin()
            outcome[way] = iterated(tf, np, text, way)
    return outcome


# ---- The parent


def wrong(case, outcome):
    """Why an outcome is a finding, or None."""
    if "eager" not in outcome:
        return fuzz_ops.wrong(case, outcome)
    for way in ("eager", "function", "parallel"):
        found = outcome.get(way)
        if found and "error" in found:
            name = found["error"]
            right = name not in ("InternalError", "UnknownError", "OpError") if found["op_error"] else found["base"] in fuzz_ops.RIGHT
            if not right and not (found["base"] == "AttributeError" and NO_DATASET.search(case["call"])):
                reason = f"{way}: {name}: {found['message']}"
                if not OF_PYTHON.search(reason):
                    return reason
    eager = outcome["eager"]
    for way in ("function", "parallel"):
        if outcome.get(way) is not None:
            reason = difference(outcome[way], eager)
            if reason and not (way == "function" and WHOLE_BATCH.search(case["call"]) and "elements there" in reason):
                return f"{way} (here) and eager (there): {reason}"
    return None


def difference(mine, theirs):
    if "error" in mine and "error" in theirs:
        # A function that is traced may be refused before it runs.
        return None if not mine["until"] or mine["until"] == theirs["until"] else other(mine["until"], theirs["until"])
    if "error" in theirs:
        return f"{len(mine['value'])} elements here, there {theirs['error']}: {theirs['message'][:200]}"
    if "error" in mine:
        return f"{len(theirs['value'])} elements there, here {mine['error']}: {mine['message'][:200]}"
    return None if json.dumps(mine["value"]) == json.dumps(theirs["value"]) else other(mine["value"], theirs["value"])


def other(mine, theirs):
    if len(mine) != len(theirs):
        return f"{len(mine)} elements here, {len(theirs)} there: {str(mine)[:150]}, {str(theirs)[:150]}"
    at, (a, b) = next((i, pair) for i, pair in enumerate(zip(mine, theirs)) if json.dumps(pair[0]) != json.dumps(pair[1]))
    return f"element {at} is {str(a)[:150]} here, {str(b)[:150]} there"


def shown(case):
    return f"{case['call']}\n    in parallel: {case['parallel']}"


class Findings:
    """Prints each kind once."""

    def __init__(self, seed):
        self.calls = self.count = 0
        self.outcomes = collections.Counter()
        self._seed, self._seen = seed, set()

    def report(self, case, outcome):
        if "memory" not in outcome:
            self.calls += 1
            eager = outcome.get("eager", {})
            self.outcomes["elements" if "value" in eager else "error" if "error" in eager else "finding"] += 1
        reason = wrong(case, outcome)
        if reason is None:
            return
        self.count += 1
        key = (case["function"], re.sub(r"\d+", "#", reason)[:70])
        if key not in self._seen:
            self._seen.add(key)
            again = f"tests/fuzz/fuzz_datasets.py --seed {self._seed} --only {case['number']}"
            print(f"{reason}\n    {shown(case)}\n  again: {again}\n{outcome.get('stacks', '')}", flush=True)


def children(cases, report, python=sys.executable, library="tandem"):
    return fuzz_ops.Run(python, library, cases, report, script=__file__)


def fuzz(options):
    generator, findings = Generator(options.seed), Findings(options.seed)
    deadline = time.monotonic() + options.seconds if options.seconds else None
    print(f"seed {options.seed}", flush=True)
    number = 0
    while (options.calls is None or findings.calls < options.calls) and (deadline is None or time.monotonic() < deadline):
        count = BATCH if options.calls is None else min(BATCH, options.calls - findings.calls)
        children([generator.case(number + i) for i in range(count)], findings.report).all(deadline)
        number += count
    print(", ".join(f"{k}: {v}" for k, v in sorted(findings.outcomes.items())))
    print(f"fuzz_datasets: {findings.calls} calls, {findings.count} findings")
    return 1 if findings.count else 0


def only(options):
    case = Generator(options.seed).case(options.only)
    gathered = []
    children([case], lambda _, outcome: gathered.append(outcome)).all()
    reason = wrong(case, gathered[-1])
    print(shown(case), json.dumps(gathered[-1])[:4000], *[reason] * bool(reason), sep="\n")
    return 1 if reason else 0


def compare(options):
    generator, found, seen = Generator(options.seed), 0, set()
    cases = [generator.case(i) for i in range(options.calls or 1000)]
    mine, theirs = children(cases, lambda *_: None), children(cases, lambda *_: None, options.compare, "tensorflow")
    mine.all(), theirs.all()
    for i, case in enumerate(cases):
        here, there = (run.outcomes.get(i, {}).get("eager") for run in (mine, theirs))
        reason = here and there and difference(here, there)
        if reason:
            found += 1
            key = (case["function"], re.sub(r"\d+", "#", reason)[:60])
            if key not in seen:
                seen.add(key)
                print(f"{reason}\n    {case['call']}\n  number {case['number']}\n", flush=True)
    print(f"compare: {len(cases)} calls, {found} differences of {len(seen)} kinds")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--calls", type=int, help="end after so many")
    parser.add_argument("--only", type=int, help="this pipeline alone")
    parser.add_argument("--compare", metavar="PYTHON", help="a Python that has TensorFlow")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--start", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--library", default="tandem", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return fuzz_ops.run_child(options.child, options.start, options.library, False, outcome_of)
    if options.only is not None:
        return only(options)
    if options.compare:
        return compare(options)
    if options.seconds is None and options.calls is None:
        options.seconds = 60
    return fuzz(options)


if __name__ == "__main__":
    sys.exit(main())
