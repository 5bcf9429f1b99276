"""What passes on TensorFlow, what is known to fail on Tandem, and how tests are counted."""

import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
KNOWN = ROOT / "tests/keras/known-failures.txt"
TENSORFLOW = ROOT / "tests/keras/tensorflow.txt"
FACTS = ROOT / "docs/facts/keras-tests.json"
VERSIONS = "Keras 3.15.1, beside TensorFlow 2.21"  # as the first line of that file says

# Tests of sparse and ragged tensors are counted apart. These only sound like them.
_APART = re.compile("sparse|ragged", re.IGNORECASE)
_NOT_APART = re.compile("sparse_?categorical|sparse_?topk|sparse_plus|sparse_sigmoid|sparsemax|OptimizerSparse", re.IGNORECASE)


def is_apart(test):
    """Whether this test needs a sparse or ragged tensor, by its name."""
    return bool(_APART.search(_NOT_APART.sub("", test.split("::", 1)[1])))


def folder_of(path):
    """layers/core/dense_test.py → layers/core; ops/nn_test.py → ops."""
    parts = path.split("/")[:-1]
    return "/".join(parts[: 2 if parts[0] in ("layers", "backend") else 1])


class Expected:
    """The tests of one file on TensorFlow: how many pass (and how many of those are apart), and which do not."""

    def __init__(self):
        self.passes = self.apart = 0
        self.others = set()


def read_tensorflow():
    """{file: Expected} from tests/keras/tensorflow.txt."""
    files = collections.defaultdict(Expected)
    for line in TENSORFLOW.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        word, rest = line.split(" ", 1)
        if word == "passes":
            total, apart, path = rest.split(" ")
            files[path].passes, files[path].apart = int(total), int(apart)
        else:
            path, test = rest.split("::", 1)
            files[path].others.add(test)
    return files


def read_known():
    """The tests that are known to fail."""
    lines = KNOWN.read_text().splitlines() if KNOWN.exists() else []
    return {line.split("  #")[0].strip() for line in lines if line and not line.startswith("#")}


def shrink_known(passed):
    """Takes what passes now out of the list of known failures."""
    lines = KNOWN.read_text().splitlines()
    KNOWN.write_text("\n".join(line for line in lines if line.split("  #")[0].strip() not in passed) + "\n")
