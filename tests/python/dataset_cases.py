"""Datasets whose elements, specs and cardinality TensorFlow decides, in one place for the tests and for the script that
asks TensorFlow (tools/reference/make_dataset_reference.py). Each is an expression with the names tf, np, D (tf.data.Dataset),
Point (a named tuple) and the functions of helpers()."""

import collections

Point = collections.namedtuple("Point", ["x", "y"])

CASES = """
# Sources
D.range(5)
D.range(1, 10, 3)
D.range(5, 0, -2)
D.range(3, output_type=tf.float32)
D.range(0)
D.from_tensors([1, 2, 3])
D.from_tensors((1, {'b': [2.0], 'a': 'text'}))
D.from_tensor_slices([[1, 2], [3, 4], [5, 6]])
D.from_tensor_slices(([1, 2], [3.0, 4.0]))
D.from_tensor_slices({'z': [1, 2], 'a': (['x', 'y'], [True, False])})
D.from_tensor_slices(Point([1, 2], [3, 4]))
D.from_tensor_slices((np.arange(6, dtype=np.uint8).reshape(3, 2), np.arange(3)))
D.from_generator(numbers, output_types=tf.int32)
D.from_generator(numbers, output_signature=tf.TensorSpec([], tf.float32))
D.from_generator(growing, output_types=(tf.int32, tf.float32), output_shapes=([], [None]))
D.from_generator(lambda n: iter(range(n)), args=(4,), output_types=tf.int64)
D.from_generator(lambda: ({'a': i, 'b': str(i)} for i in range(2)), output_types={'a': tf.int32, 'b': tf.string})
D.counter(3, 2).take(3)
tf.data.experimental.Counter().take(2)
D.random(seed=4).take(3)
D.random(seed=4, rerandomize_each_iteration=True).take(3)
D.zip((D.range(3), D.range(5, 9)))
D.zip(D.range(2), D.range(2))
D.zip({'a': D.range(2), 'b': (D.range(3), D.range(4))})
# Functions
D.range(4).map(lambda x: x * 2)
D.range(4).map(lambda x: (x, tf.cast(x, tf.float32) / 2))
D.range(4).map(lambda x: {'square': x * x, 'pair': (x, -x)})
D.range(4).map(lambda x: [x, x + 1])
D.range(4).map(lambda x: 7)
D.range(9).map(lambda x: x * 2, num_parallel_calls=3)
D.range(9).map(lambda x: x * 2, num_parallel_calls=tf.data.AUTOTUNE)
D.from_tensor_slices(([1, 2], [3, 4])).map(lambda a, b: a * b)
D.from_tensor_slices({'a': [1, 2], 'b': [3, 4]}).map(lambda e: e['a'] - e['b'])
D.from_tensor_slices(Point([1, 2], [3, 4])).map(lambda p: p.x + p.y)
D.zip((D.range(3), D.range(3))).map(lambda a, b: Point(a, b))
D.range(6).map(branches)
D.range(6).map(loops)
D.range(3).map(lambda x: tf.fill([x], x))
D.range(3).map(lambda x: tf.strings.as_string(x))
D.range(9).filter(lambda x: x % 3 == 1)
D.from_tensor_slices(([1, 2, 3], [True, False, True])).filter(lambda x, keep: keep)
D.range(9).take_while(lambda x: x < 4)
D.range(5).scan(np.int64(10), lambda s, x: (s + x, (s, x)))
D.range(5).scan((np.int64(0), 1.0), lambda s, x: ((s[0] + x, s[1] * 2), s[1]))
# Choosing and ordering
D.range(9).skip(3).take(4)
D.range(3).skip(-1)
D.range(3).take(-1)
D.range(3).repeat(2)
D.range(3).repeat().take(7)
D.range(0).repeat()
D.range(10).shard(3, 1)
D.range(3).concatenate(D.range(7, 9))
D.from_tensors([1, 2]).concatenate(D.from_tensors([3]))
D.range(3).enumerate()
D.from_tensor_slices(['a', 'b']).enumerate(start=5)
D.range(10).shuffle(10, seed=42)
D.range(10).shuffle(3, seed=1)
D.range(10).shuffle(1, seed=1)
D.range(10).shuffle(100, seed=2, reshuffle_each_iteration=False)
D.range(6).shuffle(6, seed=42).repeat(3)
D.range(6).repeat(2).shuffle(4, seed=42)
D.range(20).shuffle(5, seed=1).batch(3).repeat(2).take(14)
D.from_tensor_slices((np.arange(7), np.arange(7) * 2)).shuffle(4, seed=9).batch(3)
seeded(7, lambda: D.range(8).shuffle(8))
seeded(7, lambda: D.range(8).shuffle(8, seed=3))
seeded(7, lambda: D.range(8).shuffle(8).shuffle(8))
D.range(5).cache()
D.range(5).cache().repeat(2)
D.range(5).prefetch(2)
D.range(5).prefetch(tf.data.AUTOTUNE)
D.from_tensor_slices([1, 2, 1, 3, 2]).unique()
# Batches
D.range(7).batch(3)
D.range(7).batch(3, drop_remainder=True)
D.range(7).batch(3, num_parallel_calls=2)
D.range(2).batch(3, drop_remainder=True)
D.range(7).batch(2).batch(2)
D.from_tensor_slices({'a': ['x', 'y', 'z']}).batch(2)
D.range(7).batch(3).unbatch()
D.range(7).batch(3, drop_remainder=True).unbatch()
D.from_tensors(([1, 2], [[3], [4]])).unbatch()
D.range(7).batch(2).rebatch(3)
D.range(7).batch(2).rebatch(3, drop_remainder=True)
D.range(9).batch(4).rebatch([2, 1])
D.range(1, 5).map(lambda x: tf.fill([x], x)).padded_batch(2)
D.range(1, 5).map(lambda x: tf.fill([x], x)).padded_batch(3, padded_shapes=[5])
D.range(1, 5).map(lambda x: tf.fill([x], x)).padded_batch(2, padded_shapes=5)
D.range(1, 5).map(lambda x: tf.fill([x], x)).padded_batch(2, padded_shapes=[None], padding_values=np.int64(-1))
D.range(1, 4).map(lambda x: (tf.fill([x], 1.5), x)).padded_batch(2, padded_shapes=([None], []), padding_values=(9.0, np.int64(0)), drop_remainder=True)
D.range(1, 4).map(lambda x: tf.fill([x, 4 - x], x)).padded_batch(3)
D.range(7).window(3).map(lambda w: w.reduce(np.int64(0), lambda s, x: s + x))
D.range(7).window(3, drop_remainder=True).flat_map(lambda w: w.batch(3))
D.range(7).window(3, 1, 2, True).flat_map(lambda w: w.batch(3, drop_remainder=True))
D.from_tensor_slices(([1, 2, 3], [4, 5, 6])).window(2).flat_map(lambda a, b: D.zip((a.batch(2), b.batch(2))))
D.range(10).group_by_window(lambda x: x % 2, lambda k, w: w.batch(2), window_size=2)
D.range(10).group_by_window(lambda x: x % 3, lambda k, w: w.batch(10), window_size_func=lambda k: k + 2)
D.from_generator(lambda: ([1] * n for n in (1, 4, 2, 6, 3, 5)), tf.int64, [None]).bucket_by_sequence_length(lambda e: tf.shape(e)[0], [3, 5], [2, 2, 2])
D.from_generator(lambda: ([1] * n for n in (1, 4, 2, 3)), tf.int64, [None]).bucket_by_sequence_length(lambda e: tf.shape(e)[0], [3, 5], [2, 2, 2], pad_to_bucket_boundary=True)
# Datasets of datasets
D.range(1, 5).flat_map(lambda x: D.range(x))
D.range(3).flat_map(lambda x: D.range(2).map(lambda y: x * 10 + y))
D.from_tensor_slices([[1, 2], [3, 4]]).flat_map(D.from_tensor_slices)
D.from_tensor_slices([[1, 2], [3, 4]]).flat_map(lambda x: D.from_tensors(x).repeat(2))
D.range(1, 6).interleave(lambda x: D.from_tensors(x).repeat(6), cycle_length=2, block_length=4)
D.range(1, 6).interleave(lambda x: D.from_tensors(x).repeat(x), cycle_length=3, block_length=2)
D.range(1, 6).interleave(lambda x: D.from_tensors(x).repeat(3), cycle_length=2, num_parallel_calls=2)
D.range(3).interleave(lambda x: D.range(x), cycle_length=3)
D.choose_from_datasets([D.from_tensors('a').repeat(), D.from_tensors('b').repeat()], D.range(2).repeat(2))
D.choose_from_datasets([D.range(2), D.range(10, 15)], D.from_tensor_slices(np.array([0, 0, 0, 1, 1])), stop_on_empty_dataset=False)
D.choose_from_datasets([D.range(2), D.range(10, 15)], D.from_tensor_slices(np.array([0, 0, 0, 1, 1])))
D.sample_from_datasets([D.range(0, 5), D.range(10, 15), D.range(20, 25)], seed=5)
D.sample_from_datasets([D.range(0, 5), D.range(10, 15)], weights=[0.2, 0.8], seed=5, stop_on_empty_dataset=True)
D.range(5).apply(tf.data.experimental.assert_cardinality(5))
D.range(9).apply(tf.data.experimental.ignore_errors())
D.from_tensor_slices([1.0, 2.0, 0.0, 4.0]).map(lambda x: tf.debugging.check_numerics(1.0 / x, 'bad')).ignore_errors()
D.range(4).with_options(tf.data.Options())
D.from_tensors((1, None))
# Errors when the dataset is made
D.range()
D.range(1, 2, 0)
D.from_tensor_slices(5)
D.from_tensor_slices(([1, 2], [1, 2, 3]))
D.range(3).batch(0)
D.range(3).filter(lambda x: x)
D.range(3).shard(2, 2)
D.range(3).concatenate(D.from_tensors(1.0))
D.zip([D.range(1), D.range(2)])
D.from_generator(5, tf.int32)
D.from_generator(numbers)
D.range(3).unbatch()
D.range(3).padded_batch(2, padded_shapes=[None])
len(D.range(3).filter(lambda x: True))
len(D.range(3).repeat())
D.list_files('/nonexistent/*')
# Errors when it is iterated over
D.range(1, 3).map(lambda x: tf.fill([x], x)).batch(2)
D.range(1, 4).map(lambda x: tf.fill([x], x)).padded_batch(3, padded_shapes=[2])
D.from_generator(lambda: iter([1, 'a']), tf.int32)
D.from_generator(lambda: iter([[1, 2]]), output_signature=tf.TensorSpec([3], tf.int32))
D.from_generator(lambda: iter([(1, 2, 3)]), (tf.int32, tf.int32))
D.from_generator(failing, tf.int32)
D.from_generator(lambda: missing_name, tf.int32)
tf.data.TextLineDataset('/nonexistent/file')
D.range(5).apply(tf.data.experimental.assert_cardinality(3))
D.range(5).apply(tf.data.experimental.assert_cardinality(8))
D.from_tensor_slices([1.0, 0.0]).map(lambda x: tf.debugging.check_numerics(1.0 / x, 'not a number'))
# Answers that are no datasets
D.range(5).reduce(np.int64(0), lambda s, x: s + x)
D.range(5).reduce((0, np.int64(1)), lambda s, x: (s[0] + 1, s[1] * (x + 1)))
D.range(3).cardinality()
D.range(3).repeat().cardinality()
D.range(3).filter(lambda x: True).cardinality()
D.from_generator(numbers, tf.int32).cardinality()
D.range(3).flat_map(lambda x: D.range(2)).cardinality()
D.range(10).batch(3).cardinality()
D.from_tensors(7).get_single_element()
D.range(2).get_single_element()
D.range(0).get_single_element()
len(D.range(10).batch(3))
bool(D.range(0))
D.range(3).map(lambda x: (x, x)).element_spec
D.range(3).window(2).element_spec
iter(D.range(3)).get_next_as_optional().get_value()
iter(D.range(0)).get_next_as_optional().has_value()
next(iter(D.range(3)))
tf.data.AUTOTUNE
tf.data.INFINITE_CARDINALITY, tf.data.UNKNOWN_CARDINALITY
"""


def cases():
    lines = (line.strip() for line in CASES.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def helpers(tf):
    """The names that the expressions use."""

    def numbers():
        yield from (1, 2, 3)

    def growing():
        for i in range(3):
            yield i, [0.5] * i

    def failing():
        yield 1
        raise KeyError("the generator is broken")

    def branches(x):
        if x % 2 == 0:
            return x
        else:
            return -x

    def loops(x):
        total = tf.constant(0, tf.int64)
        i = tf.constant(0, tf.int64)
        while i < x:
            total += i
            i += 1
        return total

    def seeded(seed, make):
        tf.random.set_seed(seed)
        return make()

    return {
        "D": tf.data.Dataset, "Point": Point, "numbers": numbers, "growing": growing, "failing": failing,
        "branches": branches, "loops": loops, "seeded": seeded,
    }  # fmt: skip


def shown(value):
    """An answer as text: of datasets their repr, length and the elements of two passes, with arrays and their dtypes."""
    import numpy as np

    if hasattr(value, "as_numpy_iterator"):
        passes = [[element(e) for e in value.as_numpy_iterator()] for _ in range(2)]
        return [repr(value.element_spec), int(value.cardinality()), *passes]
    if hasattr(value, "numpy"):
        return element(value.numpy())
    if isinstance(value, tuple):
        return [shown(v) for v in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return element(value)
    return repr(value)


def element(value):
    import numpy as np

    if isinstance(value, dict):
        return f"{{{', '.join(f'{k!r}: {element(v)}' for k, v in value.items())}}}"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return f"{type(value).__name__}({', '.join(map(element, value))})"
    if isinstance(value, tuple):
        return f"({', '.join(map(element, value))})"
    if value is None:
        return "None"
    array = np.asarray(value)
    return f"{array.dtype.name}{list(array.shape)}{array.tolist()}"
