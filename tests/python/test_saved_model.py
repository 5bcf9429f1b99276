"""tf.saved_model: what is saved runs without the code that made it."""

import collections
import gc
import json
import os

import numpy as np
import pytest
import tandem as tf


class Scale(tf.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = tf.Variable(factor, name="factor")
        self.parts = [tf.Variable(1), {"deep": tf.Variable([2.0, 3.0], trainable=False)}]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def scale(self, x):
        return self.factor * x

    @tf.function
    def any(self, x, training=False, how="add"):
        y = x + self.factor if how == "add" else x * self.factor
        return {"y": y, "pair": (y * 2.0, None)} if training else y

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def change(self, x):
        self.factor.assign(x)


@pytest.fixture
def saved(tmp_path):
    module = Scale(3.0)
    module.any(tf.constant(1.0))
    module.any(tf.constant([1.0, 2.0]), training=True)
    module.any(tf.constant([1.0]), how="multiply")
    tf.saved_model.save(module, tmp_path / "m", signatures=module.scale)
    return tmp_path / "m"


def test_a_fresh_process_needs_no_code(saved, run_python):
    status, out, err = run_python(f"""
        import tandem as tf
        m = tf.saved_model.load({str(saved)!r})
        print(m.scale(tf.constant([1.0, 2.0])).numpy().tolist(), float(m.factor))
        print(m.parts[0].numpy(), m.parts[1]["deep"].numpy().tolist(), m.parts[1]["deep"].trainable)
        print({{k: v.numpy().tolist() for k, v in m.signatures["serving_default"](x=tf.constant([5.0])).items()}})
    """)
    assert status == 0, err
    assert out.splitlines() == ["[3.0, 6.0] 3.0", "1 [2.0, 3.0] False", "{'output_0': [15.0]}"]


def test_traces_are_chosen_by_structure_and_values(saved):
    loaded = tf.saved_model.load(saved)
    assert loaded.any(tf.constant(1.0)).numpy() == 4.0
    assert loaded.any(tf.constant(1.0), training=False).numpy() == 4.0
    trained = loaded.any(tf.constant([1.0, 2.0]), True)
    assert trained["y"].numpy().tolist() == [4.0, 5.0]
    assert trained["pair"][0].numpy().tolist() == [8.0, 10.0] and trained["pair"][1] is None
    assert loaded.any(tf.constant([2.0]), how="multiply").numpy().tolist() == [6.0]
    assert loaded.any(1.0).numpy() == 4.0 and loaded.any(np.float64(1.0)).numpy() == 4.0
    with pytest.raises(ValueError, match="Could not find matching concrete function"):
        loaded.any(tf.constant("text"))
    with pytest.raises(ValueError, match="3 option"):
        loaded.any(tf.constant([1.0]), how="other")
    with pytest.raises(TypeError):
        loaded.any()


def test_variables_are_shared_by_functions_and_attributes(saved):
    loaded = tf.saved_model.load(saved)
    loaded.factor.assign(10.0)
    assert loaded.scale(tf.constant([1.0])).numpy() == [10.0]
    loaded.change(tf.constant(7.0))
    assert loaded.factor.numpy() == 7.0
    assert loaded.signatures["serving_default"](tf.constant([1.0]))["output_0"].numpy() == [7.0]
    assert [v.name for v in loaded.scale.get_concrete_function().trainable_variables] == ["factor:0"]


def test_gradients_through_a_loaded_function(saved):
    loaded = tf.saved_model.load(saved)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(loaded.scale(tf.constant([2.0, 5.0])))
    assert tape.gradient(loss, loaded.factor).numpy() == 7.0


def test_loaded_functions_inside_functions(saved):
    loaded = tf.saved_model.load(saved)

    @tf.function
    def around(x):
        return loaded.scale(x) + loaded.signatures["serving_default"](x=x)["output_0"]

    assert around(tf.constant([2.0])).numpy() == [12.0]
    loaded.factor.assign(1.0)
    assert around(tf.constant([2.0])).numpy() == [4.0]


def test_a_loaded_model_can_be_saved_again(saved, tmp_path):
    loaded = tf.saved_model.load(saved)
    loaded.factor.assign(4.0)
    tf.saved_model.save(loaded, tmp_path / "again", signatures=loaded.signatures)
    again = tf.saved_model.load(tmp_path / "again")
    assert again.scale(tf.constant([1.0])).numpy() == [4.0]
    assert again.any(tf.constant([2.0]), how="multiply").numpy().tolist() == [8.0]
    assert again.signatures["serving_default"](x=tf.constant([1.0]))["output_0"].numpy() == [4.0]


def test_signatures(tmp_path):
    class Two(tf.Module):
        @tf.function
        def f(self, a, b):
            return {"sum": a + b, "first": a}

    module = Two()
    concrete = module.f.get_concrete_function(tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.int32, name="bee"))
    tf.saved_model.save(module, tmp_path / "m", signatures={"both": concrete})
    loaded = tf.saved_model.load(tmp_path / "m")
    assert list(loaded.signatures) == ["both"]
    both = loaded.signatures["both"]
    args, kwargs = both.structured_input_signature
    assert args == () and kwargs == {
        "a": tf.TensorSpec([None], tf.int32, name="a"), "bee": tf.TensorSpec([], tf.int32, name="bee")
    }  # fmt: skip
    assert both.structured_outputs == {
        "sum": tf.TensorSpec([None], tf.int32, name="sum"), "first": tf.TensorSpec([None], tf.int32, name="first")
    }  # fmt: skip
    result = both(a=tf.constant([1, 2]), bee=tf.constant(10))
    assert result["sum"].numpy().tolist() == [11, 12] and result["first"].numpy().tolist() == [1, 2]
    with pytest.raises(TypeError, match="takes"):
        both(a=tf.constant([1]))
    with pytest.raises(TypeError, match="Can not cast"):
        both(a=tf.constant([1.0]), bee=tf.constant(10))
    with pytest.raises(ValueError, match="traces"):
        tf.saved_model.save(module, tmp_path / "x", signatures=tf.function(lambda x: x))
    with pytest.raises(ValueError, match="TensorFlow function"):
        tf.saved_model.save(module, tmp_path / "x", signatures=lambda x: x)


def test_names_of_nested_inputs_and_aliases(tmp_path):
    class Nested(tf.Module):
        @tf.function(input_signature=[[tf.TensorSpec([]), {"k": tf.TensorSpec([], name="named")}], tf.TensorSpec([])])
        def f(self, inputs, other):
            return inputs[0] + inputs[1]["k"] * other

    module = Nested()
    options = tf.saved_model.SaveOptions(function_aliases={"nick": module.f})
    tf.saved_model.save(module, tmp_path, options=options)
    loaded = tf.saved_model.load(tmp_path, options=tf.saved_model.LoadOptions(experimental_load_function_aliases=True))
    assert list(loaded.signatures["serving_default"].structured_input_signature[1]) == ["inputs", "named", "other"]
    assert loaded.function_aliases["nick"]([1.0, {"k": 2.0}], 3.0).numpy() == 7.0


def test_the_only_function_with_a_signature_is_the_default(tmp_path):
    class One(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([], tf.float32, name="value")])
        def f(self, x):
            return x + 1.0, x - 1.0

    tf.saved_model.save(One(), tmp_path)
    signature = tf.saved_model.load(tmp_path).signatures["serving_default"]
    assert {k: v.numpy() for k, v in signature(value=tf.constant(3.0)).items()} == {"output_0": 4.0, "output_1": 2.0}


def test_control_flow_randomness_and_state(tmp_path):
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.count = tf.Variable(0)

        @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
        def loop(self, n):
            self.count.assign_add(1)
            return tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), (0, 0))[1]

        @tf.function(input_signature=[])
        def draw(self):
            return tf.random.uniform([3], seed=5)

    module = Model()
    module.draw()
    tf.saved_model.save(module, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    assert loaded.loop(tf.constant(5)).numpy() == 10 and loaded.count.numpy() == 1
    # The state of random ops is part of the model: it goes on as the original does.
    np.testing.assert_array_equal(loaded.draw(), module.draw())
    assert not np.array_equal(loaded.draw(), module.draw() * 0)


def test_functions_without_traces_say_so(tmp_path):
    module = Scale(1.0)
    tf.saved_model.save(module, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    assert list(loaded.signatures) == []
    with pytest.raises(ValueError, match="zero restored functions"):
        loaded.any(tf.constant(1.0))
    with pytest.raises(TypeError):
        loaded()


def test_ragged_and_sparse_arguments(tmp_path):
    class Sums(tf.Module):
        @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.float32)])
        def ragged(self, x):
            return tf.reduce_sum(x)

        @tf.function(input_signature=[tf.SparseTensorSpec([None, 3], tf.float32)])
        def sparse(self, x):
            return tf.sparse.reduce_sum(x, 1), x

        @tf.function
        def either(self, x, y=None):
            return x * 2.0 if y is None else x.with_flat_values(x.flat_values * y)

    made = Sums()
    ragged = tf.ragged.constant([[[1.0], []], [[2.0, 3.0]]])
    made.either(ragged), made.either(tf.constant([[1.0], [2.0]])), made.either(ragged, tf.constant(3.0))
    tf.saved_model.save(made, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    assert loaded.ragged(tf.ragged.constant([[1.0], [], [2.0, 5.0]])).numpy() == 8.0
    sums, same = loaded.sparse(tf.sparse.from_dense([[0.0, 2.0, 1.0], [0.0, 0.0, 0.0]]))
    assert sums.numpy().tolist() == [3.0, 0.0]
    assert isinstance(same, tf.SparseTensor) and same.indices.numpy().tolist() == [[0, 1], [0, 2]]
    assert loaded.either(ragged).to_list() == [[[2.0], []], [[4.0, 6.0]]]
    assert loaded.either(ragged, 3.0).to_list() == [[[3.0], []], [[6.0, 9.0]]]
    assert loaded.either(tf.constant([[1.0], [2.0]])).numpy().tolist() == [[2.0], [4.0]]
    # What consists of as many tensors is something else.
    parts = tf.constant([1.0, 2.0]), tf.constant([0, 1, 2], tf.int64)
    for function, given in ((loaded.ragged, parts), (loaded.sparse, ragged), (loaded.ragged, ragged),
                            (loaded.sparse, tf.sparse.from_dense([[1.0, 2.0]]))):  # fmt: skip
        with pytest.raises(ValueError, match="Could not find matching concrete function"):
            function(given)


def test_results_of_a_signature_are_dense(tmp_path):
    """A ragged result took the numbers of the results behind it."""
    module = tf.Module()
    module.f = tf.function(lambda x: {"a": tf.RaggedTensor.from_row_lengths(x, [1, 2]), "b": x},
                           input_signature=[tf.TensorSpec([3])])  # fmt: skip
    with pytest.raises(ValueError, match="one Tensor output per string key"):
        tf.saved_model.save(module, tmp_path / "a", signatures=module.f)
    tf.saved_model.save(module, tmp_path / "b")
    loaded = tf.saved_model.load(tmp_path / "b")
    assert list(loaded.signatures) == []
    result = loaded.f(tf.constant([1.0, 2.0, 3.0]))
    assert result["a"].to_list() == [[1.0], [2.0, 3.0]] and result["b"].shape == (3,)


def test_assets_travel(tmp_path):
    (tmp_path / "words.txt").write_text("one\ntwo\n")

    class Reader(tf.Module):
        def __init__(self, path):
            super().__init__()
            self.words = tf.saved_model.Asset(path)

        @tf.function(input_signature=[])
        def where(self):
            return self.words.asset_path

    tf.saved_model.save(Reader(str(tmp_path / "words.txt")), tmp_path / "m")
    os.rename(tmp_path / "m", tmp_path / "moved")
    os.remove(tmp_path / "words.txt")
    path = tf.saved_model.load(tmp_path / "moved").where().numpy().decode()
    with open(path) as text:
        assert text.read() == "one\ntwo\n"
    assert path.startswith(str(tmp_path / "moved"))


def test_lists_keep_the_places_of_what_is_stored(tmp_path):
    """What stood behind a None or a number moved up."""
    pair = collections.namedtuple("Pair", ["second", "first"])
    module = tf.Module()
    module.blocks = [None, tf.Variable(1.0), "text", tf.Variable(2.0), None]
    module.parts = (3, tf.Variable(4.0))
    module.named = pair(None, {"a": [tf.Variable(5.0)]})
    tf.saved_model.save(module, tmp_path / "m")
    tf.saved_model.save(tf.saved_model.load(tmp_path / "m"), tmp_path / "again")
    for folder in ("m", "again"):
        loaded = tf.saved_model.load(tmp_path / folder)
        # As in TensorFlow: None before the last that is stored, and nothing behind it; no class of named tuples.
        assert [None if b is None else b.numpy() for b in loaded.blocks] == [None, 1.0, None, 2.0]
        assert loaded.parts[0] is None and loaded.parts[1].numpy() == 4.0 and len(loaded.parts) == 2
        assert loaded.named[0] is None and loaded.named[1]["a"][0].numpy() == 5.0


class Words(tf.Module):
    def __init__(self):
        super().__init__()
        self.counts = tf.lookup.experimental.MutableHashTable("string", "int64", -1)
        self.counts.insert(["a", "b"], [1, 2])
        self.fixed = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1, 2], [0.5, 1.5]), 9.0)
        hidden = tf.lookup.experimental.DenseHashTable("int64", "int64", 0, -1, -2)
        hidden.insert([7], [70])
        self.hidden = tf.function(lambda x: hidden.lookup(x), input_signature=[tf.TensorSpec([None], tf.int64)])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def count(self, x):
        return self.counts.lookup(x)

    @tf.function(input_signature=[tf.TensorSpec([], tf.string), tf.TensorSpec([], tf.int64)])
    def add(self, x, y):
        self.counts.insert(x, y)
        return self.counts.size()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
    def look(self, x):
        return tf.cond(tf.size(x) > 0, lambda: self.fixed.lookup(x), lambda: tf.zeros([0]))


def test_lookup_tables_travel(tmp_path, run_python):
    """A function knew a table by its number in the process that saved it: another one was read elsewhere, or none."""
    tf.saved_model.save(Words(), tmp_path / "m")
    program = f"""
        import tandem as tf
        others = [tf.lookup.experimental.MutableHashTable("string", "int64", -1) for _ in range(40)]
        for table in others:
            table.insert(["a"], [1000])
        m = tf.saved_model.load({str(tmp_path / "m")!r})
        print(m.count(tf.constant(["a", "b", "c"])).numpy().tolist(), m.look(tf.constant([1, 2, 3])).numpy().tolist())
        print(m.hidden(tf.constant([7, 8], tf.int64)).numpy().tolist(), m.add("c", tf.constant(3, tf.int64)).numpy())
        print(m.counts.lookup(tf.constant("c")).numpy(), m.fixed.lookup(tf.constant([2])).numpy().tolist())
        tf.saved_model.save(m, {str(tmp_path / "again")!r})
        again = tf.saved_model.load({str(tmp_path / "again")!r})
        again.add("d", tf.constant(4, tf.int64))
        print(again.count(tf.constant(["c", "d"])).numpy().tolist(), m.count(tf.constant(["c", "d"])).numpy().tolist())
        print(all(table.size() == 1 for table in others))
    """
    status, out, err = run_python(program)
    assert status == 0, err
    assert out.splitlines() == ["[1, 2, -1] [0.5, 1.5, 9.0]", "[70, 0] 3", "3 [1.5]", "[3, 4] [3, -1]", "True"]


def test_what_is_the_root_is_stored_once(tmp_path):
    """The key that its value has in the checkpoint was looked up for the Checkpoint around it."""
    table = tf.lookup.experimental.MutableHashTable("string", "int64", -1)
    table.insert(["a"], [1])
    for number, (root, stored) in enumerate([(tf.Variable(5.0), 1), (table, 3)]):
        tf.saved_model.save(root, tmp_path / str(number))
        names = [name for name, _ in tf.train.list_variables(tmp_path / str(number) / "variables/variables")]
        assert len(names) == stored + 1, names  # and the graph
    assert tf.saved_model.load(tmp_path / "0").numpy() == 5.0
    assert tf.saved_model.load(tmp_path / "1").lookup(tf.constant(["a"])).numpy() == [1]


def test_a_table_is_read_once_for_a_save(tmp_path, monkeypatch):
    module, read = tf.Module(), []
    module.table = tf.lookup.experimental.MutableHashTable("string", "int64", -1)
    module.table.insert(["a"], [1])
    export = type(module.table).export
    monkeypatch.setattr(type(module.table), "export", lambda *args, **kwargs: read.append(1) or export(*args, **kwargs))
    tf.saved_model.save(module, tmp_path)
    assert len(read) == 1
    assert tf.saved_model.load(tmp_path).table.lookup(tf.constant(["a"])).numpy() == [1]


def test_a_description_cannot_name_tables_of_the_process(tmp_path):
    tf.saved_model.save(Words(), tmp_path)
    path = tmp_path / "saved_model.json"
    text = path.read_text()
    for tables in (lambda row: [], lambda row: [[number + 100, table] for number, table in row["tables"]]):
        model = json.loads(text)
        for row in model["functions"]:
            row["tables"] = tables(row)
        path.write_text(json.dumps(model))
        with pytest.raises(tf.errors.InvalidArgumentError, match="lookup table [0-9]+, which is not stored with it"):
            tf.saved_model.load(tmp_path)
    for change in (lambda m: m["tables"][0].pop("values"), lambda m: m["tables"].clear(),
                   lambda m: m["tables"][0].update(default=m["tables"][0]["keys"])):  # fmt: skip
        model = json.loads(text)
        change(model)
        path.write_text(json.dumps(model))
        with pytest.raises((tf.errors.DataLossError, tf.errors.InvalidArgumentError)):
            tf.saved_model.load(tmp_path)


def test_a_function_whose_table_is_gone_is_left_out(tmp_path, caplog):
    module = tf.Module()
    table = tf.lookup.experimental.MutableHashTable("string", "int64", -1)
    module.f = tf.function(lambda x: table.lookup(x))
    module.f(tf.constant("a"))
    module.f._python_function = module.f._converted = None
    del table
    gc.collect()
    tf.saved_model.save(module, tmp_path)
    assert "lookup table whose Python object is gone" in caplog.text


def test_variables_restore_as_a_checkpoint(saved):
    module = Scale(0.0)
    tf.train.Checkpoint(module).restore(saved).expect_partial()
    assert module.factor.numpy() == 3.0


def test_missing_and_damaged(saved, tmp_path):
    assert tf.saved_model.contains_saved_model(saved)
    assert not tf.saved_model.contains_saved_model(tmp_path / "nowhere")
    with pytest.raises(OSError, match="SavedModel file does not exist"):
        tf.saved_model.load(tmp_path / "nowhere")
    graph = next((saved / "functions").iterdir())
    good = graph.read_bytes()
    graph.write_bytes(good[: len(good) // 2])
    with pytest.raises(tf.errors.DataLossError, match="functions/"):
        tf.saved_model.load(saved)
    graph.write_bytes(good)
    model = json.loads((saved / "saved_model.json").read_text())
    model["functions"] = []
    (saved / "saved_model.json").write_text(json.dumps(model))
    with pytest.raises(tf.errors.DataLossError, match="damaged"):
        tf.saved_model.load(saved)
    (saved / "saved_model.json").write_text("{")
    with pytest.raises(tf.errors.DataLossError, match="damaged"):
        tf.saved_model.load(saved)
    (tmp_path / "tf").mkdir()
    (tmp_path / "tf" / "saved_model.pb").write_bytes(b"x")
    with pytest.raises(OSError, match="TensorFlow's own format"):
        tf.saved_model.load(tmp_path / "tf")


def test_what_cannot_be_saved(tmp_path):
    with pytest.raises(ValueError, match="Trackable"):
        tf.saved_model.save(3, tmp_path)


# ---- Keras ---------------------------------------------------------------------------------------------------


def make_model():
    layers = tf.keras.layers
    return tf.keras.Sequential([layers.Input((3,)), layers.Dense(4, activation="relu"), layers.BatchNormalization(),
                                layers.Dense(2)])  # fmt: skip


def test_keras_model(tmp_path, run_python):
    x = np.random.default_rng(0).normal(size=(5, 3)).astype("float32")
    model = make_model()
    tf.saved_model.save(model, tmp_path / "m")
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", model(x))
    status, out, err = run_python(f"""
        import sys
        import numpy as np
        import tandem as tf
        model = tf.saved_model.load({str(tmp_path / "m")!r})
        y = model.signatures["serving_default"](tf.constant(np.load({str(tmp_path / "x.npy")!r})))["output_0"]
        np.testing.assert_allclose(y, np.load({str(tmp_path / "y.npy")!r}), rtol=1e-6)
        assert "keras" not in sys.modules
    """)
    assert status == 0, err


def test_keras_export_and_tfsm_layer(tmp_path):
    x = np.random.default_rng(0).normal(size=(5, 3)).astype("float32")
    model = make_model()
    model.export(tmp_path / "m", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "m")
    np.testing.assert_allclose(loaded.serve(x), model(x), rtol=1e-6)
    assert len(loaded.variables) == len(model.variables)
    layer = tf.keras.layers.TFSMLayer(str(tmp_path / "m"), call_endpoint="serve")
    np.testing.assert_allclose(layer(x), model(x), rtol=1e-6)
    assert len(layer.trainable_variables) == len(model.trainable_variables)


class Masked(tf.experimental.ExtensionType):
    __name__ = "test_saved_model.Masked"
    values: tf.Tensor
    mask: tf.Tensor
    scale: int = 3


def test_extension_types_in_signatures(tmp_path, run_python):
    class Grower(tf.Module):
        def __init__(self):
            super().__init__()
            self.by = tf.Variable(100.0)

        @tf.function
        def grow(self, x):
            return Masked(x.values * self.by, x.mask, x.scale), x.values

    module = Grower()
    module.grow.get_concrete_function(Masked.Spec(tf.TensorSpec([None]), tf.TensorSpec([None], tf.bool), 3))
    tf.saved_model.save(module, str(tmp_path / "model"))
    grown, values = tf.saved_model.load(str(tmp_path / "model")).grow(Masked([1.0, 2.0], [True, False]))
    assert type(grown) is Masked and grown.values.numpy().tolist() == [100, 200] and grown.scale == 3
    assert values.numpy().tolist() == [1, 2]
    # Without the class: a type with the same fields.
    status, out, err = run_python(f"""
    import tandem as tf
    loaded = tf.saved_model.load({str(tmp_path / "model")!r})
    (concrete,) = loaded.grow.concrete_functions
    grown, _ = concrete(tf.constant([1.0, 3.0]), tf.constant([True, True]))
    print(type(grown).__name__, grown.values.numpy().tolist(), grown.scale)
    """)
    assert status == 0 and out.split() == ["AnonymousExtensionType", "[100.0,", "300.0]", "3"], err
    assert "which the program does not define" in err
