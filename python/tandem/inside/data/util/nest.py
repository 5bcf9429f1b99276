"""tensorflow.python.data.util.nest: structures of elements, in which lists are leaves."""

from tandem.inside.util import nest as _nest

is_nested = _nest.is_nested
flatten, map_structure, pack_sequence_as = _nest.flatten, _nest.map_structure, _nest.pack_sequence_as
assert_same_structure, assert_shallow_structure = _nest.assert_same_structure, _nest.assert_shallow_structure
flatten_up_to, map_structure_up_to = _nest.flatten_up_to, _nest.map_structure_up_to
