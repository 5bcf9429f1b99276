"""Files, messages, images, tables and generators from Python, also inside functions and datasets."""

import numpy as np
import pytest

import tandem as tf


def example(**features):
    kinds = {bytes: "bytes_list", float: "float_list", int: "int64_list"}
    lists = {"bytes_list": tf.train.BytesList, "float_list": tf.train.FloatList, "int64_list": tf.train.Int64List}
    made = {}
    for key, values in features.items():
        kind = kinds[type(values[0])]
        made[key] = tf.train.Feature(**{kind: lists[kind](value=values)})
    return tf.train.Example(features=tf.train.Features(feature=made))


@pytest.fixture(scope="module", autouse=True)
def _messages():
    pytest.importorskip("google.protobuf", reason="the package protobuf is not installed; run make setup")


def test_example_round_trip():
    message = example(a=[1, 2], b=[0.5], c=[b"x"])
    again = tf.train.Example.FromString(message.SerializeToString())
    assert again == message
    assert again.features.feature["a"].int64_list.value == [1, 2]
    spec = {
        "a": tf.io.FixedLenFeature([2], tf.int64),
        "b": tf.io.VarLenFeature(tf.float32),
        "c": tf.io.FixedLenFeature([], tf.string),
        "d": tf.io.FixedLenFeature([], tf.float32, default_value=7.0),
    }
    parsed = tf.io.parse_single_example(message.SerializeToString(), spec)
    assert parsed["a"].numpy().tolist() == [1, 2]
    assert tf.sparse.to_dense(parsed["b"]).numpy().tolist() == [0.5]
    assert parsed["c"].numpy() == b"x"
    assert parsed["d"].numpy() == 7.0


def test_examples_of_different_lengths_inside_a_function():
    serialized = [example(a=list(range(1, n + 1))).SerializeToString() for n in (2, 3)]
    spec = {
        "a": tf.io.RaggedFeature(tf.int64),
    }
    assert tf.io.parse_example(serialized, spec)["a"].to_list() == [[1, 2], [1, 2, 3]]

    @tf.function
    def padded(x):
        return tf.io.parse_example(x, {"a": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True)})["a"]

    assert padded(tf.constant(serialized)).numpy().tolist() == [[1, 2, 0], [1, 2, 3]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="required but could not be found"):
        tf.io.parse_example(serialized, {"z": tf.io.FixedLenFeature([], tf.int64)})


def test_jpeg_through_a_dataset(tmp_path):
    pixels = np.tile(np.arange(48, dtype=np.uint8)[:, None, None], [1, 40, 3])
    for i in range(3):
        tf.io.write_file(str(tmp_path / f"{i}.jpg"), tf.io.encode_jpeg(pixels, quality=100))

    def load(path):
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        return tf.image.convert_image_dtype(tf.image.resize(image, [8, 8]) / 255.0, tf.float32)

    names = tf.io.matching_files(str(tmp_path / "*.jpg"))
    assert names.shape == (3,)
    batch = next(iter(tf.data.Dataset.from_tensor_slices(names).map(load).batch(3)))
    assert batch.shape == (3, 8, 8, 3)
    assert batch.dtype == tf.float32
    np.testing.assert_allclose(batch[0, :, 0, 0] * 255, np.arange(8) * 6 + 2.5, atol=2)


def test_gfile(tmp_path):
    name = str(tmp_path / "a/b.txt")
    tf.io.gfile.makedirs(str(tmp_path / "a"))
    with tf.io.gfile.GFile(name, "w") as file:
        file.write("one\ntwo\n")
    with tf.io.gfile.GFile(name) as file:
        assert list(file) == ["one\n", "two\n"]
    assert tf.io.gfile.stat(name).length == 8
    assert tf.io.gfile.glob(str(tmp_path / "a/*")) == [name]
    with pytest.raises(tf.errors.AlreadyExistsError):
        tf.io.gfile.copy(name, name)
    tf.io.gfile.rename(name, name + "2")
    assert tf.io.gfile.listdir(str(tmp_path / "a")) == ["b.txt2"]
    tf.io.gfile.rmtree(str(tmp_path / "a"))
    assert not tf.io.gfile.exists(name)
    with pytest.raises(tf.errors.NotFoundError):
        tf.io.gfile.GFile(name).read()


def test_tables(tmp_path):
    (tmp_path / "words").write_text("a\nb\n")
    initializer = tf.lookup.TextFileInitializer(
        str(tmp_path / "words"), tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
        tf.lookup.TextFileIndex.LINE_NUMBER,
    )  # fmt: skip
    table = tf.lookup.StaticVocabularyTable(initializer, num_oov_buckets=2)
    found = tf.function(table.lookup)(tf.constant(["b", "a", "zz"])).numpy()
    assert found[:2].tolist() == [1, 0]
    assert found[2] in (2, 3)
    assert table.size().numpy() == 4
    mutable = tf.lookup.experimental.MutableHashTable(tf.int64, tf.string, "none")
    mutable.insert([1, 2], ["x", "y"])
    mutable.remove([2])
    assert mutable.lookup([1, 2]).numpy().tolist() == [b"x", b"none"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="different value for same key"):
        tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "a"], [1, 2]), 0)


def test_generator_state_moves_inside_a_function():
    generator = tf.random.Generator.from_seed(1)
    draw = tf.function(lambda: generator.normal([2]))
    first, second = draw().numpy(), draw().numpy()
    assert not np.array_equal(first, second)
    generator.reset_from_seed(1)
    np.testing.assert_array_equal(generator.normal([2]).numpy(), first)
    one, two = tf.random.Generator.from_seed(3).split(2)
    assert not np.array_equal(one.normal([2]).numpy(), two.normal([2]).numpy())


def test_urls_of_files(tmp_path, monkeypatch):
    """`file://` was part of the name: there was no such folder, or one named `file:` was made where the program runs."""
    here, folder = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    folder.mkdir()
    monkeypatch.chdir(here)
    url = f"file://{folder}/"
    module = tf.Module()
    module.v = tf.Variable(5.0)
    (folder / "words").write_text("a\nb\n")
    module.words = tf.saved_model.Asset(url + "words")
    tf.saved_model.save(module, url + "model")
    assert tf.saved_model.contains_saved_model(url + "model") and tf.saved_model.load(url + "model").v.numpy() == 5.0
    checkpoint = tf.train.Checkpoint(m=module)
    manager = tf.train.CheckpointManager(checkpoint, url + "many", max_to_keep=1)
    for path in (checkpoint.save(url + "one/ck"), checkpoint.write(url + "two/ck"), manager.save()):
        module.v.assign(0.0)
        checkpoint.read(path)
        assert module.v.numpy() == 5.0
    checkpoint.read(url + "two/ck").assert_consumed()
    assert tf.train.latest_checkpoint(url + "one") and tf.train.load_variable(url + "one", tf.train.list_variables(
        url + "one")[1][0]) == 5.0  # fmt: skip
    numbers = tf.data.Dataset.range(3)
    numbers.save(url + "saved")
    for dataset in (tf.data.Dataset.load(url + "saved"), numbers.snapshot(url + "snap"), numbers.cache(url + "cache")):
        assert list(dataset.as_numpy_iterator()) == [0, 1, 2]
    assert list(tf.data.Dataset.list_files(url + "wor*")) == [str(folder / "words").encode()]
    with tf.io.TFRecordWriter(url + "records") as writer:
        writer.write(b"abc")
    with tf.summary.create_file_writer(url + "events").as_default(step=1):
        tf.summary.scalar("a", 1.0)
    made = {"model", "many", "one", "two", "saved", "snap", "cache.index", "records", "events", "words"}
    assert {entry.name for entry in folder.iterdir()} == made and not list(here.iterdir())


def test_urls_that_ops_read(tmp_path, monkeypatch):
    """In tensors: no Python sees the name."""
    monkeypatch.chdir(tmp_path)
    url = tf.constant(f"file://{tmp_path}/there.txt")
    tf.io.write_file(url, "a,b\n1,2\n")
    assert (tmp_path / "there.txt").read_text() == "a,b\n1,2\n" and not (tmp_path / "file:").exists()
    assert tf.function(tf.io.read_file)(url).numpy() == b"a,b\n1,2\n"
    assert tf.io.matching_files(f"file://{tmp_path}/*.txt").numpy() == [str(tmp_path / "there.txt").encode()]
    lines = [b"a,b", b"1,2"]
    assert list(tf.data.TextLineDataset(url).as_numpy_iterator()) == lines
    assert list(tf.data.Dataset.from_tensors(url).flat_map(tf.data.TextLineDataset).as_numpy_iterator()) == lines


def test_forward_accumulator_and_recomputed_gradients():
    x = tf.constant([1.0, 2.0])
    with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 0.5])) as forward:
        y = tf.reduce_sum(x * x)
    assert forward.jvp(y).numpy() == 4.0
    v, calls = tf.Variable(3.0), []

    @tf.recompute_grad
    def f(z):
        calls.append(1)
        return z * v

    with tf.GradientTape() as tape:
        y = f(tf.constant(2.0))
    assert tape.gradient(y, v).numpy() == 2.0
    assert len(calls) == 2


def test_coverage_command(capsys):
    from tandem.command import coverage

    assert coverage([]) == 0
    lines = capsys.readouterr().out.splitlines()
    total = next(line for line in lines if line.startswith("names that the guides"))
    there, _, wanted = total.split()[-3:]
    assert int(there) / int(wanted) > 0.9
