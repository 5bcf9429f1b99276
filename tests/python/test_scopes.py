"""Name scopes and the names of variables are TensorFlow's, over random programs (scope_programs.py)."""

import json
import pathlib

import pytest
import scope_programs as programs
import tandem as tf

ANSWERS = json.loads((pathlib.Path(__file__).parent / "data/scopes.json").read_text())
RUN = {
    "eager": programs.run,
    "function": programs.run_in_function,
    "function in a scope": lambda tf, program: programs.run_in_function(tf, program, "outer"),
    "modules": programs.run_modules,
}


@pytest.mark.parametrize("form", ANSWERS)
def test_names(form):
    for seed, wanted in enumerate(ANSWERS[form]):
        program = programs.make(seed)
        if isinstance(wanted, dict):
            with pytest.raises(Exception) as raised:
                RUN[form](tf, program)
            assert type(raised.value).__name__ == wanted["error"], program
        else:
            assert RUN[form](tf, program) == wanted, (seed, program)


def test_full_name_starts_at_the_root():
    with tf.name_scope("a"), tf.name_scope("b/") as scope:
        assert scope == "b/" and tf.get_current_name_scope() == "b"
        assert tf.Variable(1.0, name="w").name == "b/w:0"
        with tf.name_scope("c"):
            assert tf.Variable(1.0, name="w").name == "b/c/w:0"
    assert tf.get_current_name_scope() == ""


def test_ops_in_functions():
    names = []

    @tf.function(autograph=False)
    def f(x):
        with tf.name_scope("a"), tf.name_scope("b/"):
            names.append(tf.square(x).name)
        with tf.name_scope("a"):
            names.append(tf.square(x).name)
        with tf.name_scope("x"):  # taken by the argument
            names.append(tf.square(x).name)
        return x

    with tf.name_scope("outer"):
        f(tf.constant(1))
    assert [name.rpartition("/")[0] for name in names] == ["b", "a_1", "x_1"]


def test_bad_names():
    with pytest.raises(ValueError, match="must be a string"):
        tf.name_scope(None)

    @tf.function(autograph=False)
    def f(name):
        with tf.name_scope(name):
            return tf.constant(1)

    for name in ("a b", "-a", "/", "_a", "a$"):
        with pytest.raises(ValueError, match="is not a valid root scope name"):
            f(name)


def test_names_are_kept_in_files(tmp_path):
    with tf.name_scope("a"), tf.name_scope("b/"):
        module = tf.Module()
        module.w = tf.Variable(1.0, name="w")
    module.f = tf.function(lambda: module.w * 1.0)
    module.f()
    path = tf.train.Checkpoint(module=module).save(str(tmp_path / "ck"))
    tf.saved_model.save(module, str(tmp_path / "saved"))
    assert tf.saved_model.load(str(tmp_path / "saved")).w.name == "b/w:0"
    assert "module/w/.ATTRIBUTES/VARIABLE_VALUE" in dict(tf.train.list_variables(path))
