"""tf.compat.v1.saved_model: parts of a session's graph as functions that can be saved, and put into a graph again.

A signature is the part of the graph between its tensors. It is saved as Tandem saves functions; the names of the tensors
are saved with it, so that a graph that it is loaded into has them.
"""

import json
import os

from tandem import _core
from tandem._namespaces import get
from tandem.graph_mode import graph as graphs
from tandem.graph_mode.proto import MetaGraphDef, TensorInfo

CLASSIFY, PREDICT, REGRESS = (f"tensorflow/serving/{kind}" for kind in ("classify", "predict", "regress"))
DEFAULT = "serving_default"


class SignatureDef:
    """Arguments and results by name, as TensorInfo, and what the signature is for."""

    def __init__(self, inputs=None, outputs=None, method_name="", defaults=None):
        self.inputs, self.outputs, self.method_name = dict(inputs or {}), dict(outputs or {}), method_name
        self.defaults = dict(defaults or {})

    def __repr__(self):
        return f"SignatureDef(inputs={sorted(self.inputs)}, outputs={sorted(self.outputs)}, method_name={self.method_name!r})"


def build_tensor_info(tensor):
    return TensorInfo(name=tensor.name, dtype=tensor.dtype.as_datatype_enum, tensor_shape=tensor.shape)


def get_tensor_from_tensor_info(tensor_info, graph=None, import_scope=None):
    graph = graphs.default_graph() if graph is None else graph
    name = f"{import_scope}/{tensor_info.name}" if import_scope else tensor_info.name
    return graph.get_tensor_by_name(name)


def build_signature_def(inputs=None, outputs=None, method_name=None, defaults=None):
    return SignatureDef(inputs, outputs, method_name or "", defaults)


def _of_tensors(inputs, outputs, method):
    infos = [{name: build_tensor_info(t) for name, t in part.items()} for part in (inputs, outputs)]
    return SignatureDef(*infos, method)


def predict_signature_def(inputs, outputs):
    if not inputs or not outputs:
        raise ValueError("Prediction inputs and outputs must be given.")
    return _of_tensors(inputs, outputs, PREDICT)


def classification_signature_def(examples, classes, scores):
    given = {"classes": classes, "scores": scores}
    return _of_tensors({"inputs": examples}, {k: v for k, v in given.items() if v is not None}, CLASSIFY)


def regression_signature_def(examples, predictions):
    return _of_tensors({"inputs": examples}, {"outputs": predictions}, REGRESS)


def is_valid_signature(signature_def):
    return isinstance(signature_def, SignatureDef) and signature_def.method_name in (CLASSIFY, PREDICT, REGRESS)


# ---- Saving


def _module_of(session, signatures):
    """A module with copies of the variables' values, and a function for each signature."""
    module = get("Module")()
    module.variables_of_graph = []
    values = _core.SessionValues()
    graph = session.graph
    with _core.init_scope():
        for variable in graph.get_collection("variables") + graph.get_collection("local_variables"):
            if session._values.ready(variable):
                copy = get("Variable")(session._values.value(variable), name=variable._plain_name,
                                       trainable=variable.trainable)  # fmt: skip
                module.variables_of_graph.append(copy)
                values.adopt(variable, copy)
        functions = {key: _function_of(graph, values, signature) for key, signature in signatures.items()}
        module.names = get("constant")(json.dumps(_names(signatures)))
        module.functions = dict(functions)
    return module, functions


def _names(signatures):
    return {
        key: {"inputs": {k: i.name for k, i in s.inputs.items()}, "outputs": {k: i.name for k, i in s.outputs.items()},
              "method": s.method_name}
        for key, s in signatures.items()
    }  # fmt: skip


def _function_of(graph, values, signature):
    inputs = {key: graph.get_tensor_by_name(info.name) for key, info in signature.inputs.items()}
    outputs = {key: graph.get_tensor_by_name(info.name) for key, info in signature.outputs.items()}
    places = [[_core.place_of(t) for t in part.values()] for part in (outputs, inputs)]
    run = graph._extract(values, places[0], [], places[1])
    run.check()
    compiled = run.compiled
    specs = {key: get("TensorSpec")(t.shape, t.dtype, name=key) for key, t in inputs.items()}

    def function(**given):
        return dict(zip(outputs, compiled([given[key] for key in inputs])))

    return get("function")(function).get_concrete_function(**specs)


class SavedModelBuilder:
    """Collects the signatures of a graph, and writes them with the values of a session."""

    def __init__(self, export_dir):
        if os.path.exists(export_dir) and os.listdir(export_dir):
            raise AssertionError(f"Export directory {export_dir} already exists, and isn't empty. Please choose a different "
                                 "export directory, or delete all the contents of the specified directory.")
        self._folder, self._saved = export_dir, None

    def add_meta_graph_and_variables(
        self, sess, tags, signature_def_map=None, assets_collection=None, clear_devices=False, init_op=None, train_op=None,
        strip_default_attrs=False, saver=None, assets_list=None, legacy_init_op=None, main_op=None, restore_op_name=None,
        filename_tensor_name=None, save_debug_info=False,
    ):  # fmt: skip
        if self._saved is not None:
            raise AssertionError("Graph state including variables and assets has already been saved. Please invoke "
                                 "`add_meta_graph()` instead.")
        with sess.graph.as_default():
            self._saved = _module_of(sess, signature_def_map or {})

    def add_meta_graph(self, tags, *args, **kwargs):
        raise NotImplementedError("Tandem saves one graph: call add_meta_graph_and_variables() once.")

    def save(self, as_text=False):
        if self._saved is None:
            raise AssertionError("Nothing was added: call add_meta_graph_and_variables() first.")
        module, functions = self._saved
        with _core.init_scope():
            get("saved_model.save")(module, self._folder, signatures=functions)
        return os.path.join(self._folder, "saved_model.pb").encode()


def simple_save(session, export_dir, inputs, outputs, legacy_init_op=None):
    """The part of the graph between inputs and outputs as the signature for serving."""
    builder = SavedModelBuilder(export_dir)
    with session.graph.as_default():
        signature = predict_signature_def(inputs, outputs)
    builder.add_meta_graph_and_variables(session, ["serve"], {DEFAULT: signature})
    builder.save()


# ---- Loading


def load(sess, tags, export_dir, import_scope=None, **saver_kwargs):
    """Puts the signatures of a saved model into the session's graph, under the names that their tensors had."""
    with _core.init_scope():
        loaded = get("saved_model.load")(export_dir)
        stored = getattr(loaded, "names", None)
        names = {} if stored is None else json.loads(stored.numpy())
    made = {}
    with sess.graph.as_default():
        for key, function in loaded.signatures.items():
            made[key] = _put_in(function, names.get(key, {}), import_scope)
    sess._state.setdefault("loaded", []).append(loaded)
    return MetaGraphDef(signature_def=made)


def _put_in(function, names, scope):
    from tandem.graph_mode import ops

    def named(part, key):
        name = names.get(part, {}).get(key, key).partition(":")[0]
        return f"{scope}/{name}" if scope else name

    inputs, outputs = {}, {}
    _, specs = function.structured_input_signature
    for key, spec in specs.items():
        known = graphs.current()._find(named("inputs", key))
        if known >= 0:
            inputs[key] = graphs.current()._symbolic(known, 0)
        else:
            inputs[key] = ops.placeholder(spec.dtype, spec.shape, named("inputs", key) + "/")
    for key, tensor in function(**inputs).items():
        _core.name_next(named("outputs", key) + "/")
        outputs[key] = _core.execute("Identity", tensor)
    return _of_tensors(inputs, outputs, names.get("method", PREDICT))


def main_op():
    """An operation that initializes variables and tables."""
    from tandem.graph_mode import ops
    from tandem.graph_mode.lookup import tables_initializer
    from tandem.graph_mode.variables import global_variables_initializer, local_variables_initializer

    return ops.group(global_variables_initializer(), local_variables_initializer(), tables_initializer())


def main_op_with_restore(restore_op_name):
    from tandem.graph_mode import ops

    with graphs.control_dependencies([main_op()]):
        return ops.group(graphs.default_graph().get_operation_by_name(restore_op_name))
