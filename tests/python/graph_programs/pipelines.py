"""Queues and input pipelines, saved models, distributions, scaled losses, images."""

import numpy as np

from graph_programs import program, raised


@program
def queues(tf, folder):
    queue = tf.FIFOQueue(10, [tf.float32, tf.int32], shapes=[[2], []])
    put = queue.enqueue([tf.constant([1.0, 2.0]), 3])
    put_many = queue.enqueue_many([[[1.0, 1.0], [2.0, 2.0]], [5, 6]])
    one, two, size, close = queue.dequeue(), queue.dequeue_many(2), queue.size(), queue.close()
    fed = tf.placeholder(tf.int64, [])
    first = tf.PriorityQueue(5, [tf.string], [[]])
    urgent = first.enqueue([fed, tf.as_string(fed)])
    with tf.Session() as sess:
        sess.run([put])
        sess.run(put_many)
        out = [sess.run(size), sess.run(one), sess.run(two), sess.run(size)]
        sess.run(close)
        for number in (3, 1, 2):
            sess.run(urgent, {fed: number})
        return [*out, raised(sess.run, one), raised(sess.run, put), [sess.run(first.dequeue()) for _ in range(3)]]


@program
def padded_queue(tf, folder):
    queue = tf.PaddingFIFOQueue(5, [tf.int32], [[None]])
    row = tf.placeholder(tf.int32, [None])
    put, taken = queue.enqueue([row]), queue.dequeue_many(2)
    with tf.Session() as sess:
        sess.run(put, {row: [1, 2, 3]})
        sess.run(put, {row: [4]})
        return sess.run(taken)


@program
def input_producers(tf, folder):
    names = tf.train.string_input_producer(["a", "b", "c"], shuffle=False, num_epochs=2).dequeue()
    x, y = tf.train.slice_input_producer([np.arange(6.0), np.arange(6)], shuffle=False, num_epochs=1)
    batch = tf.train.batch({"x": x * 2, "y": y}, 4, allow_smaller_final_batch=True)
    out = []
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coordinator)
        texts = [sess.run(names) for _ in range(6)]
        try:
            while not coordinator.should_stop():
                found = sess.run(batch)
                out.append([found["x"], found["y"]])
        except tf.errors.OutOfRangeError:
            out.append("end")
        coordinator.request_stop()
        coordinator.join(threads)
    return [texts, out]


@program
def shuffled_batches(tf, folder):
    rows = tf.train.range_input_producer(8, num_epochs=1, shuffle=False).dequeue()
    batch = tf.train.shuffle_batch([rows], 4, capacity=8, min_after_dequeue=2)
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coordinator)
        seen = sorted(np.concatenate([sess.run(batch), sess.run(batch)]).tolist())
        end = raised(sess.run, batch)
        coordinator.request_stop()
        coordinator.join(threads)
        return [seen, end]


@program
def saved_model(tf, folder):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.get_variable("w", [2, 1], initializer=tf.constant_initializer([[1.0], [2.0]]))
    y = tf.matmul(x, w, name="y")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(w.assign([[3.0], [4.0]]))
        tf.saved_model.simple_save(sess, folder + "/model", {"x": x}, {"y": y})
    with tf.Session(graph=tf.Graph()) as sess:
        meta = tf.saved_model.loader.load(sess, [tf.saved_model.tag_constants.SERVING], folder + "/model")
        signature = meta.signature_def["serving_default"]
        names = signature.inputs["x"].name, signature.outputs["y"].name
        return [names, sess.run("y:0", {"x:0": [[1.0, 1.0]]}), sess.run(names[1], {names[0]: [[0.0, 1.0]]})]


@program
def saved_model_builder(tf, folder):
    x = tf.placeholder(tf.float32, [], name="in")
    v = tf.Variable(3.0)
    y = tf.multiply(x, v, name="out")
    utils, definitions = tf.saved_model.utils, tf.saved_model.signature_def_utils
    signature = definitions.build_signature_def(
        {"a": utils.build_tensor_info(x)}, {"b": utils.build_tensor_info(y)}, tf.saved_model.PREDICT_METHOD_NAME)  # fmt: skip
    builder = tf.saved_model.builder.SavedModelBuilder(folder + "/model")
    with tf.Session() as sess:
        sess.run(v.initializer)
        builder.add_meta_graph_and_variables(sess, ["serve"], signature_def_map={"mul": signature})
        builder.save()
    with tf.Graph().as_default(), tf.Session() as sess:
        meta = tf.saved_model.load(sess, ["serve"], folder + "/model")
        again = meta.signature_def["mul"]
        return [sess.run(again.outputs["b"].name, {again.inputs["a"].name: 2.0}), again.method_name,
                tf.saved_model.maybe_saved_model_directory(folder + "/model")]  # fmt: skip


@program
def scaled_loss(tf, folder):
    v = tf.get_variable("v", [], initializer=tf.ones_initializer())
    p = tf.placeholder_with_default(1.0, [])
    optimizer = tf.train.experimental.MixedPrecisionLossScaleOptimizer(tf.train.GradientDescentOptimizer(0.1), "dynamic")
    train = optimizer.minimize(v * v * p)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        first = sess.run(v)
        sess.run(train, {p: float("nan")})
        return [first, sess.run(v), sess.run(tf.global_variables())]


@program
def sparse_labels_of_sequences(tf, folder):
    labels = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [0, 1, 1], [2, 2])
    logits = tf.constant(np.sin(np.arange(24)).reshape(4, 2, 3).astype(np.float32))
    loss = tf.nn.ctc_loss(labels, logits, [4, 3])
    with tf.Session() as sess:
        return sess.run([loss, tf.gradients(loss, logits)[0]])


@program
def distributions(tf, folder):
    d = tf.distributions
    x = tf.constant([0.2, 0.7])
    made = [d.Normal(0.5, 2.0), d.Uniform(0.0, 2.0), d.Laplace(0.5, 2.0), d.Gamma(2.0, 3.0), d.Exponential(1.5),
            d.Beta(2.0, 3.0), d.StudentT(5.0, 0.5, 2.0)]  # fmt: skip
    out = [[k.log_prob(x), k.prob(x), k.mean(), k.variance(), k.stddev()] for k in made]
    more = [k.cdf(x) for k in made[:6]] + [k.entropy() for k in made[:6]]
    coin, dice = d.Bernoulli(probs=[0.3, 0.6]), d.Categorical(probs=[0.2, 0.3, 0.5])
    parts = d.Dirichlet([1.0, 2.0, 3.0])
    drawn = d.Multinomial(4.0, probs=[0.2, 0.3, 0.5])
    classes = [coin.log_prob([1, 0]), coin.entropy(), coin.mode(), dice.log_prob([0, 2]), dice.entropy(), dice.mode(),
               parts.log_prob([0.2, 0.3, 0.5]), parts.mean(), parts.variance(), parts.entropy(),
               drawn.log_prob([1.0, 1.0, 2.0]), drawn.mean(),
               d.DirichletMultinomial(4.0, [1.0, 2.0, 3.0]).log_prob([1.0, 1.0, 2.0])]  # fmt: skip
    apart = [d.kl_divergence(d.Normal(0.0, 1.0), d.Normal(1.0, 2.0)), d.kl_divergence(d.Beta(1.0, 2.0), d.Beta(2.0, 1.0)),
             d.kl_divergence(dice, d.Categorical(probs=[0.3, 0.3, 0.4])), d.kl_divergence(parts, d.Dirichlet([2.0, 2.0, 2.0])),
             d.kl_divergence(coin, d.Bernoulli(probs=[0.5, 0.5])), d.kl_divergence(d.Gamma(2.0, 3.0), d.Gamma(1.0, 2.0))]
    with tf.Session() as sess:
        return [sess.run(out), sess.run(more), sess.run(classes), sess.run(apart), made[0].batch_shape.as_list(),
                raised(d.kl_divergence, made[0], made[1])]  # fmt: skip


@program
def resized_images(tf, folder):
    image = tf.constant(np.arange(24.0).reshape(1, 4, 6, 1).astype(np.float32))
    resize, method = tf.image.resize_images, tf.image.ResizeMethod
    made = [resize(image, [2, 3]), resize(image, [8, 5], align_corners=True), resize(image, [3, 3], method.NEAREST_NEIGHBOR),
            resize(image, [6, 4], method.BICUBIC), resize(image, [2, 4], method.AREA), resize(image[0], [3, 2]),
            tf.image.resize_image_with_pad(image, 6, 6), tf.image.resize_bilinear(image, [3, 4])]  # fmt: skip
    with tf.Session() as sess:
        return [v.squeeze() for v in sess.run(made)]


@program
def normalized_by_the_batch(tf, folder):
    x = tf.constant(np.sin(np.arange(2 * 3 * 3 * 2)).reshape(2, 3, 3, 2).astype(np.float32))
    out, mean, variance = tf.nn.fused_batch_norm(x, [1.0, 2.0], [0.5, 0.0])
    used, _, _ = tf.nn.fused_batch_norm(x, [1.0, 2.0], [0.5, 0.0], [0.1, 0.2], [1.0, 2.0], is_training=False)
    pooled, places = tf.nn.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
    w = tf.constant(np.cos(np.arange(8.0)).reshape(2, 2, 2, 1).astype(np.float32))
    form = [1, 1, 1, 1], "SAME"
    back = tf.nn.depthwise_conv2d_native_backprop_input([2, 3, 3, 2], w, x, *form)
    weights = tf.nn.depthwise_conv2d_native_backprop_filter(x, [2, 2, 2, 1], x, *form)
    with tf.Session() as sess:
        made = [out[0, 0], mean, variance, used[0, 0], pooled[0, 0], places[0, 0], back[0], weights[..., 0]]
        return sess.run(made)


@program
def gradient_checks(tf, folder):
    x = tf.placeholder(tf.float32, [2, 3])
    y = tf.reduce_sum(x * x, 1)
    with tf.Session():
        theory, numbers = tf.test.compute_gradient(x, [2, 3], y, [2], x_init_value=np.arange(6.0).reshape(2, 3))
        error = tf.test.compute_gradient_error(x, [2, 3], y, [2], x_init_value=np.ones((2, 3)))
        return [theory, error < 1e-2, numbers.shape]


@program
def composite_forms(tf, folder):
    ids, values = tf.SparseTensor([[0, 0], [1, 0]], [1, 2], [2, 1]), tf.SparseTensor([[0, 0], [1, 0]], [5.0, 6.0], [2, 1])
    merged = tf.sparse_merge(ids, values, 4)
    rows = tf.ragged.placeholder(tf.int32, 1)
    given = tf.ragged.constant_value([[1, 2], [3]], dtype=np.int32)
    with tf.Session() as sess:
        return [sess.run(tf.sparse_tensor_to_dense(merged)), sess.run(tf.reduce_sum(rows, 1), {rows: given}),
                given.to_list(), sess.run(tf.string_split(["a b", "c"]).values)]  # fmt: skip


@program
def sampled_classes(tf, folder):
    """With given candidates the losses are TensorFlow's; what is drawn has the right counts."""
    w = tf.constant(np.sin(np.arange(20.0)).reshape(5, 4).astype(np.float32))
    b, x = tf.constant([0.1, 0.2, 0.3, 0.4, 0.5]), tf.constant(np.cos(np.arange(8.0)).reshape(2, 4).astype(np.float32))
    labels = tf.constant([[1], [3]], tf.int64)
    given = tf.constant([0, 3, 4], tf.int64), tf.constant([[0.5], [0.3]]), tf.constant([0.9, 0.4, 0.2])
    losses = [tf.nn.nce_loss(w, b, labels, x, 3, 5, sampled_values=given),
              tf.nn.sampled_softmax_loss(w, b, labels, x, 3, 5, sampled_values=given)]  # fmt: skip
    hits = tf.nn.compute_accidental_hits(labels, given[0], 1)
    drawn = tf.random.log_uniform_candidate_sampler(labels, 1, 5, True, 5)
    often = tf.random.uniform_candidate_sampler(labels, 1, 4, False, 8)
    every = tf.random.all_candidate_sampler(labels, 1, 5, True)
    with tf.Session() as sess:
        candidates = sess.run(drawn)[0]
        numbers, counts, _ = sess.run(often)
        return [sess.run(losses), sess.run(hits[:2]), sorted(candidates.tolist()), len(numbers), counts,
                sorted(sess.run(every)[0].tolist())]  # fmt: skip
