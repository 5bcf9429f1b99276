"""tensorflow.python.util.keras_deps: functions that Keras 2 hands to TensorFlow. Tandem asks none of them."""

_REGISTERED = {}


def register_clear_session_function(func):
    _REGISTERED["clear_session"] = func


def register_get_session_function(func):
    _REGISTERED["get_session"] = func


def register_load_model_function(func):
    _REGISTERED["load_model"] = func


def register_call_context_function(func):
    _REGISTERED["call_context"] = func


def get_clear_session_function():
    return _REGISTERED.get("clear_session")


def get_get_session_function():
    return _REGISTERED.get("get_session")


def get_load_model_function():
    return _REGISTERED.get("load_model")


def get_call_context_function():
    return _REGISTERED.get("call_context")
