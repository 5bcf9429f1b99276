"""Control flow, checks, Python functions, datasets, tables, metrics."""

import numpy as np

from graph_programs import program, raised


@program
def conditional(tf, folder):
    p = tf.placeholder(tf.bool, [])
    v = tf.Variable(0.0)
    x = tf.constant(2.0)
    y = tf.cond(p, lambda: x * 2, lambda: x - 1)
    write = tf.cond(p, lambda: v.assign_add(1.0), lambda: v.assign_add(10.0))
    pair = tf.cond(p, lambda: (x, x + 1), lambda: (x + 2, x + 3))
    gradient = tf.gradients(y, x)[0]
    with tf.Session() as sess:
        sess.run(v.initializer)
        return [[sess.run([y, gradient], {p: flag}), sess.run(pair, {p: flag}), sess.run(write, {p: flag})]
                for flag in (True, False)] + [sess.run(v)]  # fmt: skip


@program
def branch_of_operations(tf, folder):
    v = tf.Variable(1.0)
    p = tf.placeholder(tf.bool, [])
    op = tf.cond(p, lambda: tf.group(v.assign(5.0)), tf.no_op)
    with tf.Session() as sess:
        sess.run(v.initializer)
        sess.run(op, {p: False})
        before = sess.run(v)
        sess.run(op, {p: True})
        return [before, sess.run(v)]


@program
def loops(tf, folder):
    n = tf.placeholder(tf.int32, [])
    i, total = tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), [tf.constant(0), tf.constant(0)])
    w = tf.Variable(2.0)
    _, power = tf.while_loop(lambda i, a: i < 3, lambda i, a: [i + 1, a * w], [0, 1.0])
    gradient = tf.gradients(power, w)[0]
    grown = tf.while_loop(lambda a: tf.shape(a)[0] < 5, lambda a: tf.concat([a, [1.0]], 0), [tf.zeros([1])],
                          shape_invariants=[tf.TensorShape([None])])  # fmt: skip
    with tf.Session() as sess:
        sess.run(w.initializer)
        return [sess.run([i, total], {n: 5}), sess.run([power, gradient]), sess.run(grown)]


@program
def loop_with_variable(tf, folder):
    v = tf.Variable(0.0)

    def body(i):
        with tf.control_dependencies([v.assign_add(tf.cast(i, tf.float32))]):
            return i + 1

    end = tf.while_loop(lambda i: i < 4, body, [tf.constant(0)])
    with tf.Session() as sess:
        sess.run(v.initializer)
        return [sess.run(end), sess.run(v)]


@program
def cases(tf, folder):
    x = tf.placeholder(tf.int32, [])
    y = tf.case([(x < 0, lambda: tf.constant(-1)), (tf.equal(x, 0), lambda: tf.constant(0))], default=lambda: tf.constant(1))
    z = tf.where(x > 0, tf.constant([1, 2]), tf.constant([3, 4])) if False else tf.where([True, False], [1, 2], [3, 4])
    with tf.Session() as sess:
        return [[sess.run(y, {x: value}) for value in (-5, 0, 5)], sess.run(z), sess.run(tf.where([True, False, True]))]


@program
def higher_order(tf, folder):
    elems = tf.constant([1.0, 2.0, 3.0])
    made = [tf.map_fn(lambda x: x * x, elems), tf.scan(lambda a, x: a + x, elems), tf.foldl(lambda a, x: a - x, elems),
            tf.foldr(lambda a, x: a - x, elems)]  # fmt: skip
    with tf.Session() as sess:
        return sess.run(made)


@program
def tensor_arrays(tf, folder):
    array = tf.TensorArray(tf.float32, 3)
    _, array = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, tf.cast(i, tf.float32) * 2)), [0, array])
    with tf.Session() as sess:
        return [sess.run(array.stack())]


@program
def checks(tf, folder):
    x = tf.placeholder(tf.float32, [])
    check = tf.Assert(x > 0, [x])
    with tf.control_dependencies([check]):
        y = x * 2
    with tf.control_dependencies([tf.assert_less(x, 10.0)]):
        z = tf.identity(x)
    v = tf.Variable(1.0)
    with tf.control_dependencies([tf.assert_positive(x)]):
        write = v.assign(x)
    with tf.Session() as sess:
        sess.run(v.initializer)
        out = [sess.run(y, {x: 1.0}), raised(sess.run, y, {x: -1.0}), sess.run(z, {x: -3.0}), raised(sess.run, z, {x: 11.0})]
        return [*out, raised(sess.run, write, {x: -1.0}), sess.run(v), sess.run(write, {x: 4.0})]


@program
def python_functions(tf, folder):
    calls = []

    def work(a, b):
        calls.append(1)
        return (a + b).astype(np.float32), np.int64(len(calls))

    x = tf.placeholder(tf.float32, [2])
    total, count = tf.py_func(work, [x, 1.0], [tf.float32, tf.int64])
    printed = tf.Print(x, [x], "x is ")
    with tf.Session() as sess:
        return [sess.run([total, count], {x: [1.0, 2.0]}), sess.run(total, {x: [3.0, 4.0]}), len(calls),
                sess.run(printed, {x: [0.0, 0.0]}), total.shape.ndims is None]  # fmt: skip


@program
def one_shot_iterator(tf, folder):
    dataset = tf.data.Dataset.from_tensor_slices((np.arange(5), np.arange(5.0))).map(lambda a, b: (a + 1, b)).batch(2)
    iterator = tf.data.make_one_shot_iterator(dataset)
    a, b = iterator.get_next()
    both = tf.cast(a, tf.float64) + b
    out = []
    with tf.Session() as sess:
        while True:
            try:
                out.append(sess.run([a, both]))
            except tf.errors.OutOfRangeError:
                return [out, a.shape.as_list(), a.dtype.name]


@program
def initializable_iterator(tf, folder):
    data = tf.placeholder(tf.float32, [None, 2])
    iterator = tf.data.make_initializable_iterator(tf.data.Dataset.from_tensor_slices(data).repeat(2).batch(3))
    element = iterator.get_next()
    with tf.Session() as sess:
        early = raised(sess.run, element)
        sess.run(iterator.initializer, {data: np.ones((2, 2))})
        out = [sess.run(element), sess.run(element), raised(sess.run, element)]
        sess.run(iterator.initializer, {data: np.zeros((1, 2))})
        return [early, *out, sess.run(element), element.shape.as_list()]


@program
def reinitializable_iterator(tf, folder):
    train, test = tf.data.Dataset.range(3), tf.data.Dataset.range(10, 12)
    iterator = tf.data.Iterator.from_structure(train.output_types, train.output_shapes)
    element = iterator.get_next()
    begin_train, begin_test = iterator.make_initializer(train), iterator.make_initializer(test)
    out = []
    with tf.Session() as sess:
        for begin in (begin_train, begin_test):
            sess.run(begin)
            try:
                while True:
                    out.append(sess.run(element))
            except tf.errors.OutOfRangeError:
                pass
    return out


@program
def training_from_a_dataset(tf, folder):
    dataset = tf.data.Dataset.from_tensors(({"x": np.ones((4, 2), np.float32)}, np.full((4, 1), 3.0, np.float32))).repeat()
    features, labels = dataset.make_one_shot_iterator().get_next()
    w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
    loss = tf.losses.mean_squared_error(labels, tf.matmul(features["x"], w))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return [sess.run([loss, train])[0] for _ in range(4)]


@program
def tables(tf, folder):
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2])), -1)
    found = table.lookup(tf.constant(["b", "x", "a"]))
    with tf.Session() as sess:
        sess.run(tf.tables_initializer())
        return [sess.run(found), sess.run(table.size())]


@program
def streaming_means(tf, folder):
    x, w = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    value, update = tf.metrics.mean(x, weights=w, name="m")
    root, update_root = tf.metrics.root_mean_squared_error(tf.zeros_like(x), x)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        out = [sess.run([update, update_root], {x: v, w: u}) for v, u in (([1, 2], [1, 1]), ([5, 7], [0, 2]))]
        names = [v.name for v in tf.local_variables()]
        return [out, sess.run([value, root]), names, [v.name for v in tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)] == names]


@program
def streaming_accuracy(tf, folder):
    labels, scores = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int64, [None])
    made = [tf.metrics.accuracy(labels, scores), tf.metrics.precision(labels, scores), tf.metrics.recall(labels, scores),
            tf.metrics.false_positives(labels, scores), tf.metrics.true_negatives(labels, scores),
            tf.metrics.mean_iou(labels, scores, 2), tf.metrics.mean_per_class_accuracy(labels, scores, 2)]  # fmt: skip
    values, updates = [v for v, _ in made], [u for _, u in made]
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        sess.run(updates, {labels: [0, 1, 1, 0], scores: [0, 1, 0, 1]})
        first = sess.run(values)
        sess.run(updates, {labels: [1, 1], scores: [1, 1]})
        return [first, sess.run(values)]


@program
def thresholds(tf, folder):
    labels = tf.constant([0.0, 1.0, 1.0, 0.0, 1.0])
    scores = tf.constant([0.1, 0.4, 0.8, 0.6, 0.3])
    m = tf.metrics
    made = [m.auc(labels, scores), m.auc(labels, scores, curve="PR", summation_method="careful_interpolation"),
            m.auc(labels, scores, num_thresholds=5, summation_method="majoring"),
            m.precision_at_thresholds(labels, scores, [0.2, 0.5]), m.recall_at_thresholds(labels, scores, [0.2, 0.5]),
            m.false_negatives_at_thresholds(labels, scores, [0.35]), m.sensitivity_at_specificity(labels, scores, 0.6),
            m.specificity_at_sensitivity(labels, scores, 0.6)]  # fmt: skip
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        updates = sess.run([u for _, u in made])
        return [sess.run([v for v, _ in made]), updates]


@program
def of_the_best(tf, folder):
    labels = tf.constant([[2], [0], [1]], tf.int64)
    scores = tf.constant([[0.1, 0.3, 0.6], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
    m = tf.metrics
    made = [m.recall_at_k(labels, scores, 2), m.precision_at_k(labels, scores, 2), m.average_precision_at_k(labels, scores, 2),
            m.recall_at_k(labels, scores, 1, class_id=2)]  # fmt: skip
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        sess.run([u for _, u in made])
        return sess.run([v for v, _ in made])


@program
def other_metrics(tf, folder):
    a, b = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[1.5, 2.0], [2.0, 5.0]])
    m = tf.metrics
    made = [m.mean_absolute_error(a, b), m.mean_squared_error(a, b), m.mean_relative_error(a, b, a), m.mean_tensor(a),
            m.percentage_below(a, 2.5), m.mean_cosine_distance(a, b, 1)]  # fmt: skip
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        sess.run([u for _, u in made])
        return sess.run([v for v, _ in made])


@program
def functions(tf, folder):
    """What a tf.function writes is written when one of its results is fetched."""
    v = tf.Variable(1.0, use_resource=True)

    @tf.function
    def step(x):
        v.assign_add(x)
        return x * 2.0

    doubled = step(tf.constant(3.0))
    with tf.Session() as sess:
        sess.run(v.initializer)
        return [sess.run(doubled), sess.run(v), sess.run(doubled), sess.run(v)]
