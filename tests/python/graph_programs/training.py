"""Optimizers, losses, learning rates, savers, monitored sessions."""

import numpy as np

from graph_programs import program, raised

X = np.linspace(-1, 1, 12).reshape(6, 2).astype(np.float32)
Y = (X @ np.array([[2.0], [-1.0]], np.float32) + 0.5).astype(np.float32)


def linear(tf):
    x, y = tf.placeholder(tf.float32, [None, 2], name="x"), tf.placeholder(tf.float32, [None, 1], name="y")
    w = tf.get_variable("w", [2, 1], initializer=tf.constant_initializer([[0.5], [0.25]]))
    b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))
    return x, y, w, b, loss


def trained(tf, optimizer, steps=4):
    x, y, w, b, loss = linear(tf)
    step = tf.train.get_or_create_global_step()
    train = optimizer(step).minimize(loss, global_step=step)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        losses = [sess.run([loss, train], {x: X, y: Y})[0] for _ in range(steps)]
        return [losses, sess.run([w, b, step]), [v.name for v in tf.global_variables()]]


def optimizer_program(name, make):
    def run(tf, folder):
        return trained(tf, lambda step: make(tf.train, step))

    run.__name__ = name
    program(run)


optimizer_program("sgd", lambda t, s: t.GradientDescentOptimizer(0.1))
optimizer_program("momentum", lambda t, s: t.MomentumOptimizer(0.1, 0.9))
optimizer_program("nesterov", lambda t, s: t.MomentumOptimizer(0.1, 0.9, use_nesterov=True))
optimizer_program("adam", lambda t, s: t.AdamOptimizer(0.1))
optimizer_program("adagrad", lambda t, s: t.AdagradOptimizer(0.5))
optimizer_program("adadelta", lambda t, s: t.AdadeltaOptimizer(1.0))
optimizer_program("rmsprop", lambda t, s: t.RMSPropOptimizer(0.05, momentum=0.5))
optimizer_program("rmsprop_centered", lambda t, s: t.RMSPropOptimizer(0.05, centered=True))
optimizer_program("ftrl", lambda t, s: t.FtrlOptimizer(0.5, l1_regularization_strength=0.01, l2_regularization_strength=0.1))
optimizer_program("proximal_sgd", lambda t, s: t.ProximalGradientDescentOptimizer(0.1, 0.01, 0.02))
optimizer_program("proximal_adagrad", lambda t, s: t.ProximalAdagradOptimizer(0.5, l1_regularization_strength=0.01))
optimizer_program("adagrad_da", lambda t, s: t.AdagradDAOptimizer(0.5, s, l1_regularization_strength=0.001))


@program
def decayed_rate(tf, folder):
    return trained(tf, lambda step: tf.train.GradientDescentOptimizer(tf.train.exponential_decay(0.2, step, 2, 0.5)))


@program
def clipped_gradients(tf, folder):
    x, y, w, b, loss = linear(tf)
    optimizer = tf.train.AdamOptimizer(0.1)
    pairs = optimizer.compute_gradients(loss)
    clipped, norm = tf.clip_by_global_norm([g for g, _ in pairs], 0.5)
    train = optimizer.apply_gradients(zip(clipped, [v for _, v in pairs]))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        out = [sess.run([norm, train], {x: X, y: Y})[0] for _ in range(3)]
        slots = [optimizer.get_slot_names(), optimizer.get_slot(w, "m").name]
        return [out, sess.run([w, b, optimizer.get_slot(w, "m")]), slots, [v.name for v in optimizer.variables()]]


@program
def sparse_gradients(tf, folder):
    out = []
    for make in (lambda: tf.train.GradientDescentOptimizer(0.5), lambda: tf.train.AdagradOptimizer(0.5),
                 lambda: tf.train.MomentumOptimizer(0.5, 0.9), lambda: tf.train.AdamOptimizer(0.1)):  # fmt: skip
        with tf.Graph().as_default():
            table = tf.get_variable("t", [4, 2], initializer=tf.ones_initializer())
            rows = tf.nn.embedding_lookup(table, [1, 2, 1])
            train = make().minimize(tf.reduce_sum(rows * [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                sess.run(train)
                sess.run(train)
                out.append(sess.run(table))
    return out


@program
def two_optimizers(tf, folder):
    """Each trains its part: what the one writes is not seen by the other's gradients."""
    with tf.variable_scope("g"):
        g = tf.get_variable("w", [], initializer=tf.constant_initializer(1.0))
    with tf.variable_scope("d"):
        d = tf.get_variable("w", [], initializer=tf.constant_initializer(2.0))
    loss = (g * d - 1.0) ** 2
    first = tf.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=tf.trainable_variables("d"))
    second = tf.train.GradientDescentOptimizer(0.1).minimize(-loss, var_list=[g])
    third = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        out = []
        for op in (first, second, third, first):
            sess.run(op)
            out.append(sess.run([g, d]))
        return out


@program
def optimizer_errors(tf, folder):
    v = tf.Variable(1.0)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    return [raised(optimizer.minimize, tf.constant(1.0)), raised(optimizer.apply_gradients, []),
            raised(optimizer.apply_gradients, [(None, v)]), raised(optimizer.compute_gradients, v * 2, [])]


@program
def gradients(tf, folder):
    x = tf.placeholder(tf.float32, [3])
    v = tf.Variable([1.0, 2.0, 3.0])
    y = tf.reduce_sum(v * x * x)
    dx, dv = tf.gradients(y, [x, v])
    with_seed = tf.gradients(v * 2, v, grad_ys=[tf.constant([1.0, 0.0, 2.0])])[0]
    stopped = tf.gradients(tf.reduce_sum(x * tf.stop_gradient(x)), x)[0]
    second = tf.gradients(dx, x)[0]
    with tf.Session() as sess:
        sess.run(v.initializer)
        out = sess.run([dx, dv, with_seed, stopped, second], {x: [1.0, 2.0, 3.0]})
        return [*out, tf.gradients(y, tf.constant(1.0)) == [None]]


@program
def rates(tf, folder):
    step = tf.placeholder(tf.int32, [])
    t = tf.train
    made = [t.exponential_decay(0.1, step, 3, 0.5), t.exponential_decay(0.1, step, 3, 0.5, staircase=True),
            t.natural_exp_decay(0.1, step, 3, 0.5), t.inverse_time_decay(0.1, step, 3, 0.5),
            t.polynomial_decay(0.1, step, 5, 0.01), t.polynomial_decay(0.1, step, 5, 0.01, power=2.0, cycle=True),
            t.piecewise_constant(step, [2, 5], [1.0, 0.5, 0.1]), t.cosine_decay(0.1, step, 6),
            t.cosine_decay_restarts(0.1, step, 4), t.linear_cosine_decay(0.1, step, 6)]  # fmt: skip
    with tf.Session() as sess:
        return [sess.run(made, {step: s}) for s in (0, 1, 2, 4, 7)]


@program
def losses(tf, folder):
    labels, scores = tf.constant([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), tf.constant([[0.9, 0.2], [0.4, 0.7], [0.1, 0.8]])
    kinds, reduction = tf.losses, tf.losses.Reduction
    made = [kinds.absolute_difference(labels, scores), kinds.mean_squared_error(labels, scores, weights=[[1.0], [0.0], [2.0]]),
            kinds.huber_loss(labels, scores, delta=0.3), kinds.log_loss(labels, scores), kinds.hinge_loss(labels, scores),
            kinds.sigmoid_cross_entropy(labels, scores, label_smoothing=0.1),
            kinds.softmax_cross_entropy(labels, scores, label_smoothing=0.2),
            kinds.sparse_softmax_cross_entropy([0, 1, 1], scores, weights=[1.0, 2.0, 0.0]),
            kinds.cosine_distance(labels, scores, axis=1), kinds.mean_pairwise_squared_error(labels, scores),
            kinds.mean_squared_error(labels, scores, reduction=reduction.NONE),
            kinds.mean_squared_error(labels, scores, weights=2.0, reduction=reduction.MEAN),
            kinds.mean_squared_error(labels, scores, reduction=reduction.SUM),
            kinds.mean_squared_error(labels, scores, 2.0, reduction=reduction.SUM_OVER_BATCH_SIZE)]  # fmt: skip
    collected = tf.losses.get_losses()
    total = tf.add_n([loss for loss in collected if loss.shape.ndims == 0])
    with tf.Session() as sess:
        return [sess.run(made), len(collected), sess.run(total), raised(kinds.mean_squared_error, labels, [1.0])]


@program
def total_loss(tf, folder):
    v = tf.get_variable("v", [2], initializer=tf.ones_initializer(), regularizer=lambda w: tf.reduce_sum(w))
    tf.losses.mean_squared_error([0.0, 0.0], v)
    tf.losses.add_loss(tf.constant(3.0))
    total = tf.losses.get_total_loss()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return [sess.run(total), len(tf.losses.get_losses()), sess.run(tf.losses.get_total_loss(False))]


# ---- Savers


@program
def saver(tf, folder):
    a = tf.get_variable("a", [2], initializer=tf.ones_initializer())
    with tf.variable_scope("s"):
        b = tf.get_variable("b", [], tf.int64, initializer=tf.zeros_initializer())
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run([a.assign([3.0, 4.0]), b.assign(7)])
        path = saver.save(sess, folder + "/model", global_step=5)
        sess.run(tf.global_variables_initializer())
    with tf.Session() as sess:
        saver.restore(sess, tf.train.latest_checkpoint(folder))
        return [sess.run([a, b]), path[len(folder):], sorted(n for n, _ in tf.train.list_variables(path)),
                tf.train.load_variable(path, "a")]  # fmt: skip


@program
def saver_names(tf, folder):
    a = tf.get_variable("a", [2], initializer=tf.ones_initializer())
    with tf.Session() as sess:
        sess.run(a.initializer)
        path = tf.train.Saver({"other": a}).save(sess, folder + "/m")
    b = tf.get_variable("b", [2])
    c = tf.get_variable("c", [3])
    with tf.Session() as sess:
        tf.train.Saver({"other": b}).restore(sess, path)
        return [sess.run(b), raised(tf.train.Saver([c]).restore, sess, path),
                raised(tf.train.Saver({"other": c}).restore, sess, path), raised(tf.train.Saver([b]).restore, sess, folder + "/x"),
                raised(sess.run, c)]  # fmt: skip


@program
def saver_keeps(tf, folder):
    tf.get_variable("a", [2])
    saver = tf.train.Saver(max_to_keep=2)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(4):
            saver.save(sess, folder + "/m", global_step=step)
    state = tf.train.get_checkpoint_state(folder)
    return [[p[len(folder):] for p in saver.last_checkpoints], state.model_checkpoint_path[len(folder):],
            [p[len(folder):] for p in state.all_model_checkpoint_paths]]  # fmt: skip


@program
def no_variables_to_save(tf, folder):
    return raised(tf.train.Saver)


@program
def init_from_checkpoint(tf, folder):
    with tf.variable_scope("old"):
        a = tf.get_variable("a", [2], initializer=tf.constant_initializer(4.0))
    with tf.Session() as sess:
        sess.run(a.initializer)
        path = tf.train.Saver().save(sess, folder + "/m")
    with tf.Graph().as_default():
        with tf.variable_scope("new"):
            b = tf.get_variable("a", [2])
        tf.train.init_from_checkpoint(path, {"old/": "new/"})
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            return sess.run(b)


# ---- Monitored sessions


@program
def global_step(tf, folder):
    first = tf.train.get_global_step()
    step = tf.train.create_global_step()
    with tf.Session() as sess:
        sess.run(step.initializer)
        sess.run(step.assign_add(3))
        return [first is None, step.name, step.dtype.base_dtype.name, tf.train.global_step(sess, step),
                raised(tf.train.create_global_step), tf.train.get_or_create_global_step() is step]  # fmt: skip


@program
def monitored_session(tf, folder):
    x, y, w, b, loss = linear(tf)
    step = tf.train.get_or_create_global_step()
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
    seen = []

    class Hook(tf.train.SessionRunHook):
        def begin(self):
            seen.append("begin")

        def after_create_session(self, session, coord):
            seen.append("created")

        def before_run(self, run_context):
            return tf.train.SessionRunArgs(loss)

        def after_run(self, run_context, run_values):
            seen.append(float(run_values.results))

        def end(self, session):
            seen.append("end")

    hooks = [Hook(), tf.train.StopAtStepHook(last_step=3)]
    count = 0
    with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=hooks, save_checkpoint_steps=2) as sess:
        while not sess.should_stop():
            sess.run(train, {x: X, y: Y})
            count += 1
    latest = tf.train.latest_checkpoint(folder)
    with tf.train.SingularMonitoredSession(checkpoint_dir=folder) as sess:
        return [seen, count, latest[len(folder):], sess.run(step)]


@program
def nan_hook(tf, folder):
    loss = tf.placeholder_with_default(1.0, [])
    hook = tf.train.NanTensorHook(loss)
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        return [sess.run(loss), raised(sess.run, loss, {loss: float("nan")})]


@program
def finalized_graph(tf, folder):
    c = tf.constant(1.0)
    tf.get_default_graph().finalize()
    with tf.Session() as sess:
        return [sess.run(c), raised(tf.constant, 2.0), raised(tf.add, c, c)]
