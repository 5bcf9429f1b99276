"""Keras 2's models in the SavedModel format, loaded back as models.

tf_keras saves a model with tf.saved_model.save and writes what Keras knows of it beside that (keras_metadata.pb). Its own
loader reads TensorFlow's description of the objects, which Tandem's saved models do not have. This one makes the model again
from its config and restores variables by their places, optimizers' too.
"""

import os

from tandem.framework import gfile
from tandem.saving.loader import data_of, read_model


def install(module):
    """tf_keras.src.saving.legacy.saved_model.load"""
    from google.protobuf import message

    def load(path, compile=True, options=None):  # noqa: A002
        """The model that was saved, or what tf.saved_model.load gives where the file has nothing of Keras."""
        import tandem as tf

        folder = gfile.local_path(path)
        stored = read_model(folder)
        metadata = module.saved_metadata_pb2.SavedMetadata()
        try:
            with open(os.path.join(folder, module.constants.SAVED_METADATA_PATH), "rb") as file:
                metadata.ParseFromString(file.read())
        except FileNotFoundError:
            return tf.saved_model.load(path, options=options)
        except message.DecodeError as error:
            raise OSError(f"Cannot parse keras metadata at path {path}: Received error: {error}") from None
        root = next((node for node in metadata.nodes if node.node_path == "root"), None)
        if root is None:
            return tf.saved_model.load(path, options=options)
        known = module.json_utils.decode(root.metadata)
        model = _from_config(module, known)
        _build(model, known)
        if compile and known.get("training_config") is not None:
            arguments = module.saving_utils.compile_args_from_training_config(known["training_config"])
            model.compile(**arguments, from_serialized=True)
            module.saving_utils.try_build_compiled_arguments(model)
        variables = os.path.join(folder, data_of(folder, stored), "variables", "variables")
        tf.train.Checkpoint(root=model).read(variables).expect_partial()
        return model

    module.load = load


def _from_config(module, known):
    name, config = known["class_name"], known.get("config")
    if config is not None and known.get("is_graph_network") and name not in ("Sequential", "Functional"):
        registered = module.object_registration.get_registered_object(name)
        name = "Functional" if registered is None else name
    try:
        if config is None:
            raise ValueError("it has no config")
        return module.layers_module.deserialize({"class_name": name, "config": config})
    except (TypeError, ValueError, NotImplementedError) as error:
        raise ValueError(
            f"The saved model's class {name} cannot be made again from a config ({error}). Give its class a get_config() and "
            "pass `custom_objects`, or load what was saved of its functions with tf.saved_model.load()."
        ) from error


def _build(model, known):
    """Makes the variables of a model that begins without, for the shape that it was saved with."""
    if getattr(model, "built", True):
        return
    shape = known.get("build_input_shape")
    spec = known.get("full_save_spec") or known.get("save_spec")
    if spec is not None and hasattr(model, "_set_save_spec"):
        inputs = spec[0][0] if isinstance(spec, (list, tuple)) and isinstance(spec[0], (list, tuple)) else spec
        shape = getattr(inputs, "shape", shape)
    if shape is not None:
        model.build(shape)
