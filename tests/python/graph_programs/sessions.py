"""Sessions: what may be fetched and fed, graphs by name, control dependencies."""

import collections

import numpy as np

from graph_programs import program, raised


@program
def fetch_nests(tf, folder):
    a, b = tf.constant(1.0), tf.constant([2, 3])
    Pair = collections.namedtuple("Pair", "x y")
    with tf.Session() as sess:
        nested = sess.run({"a": a, "l": [b, (a, b)], "p": Pair(a, b)})
        return [sess.run(a), sess.run([a, b]), sess.run((a,)), nested["a"], nested["l"], nested["p"].x,
                type(nested["p"]).__name__, sess.run([])]  # fmt: skip


@program
def fetch_by_name(tf, folder):
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.add(x, 1.0, name="y")
    v = tf.Variable([1.0, 2.0], name="v")
    op = tf.assign(v, v * 2, name="double").op
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(op.name)
        return [sess.run("y:0", {"x:0": [1, 2]}), sess.run(["v:0", y], {x: [0, 0]}), x.name, y.op.type in ("Add", "AddV2")]


@program
def feed_intermediate(tf, folder):
    x = tf.placeholder(tf.float32, [])
    y = x * 2
    z = y + 1
    c = tf.constant(3.0)
    with tf.Session() as sess:
        return [sess.run(z, {x: 1.0}), sess.run(z, {y: 10.0}), sess.run([y, z], {y: 5.0}), sess.run(c * 2, {c: 4.0})]


@program
def feed_errors(tf, folder):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.reduce_sum(x)
    other = tf.Graph()
    with other.as_default():
        foreign = tf.constant(1)
    with tf.Session() as sess:
        return [raised(sess.run, y), raised(sess.run, y, {x: [1.0]}), raised(sess.run, y, {x: tf.constant([[1.0, 2.0]])}),
                raised(sess.run, None), raised(sess.run, 3), raised(sess.run, foreign), raised(sess.run, "nothing:0"),
                raised(sess.run, y, {"nothing:0": 1})]  # fmt: skip


@program
def feed_types(tf, folder):
    x = tf.placeholder(tf.float32, [3])
    i = tf.placeholder(tf.int32, [])
    s = tf.placeholder(tf.string, [None])
    b = tf.placeholder(tf.bool, [])
    with tf.Session() as sess:
        return [sess.run(x + 1, {x: np.arange(3)}), sess.run(i * 2, {i: 4}), sess.run(s, {s: ["a", "bc"]}),
                sess.run(tf.logical_not(b), {b: True}), sess.run(x, {x: np.ones(3, np.float64)}).dtype.name]  # fmt: skip


@program
def placeholder_with_default(tf, folder):
    p = tf.placeholder_with_default([1.0, 2.0], [None], name="p")
    total = tf.reduce_sum(p)
    with tf.Session() as sess:
        return [p.shape.as_list(), sess.run(total), sess.run(total, {p: [1.0, 2.0, 3.0]})]


@program
def sparse_placeholder(tf, folder):
    sp = tf.sparse_placeholder(tf.float32, shape=[2, 3])
    dense = tf.sparse_tensor_to_dense(sp)
    value = tf.SparseTensorValue(indices=[[0, 1], [1, 2]], values=[1.0, 2.0], dense_shape=[2, 3])
    with tf.Session() as sess:
        out = sess.run(sp, {sp: value})
        return [sess.run(dense, {sp: value}), out.indices, out.values, out.dense_shape]


@program
def sparse_fetch(tf, folder):
    sp = tf.SparseTensor([[0, 0], [1, 1]], [1, 2], [2, 2])
    ragged = tf.ragged.constant([[1, 2], [], [3]])
    with tf.Session() as sess:
        out, rows = sess.run([sp, ragged])
        return [out.values, out.dense_shape, rows.to_list()]


@program
def make_callable(tf, folder):
    x = tf.placeholder(tf.float32, [])
    y = tf.placeholder(tf.float32, [])
    with tf.Session() as sess:
        f = sess.make_callable([x + y, x * y], [x, y])
        return [f(2.0, 3.0), f(1.0, 1.0)]


@program
def interactive_session(tf, folder):
    sess = tf.InteractiveSession()
    v = tf.Variable(3.0)
    v.initializer.run()
    p = tf.placeholder(tf.float32, [])
    out = [v.eval(), (v * p).eval({p: 2.0}), tf.get_default_session() is sess]
    sess.close()
    return out


@program
def default_sessions(tf, folder):
    c = tf.constant(2)
    with tf.Session() as sess:
        inside = tf.get_default_session() is sess
        value = c.eval()
    return [inside, value, tf.get_default_session() is None, raised(c.eval), raised(sess.run, c)]


@program
def two_graphs(tf, folder):
    out = []
    for number in (1, 2):
        graph = tf.Graph()
        with graph.as_default():
            tf.constant(float(number), name="c")
        with tf.Session(graph=graph) as sess:
            out.append(sess.run(graph.get_tensor_by_name("c:0")))
            out.append(tf.get_default_graph() is graph)
    return out


@program
def two_sessions(tf, folder):
    v = tf.Variable(1.0)
    add = v.assign_add(1.0)
    one, two = tf.Session(), tf.Session()
    one.run(v.initializer)
    one.run(add)
    before = raised(two.run, v)
    two.run(v.initializer)
    return [one.run(v), two.run(v), before]


@program
def uninitialized(tf, folder):
    v = tf.Variable(1.0, name="v")
    w = tf.get_variable("w", [2])
    with tf.Session() as sess:
        first = [raised(sess.run, v), sess.run(tf.report_uninitialized_variables()), sess.run(tf.is_variable_initialized(v))]
        sess.run(v.initializer)
        return [*first, sess.run(v), sess.run(tf.report_uninitialized_variables()), raised(sess.run, w + 1.0),
                sess.run(tf.is_variable_initialized(v))]  # fmt: skip


@program
def control_dependencies(tf, folder):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)
    add = v.assign_add(1.0)
    with tf.control_dependencies([add]):
        after = v.read_value() * 10
    alone = tf.constant(5.0)
    with tf.control_dependencies([add]):
        both = tf.identity(alone)
        with tf.control_dependencies(None):
            neither = tf.identity(alone)
    with tf.Session() as sess:
        sess.run(v.initializer)
        out = [sess.run(after), sess.run(v), sess.run(alone), sess.run(v), sess.run(both), sess.run(v)]
        return [*out, sess.run(neither), sess.run(v)]


@program
def order_of_reads_and_writes(tf, folder):
    """What nothing orders is read before it is written; a variable that is fetched, when it is a reference, at the end."""
    out = []
    for is_resource in (False, True):
        with tf.variable_scope(f"s{is_resource}"):
            v = tf.get_variable("v", [2], initializer=tf.ones_initializer(), use_resource=is_resource)
        early = v * 10
        add = tf.assign_add(v, [1.0, 1.0])
        late = v * 10
        with tf.Session() as sess:
            sess.run(v.initializer)
            out.append([sess.run([add.op, early])[1], sess.run([add.op, late])[1], sess.run(v)])
            if not is_resource:
                out.append([sess.run([add.op, v])[1], sess.run([v, add.op])[0]])
    return out


@program
def steps_that_are_fetched(tf, folder):
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", [], initializer=tf.ones_initializer())
    train = tf.train.GradientDescentOptimizer(0.1).minimize(w * w, global_step=step)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return [sess.run([train, step, w])[1:] for _ in range(3)]


@program
def groups(tf, folder):
    a, b = tf.Variable(0.0), tf.Variable(0.0)
    both = tf.group(a.assign_add(1.0), b.assign_add(2.0), name="both")
    nothing = tf.no_op()
    pair = tf.tuple([a.read_value(), b.read_value()], control_inputs=[both])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        out = [sess.run(both), sess.run(nothing), sess.run([a, b])]
        return [*out, len(sess.run(pair)), sess.run([a, b]), both.name, both.type]


@program
def graph_elements(tf, folder):
    x = tf.placeholder(tf.float32, [2], name="in")
    with tf.name_scope("layer"):
        y = tf.multiply(x, 2.0, name="twice")
    graph = tf.get_default_graph()
    return [graph.get_tensor_by_name("layer/twice:0") is not None, graph.get_operation_by_name("in").type, y.op.name,
            y.op.inputs[0].name, raised(graph.get_tensor_by_name, "no:0"), raised(graph.get_tensor_by_name, "in"),
            raised(graph.get_operation_by_name, "none"), y.graph is graph, x.op.outputs[0] == x,
            [op.name for op in graph.get_operations()][0], len({x: 1, y: 2})]  # fmt: skip


@program
def collections_of_a_graph(tf, folder):
    a = tf.constant(1.0, name="scope/a")
    tf.add_to_collection("mine", a)
    tf.add_to_collections(["mine", "other"], 5)
    tf.get_collection_ref("other").append(6)
    return [len(tf.get_collection("mine")), tf.get_collection("other"), [t.name for t in tf.get_collection("mine", "scope")],
            tf.get_collection("none"), tf.GraphKeys.UPDATE_OPS, sorted(tf.get_default_graph().get_all_collection_keys())]


@program
def configuration(tf, folder):
    config = tf.ConfigProto(device_count={"GPU": 0}, allow_soft_placement=True, inter_op_parallelism_threads=1)
    config.gpu_options.allow_growth = True
    config.gpu_options.per_process_gpu_memory_fraction = 0.5
    with tf.device("/cpu:0"):
        c = tf.constant(3)
    options, metadata = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
    with tf.Session(config=config) as sess:
        return [sess.run(c * 2, options=options, run_metadata=metadata), config.allow_soft_placement,
                config.gpu_options.per_process_gpu_memory_fraction, dict(config.device_count)]  # fmt: skip


@program
def dimensions(tf, folder):
    x = tf.placeholder(tf.float32, [None, 4])
    shape = x.get_shape()
    width = int(shape[1]) * 2
    return [shape[1].value, shape[0].value, shape.as_list(), width, shape.ndims, [d.value for d in shape.dims],
            (shape[1] * 3).value, int(shape[1]) == 4]  # fmt: skip


@program
def printing(tf, folder):
    x = tf.constant([1.0, 2.0], name="x")
    p = tf.placeholder(tf.int32, [None], name="p")
    return [str(x), repr(x), repr(p), repr(x.op)]
