"""Variables: scopes, sharing, collections, initializers, regularizers, assignments."""

import numpy as np

from graph_programs import program, raised


def names(variables):
    return [v.name for v in variables]


@program
def variable_names(tf, folder):
    a = tf.Variable(1.0)
    b = tf.Variable(1.0, name="b")
    c = tf.Variable(1.0, name="b")
    with tf.name_scope("s"):
        d = tf.Variable(1.0, name="b")
        e = tf.get_variable("e", [1])
    with tf.variable_scope("t"):
        f = tf.Variable(1.0, name="b")
        g = tf.get_variable("e", [1])
        h = tf.add(1.0, 2.0, name="sum")
    return names([a, b, c, d, e, f, g, h])


@program
def scope_reuse(tf, folder):
    with tf.variable_scope("a") as scope:
        v = tf.get_variable("v", [2])
        with tf.variable_scope("b"):
            w = tf.get_variable("w", [3])
    with tf.variable_scope("a", reuse=True):
        same = tf.get_variable("v", [2]) is v
        with tf.variable_scope("b"):
            inner = tf.get_variable("w") is w
        missing = raised(tf.get_variable, "missing", [1])
        wrong = raised(tf.get_variable, "v", [5])
    with tf.variable_scope(scope):
        again = raised(tf.get_variable, "v", [2])
        tf.get_variable_scope().reuse_variables()
        reused = tf.get_variable("v") is v
    with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
        auto = [tf.get_variable("v", [2]) is v, tf.get_variable("new", [1]).name]
    return [names([v, w]), same, inner, missing, wrong, again, reused, auto, scope.name, scope.original_name_scope]


@program
def scope_names(tf, folder):
    out = []
    with tf.variable_scope("a"):
        out.append(tf.constant(1, name="c").name)
    with tf.variable_scope("a") as again:
        out.append(tf.constant(1, name="c").name)
        out.append(again.name)
    with tf.variable_scope(again):
        out.append(tf.constant(1, name="c").name)
    with tf.variable_scope(again, auxiliary_name_scope=False):
        out.append(tf.get_variable("x", [1]).name)
    for _ in range(2):
        with tf.variable_scope(None, default_name="layer") as scope:
            out += [scope.name, tf.get_variable("w", [1]).name]
    with tf.variable_scope("outer"):
        with tf.variable_scope(None, default_name="layer") as scope:
            out.append(scope.name)
    return out


@program
def name_scopes(tf, folder):
    out = []
    with tf.name_scope("a") as a:
        out += [a, tf.constant(1, name="c").name]
        with tf.name_scope("b"):
            out.append(tf.constant(1, name="c").name)
        with tf.name_scope(None):
            out.append(tf.constant(1, name="c").name)
    with tf.name_scope("a"):
        out.append(tf.constant(1, name="c").name)
    with tf.name_scope(a):
        out.append(tf.constant(1, name="d").name)
    with tf.name_scope(None, "default", [1]):
        out.append(tf.constant(1, name="c").name)
    return out


@program
def scope_initializer(tf, folder):
    with tf.variable_scope("s", initializer=tf.constant_initializer(2.0), dtype=tf.float64):
        a = tf.get_variable("a", [2])
        with tf.variable_scope("t"):
            b = tf.get_variable("b", [1])
            c = tf.get_variable("c", initializer=tf.constant([1, 2]))
    d = tf.get_variable("d", initializer=3.5)
    e = tf.get_variable("e", [2], tf.int32)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return [sess.run([a, b, c, d, e]), a.dtype.base_dtype.name, c.dtype.base_dtype.name]


@program
def scope_regularizer(tf, folder):
    def l2(weights):
        return 0.5 * tf.reduce_sum(weights * weights)

    with tf.variable_scope("s", regularizer=l2):
        a = tf.get_variable("a", [3], initializer=tf.ones_initializer())
        tf.get_variable("b", [2], initializer=tf.ones_initializer(), regularizer=lambda w: 2 * tf.reduce_sum(w))
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    with tf.Session() as sess:
        sess.run(a.initializer)
        sess.run(tf.global_variables_initializer())
        return [len(losses), sess.run(losses), sess.run(tf.losses.get_regularization_loss())]


@program
def custom_getter(tf, folder):
    asked = []

    def getter(getter, name, *args, **kwargs):
        asked.append(name)
        return getter(name, *args, **kwargs) * 2.0

    with tf.variable_scope("s", custom_getter=getter):
        a = tf.get_variable("a", [2], initializer=tf.ones_initializer())
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return [asked, sess.run(a), names(tf.global_variables())]


@program
def variable_collections(tf, folder):
    tf.Variable(1.0, name="a")
    tf.Variable(1.0, name="b", trainable=False)
    tf.get_variable("c", [1], collections=["mine", tf.GraphKeys.LOCAL_VARIABLES])
    tf.Variable(2.0, name="d", collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
    with tf.variable_scope("s") as scope:
        tf.get_variable("e", [1])
    return [names(tf.global_variables()), names(tf.trainable_variables()), names(tf.local_variables()),
            names(tf.get_collection("mine")), names(tf.global_variables("s")), names(scope.trainable_variables())]


@program
def shapes_of_variables(tf, folder):
    p = tf.placeholder(tf.float32, [None])
    v = tf.Variable(p, validate_shape=False, name="v")
    change = tf.assign(v, [1.0, 2.0, 3.0], validate_shape=False)
    bad = raised(tf.get_variable, "bad", [None, 2])
    with tf.Session() as sess:
        sess.run(v.initializer, {p: [5.0]})
        return [sess.run(v), sess.run(change), sess.run(v), bad, v.shape.ndims]


@program
def assignments(tf, folder):
    v = tf.Variable([1.0, 2.0, 3.0])
    with tf.Session() as sess:
        sess.run(v.initializer)
        out = [sess.run(tf.assign(v, [4.0, 5.0, 6.0])), sess.run(tf.assign_add(v, [1.0, 1.0, 1.0])),
               sess.run(v.assign_sub([0.5, 0.5, 0.5])), sess.run(tf.scatter_update(v, [0, 2], [9.0, 8.0])),
               sess.run(tf.scatter_add(v, [1], [1.0])), sess.run(tf.scatter_sub(v, [1, 1], [1.0, 1.0]))]  # fmt: skip
        v.load([7.0, 7.0, 7.0], sess)
        return [*out, sess.run(v), raised(tf.assign, v, [1.0])]


@program
def initial_values(tf, folder):
    a = tf.Variable(np.arange(4).reshape(2, 2).astype(np.float32))
    b = tf.Variable(a.initialized_value() * 2)
    c = tf.Variable(lambda: tf.ones([2]), dtype=tf.float32)
    d = tf.Variable(tf.constant(5) + 1)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run([a, b, c, d])


@program
def random_initializers(tf, folder):
    kinds = {
        "normal": tf.random_normal_initializer(seed=3), "uniform": tf.random_uniform_initializer(-1, 1, seed=3),
        "truncated": tf.truncated_normal_initializer(stddev=0.1, seed=3),
        "glorot": tf.glorot_uniform_initializer(seed=3), "scaling": tf.variance_scaling_initializer(seed=3),
    }
    made = [tf.get_variable(name, [3, 2], initializer=kind) for name, kind in kinds.items()]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(made)


@program
def seeded_random_ops(tf, folder):
    a = tf.random_normal([3], seed=5)
    b = tf.random_uniform([3], seed=6)
    with tf.Session() as sess:
        first = [sess.run(a), sess.run(a), sess.run(b)]
    with tf.Session() as sess:
        return [*first, sess.run(a), sess.run([a, b])]


@program
def simple_initializers(tf, folder):
    made = [tf.get_variable("z", [2], initializer=tf.zeros_initializer()),
            tf.get_variable("o", [2], initializer=tf.ones_initializer),
            tf.get_variable("c", [2, 2], initializer=tf.constant_initializer([1.0, 2.0, 3.0, 4.0])),
            tf.get_variable("i", [2, 2], initializer=tf.initializers.identity()),
            tf.get_variable("n", initializer=np.array([1, 2]))]  # fmt: skip
    with tf.Session() as sess:
        sess.run(tf.initialize_all_variables())
        return sess.run(made)


@program
def templates(tf, folder):
    def scale(x):
        w = tf.get_variable("w", [], initializer=tf.constant_initializer(3.0))
        return x * w

    shared = tf.make_template("scale", scale)
    a, b = shared(1.0), shared(2.0)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return [sess.run([a, b]), names(tf.global_variables()), names(shared.trainable_variables)]


@program
def moving_average(tf, folder):
    v = tf.Variable(1.0, name="v")
    ema = tf.train.ExponentialMovingAverage(0.5)
    update = v.assign_add(2.0)
    with tf.control_dependencies([update]):
        apply = ema.apply([v])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        out = []
        for _ in range(3):
            sess.run(apply)
            out.append(sess.run([v, ema.average(v)]))
        return [out, ema.average(v).name, ema.average_name(v), sorted(ema.variables_to_restore())]
