"""tensorflow.python.ops.ragged.ragged_util."""

from tandem import _namespaces


def assert_splits_match(nested_splits_lists):
    """Checks that the rows of several ragged tensors end at the same places; the checks that were made."""
    first = nested_splits_lists[0]
    for splits in nested_splits_lists:
        if len(splits) != len(first):
            raise ValueError("Inputs must have identical ragged splits")
    equal = _namespaces.get("debugging.assert_equal")
    message = "Inputs must have identical ragged splits"
    return [equal(a, b, message=message) for splits in nested_splits_lists[1:] for a, b in zip(first, splits)]
