"""Inputs and targets of Keras's models by their keys.

Keras binds the inputs of a functional model by their place in a flat list. It lists a dict in the order of its keys
and an OrderedDict in that of insertion, so the batches of make_csv_dataset, say, came under other keys than their own.
Here mappings are first given the keys of the model, in its order. Keras binds targets in the same way where some outputs
have no loss.
"""

import collections
import collections.abc
import functools

from tandem.framework import nest


def by_key(wanted, given):
    """`given` with the keys of `wanted`, and in its order, in every mapping. Further keys are left out, as Keras leaves
    them out of dicts for models whose inputs are a list."""
    if isinstance(wanted, collections.abc.Mapping) and isinstance(given, collections.abc.Mapping):
        missing = next((key for key in wanted if key not in given), None)
        if missing is not None:
            raise ValueError(
                f'Missing data for input "{missing}". You passed a data dictionary with keys {list(given)}. Expected '
                f"the following keys: {list(wanted)}"
            )
        parts = [(key, by_key(wanted[key], given[key])) for key in wanted]
        return collections.OrderedDict(parts) if isinstance(wanted, collections.OrderedDict) else dict(parts)
    sequences = isinstance(wanted, (list, tuple)) and isinstance(given, (list, tuple))
    if not sequences or len(wanted) != len(given):
        return given
    parts, make = nest.children(given)
    return make([by_key(one, other) for one, other in zip(wanted, parts)])


def _of_inputs(method):
    """The method with its first argument in the model's order."""

    @functools.wraps(method)
    def ordered(self, inputs, *args, **kwargs):
        return method(self, by_key(self._inputs_struct, inputs), *args, **kwargs)

    return ordered


def install_function(module):
    """keras.src.ops.function"""
    function = module.Function
    for name in ("call", "compute_output_spec"):
        setattr(function, name, _of_inputs(getattr(function, name)))
    shape_of = function.compute_output_shape

    @functools.wraps(shape_of)
    def ordered_shape(self, input_shape):
        return shape_of(self, by_key(self._inputs_struct, input_shape))

    function.compute_output_shape = ordered_shape


def install_functional(module):
    """keras.src.models.functional"""
    model = module.Functional
    call = model.call

    @functools.wraps(call)
    def ordered_call(self, inputs, training=None, mask=None, **kwargs):
        if mask is not None:
            mask = by_key(self._inputs_struct, mask)
        return call(self, inputs, training=training, mask=mask, **kwargs)

    model.call = ordered_call
    for name in ("_standardize_inputs", "_assert_input_compatibility"):
        setattr(model, name, _of_inputs(getattr(model, name)))


def install_losses(module):
    """keras.src.trainers.compile_utils"""
    loss = module.CompileLoss
    call = loss.call

    @functools.wraps(call)
    def ordered_call(self, y_true, y_pred, sample_weight=None):
        return call(self, _targets(y_true, self._user_loss), y_pred, sample_weight)

    loss.call = ordered_call


def _targets(y_true, losses):
    """Targets in the order in which Keras lists the outputs: by key. Where some have no loss it lists the losses."""
    targets = _plain(y_true)
    some = isinstance(losses, collections.OrderedDict) and isinstance(targets, dict) and set(targets) < set(losses)
    return collections.OrderedDict((key, targets[key]) for key in losses if key in targets) if some else targets


def _plain(structure):
    """The structure with dicts in place of OrderedDicts: Keras lists them in the order of their keys."""
    if isinstance(structure, collections.OrderedDict):
        return {key: _plain(part) for key, part in structure.items()}
    if not isinstance(structure, (list, tuple, dict)):
        return structure
    parts, make = nest.children(structure)
    return make([_plain(part) for part in parts])
