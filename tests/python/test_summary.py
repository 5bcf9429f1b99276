"""tf.summary: what is written is what TensorBoard reads."""

import pathlib

import event_reader
import numpy as np
import pytest
import tandem as tf


def read(folder):
    files = sorted(pathlib.Path(folder).rglob("events.out.tfevents.*"))
    assert len(files) == 1, files
    version, found, graphs = event_reader.summaries(files[0])
    assert version == "brain.Event:2"
    return found, graphs


@pytest.fixture
def writer(tmp_path):
    made = tf.summary.create_file_writer(tmp_path)
    yield made
    made.close()


def test_scalars(tmp_path, writer):
    with writer.as_default():
        assert tf.summary.scalar("loss", 0.5, step=3, description="how bad")
        tf.summary.scalar("count", np.int64(7), step=tf.Variable(4, dtype=tf.int64))
        with tf.name_scope("outer"), tf.name_scope("inner"):
            tf.summary.scalar("loss", tf.constant(0.25), step=tf.constant(5, tf.int64))
    found, _ = read(tmp_path)
    assert [(s.tag, s.step, s.value.item(), s.plugin, s.data_class) for s in found] == [
        ("loss", 3, 0.5, "scalars", 1), ("count", 4, 7.0, "scalars", 1), ("outer/inner/loss", 5, 0.25, "scalars", 1),
    ]  # fmt: skip
    assert found[0].description == "how bad" and found[0].value.dtype == np.float32


def test_scalars_must_be_scalars(writer):
    with writer.as_default(), pytest.raises(tf.errors.InvalidArgumentError, match="expected a scalar"):
        tf.summary.scalar("v", [1.0, 2.0], step=1)


def test_histograms(tmp_path, writer):
    values = np.array([0.0, 0.1, 1.0, 2.0, 3.0, 4.0])
    with writer.as_default(step=2):
        tf.summary.histogram("h", values, buckets=4)
        tf.summary.histogram("same", [5, 5, 5], buckets=3)
        tf.summary.histogram("none", tf.zeros([0]), buckets=2)
        tf.summary.histogram("default", tf.random.normal([100]))
    found, _ = read(tmp_path)
    assert [s.plugin for s in found] == ["histograms"] * 4
    assert found[0].value.tolist() == [[0, 1, 2], [1, 2, 1], [2, 3, 1], [3, 4, 2]]
    assert found[1].value.tolist() == [[5, 5, 0], [5, 5, 0], [5, 5, 3]]
    assert found[2].value.tolist() == [[0, 0, 0], [0, 0, 0]]
    assert found[3].value.shape == (30, 3) and found[3].value[:, 2].sum() == 100


def png_pixels(data):
    """Pixels of a PNG file without interlace whose rows use the filters none, sub, up, average or Paeth."""
    import struct
    import zlib

    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack_from(">IIBB", body)
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    channels = {0: 1, 2: 3, 4: 2, 6: 4}[color]
    assert depth == 8
    raw, stride = zlib.decompress(packed), width * channels
    rows = np.zeros((height + 1, stride + channels), int)
    for y in range(height):
        line = raw[y * (stride + 1) : (y + 1) * (stride + 1)]
        for x in range(stride):
            left, up, corner = rows[y + 1, x], rows[y, x + channels], rows[y, x]
            guess = left + up - corner
            paeth = min((left, up, corner), key=lambda v: abs(guess - v))
            rows[y + 1, x + channels] = (line[x + 1] + [0, left, up, (left + up) // 2, paeth][line[0]]) % 256
    return rows[1:, channels:].reshape(height, width, channels)


def test_images(tmp_path, writer):
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, size=(4, 5, 6, 3), dtype=np.uint8)
    with writer.as_default(step=1):
        tf.summary.image("bytes", pixels, max_outputs=2)
        tf.summary.image("floats", np.array([0.0, 0.5, 1.0, 2.0, -1.0, 0.999]).reshape(1, 2, 3, 1))
        with pytest.raises(tf.errors.InvalidArgumentError, match="rank 4"):
            tf.summary.image("flat", pixels[0])
        with pytest.raises(tf.errors.InvalidArgumentError, match="channels"):
            tf.summary.image("many", np.zeros((1, 2, 2, 7)))
    found, _ = read(tmp_path)
    assert [s.plugin for s in found] == ["images"] * 2 and found[0].data_class == 3
    width, height, *files = found[0].value
    assert (width, height, len(files)) == (b"6", b"5", 2)
    np.testing.assert_array_equal(png_pixels(files[1]), pixels[1])
    assert png_pixels(found[1].value[2]).ravel().tolist() == [0, 127, 255, 255, 0, 255]


def test_text_and_audio(tmp_path, writer):
    sound = np.sin(np.linspace(0, 9, 100)).reshape(1, 50, 2)
    with writer.as_default(step=1):
        tf.summary.text("note", "**bold**")
        tf.summary.text("table", [["a", "b"], ["c", "d"]])
        tf.summary.audio("tone", sound, 8000)
        with pytest.raises(ValueError, match="string"):
            tf.summary.text("number", 3)
    found, _ = read(tmp_path)
    assert found[0].value == b"**bold**" and found[0].plugin == "text"
    assert found[1].value.tolist() == [[b"a", b"b"], [b"c", b"d"]]
    wav = found[2].value[0, 0]
    assert wav[:4] == b"RIFF" and wav[8:16] == b"WAVEfmt " and len(wav) == 44 + 200
    samples = np.frombuffer(wav[44:], "<i2") / 32767
    np.testing.assert_allclose(samples, sound.ravel(), atol=1e-4)


def test_functions_write_in_order_at_every_call(tmp_path, writer):
    @tf.function
    def step(x, number):
        with writer.as_default():
            tf.summary.scalar("before", x, step=number)
            y = x * 2.0
            with tf.name_scope("scope"):
                tf.summary.scalar("after", y, step=number)
        return y

    for i in range(3):
        step(tf.constant(float(i)), tf.constant(i, tf.int64))
    found, _ = read(tmp_path)
    assert [(s.tag, s.step, s.value.item()) for s in found] == [
        pair for i in range(3) for pair in [("before", i, float(i)), ("scope/after", i, 2.0 * i)]
    ]
    assert step.experimental_get_tracing_count() == 1


def test_record_if(tmp_path, writer):
    @tf.function
    def step(number):
        with writer.as_default(), tf.summary.record_if(number % 2 == 0):
            tf.summary.scalar("even", number, step=number)

    with writer.as_default():
        with tf.summary.record_if(False):
            assert not tf.summary.scalar("never", 1, step=1)
            assert not tf.summary.should_record_summaries()
        with tf.summary.record_if(lambda: True):
            assert tf.summary.scalar("always", 1, step=1)
    for i in range(4):
        step(tf.constant(i, tf.int64))
    found, _ = read(tmp_path)
    assert [(s.tag, s.step) for s in found] == [("always", 1), ("even", 0), ("even", 2)]


def test_steps(tmp_path, writer):
    with writer.as_default():
        with pytest.raises(ValueError, match="No step set"):
            tf.summary.scalar("x", 1)
    step = tf.Variable(10, dtype=tf.int64)
    tf.summary.experimental.set_step(step)
    try:
        with writer.as_default():
            tf.summary.scalar("x", 1)
            step.assign_add(5)
            tf.summary.scalar("x", 1)
            with writer.as_default(step=1):
                tf.summary.scalar("x", 1)
            assert tf.summary.experimental.get_step() is step
    finally:
        tf.summary.experimental.set_step(None)
    assert [s.step for s in read(tmp_path)[0]] == [10, 15, 1]


def test_without_a_writer_nothing_happens(tmp_path):
    assert tf.summary.scalar("x", 1, step=1) is False
    with tf.summary.create_noop_writer().as_default():
        assert tf.summary.scalar("x", 1, step=1) is False


def test_closing(tmp_path):
    writer = tf.summary.create_file_writer(tmp_path)

    @tf.function
    def step():
        tf.summary.scalar("x", 1, step=1)

    with writer.as_default():
        step()
    writer.close()
    step()  # the writer is gone: nothing is written, nothing fails
    with pytest.raises(RuntimeError, match="already closed"):
        with writer.as_default():
            pass
    assert len(read(tmp_path)[0]) == 1


def test_graphs(tmp_path, writer):
    @tf.function
    def product(x):
        return tf.matmul(x, x) + 1.0

    concrete = product.get_concrete_function(tf.TensorSpec([2, 2], tf.float32))
    with writer.as_default():
        assert tf.summary.graph(concrete.graph)
        tf.summary.trace_on(graph=True)
        product(tf.ones([3, 3]))
        tf.summary.trace_export("traced", step=4)
        with pytest.raises(ValueError, match="Must enable trace"):
            tf.summary.trace_export("again", step=5)
    found, graphs = read(tmp_path)
    nodes = list(event_reader.nodes(graphs[0]))
    assert {op for _, op, _ in nodes} >= {"Placeholder", "MatMul", "AddV2"}
    names = [name for name, _, _ in nodes]
    assert len(set(names)) == len(names)
    assert all(i.lstrip("^").partition(":")[0] in names for _, _, inputs in nodes for i in inputs)
    assert found[0].plugin == "graph_run_metadata_graph" and found[0].step == 4
    function_graphs = event_reader.fields(found[0].value)[4]
    assert "MatMul" in {op for _, op, _ in event_reader.nodes(event_reader.fields(function_graphs[0])[2][0])}


def test_raw_messages_and_metadata(tmp_path, writer):
    metadata = tf.compat.v1.SummaryMetadata()
    metadata.plugin_data.plugin_name = "mine"
    metadata.plugin_data.content = b"1"
    with writer.as_default(step=1):
        tf.summary.write("tag", tf.constant([1, 2]), metadata=metadata)
    found, _ = read(tmp_path)
    assert (found[0].plugin, found[0].content, found[0].value.tolist()) == ("mine", b"1", [1, 2])


def test_reading_back(tmp_path, writer):
    with writer.as_default(step=3):
        tf.summary.scalar("loss", 0.5, description="how bad")
        tf.summary.text("note", ["a", "b"])
    version, loss, note = tf.compat.v1.train.summary_iterator(writer.path)
    assert version.file_version == "brain.Event:2" and not version.HasField("summary") and version.WhichOneof("what") == "file_version"
    (value,) = loss.summary.value
    assert (loss.step, value.tag, value.metadata.plugin_data.plugin_name) == (3, "loss", "scalars")
    assert value.WhichOneof("value") == "tensor" and value.metadata.summary_description == "how bad"
    assert tf.make_ndarray(value.tensor) == np.float32(0.5)
    assert tf.make_ndarray(note.summary.value[0].tensor).tolist() == [b"a", b"b"]
    with open(writer.path, "r+b") as file:
        file.seek(-1, 2)
        file.write(b"\xff")
    with pytest.raises(tf.errors.DataLossError):
        list(tf.compat.v1.train.summary_iterator(writer.path))


@pytest.mark.parametrize("message", [b"\xff" * 20, b"\x1a\x05ab", b"\x09\x01", b"\x2a\x02\x0a\x7f", b"\x1a\x02\xff\xfe"])
def test_a_damaged_event_is_named(tmp_path, message):
    path = str(tmp_path / "events")
    with tf.io.TFRecordWriter(path) as file:
        file.write(b"")
        file.write(message)
    events = tf.compat.v1.train.summary_iterator(path)
    assert next(events).step == 0
    with pytest.raises(tf.errors.DataLossError, match=f"{path}: the event in the record at 16 is damaged"):
        next(events)


def test_keras_callback(tmp_path):
    model = tf.keras.Sequential([tf.keras.layers.Input((3,)), tf.keras.layers.Dense(1, name="out")])
    model.compile("sgd", "mse")
    callback = tf.keras.callbacks.TensorBoard(
        tmp_path, histogram_freq=1, write_images=True, update_freq=1, profile_batch=(2, 3)
    )
    x = np.ones((8, 3), np.float32)
    model.fit(x, x[:, :1], batch_size=2, epochs=2, verbose=0, callbacks=[callback], validation_data=(x, x[:, :1]))
    found, _ = read(tmp_path / "train")
    tags = {s.tag for s in found}
    assert {"epoch_loss", "batch_loss", "epoch_learning_rate"} <= tags
    assert any(s.plugin == "histograms" for s in found) and any(s.plugin == "images" for s in found)
    assert any(s.plugin == "graph_keras_model" for s in found)
    assert [s.step for s in found if s.tag == "epoch_loss"] == [0, 1]
    assert {s.tag for s in read(tmp_path / "validation")[0]} >= {"epoch_loss", "evaluation_loss_vs_iterations"}
    assert list((tmp_path / "train" / "plugins" / "profile").rglob("*.xplane.pb"))
