"""Programs as people wrote them: a network, summaries, batch normalization by hand, recurrent loops."""

import numpy as np

from graph_programs import program


def batches():
    values = np.sin(np.arange(120.0)).reshape(4, 10, 3).astype(np.float32)
    return [(x, (x.sum(1) > 0).astype(np.int64)) for x in values]


@program
def classifier(tf, folder):
    x, y = tf.placeholder(tf.float32, [None, 3], name="images"), tf.placeholder(tf.int64, [None], name="labels")
    keep = tf.placeholder_with_default(1.0, [])

    def dense(inputs, units, name, activation=None):
        with tf.variable_scope(name):
            width = int(inputs.get_shape()[1])
            w = tf.get_variable("weights", [width, units], initializer=tf.truncated_normal_initializer(stddev=0.5, seed=7))
            b = tf.get_variable("biases", [units], initializer=tf.constant_initializer(0.1))
            out = tf.nn.xw_plus_b(inputs, w, b)
            return activation(out) if activation else out

    hidden = tf.nn.dropout(dense(x, 8, "hidden", tf.nn.relu), keep_prob=keep)
    logits = dense(hidden, 2, "logits")
    with tf.name_scope("loss"):
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits), name="mean")
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32), name="accuracy")
    train = tf.train.AdamOptimizer(0.05).minimize(loss, global_step=tf.train.get_or_create_global_step())
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        out = []
        for _ in range(3):
            for images, labels in batches():
                _, value = sess.run([train, loss], feed_dict={x: images, y: labels})
                out.append(value)
        return [out, sess.run([accuracy, "loss/mean:0"], {x: batches()[0][0], y: batches()[0][1]}), sess.run("global_step:0")]


@program
def convolutions(tf, folder):
    images = tf.constant(np.cos(np.arange(2 * 8 * 8)).reshape(2, 8, 8, 1).astype(np.float32))
    w = tf.get_variable("w", [3, 3, 1, 4], initializer=tf.constant_initializer(np.sin(np.arange(36)).reshape(3, 3, 1, 4)))
    net = tf.nn.conv2d(images, w, strides=[1, 1, 1, 1], padding="SAME")
    net = tf.nn.max_pool(tf.nn.relu(net), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    mean, variance = tf.nn.moments(net, [0, 1, 2], keep_dims=True)
    net = tf.nn.batch_normalization(net, mean, variance, None, None, 1e-3)
    flat = tf.reshape(net, [-1, int(np.prod(net.get_shape().as_list()[1:]))])
    gradient = tf.gradients(tf.reduce_sum(flat * flat * flat), w)[0]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return [sess.run(tf.reduce_sum(flat, 1)), sess.run(gradient)[0, 0, 0], flat.shape.as_list()]


@program
def batch_norm_updates(tf, folder):
    x = tf.placeholder(tf.float32, [None, 2])
    training = tf.placeholder(tf.bool, [])
    mean = tf.get_variable("mean", [2], initializer=tf.zeros_initializer(), trainable=False)

    def in_training():
        now = tf.reduce_mean(x, 0)
        with tf.control_dependencies([tf.assign(mean, mean * 0.5 + now * 0.5)]):
            return x - now

    out = tf.cond(training, in_training, lambda: x - mean)
    with tf.Session() as sess:
        sess.run(mean.initializer)
        feed = {x: [[1.0, 2.0], [3.0, 6.0]]}
        return [sess.run(out, {**feed, training: True}), sess.run(mean), sess.run(out, {**feed, training: False})]


@program
def update_operations(tf, folder):
    count = tf.get_variable("count", [], initializer=tf.zeros_initializer(), trainable=False)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, count.assign_add(1.0))
    w = tf.get_variable("w", [], initializer=tf.ones_initializer())
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.GradientDescentOptimizer(0.1).minimize(w * w)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(3):
            sess.run(train)
        return sess.run([count, w])


@program
def summaries(tf, folder):
    x = tf.placeholder(tf.float32, [None], name="x")
    tf.summary.scalar("total", tf.reduce_sum(x))
    with tf.name_scope("part"):
        tf.summary.histogram("values", x)
    merged = tf.summary.merge_all()
    with tf.Session() as sess:
        writer = tf.summary.FileWriter(folder, sess.graph)
        for step in range(2):
            writer.add_summary(sess.run(merged, {x: [step, 1.0, 2.0]}), step)
        writer.close()
    import os

    file = os.path.join(folder, os.listdir(folder)[0])
    out = []
    for event in tf.train.summary_iterator(file):
        for value in event.summary.value:
            histo = value.histo
            out.append([event.step, value.tag, value.simple_value, histo.num, histo.sum, list(histo.bucket), histo.bucket_limit[:3]])
    return [out, len(tf.get_collection(tf.GraphKeys.SUMMARIES))]


@program
def recurrence(tf, folder):
    inputs = tf.constant(np.sin(np.arange(24.0)).reshape(2, 4, 3).astype(np.float32))
    w = tf.get_variable("w", [8, 5], initializer=tf.constant_initializer(np.cos(np.arange(40)).reshape(8, 5) * 0.3))

    def step(state, x):
        return tf.tanh(tf.matmul(tf.concat([x, state], 1), w))

    states = tf.scan(step, tf.transpose(inputs, [1, 0, 2]), initializer=tf.zeros([2, 5]))
    gradient = tf.gradients(tf.reduce_sum(states[-1]), w)[0]
    with tf.Session() as sess:
        sess.run(w.initializer)
        return [sess.run(states[-1]), sess.run(tf.reduce_sum(gradient, 1))]


@program
def q_learning(tf, folder):
    state, action = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
    target = tf.placeholder(tf.float32, [None])
    with tf.variable_scope("online"):
        q = tf.get_variable("q", [3, 2], initializer=tf.zeros_initializer())
    with tf.variable_scope("target"):
        old = tf.get_variable("q", [3, 2], initializer=tf.zeros_initializer(), trainable=False)
    sync = [tf.assign(b, a) for a, b in zip(tf.global_variables("online"), tf.global_variables("target"))]
    chosen = tf.reduce_sum(tf.gather(q, state) * tf.one_hot(action, 2), axis=1)
    train = tf.train.RMSPropOptimizer(0.1).minimize(tf.reduce_mean(tf.square(target - chosen)))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for s, a, t in (([0, 1], [0, 1], [1.0, 2.0]), ([2, 0], [1, 0], [0.5, 1.5])):
            sess.run(train, {state: s, action: a, target: t})
        before = sess.run(old)
        sess.run(sync)
        return [before, sess.run(old), sess.run(tf.argmax(old, 1))]


@program
def k_means(tf, folder):
    points = tf.constant(np.array([[0, 0], [0, 1], [5, 5], [6, 5], [5, 6]], np.float32))
    centers = tf.Variable([[0.0, 0.5], [4.0, 4.0]])
    nearest = tf.argmin(tf.reduce_sum(tf.square(points[:, None] - centers), 2), 1)
    means = tf.stack([tf.reduce_mean(tf.boolean_mask(points, tf.equal(nearest, k)), 0) for k in range(2)])
    update = centers.assign(means)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(update)
        return sess.run([centers, nearest])


@program
def string_handling(tf, folder):
    s = tf.placeholder(tf.string, [None])
    parts = tf.string_split(s, ",")
    joined = tf.string_join([s, s], "-")
    with tf.Session() as sess:
        feed = {s: ["a,b", "c"]}
        return [sess.run(parts.values, feed), sess.run(joined, feed), sess.run(tf.strings.length(s), feed)]


@program
def accumulated_gradients(tf, folder):
    w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
    x = tf.placeholder(tf.float32, [2])
    (gradient,) = tf.gradients(tf.reduce_sum(w * x), [w])
    total = tf.Variable(tf.zeros_like(w.initialized_value()), trainable=False)
    clear, add = total.assign(tf.zeros_like(total)), total.assign_add(gradient)
    apply = tf.train.GradientDescentOptimizer(0.1).apply_gradients([(total, w)])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for value in ([1.0, 2.0], [3.0, 4.0]):
            sess.run(add, {x: value})
        sess.run(apply)
        out = sess.run(w)
        sess.run(clear)
        return [out, sess.run(total)]
