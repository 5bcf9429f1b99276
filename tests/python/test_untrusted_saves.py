"""What is loaded may come from anybody: no code runs, nothing outside the folder is read, and damage is one of TensorFlow's
errors that names the file. What other programs saved is neither read wrongly nor written over."""

import collections
import io
import json
import os
import pathlib
import pickle
import re
import shutil
import struct
import zipfile

import h5py
import numpy as np
import pytest
import tandem as tf
from conftest import ROOT
from mutations import mutated, mutated_json
from tandem import keras
from tandem.checkpoint import object_graph

THEIRS = ROOT / "tests/python/data/tensorflow"  # written by TensorFlow 2.21
ROUNDS = 2000 if os.environ.get("TANDEM_LONG_TESTS") == "1" else 30


@pytest.fixture
def theirs(tmp_path):
    """A copy of TensorFlow's files, and a check that nobody has changed it."""
    folder = tmp_path / "theirs"
    shutil.copytree(THEIRS, folder)
    yield folder
    for path in THEIRS.rglob("*"):
        if path.is_file():
            assert (folder / path.relative_to(THEIRS)).read_bytes() == path.read_bytes(), path


# ---- Nothing runs


class Trap:
    def __reduce__(self):
        return os.mkdir, (self.path,)

    def __init__(self, path):
        self.path = str(path)


@pytest.mark.parametrize("spec", [None, tf.TensorSpec([], tf.int64)])
def test_load_runs_no_pickle(tmp_path, spec):
    tf.data.Dataset.range(3).save(str(tmp_path / "good"))
    (elements,) = (tmp_path / "good").glob("elements-*/*.elements")
    old = tmp_path / "old"
    old.mkdir()
    shutil.copy(elements, old / "elements.tandem")
    for name in ("dataset_spec.pb", "dataset.json"):
        (old / name).write_bytes(pickle.dumps((Trap(tmp_path / "ran"), 3)))
    with pytest.raises(tf.errors.DataLossError, match="dataset.json is damaged: byte 0 is not UTF-8"):
        tf.data.Dataset.load(str(old), spec)
    (old / "dataset.json").unlink()
    if spec is None:
        with pytest.raises(tf.errors.InvalidArgumentError, match="pickle"):
            tf.data.Dataset.load(str(old))
    else:
        assert list(tf.data.Dataset.load(str(old), spec).as_numpy_iterator()) == [0, 1, 2]
    assert not (tmp_path / "ran").exists()
    # A save over it leaves the new form alone.
    tf.data.Dataset.range(2).save(str(old))
    assert list(tf.data.Dataset.load(str(old)).as_numpy_iterator()) == [0, 1]
    assert not (old / "dataset_spec.pb").exists() and not (old / "elements.tandem").exists()


# Where code of the package may be run or found by a name, and why it is never a name from a file.
RUNS_CODE = {
    "_load.py": "the package's own libraries",
    "_namespaces.py": "the package's own modules",
    "_distribution.py": "only a description",
    "command.py": "the program that the user names",
    "extension/dispatch.py": "a fixed text",
    "extension/elementwise.py": "the package itself",
    "extension/global_dispatch.py": "a fixed text",
    "graph_mode/names.py": "the package's own modules",
    "graph_mode/session.py": "a method called eval, and words about it",
    "graph_mode/variables.py": "a method called eval",
    "kernel.py": "a search for ipykernel",
    "ops/rare.py": "a function called compile",
    "ops/raw/__init__.py": "expressions of the package's own tables",
    "requirers.py": "only descriptions of packages",
    "import_map.py": "import statements of the program",
    "coverage.py": "modules of Keras",
    "coverage_of.py": "a search for files; nothing is imported",
    "inside/keras_names.py": "modules of Keras",
    "inside/util/lazy_loader.py": "a name that the program gives",
    "install.py": "import statements of the program",
    "keras_backend/trainer.py": "a module of Keras",
    "keras_loader.py": "modules of Keras",
    "known_names.py": "names that the program asks for, of the package's own modules",
    "served.py": "only the description of a module",
    "staging/conversion.py": "functions of the program",
}


def test_no_code_is_found_by_names_from_files():
    """A new use of these in the package has to say here why it is safe."""
    package = ROOT / "python/tandem"
    use = re.compile(r"\b(pickle|marshal|shelve|importlib|runpy)\.\w|import (pickle|marshal|shelve|runpy|dill|joblib)\b"
                     r"|(?<![\w.])(eval|exec|compile|__import__)\(|allow_pickle=True|np\.load\(")  # fmt: skip
    found = {str(p.relative_to(package)) for p in package.rglob("*.py") if use.search(p.read_text(encoding="utf-8"))}
    assert found <= set(RUNS_CODE), found - set(RUNS_CODE)
    for path in ("saving", "checkpoint", "pipeline", "summary_ops"):
        assert not [f for f in found if f.startswith(path + "/")]


def test_nothing_is_sent_or_fetched():
    """Neither the library nor the package can open a connection. Keras, which downloads what it is told to, is no part."""
    call = re.compile(r"(?<!\w)(socket|connect|getaddrinfo|gethostbyname)\(|<(sys/socket|netdb|curl/curl)\.h>")
    module = re.compile(r"(?:^|\n) *(import|from) (socket|ssl|http|urllib|ftplib|asyncio|requests|aiohttp)\b")
    native = [p for kind in ("*.cc", "*.h", "*.cu", "*.cuh") for p in (ROOT / "src").rglob(kind)]
    python = list((ROOT / "python/tandem").rglob("*.py"))
    assert len(native) > 500 and len(python) > 100
    assert not [str(p) for p in native if call.search(p.read_text(encoding="utf-8"))]
    assert not [str(p) for p in python if module.search(p.read_text(encoding="utf-8"))]


def test_keras_refuses_code(tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Lambda(lambda x: x + 1)])
    model.save(tmp_path / "m.keras")
    with pytest.raises(ValueError, match="unsafe|safe_mode"):
        keras.models.load_model(tmp_path / "m.keras")


def test_keras_refuses_pickled_weights_and_links_to_other_files(tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])
    model.save(tmp_path / "m.keras")
    with zipfile.ZipFile(tmp_path / "m.keras") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    weights = members.pop("model.weights.h5")

    pickled = io.BytesIO()
    np.savez(pickled, __root__=np.array(Trap(tmp_path / "ran"), object))
    with h5py.File(tmp_path / "secret.h5", "w") as secret:
        secret["x"] = np.zeros((2, 3), "float32")
    linked = io.BytesIO(weights)
    with h5py.File(linked, "r+") as file:
        del file["layers/dense/vars/0"]
        file["layers/dense/vars/0"] = h5py.ExternalLink(tmp_path / "secret.h5", "x")
    for name, bytes_, why in (("npz", pickled, "allow_pickle=False"), ("h5", linked, "H5 file with ExternalLink")):
        with zipfile.ZipFile(tmp_path / "bad.keras", "w") as archive:
            for member, content in (members | {f"model.weights.{name}": bytes_.getvalue()}).items():
                archive.writestr(member, content)
        with pytest.raises(ValueError, match=why):
            keras.models.load_model(tmp_path / "bad.keras")
    (tmp_path / "bad.weights.h5").write_bytes(linked.getvalue())
    with pytest.raises(ValueError, match="H5 file with ExternalLink"):
        model.load_weights(tmp_path / "bad.weights.h5")
    assert not (tmp_path / "ran").exists()


def test_loading_a_model_runs_none_of_its_functions(tmp_path):
    module = tf.Module()
    module.write = tf.function(lambda: tf.io.write_file(str(tmp_path / "written"), "by the model"), input_signature=[])
    tf.saved_model.save(module, str(tmp_path / "model"), signatures={"serving_default": module.write})
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    assert not (tmp_path / "written").exists()
    loaded.write()  # a saved model is a program: called, it does what it says
    assert (tmp_path / "written").read_text() == "by the model"


# ---- Specs of elements

Point = collections.namedtuple("Point", ["x", "y"])
SPECS = {
    "tensor": lambda: tf.constant([1.5, 2.0]),
    "tuple": lambda: (tf.constant(1), (tf.constant("a"), tf.constant(True))),
    "dict": lambda: {"b": tf.constant(1), "a": (tf.constant(2.0),)},
    "ordered": lambda: collections.OrderedDict([("b", tf.constant(1)), ("a", tf.constant(2))]),
    "int keys": lambda: {2: tf.constant(1), 1: tf.constant(2)},
    "named": lambda: Point(tf.constant(1), {"p": Point(tf.constant(2), tf.constant(3))}),
    "none": lambda: (tf.constant(1), None, {"n": None}),
    "ragged": lambda: tf.ragged.constant([[1, 2], [3]]),
    "sparse": lambda: tf.sparse.from_dense([[0, 1], [2, 0]]),
    "strings": lambda: tf.constant([b"", b"\xff\x00", "ä".encode()]),
    "empty": lambda: tf.zeros([0, 3], tf.float16),
    "bfloat16": lambda: tf.constant([1.0], tf.bfloat16),
    "complex": lambda: tf.constant([1 + 2j], tf.complex128),
}


@pytest.mark.parametrize("name", SPECS)
def test_elements_come_back(tmp_path, name):
    made = SPECS[name]()
    dataset = tf.data.Dataset.from_tensors(made).repeat(3)
    dataset.save(str(tmp_path))
    loaded = tf.data.Dataset.load(str(tmp_path))
    assert repr(loaded.element_spec) == repr(dataset.element_spec)
    assert loaded.cardinality().numpy() == 3
    for element in loaded:
        given, back = tf.nest.flatten(made, expand_composites=True), tf.nest.flatten(element, expand_composites=True)
        for a, b in zip(given, back, strict=True):
            assert (a is None and b is None) or np.array_equal(a.numpy(), b.numpy())
    # The program's own classes, where it gives them.
    again = tf.data.Dataset.load(str(tmp_path), dataset.element_spec)
    assert type(next(iter(again))) is type(next(iter(dataset)))


class NamedValues(tf.experimental.ExtensionType):
    values: tf.Tensor
    name: str


def test_extension_types_come_back(tmp_path):
    dataset = tf.data.Dataset.from_tensors(NamedValues(tf.constant([1, 2]), "n"))
    dataset.save(str(tmp_path))
    (element,) = tf.data.Dataset.load(str(tmp_path))
    assert isinstance(element, NamedValues) and element.name == "n" and element.values.numpy().tolist() == [1, 2]
    path = tmp_path / "dataset.json"
    path.write_text(path.read_text().replace('"NamedValues"', '"os.system"'))
    (element,) = tf.data.Dataset.load(str(tmp_path))
    assert type(element).__name__ == "AnonymousExtensionType" and element.name == "n"


def test_two_extension_types_of_one_name(tmp_path):
    def define(*fields):
        return type(tf.experimental.ExtensionType)(
            "Twice", (tf.experimental.ExtensionType,), {"__annotations__": dict.fromkeys(fields, tf.Tensor), "__qualname__": "Twice"}
        )  # fmt: skip

    first, second = define("a"), define("a", "b")
    one = tf.constant(1)
    for kind, value in ((first, first(one)), (second, second(one, one))):
        tf.data.Dataset.from_tensors(value).save(str(tmp_path))
        assert type(next(iter(tf.data.Dataset.load(str(tmp_path))))) is kind


def test_specs_that_datasets_do_not_hold_yet():
    from tandem.pipeline import stored_spec

    spec = {"o": tf.OptionalSpec((tf.TensorSpec([2], tf.int8), tf.RaggedTensorSpec([None, None], tf.string)))}
    assert stored_spec.from_json(json.loads(json.dumps(stored_spec.to_json(spec)))) == spec
    with pytest.raises(TypeError, match="have no form in a file"):
        stored_spec.to_json(tf.data.DatasetSpec(tf.TensorSpec([])))
    deep = {"tuple": []}
    for _ in range(100):
        deep = {"tuple": [deep]}
    with pytest.raises(ValueError, match="nested deeper"):
        stored_spec.from_json(deep)


def test_named_tuples_are_data(tmp_path):
    tf.data.Dataset.from_tensors(Point(tf.constant(1), tf.constant(2))).save(str(tmp_path))
    element = next(iter(tf.data.Dataset.load(str(tmp_path))))
    assert type(element) is not Point and type(element).__name__ == "Point" and element.y.numpy() == 2


def test_shards(tmp_path):
    path = str(tmp_path)
    tf.data.Dataset.range(7).save(path, shard_func=lambda x: x % 3)
    description = json.loads((tmp_path / "dataset.json").read_text())
    assert description["version"] == 1 and [s["elements"] for s in description["shards"]] == [3, 2, 2]
    assert list(tf.data.Dataset.load(path).as_numpy_iterator()) == [0, 1, 2, 3, 4, 5, 6]
    one_by_one = tf.data.Dataset.load(path, reader_func=lambda shards: shards.flat_map(lambda d: d))
    assert list(one_by_one.as_numpy_iterator()) == [0, 3, 6, 1, 4, 2, 5]
    with pytest.raises(tf.errors.InvalidArgumentError, match="shard_func gave the shard -1"):
        tf.data.Dataset.range(7).save(path, shard_func=lambda x: tf.constant(-1))
    assert len(list(tf.data.Dataset.load(path))) == 7
    assert len(os.listdir(path)) == 2
    with pytest.raises(tf.errors.InvalidArgumentError, match="element_spec is"):
        tf.data.Dataset.load(path, tf.TensorSpec([], tf.float32))


# ---- Nothing outside the folder


class Served(tf.Module):
    def __init__(self, folder):
        super().__init__()
        self.v = tf.Variable([1.0, 2.0])
        words = folder / "words.txt"
        words.write_text("a\nb\n")
        self.words = tf.saved_model.Asset(str(words))
        self.parts = [tf.Variable(3), {"x": tf.Variable("text")}]

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def __call__(self, x, name="n"):
        return {"y": x * 2.0, "z": (tf.io.read_file(self.words.asset_path), self.v + 1.0)}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    tf.saved_model.save(Served(folder), folder / "model", signatures=None)
    return folder / "model"


def change(folder, edit):
    path = folder / "saved_model.json"
    model = json.loads(path.read_text())
    edit(model)
    path.write_text(json.dumps(model))


def named(model, kind, name):
    row = model["functions"][0] if kind == "function" else next(r for r in model["objects"] if r["kind"] == "asset")
    row["file"] = name


@pytest.mark.parametrize("kind", ["function", "asset"])
@pytest.mark.parametrize("name", ["/etc/passwd", "../outside", "functions/../../outside", "link", "linked/outside", "", "a\0b"])
def test_names_that_lead_out_of_a_model_are_refused(tmp_path, saved, kind, name):
    folder = tmp_path / "model"
    shutil.copytree(saved, folder)
    (tmp_path / "outside").write_bytes((saved / "functions/0.graph").read_bytes())
    for inner in (folder, folder / "assets"):
        (inner / "link").symlink_to(tmp_path / "outside")
        (inner / "linked").symlink_to(tmp_path)
    change(folder, lambda model: named(model, kind, name))
    if (kind, name) == ("asset", ""):
        return  # the folder of assets itself: nothing is read before a function does
    with pytest.raises(tf.errors.InvalidArgumentError, match="saved_model.json: the name .* leads out of the folder"):
        tf.saved_model.load(folder)


@pytest.mark.parametrize("name", ["functions", "assets", "variables"])
def test_folders_that_are_links_are_refused(tmp_path, saved, name):
    folder = tmp_path / "model"
    shutil.copytree(saved, folder)
    shutil.move(folder / name, tmp_path / "elsewhere")
    (folder / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(tf.errors.InvalidArgumentError, match="symbolic link"):
        tf.saved_model.load(folder)


def test_a_model_behind_a_link_loads(tmp_path, saved):
    (tmp_path / "latest").symlink_to(saved)
    assert tf.saved_model.load(tmp_path / "latest")(tf.constant([2.0]))["y"].numpy() == 4.0


def test_names_that_lead_out_of_a_dataset_are_refused(tmp_path):
    tf.data.Dataset.range(3).save(str(tmp_path / "d"))
    path = tmp_path / "d/dataset.json"
    model = json.loads(path.read_text())
    for name in ("/etc/passwd", "../x", "elements/../../x"):
        model["shards"][0]["file"] = name
        path.write_text(json.dumps(model))
        with pytest.raises(tf.errors.InvalidArgumentError, match="dataset.json: the name .* leads out"):
            tf.data.Dataset.load(str(tmp_path / "d"))


def test_a_manager_removes_nothing_elsewhere(tmp_path):
    other = tmp_path / "other"
    precious = tf.train.Checkpoint(v=tf.Variable(1)).write(other / "ck")
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "checkpoint").write_text(f'model_checkpoint_path: "{precious}"\nall_model_checkpoint_paths: "{precious}"\n')
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=tf.Variable(2)), folder, max_to_keep=1)
    for _ in range(3):
        manager.save()
    assert tf.train.load_variable(precious, "v/.ATTRIBUTES/VARIABLE_VALUE") == 1


# ---- Damage

def check_damage(path, good, changed, load):
    """Loading what may be damaged gives a value or one of TensorFlow's errors that names the file or its folder."""
    path.write_bytes(changed)
    try:
        load()
    except tf.errors.OpError as error:
        assert path.name in str(error) or path.parent.name in str(error) or path.stem in str(error), error
        return 1
    finally:
        path.write_bytes(good)
    return 0


def use(folder):
    loaded = tf.saved_model.load(folder)
    for function in loaded.signatures.values():
        try:
            function(tf.constant([1.0]))
        except (TypeError, tf.errors.OpError):
            pass  # it has other arguments now
    return loaded


@pytest.mark.parametrize("how", [mutated, mutated_json])
def test_a_damaged_description_of_a_model(tmp_path, saved, how):
    folder = tmp_path / "model"
    shutil.copytree(saved, folder)
    path = folder / "saved_model.json"
    good = path.read_bytes()
    found = sum(check_damage(path, good, how(good, seed), lambda: use(folder)) for seed in range(ROUNDS))
    assert found > ROUNDS // 4


@pytest.mark.parametrize("how", [mutated, mutated_json])
def test_a_damaged_description_of_a_dataset(tmp_path, how):
    element = {"a": Point(tf.constant([1]), None), "b": tf.ragged.constant([[1], [2, 3]]), "c": tf.sparse.eye(2)}
    tf.data.Dataset.from_tensors(element).repeat(2).save(str(tmp_path))
    path = tmp_path / "dataset.json"
    good = path.read_bytes()
    found = sum(
        check_damage(path, good, how(good, seed), lambda: list(tf.data.Dataset.load(str(tmp_path)))) for seed in range(ROUNDS)
    )
    assert found > ROUNDS // 4


def test_damaged_files_of_a_model(tmp_path, saved):
    folder = tmp_path / "model"
    shutil.copytree(saved, folder)
    files = [p for p in folder.rglob("*") if p.is_file() and p.name not in ("saved_model.json", "words.txt")]
    assert len(files) >= 3
    for path in files:
        good = path.read_bytes()
        for seed in range(ROUNDS // 3):
            check_damage(path, good, mutated(good, seed), lambda: use(folder))
        path.unlink()
        with pytest.raises((tf.errors.NotFoundError, tf.errors.DataLossError), match=path.stem):
            tf.saved_model.load(folder)
        path.write_bytes(good)


def test_damaged_elements(tmp_path):
    tf.data.Dataset.from_tensors((tf.constant(["a", "bc"]), tf.ones([3]))).repeat(3).save(str(tmp_path))
    (path,) = tmp_path.glob("*/*.elements")
    good = path.read_bytes()
    for seed in range(ROUNDS):
        check_damage(path, good, mutated(good, seed), lambda: list(tf.data.Dataset.load(str(tmp_path))))


@pytest.mark.parametrize("kind", ["cache", "snapshot"])
def test_a_kept_pass_of_other_elements(tmp_path, kind):
    def kept(dataset):
        return list(getattr(dataset, kind)(str(tmp_path / "kept")).as_numpy_iterator())

    assert kept(tf.data.Dataset.range(3)) == [0, 1, 2]
    for other in (tf.constant([1.0, 2.0, 3.0]), tf.constant([[1, 2]], tf.int64), (tf.range(3), tf.range(3))):
        with pytest.raises(tf.errors.DataLossError, match="element 0: .*wanted"):
            kept(tf.data.Dataset.from_tensor_slices(other))


def test_elements_that_are_whole_and_lie(tmp_path):
    """Checksums are right, sizes and dtypes are not."""
    tf.data.Dataset.from_tensors(tf.constant([1.0, 2.0, 3.0])).save(str(tmp_path))
    (path,) = tmp_path.glob("*/*.elements")
    head, element = [r.numpy() for r in tf.data.TFRecordDataset(str(path))]
    at = element.index(b"float32") + len(b"float32") + 1  # rank before, sizes from here
    lies = [element[:at] + n.to_bytes(8, "little", signed=True) + element[at + 8 :] for n in (-1, 4, 2**40, 2**62, -(2**63))]
    lies += [element.replace(b"float32", b"float16"), element.replace(b"float32", b"strings"), element[:-1], b"", b"\xff" * 4]
    lies += [element.replace(b"\x07float32", name) for name in (b"\x06string", b"\x07variant", b"\x08resource")]
    lies += [element[: at - 1] + bytes([n]) + b"\0" * 8 * n for n in (13, 255)]
    lies += [element[: at - 1] + b"\2" + (2**62).to_bytes(8, "little") + b"\0" * 8]
    for lie in lies:
        with tf.io.TFRecordWriter(str(path)) as writer:
            writer.write(head)
            writer.write(lie)
        with pytest.raises(tf.errors.DataLossError, match=r"00000.elements: element 0: "):
            list(tf.data.Dataset.load(str(tmp_path)))
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in (head, element, element):
            writer.write(record)
    with pytest.raises(tf.errors.DataLossError, match="2 elements were read, and the description of the dataset says 1"):
        list(tf.data.Dataset.load(str(tmp_path)))


GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"


@pytest.mark.parametrize("how", [mutated, mutated_json])
def test_a_checkpoint_whose_graph_lies(tmp_path, how):
    """The checksums are right: what is wrong is what the graph of objects says."""
    module = tf.Module()
    module.parts = [tf.Variable(1.0), {"a": tf.Variable([2, 3])}]
    checkpoint = tf.train.Checkpoint(m=module)
    *_, names, values = object_graph.gather(checkpoint)
    at = names.index(GRAPH)
    good = values[at].numpy()
    found = 0
    for seed in range(ROUNDS):
        values[at] = tf.constant(how(good, seed))
        tf._core.save_checkpoint(str(tmp_path / "lying"), names, values)
        try:
            tf.train.Checkpoint(m=module).read(tmp_path / "lying").expect_partial()
            tf.train.CheckpointView(tmp_path / "lying").descendants()
        except tf.errors.OpError as error:
            assert "lying" in str(error)
            found += 1
        except ValueError as error:
            assert "incompatible tensor with shape" in str(error)  # a value of another variable
    assert found > ROUNDS // 8


def test_values_for_what_takes_none(tmp_path):
    """A node of the graph that has values now belongs to an object without."""
    path = tf.train.Checkpoint(part=tf.Variable(1.0)).write(tmp_path / "ck")
    status = tf.train.Checkpoint(part=tf.Module()).read(path)
    with pytest.raises(AssertionError, match="part/"):
        status.assert_consumed()


def test_states_that_are_none(tmp_path):
    iterator = iter(tf.data.Dataset.range(9).shuffle(3))
    *_, names, values = object_graph.gather(tf.train.Checkpoint(it=iterator))
    (at,) = (i for i, name in enumerate(names) if name.endswith("ITERATOR_STATE"))
    for state in ("x", [], [-1], [[1, 2]], [1.5], 3, [(1 << 40) + 1], [1 << 62]):
        values[at] = tf.constant(state) if state != [] else tf.zeros([0], tf.int64)
        if isinstance(state, list) and state and isinstance(state[0], int):
            values[at] = tf.constant(state, tf.int64)
        tf._core.save_checkpoint(str(tmp_path / "ck"), names, values)
        with pytest.raises(tf.errors.DataLossError, match="is no state of an iterator"):
            tf.train.Checkpoint(it=iterator).read(tmp_path / "ck")


@pytest.mark.parametrize("size", [10**30, -1, 1.5, "x", 2**63])
def test_sizes_that_none_can_have(tmp_path, saved, size):
    tf.data.Dataset.from_tensors(tf.constant([1, 2])).save(str(tmp_path / "d"))
    path = tmp_path / "d/dataset.json"
    model = json.loads(path.read_text())
    model["element_spec"]["tensor"]["shape"] = [size]
    path.write_text(json.dumps(model))
    with pytest.raises(tf.errors.DataLossError, match="dataset.json is damaged at element_spec"):
        tf.data.Dataset.load(str(tmp_path / "d"))
    folder = tmp_path / "model"
    shutil.copytree(saved, folder)
    change(folder, lambda model: model["functions"][0]["inputs"][0].update(shape=[size]))
    with pytest.raises(tf.errors.DataLossError, match=r"saved_model.json is damaged at (objects|signatures).*is no shape"):
        tf.saved_model.load(folder)


def test_a_damaged_list_of_checkpoints(tmp_path, caplog):
    path = tmp_path / "checkpoint"
    tf.train.Checkpoint(v=tf.Variable(1)).save(tmp_path / "ck")
    good = path.read_bytes()
    for seed in range(ROUNDS):
        path.write_bytes(mutated(good, seed))
        newest = tf.train.latest_checkpoint(tmp_path)
        assert newest is None or isinstance(newest, str)
        tf.train.CheckpointManager(tf.train.Checkpoint(v=tf.Variable(1)), tmp_path, 3)
    path.write_bytes(b'model_checkpoint_path: "ck-1"\nall_model_checkpoint_paths: \xff\n')
    assert tf.train.latest_checkpoint(tmp_path) is None
    assert "checkpoint ignored: line 2 is damaged" in caplog.text
    tf.train.Checkpoint(v=tf.Variable(5)).save(tmp_path / "ck")
    assert (tmp_path / "checkpoint.damaged").exists() and tf.train.latest_checkpoint(tmp_path)


@pytest.mark.parametrize("name", ["\\ud800", "\\u0000", "a\\u0000b", "\\000", "\\377"])
def test_names_that_no_file_has_in_a_list_of_checkpoints(tmp_path, caplog, name):
    text = f'model_checkpoint_path: "{name}"\nall_model_checkpoint_paths: "{name}"\n'
    (tmp_path / "checkpoint").write_text(text)
    assert tf.train.latest_checkpoint(tmp_path) is None
    assert "checkpoint ignored: line 1 is damaged" in caplog.text
    path = tf.train.CheckpointManager(tf.train.Checkpoint(v=tf.Variable(1)), tmp_path, 3).save()
    assert (tmp_path / "checkpoint.damaged").read_text() == text and tf.train.latest_checkpoint(tmp_path) == path


# ---- Descriptions that nest for ever: whoever walks them goes down by recursion

DEEP = "[" * 200_000 + "]" * 200_000


def mixed(a, b):
    product = ((a ^ 0x9E3779B97F4A7C15) * (b ^ 0xD1B54A32D192ED03)) % (1 << 128)
    return (product ^ product >> 64) % (1 << 64)


def hashed(data, seed=0):
    """base/hash.h: hash_bytes."""
    value = seed ^ len(data)
    whole = len(data) // 8 * 8
    for (word,) in struct.iter_unpack("<Q", data[:whole]):
        value = mixed(value, word)
    return mixed(value, int.from_bytes(data[whole:], "little"))


def graph_with(path, edit):
    """Writes a stored graph again, with another header and a right checksum."""
    data = path.read_bytes()
    size, _, _ = struct.unpack_from("<QQQ", data, 12)
    header, binary = json.loads(data[36 : 36 + size]), data[36 + size :]
    text = edit(header).encode()
    numbers = struct.pack("<QQQ", len(text), len(binary), hashed(binary, hashed(text)))
    path.write_bytes(data[:12] + numbers + text + binary)


def with_deep(holder, key):
    def edit(header):
        holder(header)[key] = "@"
        return json.dumps(header).replace('"@"', DEEP)

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        with_deep(lambda header: next(n for n in header["graph"]["nodes"] if "attrs" in n)["attrs"], "other"),
        with_deep(lambda header: header["graph"], "results"),
        with_deep(lambda header: header, "more"),
    ],
    ids=["attribute", "results", "unknown"],
)
def test_a_graph_that_nests_for_ever(tmp_path, edit):
    folder = tmp_path / "model"
    module = tf.Module()
    module.total = tf.function(lambda x: tf.reduce_sum(x, axis=0), input_signature=[tf.TensorSpec([None])])
    tf.saved_model.save(module, folder)
    (path,) = folder.rglob("*.graph")
    graph_with(path, json.dumps)
    assert tf.saved_model.load(folder).total(tf.ones([3])).numpy() == 3  # the checksum is right
    graph_with(path, edit)
    with pytest.raises(tf.errors.DataLossError, match="nested deeper than"):
        tf.saved_model.load(folder)


def test_descriptions_that_nest_for_ever(tmp_path, saved):
    folder = tmp_path / "model"
    shutil.copytree(saved, folder)
    text = (folder / "saved_model.json").read_text()
    for name in ('"format":', '"version":', '"objects":'):
        (folder / "saved_model.json").write_text(re.sub(name + " *[^,]*,", f"{name} {DEEP},", text, count=1))
        with pytest.raises(tf.errors.DataLossError, match="saved_model.json is damaged"):
            tf.saved_model.load(folder)
    tf.data.Dataset.range(2).save(str(tmp_path / "d"))
    path = tmp_path / "d/dataset.json"
    path.write_text(path.read_text().replace("{", '{"deep": ' + DEEP + ", ", 1))
    with pytest.raises(tf.errors.DataLossError, match="dataset.json is damaged"):
        tf.data.Dataset.load(str(tmp_path / "d"))


def index_with(prefix, edit):
    """Writes the index of a checkpoint again, with another text and a right checksum."""
    path = pathlib.Path(f"{prefix}.index")
    data = path.read_bytes()
    text = edit(json.loads(data[20:])).encode()
    other = path.with_name("text")
    other.write_bytes(text)
    path.write_bytes(data[:8] + struct.pack("<QI", len(text), tf._core.checksum_of_file(str(other))) + text)


def test_an_index_that_nests_for_ever(tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable(1.0)).write(tmp_path / "ck")
    index_with(path, with_deep(lambda header: header, "more"))
    with pytest.raises(tf.errors.DataLossError, match="nested deeper than"):
        tf.train.load_checkpoint(path)


@pytest.mark.parametrize("shape", [[], [3], [1 << 40]])
@pytest.mark.parametrize("dtype", ["variant", "resource"])
def test_values_that_nothing_stores(tmp_path, dtype, shape):
    path = tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).write(tmp_path / "ck")

    def edit(header):
        for row in header["tensors"]:
            if row["name"].startswith("v/"):
                row.update(dtype=dtype, shape=shape, bytes=0)
        return json.dumps(header)

    index_with(path, edit)
    with pytest.raises(tf.errors.DataLossError, match=f"'v/.*' is said to be a {dtype}"):
        tf.train.load_checkpoint(path)


def test_tensorflows_list_of_checkpoints_with_other_letters(tmp_path):
    tf.train.Checkpoint(v=tf.Variable(1)).write(tmp_path / "kä")
    (tmp_path / "checkpoint").write_bytes(b'model_checkpoint_path: "k\\303\\244"\nall_model_checkpoint_paths: "k\\303\\244"\n')
    assert tf.train.latest_checkpoint(tmp_path) == str(tmp_path / "kä")


# ---- Others' files


def test_a_checkpoint_of_tensorflow(theirs):
    prefix = str(theirs / "checkpoint/ckpt-1")
    checkpoint = tf.train.Checkpoint(v=tf.Variable([0.0, 0.0]))
    for write in (
        lambda: checkpoint.write(prefix),
        lambda: checkpoint.save(theirs / "checkpoint/ckpt"),
        lambda: checkpoint.save(theirs / "checkpoint/other"),
        lambda: tf.train.CheckpointManager(checkpoint, theirs / "checkpoint", 1).save(),
    ):
        with pytest.raises(tf.errors.AlreadyExistsError, match="TensorFlow's own checkpoint format.*not overwritten"):
            write()
    with pytest.raises(tf.errors.DataLossError, match="TensorFlow's own checkpoint format"):
        checkpoint.restore(prefix)
    os.remove(prefix + ".index")
    with pytest.raises(tf.errors.AlreadyExistsError, match="data-00000-of-00001 is there already"):
        checkpoint.write(prefix)
    shutil.copy(THEIRS / "checkpoint/ckpt-1.index", prefix + ".index")


def test_a_saved_model_of_tensorflow(theirs, tmp_path):
    folder = theirs / "saved_model"
    with pytest.raises(tf.errors.AlreadyExistsError, match=r"own format \(saved_model.pb\): it is not overwritten"):
        tf.saved_model.save(Served(tmp_path), folder)
    assert sorted(os.listdir(folder)) == sorted(os.listdir(THEIRS / "saved_model"))
    with pytest.raises(OSError, match="TensorFlow's own format"):
        tf.saved_model.load(folder)


def test_a_dataset_of_tensorflow(theirs):
    folder = str(theirs / "dataset")
    with pytest.raises(tf.errors.AlreadyExistsError, match="TensorFlow's own format"):
        tf.data.Dataset.range(3).save(folder)
    with pytest.raises(tf.errors.InvalidArgumentError, match="TensorFlow's own format"):
        tf.data.Dataset.load(folder)


def test_a_cache_of_tensorflow(theirs):
    dataset = tf.data.Dataset.range(3).cache(str(theirs / "cache/cache"))
    with pytest.raises(tf.errors.DataLossError, match="TensorFlow's own checkpoint format"):
        list(dataset)


def test_descriptions_of_other_programs_stay(tmp_path):
    for name, save in (
        ("saved_model.json", lambda: tf.saved_model.save(Served(tmp_path), tmp_path / "x")),
        ("ck.index", lambda: tf.train.Checkpoint(v=tf.Variable(1)).write(tmp_path / "x/ck")),
    ):
        path = tmp_path / "x" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text('{"mine": 1}')
        with pytest.raises(tf.errors.AlreadyExistsError, match="is there already"):
            save()
        assert path.read_text() == '{"mine": 1}'
        path.unlink()


def test_an_event_file_that_is_there_is_left(tmp_path, monkeypatch):
    first = tf.summary.create_file_writer(tmp_path)
    match = re.fullmatch(r"(.*tfevents\.)(\d+)(\..*\.)(\d+)(\.v2)", first.path)
    second = int(match[2])
    taken = [f"{match[1]}{second + s:010}{match[3]}{int(match[4]) + n}{match[5]}" for s in range(60) for n in range(1, 4)]
    for path in taken:
        pathlib.Path(path).write_bytes(b"others")
    writer = tf.summary.create_file_writer(tmp_path)
    assert writer.path not in taken
    assert all(pathlib.Path(path).read_bytes() == b"others" for path in taken)


@pytest.mark.parametrize("name", ["m.keras", "m.weights.h5", "x.pkl"])
def test_restore_says_what_a_file_is(tmp_path, name):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    path = tmp_path / name
    if name == "x.pkl":
        path.write_bytes(pickle.dumps([1]))
    else:
        model.save(path) if name == "m.keras" else model.save_weights(path)
    with pytest.raises(tf.errors.NotFoundError, match="ZIP archive|HDF5|pickle"):
        tf.train.Checkpoint(model).restore(path)
