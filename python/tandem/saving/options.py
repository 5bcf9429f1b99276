"""tf.saved_model.SaveOptions, LoadOptions and Asset."""

import enum

from tandem.framework import gfile
from tandem.framework.trackable import Trackable
from tandem.framework.variable import Variable


class VariablePolicy(enum.Enum):
    """What a saved model says of variables beyond their values. Tandem's keeps values alone."""

    NONE = None
    SAVE_VARIABLE_DEVICES = "save_variable_devices"
    EXPAND_DISTRIBUTED_VARIABLES = "expand_distributed_variables"

    def _save_variable_devices(self):
        return self is not VariablePolicy.NONE

    def _expand_distributed_variables(self):
        return self is VariablePolicy.EXPAND_DISTRIBUTED_VARIABLES

    @classmethod
    def from_obj(cls, given):
        """The member, for the member or its name in lower case."""
        if given is None or isinstance(given, cls):
            return given or cls.NONE
        name = str(given).lower()
        for member in cls:
            if member.value == name:
                return member
        raise ValueError(f"Received invalid VariablePolicy value: {given}.")


class SaveOptions:
    """How a saved model is written. `function_aliases` is kept with it; the rest has no meaning for Tandem's files."""

    def __init__(self, namespace_whitelist=None, save_debug_info=False, function_aliases=None,
                 experimental_debug_stripper=False, experimental_io_device=None,
                 experimental_variable_policy=None, experimental_custom_gradients=True,
                 experimental_image_format=False, experimental_skip_saver=False,
                 experimental_sharding_callback=None, extra_tags=None):  # fmt: skip
        self.namespace_whitelist = list(namespace_whitelist or [])
        self.save_debug_info = save_debug_info
        self.function_aliases = dict(function_aliases or {})
        self.experimental_debug_stripper = experimental_debug_stripper
        self.experimental_io_device = experimental_io_device
        self.experimental_variable_policy = VariablePolicy.from_obj(experimental_variable_policy)
        self.experimental_custom_gradients = experimental_custom_gradients
        self.experimental_image_format = experimental_image_format
        self.experimental_skip_saver = experimental_skip_saver
        self.experimental_sharding_callback = experimental_sharding_callback
        self.extra_tags = extra_tags


class LoadOptions:
    """How a saved model is loaded."""

    def __init__(self, allow_partial_checkpoint=False, experimental_io_device=None, experimental_skip_checkpoint=False,
                 experimental_variable_policy=None, experimental_load_function_aliases=False):  # fmt: skip
        self.allow_partial_checkpoint = allow_partial_checkpoint
        self.experimental_io_device = experimental_io_device
        self.experimental_skip_checkpoint = experimental_skip_checkpoint
        self.experimental_variable_policy = VariablePolicy.from_obj(experimental_variable_policy)
        self.experimental_load_function_aliases = experimental_load_function_aliases


class Asset(Trackable):
    """A file that belongs to a saved model and travels with it.

    Functions read its path when they run, not when they are traced: it is another one where the model is loaded.
    """

    def __init__(self, path):
        self._path = Variable(gfile.local_path(path), name="asset_path", trainable=False)

    @property
    def asset_path(self):
        return self._path.read_value()

    @property
    def path_variable(self):
        return self._path


class TrackableResource(Trackable):
    """Base of resources such as lookup tables. Tandem's are plain objects: this class exists for isinstance."""
