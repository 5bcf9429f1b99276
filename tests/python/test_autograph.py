"""AutoGraph: what is converted, what is refused and with which words."""

import functools
import itertools

import pytest

import tandem as tf


def compiled(function, *args, **options):
    return tf.function(function, **options)(*args)


X = [3, 1, 2]


def undefined_in_a_branch(x):
    if tf.reduce_sum(x) > 0:
        y = 1
    return y


def dtypes_of_branches(x):
    if tf.reduce_sum(x) > 0:
        y = 1
    else:
        y = 2.0
    return y


def one_branch_returns(x):
    if tf.reduce_sum(x) > 0:
        return 1


def vector_condition(x):
    if x > 1:
        return 1
    return 0


def number_condition(x):
    if x[0]:
        return 1
    return 0


def shape_in_a_loop(x):
    n = tf.zeros((1,))
    for _ in x:
        n = tf.concat([n, n], 0)
    return n


def dtype_in_a_loop(x):
    n = 0
    for v in x:
        n = tf.cast(v, tf.float32)
    return n


def list_in_a_loop(x):
    values = []
    for v in x:
        values.append(v)
    return tf.stack(values)


def structures_of_branches(x):
    if tf.reduce_sum(x) > 0:
        m = (x, x)
    else:
        m = x
    return m


@pytest.mark.parametrize(
    "function, error, words",
    [
        (undefined_in_a_branch, ValueError, "'y' must also be initialized in the else branch"),
        (dtypes_of_branches, TypeError, "'y' has dtype int32 in the main branch, but dtype float32 in the else branch"),
        (one_branch_returns, ValueError, "the else branch must also have a return statement"),
        (vector_condition, ValueError, "condition of if statement expected to be `tf.bool` scalar"),
        (number_condition, ValueError, "to use as boolean Tensor, use `tf.cast`"),
        (shape_in_a_loop, ValueError, r"'n' has shape \(1,\) before the loop, but shape \(2,\) after one iteration"),
        (dtype_in_a_loop, TypeError, "'n' has dtype int32 before the loop, but dtype float32 after one iteration"),
        (list_in_a_loop, TypeError, "out of scope"),
        (structures_of_branches, TypeError, "'m' must have the same nested structure in the main and else branches"),
    ],
)
def test_refused_with_the_line_of_the_user(function, error, words):
    with pytest.raises(error, match=words) as caught:
        compiled(function, tf.constant(X))
    text = str(caught.value)
    assert "in user code:" in text and __file__ in text and f"in {function.__name__}" in text
    assert "tandem/staging" not in text


def test_errors_deep_inside_show_the_way():
    class Special(Exception):
        pass

    def inner(x):
        raise Special("deep")

    def outer(x):
        for _ in tf.range(2):
            x = inner(x)
        return x

    with pytest.raises(Special, match="deep") as caught:
        compiled(outer, tf.constant(1))
    assert "in inner" in str(caught.value) and "in outer" in str(caught.value)


def test_without_conversion_tensors_have_no_truth_value():
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="symbolic `tf.Tensor` as a Python `bool`"):
        compiled(vector_condition, tf.constant(2), autograph=False)

    @tf.autograph.experimental.do_not_convert
    def plain(x):
        return 1 if x else 0

    with pytest.raises(TypeError):
        compiled(lambda x: plain(x), tf.constant(True))


def test_return_in_a_loop():
    @tf.function
    def find(values, wanted):
        for i in tf.range(tf.shape(values)[0]):
            if values[i] == wanted:
                return i
        return -1

    values = tf.constant([5, 6, 7])
    assert [int(find(values, tf.constant(w))) for w in (5, 7, 9)] == [0, 2, -1]

    @tf.function
    def no_end(values):
        for v in values:
            if v > 6:
                return v

    assert int(no_end(values)) == 7
    with pytest.raises(tf.errors.InvalidArgumentError, match="without a return statement"):
        no_end(tf.constant([1, 2]))


def numbers(*bounds, dtype=None):
    """What a loop over tf.range(*bounds) sees, the bounds being arguments."""

    @tf.function
    def collect(*bounds):
        seen = tf.TensorArray(dtype or bounds[0].dtype, size=0, dynamic_size=True)
        count = 0
        for i in tf.range(*bounds, dtype=dtype):
            seen = seen.write(count, i)
            count += 1
        return seen.stack()

    return collect(*bounds)


def test_a_loop_over_a_range_counts_as_python_does():
    @tf.function
    def collect(start, limit, delta):
        seen, count = tf.zeros_like(start), 0
        for i in tf.range(start, limit, delta):
            seen = seen * 31 + i
            count += 1
        return seen, count

    for start, limit, delta in itertools.product((-7, 0, 3), (-8, -7, 0, 1, 3, 20), (-5, -1, 1, 2, 7)):
        wanted = 0
        for i in range(start, limit, delta):
            wanted = wanted * 31 + i
        seen, count = collect(*(tf.constant(v, tf.int64) for v in (start, limit, delta)))
        assert (int(count), int(seen) % 2**64) == (len(range(start, limit, delta)), wanted % 2**64)
    assert collect.experimental_get_tracing_count() == 1
    top = 2**31 - 1
    assert numbers(*map(tf.constant, (top - 7, top, 5))).numpy().tolist() == [top - 7, top - 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Requires delta != 0"):
        collect(*(tf.constant(v, tf.int64) for v in (0, 3, 0)))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "uint8", "int16"])
def test_a_loop_over_a_range_sees_what_the_range_holds(dtype):
    cases = [(0, 5, 1), (2, 2, 1), (1, 9, 3), (0, 1, 0.1), (0.5, -1, -0.3), (3, -4, -2), (-1, 1, 0.25)]
    if not tf.as_dtype(dtype).is_floating:
        cases = cases[:3]
    for case in cases:
        bounds = [tf.constant(v, dtype) for v in case]
        made, wanted = numbers(*bounds), tf.range(*bounds)
        assert made.dtype == dtype
        assert made.numpy().tolist() == wanted.numpy().tolist()


def test_one_plan_serves_ranges_of_all_lengths():
    @tf.function
    def total(n):
        s = 0
        for i in tf.range(n):
            s += i
        return s

    @tf.function
    def of_python(n):
        s = 0
        for i in range(1, n):
            s += i
        return s

    @tf.function
    def named(n):
        numbers = tf.range(n)
        s = 0
        for i in numbers:
            s += i
        return s

    for f in (total, of_python, named):
        f(tf.constant(3))
        text = f.explain()
        assert "While" in text and "Range" not in text and "GatherV2" not in text
        assert [int(f(tf.constant(n))) for n in range(20)] == [sum(range(n)) for n in range(20)]
        assert f.explain() == text  # the times in it are those of one plan

    @tf.function
    def first_square_above(n, least):
        for i in tf.range(n):
            if i * i > least:
                return i
        return tf.constant(-1, n.dtype)

    # No memory holds a tensor of this length.
    assert int(first_square_above(tf.constant(2**40, tf.int64), tf.constant(50, tf.int64))) == 8


def test_a_range_with_a_name_of_its_own_is_counted_too():
    @tf.function
    def both(n):
        numbers = tf.range(2, n)
        s = 0
        for i in numbers:
            s += i
        return s, tf.reduce_sum(numbers)

    assert [int(v) for v in both(tf.constant(6))] == [14, 14]
    assert "GatherV2" not in both.explain()


def test_the_variable_of_a_range_after_the_loop():
    @tf.function
    def last(start, limit):
        for i in tf.range(start, limit):
            pass
        return i

    @tf.function
    def given(n):
        i = -1
        for i in tf.range(n):
            if i == 3:
                break
        return i

    assert int(last(tf.constant(2), tf.constant(6))) == 5
    assert int(last(tf.constant(2), tf.constant(2))) == 2  # TensorFlow's answer: where it would have begun
    assert [int(given(tf.constant(n))) for n in (0, 2, 9)] == [-1, 1, 3]


def test_gradients_through_a_loop_over_a_range():
    @tf.function
    def polynomial(x, n):
        y = tf.constant(0.0)
        for i in tf.range(n):
            if i % 2 == 1:
                continue
            y += x ** tf.cast(i, tf.float32)
        return y

    x = tf.constant(2.0)
    for n, slope in ((0, 0.0), (1, 0.0), (5, 4.0 + 32.0), (4, 4.0)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = polynomial(x, tf.constant(n))
        assert float(tape.gradient(y, x) or 0.0) == slope


def test_loops_over_the_rows_of_ragged_tensors():
    @tf.function
    def sums(rows):
        made = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        turn = 0
        for row in rows:
            made = made.write(turn, tf.reduce_sum(row) * float(tf.shape(row)[0]))
            turn += 1
        return made.stack()

    rows = tf.ragged.constant([[1.0, 2.0], [], [3.0]])
    assert sums(rows).numpy().tolist() == [6.0, 0.0, 3.0]
    with tf.GradientTape() as tape:
        tape.watch(rows.flat_values)
        total = tf.reduce_sum(sums(rows))
    assert tape.gradient(total, rows.flat_values).numpy().tolist() == [2.0, 2.0, 1.0]

    @tf.function
    def longest(rows):
        best = 0
        for row in rows:
            for inner in row:
                if tf.size(inner) > best:
                    best = tf.size(inner)
        return best

    assert int(longest(tf.ragged.constant([[[1], [2, 3]], [], [[4, 5, 6]]]))) == 3


def test_handlers_with_a_name():
    class Missing(Exception):
        pass

    def find(table, key):
        if key not in table:
            raise Missing(key)
        return table[key]

    @tf.function
    def f(x, table, key):
        try:
            factor = find(table, key)
        except (KeyError, Missing) as error:
            factor = float(len(str(error)))
            reason = error
        else:
            reason = None
        if tf.reduce_sum(x) > 0.0:  # converted, as everything else is
            x = x * factor
        return x if reason is None else x + 1.0

    assert f(tf.constant([2.0]), {"a": 3.0}, "a").numpy().tolist() == [6.0]
    assert f(tf.constant([2.0]), {"a": 3.0}, "four").numpy().tolist() == [9.0]
    assert f(tf.constant([-2.0]), {"a": 3.0}, "four").numpy().tolist() == [-1.0]

    @tf.function
    def rethrows(x):
        try:
            return find({}, "key") + x
        except Missing as e:
            try:
                int("no number")
            except ValueError as inner:
                assert "no number" in str(inner)
            raise ValueError(f"wrapped {e}") from e

    with pytest.raises(ValueError, match="wrapped key") as caught:
        rethrows(tf.constant(1.0))
    assert caught.value.__cause__ is not None

    @tf.function
    def in_a_loop(n):
        bad = 0
        for i in tf.range(n):
            try:
                find({}, "key")
            except Missing as e:  # noqa: F841
                bad += i
        return bad

    assert int(in_a_loop(tf.constant(4))) == 6


def test_break_out_of_a_python_loop():
    @tf.function
    def f(x):
        turns = 0
        for i in range(5):
            if x < i:
                break
            turns += 1
        return turns

    assert [int(f(tf.constant(x))) for x in (-1, 2, 9)] == [0, 3, 5]


def test_builtins():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
    def f(x):
        total = 0
        for i in range(len(x)):
            total += i * x[i]
        for i, v in enumerate(x):
            total += i + v
        for a, b in zip(x, x + 1):
            total += a * b
        numbers = max(x), min(x[0], x[1]), sum(x), abs(-x), int(x[0]), float(x[0])
        return total, *numbers, any(x > 2), all(x > 2), sorted(x)

    total, *others = f(tf.constant(X))
    assert int(total) == (0 * 3 + 1 + 4) + (3 + 2 + 4) + (12 + 2 + 6)
    shown = [t.numpy().tolist() for t in others]
    assert shown == [3, 1, 6, [3, 1, 2], 3, 3.0, True, False, [1, 2, 3]]


def test_assertions():
    @tf.function
    def f(x):
        assert tf.reduce_all(x > 0), "must be positive"
        assert True, "never"
        return x

    f(tf.constant([1, 2]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be positive"):
        f(tf.constant([1, -2]))


def test_print_while_tracing_and_when_it_runs(capfd):
    @tf.function
    def f(x):
        print("traced", x.shape)
        if x[0] > 0:
            tf.print("positive", x, {"k": x[0]})
        else:
            tf.print("other")
        return x

    for value in ([1, 2], [3, 4], [-1, 0]):
        f(tf.constant(value))
    out, err = capfd.readouterr()
    assert out.strip() == "traced (2,)"
    assert err.splitlines() == ["positive [1 2] {'k': 1}", "positive [3 4] {'k': 3}", "other"]


def test_lists_become_arrays_where_asked():
    @tf.function(experimental_autograph_options=tf.autograph.experimental.Feature.LISTS)
    def f(x):
        values = []
        for v in x:
            values.append(v * 2)
        return tf.stack(values)

    assert f(tf.constant(X)).numpy().tolist() == [6, 2, 4]


def test_partials_and_callable_objects():
    class Clip:
        def __call__(self, x, low):
            return low if x < low else x

    clip = functools.partial(Clip(), low=0)
    assert [int(compiled(lambda x: clip(x), tf.constant(v))) for v in (-5, 5)] == [0, 5]
    assert int(tf.function(clip)(tf.constant(-3))) == 0


def test_super_and_closures():
    class Base:
        def run(self, x):
            return x + 1

    class Child(Base):
        @tf.function
        def run(self, x):
            if x > 0:
                x = super().run(x)
            return x

    assert [int(Child().run(tf.constant(v))) for v in (-1, 1)] == [-1, 2]
    state = []

    @tf.function
    def nonlocal_state(x):
        count = 0

        def bump():
            nonlocal count
            count += 1
            state.append(count)

        bump()
        bump()
        return x + count

    assert int(nonlocal_state(tf.constant(1))) == 3 and state == [1, 2]


def test_composite_names_in_branches():
    class Counter:
        total = 0

    @tf.function
    def f(x):
        counter = Counter()
        counter.total = x
        table = {"n": x}
        if x > 0:
            counter.total = x * 10
            table["n"] = x + 1
        return counter.total, table["n"]

    assert [[int(t) for t in f(tf.constant(v))] for v in (-1, 2)] == [[-1, -1], [20, 3]]


def converted_source(x):
    if x > 0:
        return x
    return -x


def test_to_graph_and_to_code():
    f = tf.autograph.to_graph(converted_source)
    assert int(f(tf.constant(-3))) == 3 and int(tf.function(f)(tf.constant(-4))) == 4
    code = tf.autograph.to_code(converted_source)
    assert "def tf__converted_source" in code and "ag__.if_stmt" in code
    with pytest.raises(ValueError):
        tf.autograph.to_graph(3)
