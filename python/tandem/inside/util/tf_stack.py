"""tensorflow.python.util.tf_stack: Python's own stack."""

import traceback


def extract_stack(stacklevel=1):
    return traceback.extract_stack()[: -1 - stacklevel]
