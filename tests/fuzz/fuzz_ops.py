#!/usr/bin/env python3
"""Calls of public functions with random and hostile arguments.

    tests/fuzz/fuzz_ops.py --seconds 60 [--seed 1] [--modes eager,traced,...]
    tests/fuzz/fuzz_ops.py --seed 1 --only 4711        one call, with what it gave
    tests/fuzz/fuzz_ops.py --against-cpu --seconds 60    on the machine's own GPU, beside the CPU
    tests/fuzz/fuzz_ops.py --compare PYTHON --calls 20000    against the TensorFlow of that Python (not part of make test)

A call is text: tensors that are made, and an expression of them. Half of the calls are made from a function's signature,
the others are right ones (op_calls.txt) of which parts were changed. It runs eagerly, traced, traced for unknown sizes,
under a gradient tape (eager and traced), in Dataset.map, or on an emulated GPU, in a child process with bounded memory. A finding is a child
that dies, takes 10 s of processor time (or 60 s in all), or keeps memory, and an exception of a class that TensorFlow
does not raise. What is not called eagerly is held against the eager call on the CPU: a value, dtype or shape that differs,
and an error of one of them alone, are findings (but where MAY_DIFFER says why). Call number i of a seed is always the same one.

With --against-cpu, calls run on the GPU that the machine has, and on the CPU as well. Values that differ and a GPU that
cannot be used after a call are findings too. What only the GPU refuses is counted.
"""

import argparse
import ast
import collections
import contextlib
import copy
import faulthandler
import inspect
import json
import os
import pathlib
import random
import re
import resource
import runpy
import select
import signal
import subprocess
import sys
import tempfile
import time
import typing
import warnings

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
PACKAGE = os.environ.get("TANDEM_PACKAGE", str(ROOT / "build/dev/python"))
MODES = ("eager", "traced", "dynamic", "gradient", "backward", "map", "gpu")
# What each is held against: functions and map return tensors alone.
EAGER_MODES = {"traced": "eager kept", "dynamic": "eager kept", "map": "eager kept", "gpu": "eager", "gradient": "eager",
               "backward": "eager backward"}  # fmt: skip
MODES_OF_A_GPU = ("eager", "traced", "dynamic", "gradient")
WALL_SECONDS = 60
BATCH = 4000


class Limits(typing.NamedTuple):
    resource: int
    bytes: int  # of the resource, more than the process has when it starts
    resident: int  # after a collection; half of it and the child is replaced
    cpu_seconds: int


USUAL = Limits(resource.RLIMIT_AS, 3 << 30, 1500 << 20, 10)
# CUDA reserves addresses by the terabyte; a call may be the first to load a library and to compile a kernel.
OF_A_GPU = Limits(resource.RLIMIT_DATA, 4 << 30, 6 << 30, 30)

# What writes files, changes the process, waits for somebody, or is no function of values.
LEFT_OUT = re.compile(
    r"^(Module|Graph|Variable|GradientTape|DeviceSpec|function|print|device|init_scope|name_scope|control_dependencies"
    r"|CriticalSection|numpy_function|py_function|grad_pass_through|custom_gradient|recompute_grad|executing_eagerly"
    r"|inside_function|while_loop|timestamp|load_library|load_op_library|variable_creator_scope|no_gradient|as_dtype|type_spec.*"
    r"|make_ndarray|make_tensor_proto|register_tensor_conversion_function|summary_ops)$"
    r"|^(keras|compat|config|data|debugging\.(enable|disable|set|experimental|is_|get_)|distribute|estimator|experimental\."
    r"(dlpack|async|dispatch|register|unregister|function|Extension|Batchable|Static|dtensor|numpy\.(experimental|random))"
    r"|io\.(gfile|write|read|TF|matching|serialize_many|match|save)|lookup|mixed_precision|mlir|optimizers|losses|metrics"
    r"|profiler|python\.|saved_model|summary|sysconfig|test|tpu|train|types|version|xla|__internal__|autograph|autodiff|errors"
    r"|initializers|layers|models|audio\.|nn\.experimental|queue|core|dtypes\.|random\.(experimental\.)?(set|get_global|set_global|create|Gen)"
    r"|raw_ops\.(Save|Restore|Write|Read|Merge|Print|Assert|PyFunc|EagerPyFunc|Delete|Matching|Abort|Make|File|Iterator"
    r"|Var|Assign|Resource|Destroy|Collective|AllReduce|Broadcast$|Reduce$|AllGather|ReduceScatter|ReplicaId|HostSend))"
    r"|_op_names$|load"
)
# Values differ from run to run.
RANDOM = re.compile(r"random|dropout|shuffle|sampler|sample_|fractional|initializer|stateless_|Random|Multinomial|Empty"
                    r"|empty|nce_loss|sampled_softmax|glimpse")  # fmt: skip
# Several results are right, or close to singular ones any.
ILL_POSED = re.compile(r"svd|eig|qr|inv|solve|lstsq|logm|sqrtm|det|cholesky")
# The same of raw ops; a gradient of a decomposition needs one that is well posed.
ILL_POSED_OPS = re.compile(r"^raw_ops\.(Svd|Qr|Lu|Eig|SelfAdjointEig(V2)?|Cholesky|(Log)?MatrixDeterminant|Matrix(Inverse|Solve|SolveLs"
                           r"|SquareRoot|Logarithm|TriangularSolve))$")  # fmt: skip
# Of inputs with infinities and NaNs the order of sums decides which results are infinite, and which parts no numbers.
TRANSFORMS = re.compile(r"fft|stft|^signal\.(dct|idct|mdct|inverse_mdct)$|^raw_ops\.I?R?FFT")
# So do products that overflow beside zeros: a gradient is made of products of what is left and right of an element.
PRODUCTS = re.compile(r"reduce_prod$|cumprod$|^raw_ops\.(Prod|Cumprod)$|^experimental\.numpy\.prod$")
SPECIAL_VALUES = re.compile(r"nan|inf|1e30|2\.0 ?\*\* ?62")
# Integers of these are undefined in C++, and differ between processors in TensorFlow too.
NO_INTEGER = re.compile(r"nan|inf|1e30|2\.0\*\*62|2\*\*40")

# As many results as a number says: 65,536 of them, and their gradients, take a planner its time, and TensorFlow more.
MANY_RESULTS = re.compile(r"dynamic_partition|unstack|Unpack|split")


class MayDiffer(typing.NamedTuple):
    functions: str
    reason: str  # the words of the difference
    calls: str = ""  # in which calls, where the function does not say it


# Where a mode differs from the eager call in TensorFlow too (--compare --findings says what it does).
MAY_DIFFER = {
    "an argument's value where a Python value is wanted": MayDiffer(
        r".", r"^value there, here .*(symbolic tensor \(<tf\.Tensor '(given_\d+|args_\d+|Cast(_\d+)?):0|'(given|args)_\d+:0' .* has no value while"
        r"|(symbolic `tf\.Tensor`|using a `tf\.Tensor`) .*not allowed|must be known when the function is traced|len is not well defined"
        r"|only integer scalar arrays can be converted to a scalar index)"),
    "the value of an update": MayDiffer(r"\.numpy$", r"here AttributeError: 'SymbolicTensor' object has no attribute 'numpy'"),
    "a tensor for a list of tensors": MayDiffer(r".", r"^value there, here TypeError: a list of tensors is wanted"),
    "a variable is made once": MayDiffer(r".", r"here ValueError: tf\.function only supports singleton tf\.Variables"),
    "a variable of symbolic tensors": MayDiffer(
        r".", r"is out of scope and cannot be used here|here ValueError: The (initial value of a variable depends on"
        r"|number of a seed's elements must be known)", r"Variable|Generator"),
    "values for a constant, and no tensor": MayDiffer(r".", r"here TypeError: tf\.constant takes values, not a symbolic tensor"),
    "elements that are counted in int32": MayDiffer(  # TensorFlow's shapes are int32 there too, and eagerly it refuses what does not fit
        r".", r"value there, here (TracedArgumentError|InvalidArgumentError): Shape: \d+ does not fit in int32"),
    "pieces that int32 does not count": MayDiffer(  # which TensorFlow refuses eagerly too
        r"^signal\.", r"value there, here InvalidArgumentError: frame_length and frame_step"),
    "an element, a vector or a matrix?": MayDiffer(r"tridiagonal_solve$", r"value there, here InvalidArgumentError: MatrixSolve: Input tensor 1"),
    "sizes of nothing that do not fit": MayDiffer(r"tensordot$", r"value here, there InvalidArgumentError: tensordot: Matrix size"),
    "more elements than an array may have": MayDiffer(r".", r"there ValueError: array is too big"),  # NumPy's words, of what has none
    "squares that overflow": MayDiffer(r"moments$|variance$|std$", r"another value", r"1e\+?30|2\.0 ?\*\* ?62|inf|nan"),
    "a rank that the number of results is": MayDiffer(
        r"^(experimental\.numpy\.where|ragged\.(stack|boolean_mask)|(math\.)?scalar_mul)$", r"^value there, here ValueError"),
    "strings of a rank that is the result's": MayDiffer(
        r"^strings\.(split|bytes_split|unicode_(decode|split|transcode).*)$", r"value there, here InvalidArgumentError: EnsureShape"),
    "a turn of the hue that is no number": MayDiffer(r"_hue$", r"value here, there ValueError: delta must be in"),
    "a predicate that is no boolean": MayDiffer(r"^cond$", r"value there, here InvalidArgumentError: Reshape"),
    "images without a batch": MayDiffer(  # which TensorFlow's pooling refuses in any mode
        r"^nn\.(max|avg)_pool", r"value there, here InvalidArgumentError: EnsureShape"),
    "gradients of no rounds": MayDiffer(r"^map_fn$", r"^\d results here, 1 there"),
    "a condition that is no boolean": MayDiffer(
        r".", r"^value there, here TracedArgumentError: All: Value for input 'input' of dtype .* allowed values: bool", r"Assert\("),
    "gradients of a graph": MayDiffer(r"^(gradients|hessians)$", r"value here, there RuntimeError"),
    "is it traced?": MayDiffer(r"^is_symbolic_tensor$", r"another value"),
    "nobody reads what was written": MayDiffer(r"^TensorArray", r"value here, there OutOfRangeError"),
    "nobody reads the rows": MayDiffer(
        r"^(map_fn|scan|fold[lr]|vectorized_map)$", r"value here, there (ResourceExhaustedError: TensorListFrom|InvalidArgumentError: StridedSlice)"),
    "a list of a size below zero": MayDiffer(r"^TensorArray", r"value there, here InvalidArgumentError: .*TensorListReserve: The num_elements"),
    "the address of an object": MayDiffer(r"^constant$", r"another value: \['string'.*6174203078"),
    "its rank or size is wanted": MayDiffer(
        r"^(image\.(resize|total_variation|random_jpeg.*)|unstack|raw_ops\.Unpack|nn\.(dilation2d|erosion2d)|(nn|math)\.approx_(max|min)_k"
        r"|experimental\.numpy\.(nonzero|moveaxis|maximum)|image\.(rgb_to_|y)..._?.*|signal\.(dct|idct))$",
        r"^value there, here (ValueError|TypeError)"),
    "shapes that a mask may have": MayDiffer(r"^(getitem|boolean_mask)$", r"value here, there ValueError: boolean_mask: Shapes"),
    "shapes that padding may have": MayDiffer(r"padded_batch$", r"value here, there ValueError: The padded shape"),
    "an assertion about nothing": MayDiffer(r"^(debugging\.)?Assert$", r"value here, there InvalidArgumentError: Expected '\[\]' to be true"),
    "places that are no numbers": MayDiffer(r"^experimental\.numpy\.split$", r"value here, there TypeError: SplitV: sizes must be integers"),
    "a count that is no number": MayDiffer(r"^data\.", r"value here, there ValueError: A count of a dataset"),
    "branches and rounds of one structure": MayDiffer(
        r"^(switch_case|case|cond|foldl|foldr|scan|while_loop)$",
        r"^value there, here (TypeError|ValueError|TracedArgumentError|IndexError)|^\d results here"),
    "shapes that only a known one refuses": MayDiffer(
        r"^RaggedTensor\.from_tensor$|assert_shapes$|assert_scalar$|sigmoid_cross_entropy_with_logits$", r"value here, there ValueError"),
    "its static shape": MayDiffer(r"^experimental\.numpy\.shape$|^shape$", r"0 results here"),
    "ranks that only a known one refuses": MayDiffer(r"^unravel_index$", r"value here, there ValueError: Shape .* must have rank at most"),
    "the words of an assertion": MayDiffer(r"assert_", r"^value there, here ValueError: Attempt to convert a value"),
    "a symbolic tensor of another dtype": MayDiffer(
        r"^(constant|strings\.unicode_encode|debugging\.assert_.*)$", r"here ValueError: Tensor conversion requested dtype"),
    "bounds that are no numbers": MayDiffer(r"^math\.bincount$", r"^value there, here (ValueError|TypeError): Attempt to convert"),
}
# Where it does not differ in TensorFlow: what is left to do.
MAY_DIFFER |= {
    "a mask of a tensor of unknown rank": MayDiffer(r"^(getitem|boolean_mask)$", r"here ValueError: boolean_mask: Number of mask dim"),
    "sizes that are symbolic and no integers": MayDiffer(r"^(fill|reshape|experimental\.numpy\.tile)$", r"here TracedArgumentError: .*(for input|cannot compute Pack)"),
    "a matrix of a size that is not known": MayDiffer(r"^signal\.inverse_mdct$|^linalg\.tri", r"here ValueError: The size of the .* must be known"),
    "axes of an unknown rank": MayDiffer(r"^signal\.i?fftshift$|^tensordot$|transpose$|^experimental\.numpy\.",
        r"^value there, here (ValueError|TracedArgumentError): .*(rank|number of dimensions|number of coefficients)"),
    "solvers of matrices of unknown size": MayDiffer(r"^linalg\.(lstsq|pinv|matrix_rank)$", r"here TracedArgumentError: .*known"),
    "a border of an image of unknown rank": MayDiffer(r"^image\.pad_to_bounding_box$", r"here InvalidArgumentError: Pad: The first dim"),
    "== of dtypes whose shapes do not fit": MayDiffer(r".", r"here TracedArgumentError: cannot compute (Not)?Equal as input"),
    "a shape of floats whose rank is not known": MayDiffer(r"^reshape$", r"value here, there InvalidArgumentError: Reshape"),
    "!= of shapes that turn out not to fit": MayDiffer(r".", r"here InvalidArgumentError: Incompatible shapes: .*Op:(Not)?Equal"),
    "a map of no rows whose sizes are not known": MayDiffer(
        r"^vectorized_map$", r"here InvalidArgumentError: TensorListStack: Tried to stack elements of an empty list"),
    "powers below the smallest normal number": MayDiffer(r"^(linalg\.)?norm$", r"another value", r"ord=\d{2}"),
    "floats for bytes of an image": MayDiffer(r"^io\.", r"here ValueError: Tensor conversion requested dtype uint8"),
    "a table that a dataset's function makes": MayDiffer(r"lookup", r"here NotFoundError: .*there is no table"),
}  # fmt: skip

# Classes that TensorFlow raises as well, by its own words, and functions where it raises another one.
RIGHT = ("ValueError", "TypeError", "NotImplementedError")
ALSO = {
    "IndexError": r"slice|stack|getitem|gather|squeeze|expand_dims|transpose|axis|dim|shape|swap|move|take|insert|numpy"
    r"|scan|fold|map_fn|^(cond|case|switch_case|Variable)$",  # the caller's own
    "AttributeError": r"\.numpy$|^DeviceSpec|^strings\.format$|^image\.|^sparse\.|^nn\.(safe_)?embedding_lookup_sparse$|^io\.decode_image$"
    r"|assert_shapes$|assert_same_float_dtype$|^io\.parse_|^nn\.(bias_add|conv_transpose)$",
    "KeyError": r"^$",
    "OverflowError": r"^constant$",
    "RuntimeError": r"^(gradients|hessians)$",
    "MemoryError": r"^$",  # Python's and NumPy's own: the library's is ResourceExhaustedError
}
# What is not there, by its own words (TensorFlow has another private name for a table's keys), and integers of which TensorFlow says it with another class (left to do).
ALWAYS = re.compile(r"^AttributeError: module '[\w.]+' has no attribute|^AttributeError: '[\w.]+' object has no attribute '(key_dtype"
                    r"|to_tensor)'|^OverflowError: (int too big|cannot convert float infinity)")

INTS = ["0", "1", "2", "3", "-1", "-2", "5", "7"]
HOSTILE_INTS = ["2**31-1", "2**31", "-2**31", "2**32", "2**32+3", "2**62", "2**63-1", "-2**63", "2**63", "-7", "100",
                "2**16", "46341", "10**30"]  # fmt: skip
FLOATS = ["0.0", "1.0", "-1.0", "0.5", "nan", "inf", "-inf", "1e30", "1e-30", "2.0**62", "-0.0"]
STRINGS = ["''", "'a'", "'SAME'", "'VALID'", "'NHWC'", "'NCHW'", "'same'", "'bilinear'", "'nearest'", "'linear'", "'sum'",
           "'REFLECT'", "'SYMMETRIC'", "'ij,jk->ik'", "'...'", "'\\x00'", "'é'", "b'\\xff'", "'left'", "'ASCENDING'",
           "'float32'", "'valid'", "'euclidean'", "'constant'", "'MAX'"]  # fmt: skip
FLOAT_TYPES = ["float32", "float64", "float16", "bfloat16"]
OTHER_TYPES = ["int32", "int64", "int8", "uint8", "int16", "uint16", "uint32", "uint64", "bool", "complex64", "complex128",
               "string"]  # fmt: skip
DTYPES = FLOAT_TYPES + OTHER_TYPES
FUNCTIONS = ["lambda *a: a[0]", "lambda x: x + 1", "lambda *a: True", "lambda *a: None", "lambda x, y: x + y"]


# What the names in op_calls.txt stand for.
INPUTS = {
    "I": "tf.reshape(tf.cast(tf.range(297) % 17, tf.float32), [9, 11, 3]) / 17",
    "U": "tf.reshape(tf.cast(tf.range(126) * 7 % 256, tf.uint8), [6, 7, 3])",
    "B": "tf.reshape(tf.cast(tf.range(576) % 23, tf.float32), [1, 16, 18, 2]) / 23",
    "S": "tf.cast(tf.range(13) * 5 % 13, tf.float32) / 13",
    "M": "tf.reshape(tf.cast(tf.range(16) * 7 % 16, tf.float32), [4, 4]) / 16",
    "P": "tf.reshape(tf.cast(tf.range(24) * 11 % 24, tf.float32), [2, 3, 4]) / 24",
    "Q": "tf.reshape(tf.cast(tf.range(24) * 5 % 24, tf.float32), [2, 4, 3]) / 24",
    "K": "tf.constant([3, 1, 4, 1, 5, 2])",
    "Z": "tf.complex(tf.reshape(tf.range(12.0), [3, 4]), 1.0)",
    "X": "tf.constant([[i / 16, i / 20, i / 16 + 0.3, i / 20 + 0.2] for i in range(12)])",
}


def counts_in_python(part):
    """A power, a repeated string, the range of a comprehension: large ones would be Python's own work, before any call."""
    if isinstance(part, ast.BinOp):
        text = isinstance(part.left, ast.Constant) and isinstance(part.left.value, (str, bytes))
        return isinstance(part.op, ast.Pow) or (isinstance(part.op, ast.Mult) and text)
    return isinstance(part, ast.comprehension)


def right_calls():
    """Texts of calls, parsed."""
    texts = [*(FOLDER / "op_calls.txt").read_text().splitlines()]
    for name in ("numeric_cases", "semantics_cases"):
        texts += runpy.run_path(str(ROOT / f"tests/python/{name}.py"))["CASES"].splitlines()
    calls = []
    for text in texts:
        try:
            tree = ast.parse(text, mode="eval")
        except SyntaxError:
            continue
        # Loops whose end is a number of the call may have none.
        if not any(isinstance(n, ast.JoinedStr) for n in ast.walk(tree)) and "while_loop" not in text:
            calls.append(tree.body)
    return calls


class Generator:
    """Makes call number i of a seed."""

    def __init__(self, seed, modes, only=None):
        sys.path.insert(0, PACKAGE)
        import tandem as tf
        from tandem._generated.names import NAMES

        self._seed, self._modes, self._core = seed, modes, tf._core
        self._right = [c for c in right_calls() if not only or re.search(only, ast.unparse(c))]
        self._functions = []
        for name in sorted(NAMES):
            if LEFT_OUT.search(name) or name.startswith("_") or (only and not re.search(only, name)):
                continue
            function = tf
            try:
                for part in name.split("."):
                    function = getattr(function, part)
            except Exception:  # names that are there to refuse
                continue
            if not callable(function) or inspect.isclass(function) or getattr(function, "absent", False):
                continue
            try:
                parameters = list(inspect.signature(function).parameters.values())
            except (TypeError, ValueError):
                continue
            self._functions.append((name, parameters))
        if "raw_ops" in dir(tf):
            for name in dir(tf.raw_ops):
                full = f"raw_ops.{name}"
                if LEFT_OUT.search(full) or name.startswith("_") or (only and not re.search(only, full)):
                    continue
                self._functions.append((full, self.raw_parameters(name)))

    def raw_parameters(self, name):
        """Of a raw op, which takes keywords: its inputs are wanted, attributes have defaults."""
        try:
            described = self._core.op(name).describe()
        except Exception:  # an op of TensorFlow's that is made of others
            return [inspect.Parameter("x", inspect.Parameter.KEYWORD_ONLY)]
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters = [inspect.Parameter(i["name"] + "_values" * i["list"], kind) for i in described["inputs"]]
        defaults = {"bool": False, "int": 1, "float": 1.0, "str": "", "ints": [1]}
        return parameters + [
            inspect.Parameter(a["name"], kind, default=defaults.get(a["type"])) for a in described["attrs"]
        ]

    def __len__(self):
        return len(self._functions)

    def case(self, number):
        self._r = random.Random(f"{self._seed}:{number}")
        r = self._r
        if self._right and (not self._functions or r.random() < 0.5):
            return self.changed(number, copy.deepcopy(r.choice(self._right)))
        return self.made(number)

    # ---- Right calls, of which parts are changed

    def changed(self, number, tree):
        r = self._r
        self._loops = False
        self._tensors, self._wild, self._dtype, self._shape = [], r.choice([0.0, 0.1]), "float32", [2, 3]
        mode = self._modes[r.randrange(len(self._modes))]
        called = ast.unparse(tree.func).removeprefix("tf.") if isinstance(tree, ast.Call) else "getitem"
        tree = self.with_inputs(tree)
        for _ in range(r.choice([0, 1, 1, 1, 2, 2, 3])):
            tree = self.change(tree)
        return {"number": number, "function": called, "mode": mode, "tensors": self._tensors,
                "call": ast.unparse(ast.fix_missing_locations(tree))}  # fmt: skip

    def with_inputs(self, tree):
        """The tensors that a call makes of constants become inputs."""
        generator = self

        class Inputs(ast.NodeTransformer):
            def visit_Name(self, node):
                return generator.input(INPUTS[node.id]) if node.id in INPUTS else node

            def visit_Call(self, node):
                if node is not tree and re.match(r"tf\.(constant|zeros|ones|range|sparse\.from_dense|ragged\.constant|eye)$",
                                                 ast.unparse(node.func)):  # fmt: skip
                    if not any(isinstance(n, ast.Name) and n.id in INPUTS for n in ast.walk(node)):
                        return generator.input(ast.unparse(node))
                return self.generic_visit(node)

            def visit_Lambda(self, node):
                return node

        return Inputs().visit(tree)

    def input(self, text):
        r = self._r
        t = f"({text})"
        if r.random() < 0.15:
            change = r.choice([
                "{t}[:0]", "{t}[..., :0]", "tf.reshape({t}, [-1])", "{t}[tf.newaxis]", "{t}[..., tf.newaxis]", "tf.cast({t}, tf.{d})",
                "tf.cast({t}, tf.{d})", "-{t}", "{t} * 0", "tf.cast({t}, tf.float32) * nan", "tf.cast({t}, tf.float32) * inf",
                "tf.cast({t}, tf.float32) * 1e30", "{t}[0]", "tf.concat([{t}, {t}], 0)", "tf.cast({t}, tf.int64) * 2**40",
                "tf.cast({t}, tf.int32) - 7", "tf.zeros([0])", "tf.zeros([])", "tf.reshape({t}, [-1])[:1]", "None",
            ])  # fmt: skip
            text = change.format(t=t, d=r.choice(DTYPES))
        self._tensors.append(text)
        return ast.Name(f"t{len(self._tensors) - 1}", ast.Load())

    def change(self, tree):
        """One part becomes something else."""
        r = self._r
        generator = self
        fixed = {id(n) for p in ast.walk(tree) if counts_in_python(p) for n in ast.walk(p)}
        parts = [n for n in ast.walk(tree) if id(n) not in fixed and isinstance(n, (ast.Constant, ast.List, ast.Tuple, ast.UnaryOp))
                 and not any(isinstance(e, (ast.Slice, ast.Starred)) for e in getattr(n, "elts", ()))]  # fmt: skip
        calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and (n.args or n.keywords)]
        if calls and (not parts or r.random() < 0.25):
            call = r.choice(calls)
            chance = r.random()
            if chance < 0.3 and call.args:
                del call.args[r.randrange(len(call.args)) :]
            elif chance < 0.6 and call.keywords:
                del call.keywords[r.randrange(len(call.keywords))]
            elif call.args:
                call.args[r.randrange(len(call.args))] = ast.parse(self.anything(), mode="eval").body
            return tree
        if not parts:
            return tree
        chosen = r.choice(parts)

        class Change(ast.NodeTransformer):
            def visit(self, node):
                return ast.parse(generator.instead(node), mode="eval").body if node is chosen else self.generic_visit(node)

        return Change().visit(tree)

    def instead(self, node):
        r = self._r
        if r.random() < 0.08:
            return self.anything()
        if isinstance(node, (ast.List, ast.Tuple)):
            elements = [ast.unparse(e) for e in node.elts]
            chance = r.random()
            if chance < 0.25 and elements:
                elements.pop(r.randrange(len(elements)))
            elif chance < 0.5:
                elements.append(r.choice(elements) if elements else self.integer())
            elif chance < 0.75 and elements:
                elements[r.randrange(len(elements))] = self.integer()
            else:
                return r.choice(["[]", "None", self.integers(), self.integer()])
            return f"[{', '.join(elements)}]"
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, bool):
            return r.choice(["True", "False", "None"])
        if isinstance(value, str):
            return r.choice(STRINGS)
        if isinstance(value, float):
            return r.choice(FLOATS)
        return self.integer() if r.random() < 0.8 else r.choice([f"[{self.integer()}]", *FLOATS[:8]])

    # ---- Calls made from a signature

    def made(self, number):
        r = self._r
        name, parameters = self._functions[r.randrange(len(self._functions))]
        self._loops = re.search(r"scan|fold|map_fn|vectorized_map|unstack|Unpack", name)  # a round or a result for each row
        self._tensors = []
        self._wild = r.choice([0.0, 0.0, 0.05, 0.2, 0.5])  # how much of it does not fit
        self._dtype = r.choice(FLOAT_TYPES[:1] * 6 + DTYPES)
        rank = r.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4, 5])
        self._shape = [r.choice([1, 2, 2, 3, 3, 4, 4, 5, 8, 0 if r.random() < 0.3 else 1]) for _ in range(rank)]
        arguments = []
        keywords = False
        for p in parameters:
            if p.kind is p.VAR_KEYWORD or p.name in ("name", "self"):
                keywords = True
                continue
            if p.kind is p.VAR_POSITIONAL:
                arguments += [self.value(p.name) for _ in range(r.randrange(3))] if not keywords else []
                keywords = True
                continue
            required = p.default is p.empty
            if r.random() > (0.99 if required else 0.35):
                keywords = True
                continue
            text = self.value(p.name) if required else self.varied(p.name, p.default)
            if p.kind is p.KEYWORD_ONLY or keywords:
                text = f"{p.name}={text}"
            arguments.append(text)
        mode = self._modes[r.randrange(len(self._modes))]
        return {"number": number, "function": name, "mode": mode, "tensors": self._tensors,
                "call": f"tf.{name}({', '.join(arguments)})"}  # fmt: skip

    # ---- Values as text

    def varied(self, name, default):
        r = self._r
        if r.random() < self._wild / 2:
            return self.anything()
        if isinstance(default, bool):
            return r.choice(["True", "False"])
        if isinstance(default, int):
            return self.integer()
        if isinstance(default, float):
            return r.choice(FLOATS)
        if isinstance(default, str):
            return r.choice([repr(default), *STRINGS])
        return self.value(name)

    def value(self, name):
        """For a parameter of that name: mostly what it wants, now and then anything."""
        r = self._r
        if r.random() < self._wild:
            return self.anything()
        lower = name.lower()
        if re.search(r"axis|axes|^dims?$|perm$|batch_dims", lower):
            return r.choice([self.integer(small=True), self.integer(small=True), self.integers()])
        if re.search(r"shape|^size|sizes|multiples|paddings|ksize|strides|crops|dilations|begin|^end|block|length|rates", lower):
            return r.choice([self.integers(), self.integers(), self.integer(), self.tensor("int32")])
        if re.search(r"dtype|_type|^type|^t$|^tidx|out_idx", lower):
            return "tf." + r.choice(DTYPES)
        if re.search(r"indices|ids$|segment|^index|partitions|labels|positions|mask_indices", lower):
            return self.tensor(r.choice(["int32", "int64"]))
        if re.search(r"mask|condition|pred", lower):
            return self.tensor("bool")
        if re.search(r"^num|depth|^k$|^n$|radius|seed|count|maxlen|minlen|width|height|channels|limit|start|delta", lower):
            return self.integer()
        if re.search(r"padding|mode|method|format|direction|equation|encoding|separator|delimiter|pattern", lower):
            return r.choice(STRINGS)
        if re.search(r"fn$|function|^f$|body|cond$|callable|_func", lower):
            return "(" + r.choice(FUNCTIONS) + ")"
        if re.search(r"^(sp_|sparse)|sp_input|sparse_tensor", lower):
            return self.sparse()
        if re.search(r"ragged|^rt_|nested", lower):
            return self.ragged()
        if re.search(r"tensors|values|inputs|elems|arrays|data$|^args|structure|xs$|ys$", lower):
            return r.choice([self.listed(), self.listed(), self.tensor()])
        if re.search(r"bytes|string|serialized|contents|content|text|records|message|substr", lower):
            return r.choice([self.tensor("string"), r.choice(STRINGS)])
        return self.tensor()

    def integer(self, small=False):
        r = self._r
        return r.choice(HOSTILE_INTS) if r.random() < (0.1 if small else 0.25) else r.choice(INTS)

    def integers(self):
        r = self._r
        count = r.choice([len(self._shape), len(self._shape), 0, 1, 2, 3, 4])
        if r.random() < 0.1:
            return f"[[{', '.join(self.integer() for _ in range(2))}] for _ in range({count})]"
        return f"[{', '.join(self.integer() for _ in range(count))}]"

    def listed(self):
        return f"[{', '.join(self.tensor() for _ in range(self._r.choice([0, 1, 2, 2, 3])))}]"

    def anything(self):
        r = self._r
        return r.choice([
            self.integer, self.integer, self.integers, self.listed, self.sparse, self.ragged, self.tensor, self.tensor,
            lambda: self.tensor(r.choice(DTYPES)), lambda: r.choice(FLOATS), lambda: r.choice(STRINGS), lambda: "None",
            lambda: "tf." + r.choice(DTYPES), lambda: r.choice(["True", "False"]), lambda: "(" + r.choice(FUNCTIONS) + ")",
            lambda: r.choice(["[]", "{}", "()", "[[]]", "[None]", "object()", "1j", "np.zeros([2, 0])", "[1, [2]]",
                              "{'a': 1}", "np.float32(3)", "np.array(['a'])", "slice(None)", "range(3)", "[nan]"]),
        ])()  # fmt: skip

    def tensor(self, dtype=None):
        r = self._r
        if dtype is None:
            dtype = self._dtype if r.random() > self._wild else r.choice(DTYPES)
        shape = list(self._shape)
        chance = r.random()
        if chance < 0.15:
            shape = [r.choice([0, 1, 2, 3, 5]) for _ in range(r.choice([0, 1, 2, 3, 4, 6]))]
        elif chance < 0.3 and shape:
            shape[r.randrange(len(shape))] = r.choice([0, 1, 2, 3])
        elif chance < 0.4 and shape:
            shape = shape[r.randrange(len(shape)) :]
        elif chance < 0.42:
            # Huge, and nothing: sizes multiply past 32 and 64 bits.
            shape = [0, r.choice([2**31 - 1, 2**31, 2**40, 2**62])]
            r.shuffle(shape)
        elif chance < 0.43:
            shape = [2**16 if not self._loops else 2**10]
        made = self.contents(shape, dtype)
        self._tensors.append(made)
        return f"t{len(self._tensors) - 1}"

    def contents(self, shape, dtype):
        r = self._r
        count = 1
        for size in shape:
            count *= size
        if dtype == "string":
            return f"tf.constant({r.choice(STRINGS)}, shape={shape})" if 0 < count < 2**20 else f"tf.zeros({shape}, tf.string)"
        if dtype == "bool":
            return f"tf.cast(tf.reshape(tf.range({count}) % 2, {shape}), tf.bool)" if 0 < count else f"tf.zeros({shape}, tf.bool)"
        kind = r.random()
        if kind < 0.2 or count == 0 or count > 2**12:
            return f"tf.{r.choice(['zeros', 'ones'])}({shape}, tf.{dtype})"
        if kind < 0.6:
            return f"tf.cast(tf.reshape(tf.range({count}) - {r.choice([0, 0, 1, count // 2])}, {shape}), tf.{dtype})"
        if "int" in dtype:
            values = [r.choice([0, 1, 2, 3]) if r.random() < 0.8 else f"tf.{dtype}.{r.choice(['min', 'max'])}" for _ in range(3)]
        else:
            values = [r.choice(FLOATS) if r.random() < 0.4 else round(r.gauss(0, 1), 3) for _ in range(4)]
        listed = ", ".join(map(str, values))
        return f"tf.constant(np.resize(np.array([{listed}], '{self.numpy_type(dtype)}'), {shape}), tf.{dtype})"

    @staticmethod
    def numpy_type(dtype):
        return "float32" if dtype == "bfloat16" else dtype

    def sparse(self):
        shape = self._shape or [3]
        count = 1
        for size in shape:
            count *= size
        dtype = self._dtype if self._dtype not in ("string", "bool") else "float32"
        self._tensors.append(
            self._r.choice([
                f"tf.sparse.from_dense(tf.cast(tf.reshape(tf.range({count}) % 3, {shape}), tf.{dtype}))",
                f"tf.SparseTensor([[5] * {len(shape)}], tf.ones([1], tf.{dtype}), {shape})",
                f"tf.SparseTensor(tf.zeros([0, {len(shape)}], tf.int64), tf.zeros([0], tf.{dtype}), {shape})",
                f"tf.SparseTensor([[-1] * {len(shape)}, [0] * {len(shape)}], tf.ones([2], tf.{dtype}), {shape})",
            ])  # fmt: skip
        )
        return f"t{len(self._tensors) - 1}"

    def ragged(self):
        dtype = self._dtype if self._dtype not in ("string", "bool") else "int32"
        self._tensors.append(
            self._r.choice([
                f"tf.cast(tf.ragged.constant([[1, 2], [], [3]]), tf.{dtype})",
                f"tf.cast(tf.ragged.constant([[[1], []], [], [[2, 3]]], dtype=tf.int32), tf.{dtype})",
                f"tf.RaggedTensor.from_row_splits(tf.ones([3], tf.{dtype}), [0, 0, 3])",
                f"tf.RaggedTensor.from_row_lengths(tf.zeros([0], tf.{dtype}), tf.zeros([0], tf.int64))",
            ])  # fmt: skip
        )
        return f"t{len(self._tensors) - 1}"


# ---- The child: runs the cases of a file and says before and after each which one it is


def is_plain(tf, value):
    return isinstance(value, tf.Tensor)


def open_spec(tf, value, number):
    shape = [None] * value.shape.rank if number % 3 else None
    return tf.TensorSpec(shape, value.dtype)


def evaluate(tf, np, case, device=None, mode=None):
    with tf.device(device) if device else contextlib.nullcontext():
        values = evaluate_here(tf, np, case, mode or case["mode"])
    if device:
        tf._core.synchronize()  # what fails does so now, not in the next call
    return values


def evaluate_here(tf, np, case, mode):
    names = {"tf": tf, "np": np, "nan": float("nan"), "inf": float("inf")}
    names |= {k: eval(v, dict(names)) for k, v in INPUTS.items() if re.search(rf"\b{k}\b", case["call"])}  # noqa: S307
    tensors = [eval(text, dict(names)) for text in case["tensors"]]  # noqa: S307
    parameters = ", ".join(f"t{i}" for i in range(len(tensors)))
    call = eval(f"lambda {parameters}: {case['call']}", dict(names))  # noqa: S307

    def kept(result):
        # What functions and map may return: tensors, in lists.
        kept = [t for t in tf.nest.flatten(result) if tf.is_tensor(t) or isinstance(t, (int, float, bool, np.generic))]
        return [t for t in kept if not (isinstance(t, int) and abs(t) >= 2**63)]

    def as_tensors(values):
        return [t if tf.is_tensor(t) else tf.convert_to_tensor(t) for t in values]

    def function(*given):
        return kept(call(*given))

    def gradients(*given):
        """What the call gives, and the gradients of it. Not of how they are held: rows and their places are put together."""
        watched = [t for t in given if is_plain(tf, t) and (t.dtype.is_floating or t.dtype.is_complex)]
        with tf.GradientTape() as tape:
            tape.watch(watched)
            result = call(*given)
            targets = [t for t in tf.nest.flatten(result, expand_composites=True)
                       if is_plain(tf, t) and (t.dtype.is_floating or t.dtype.is_complex)]  # fmt: skip
        return result, tape.gradient(targets, watched) if targets and watched else []

    def backward(*given):
        result, found = gradients(*given)
        return kept(result), [tf.convert_to_tensor(g) for g in found if g is not None]

    if mode == "eager":
        result = listed(tf, call(*tensors))
    elif mode == "gpu":
        with tf.device("GPU:0"):
            result = listed(tf, call(*tensors))
    elif mode == "traced":
        result = tf.function(function, autograph=False)(*tensors)
    elif mode == "dynamic":
        # Composite ones are described by what they are.
        plain = [is_plain(tf, t) for t in tensors]
        opened = [open_spec(tf, t, case["number"]) for t, p in zip(tensors, plain) if p]

        def of_plain(*given):
            given = iter(given)
            return function(*[next(given) if p else t for p, t in zip(plain, tensors)])

        traced = tf.function(of_plain, input_signature=opened, autograph=False)
        result = traced(*[t for t, p in zip(tensors, plain) if p])
    elif mode == "map":
        # A dataset makes one tensor of a list.
        mapped = lambda *given: tuple(function(*given))  # noqa: E731
        result = list(tf.data.Dataset.from_tensors(tuple(tensors)).map(mapped)) if tensors else as_tensors(function())
    elif mode == "backward":
        result = tf.function(backward, autograph=False)(*tensors)
    elif mode == "eager backward":
        result, found = backward(*tensors)
        result = [as_tensors(result), found]
    elif mode == "eager kept":
        result = as_tensors(function(*tensors))
    else:
        result = gradients(*tensors)
    return [value_of(tf, np, leaf) for leaf in leaves_of(tf, result)]


def listed(tf, result):
    """Of a dataset, what it gives."""
    return list(result.take(20)) if isinstance(result, tf.data.Dataset) else result


def leaves_of(tf, result):
    """What a call gave, as tensors and plain values."""
    leaves = []
    for leaf in tf.nest.flatten(result):
        leaf = listed(tf, leaf)
        if isinstance(leaf, list):
            leaves += leaves_of(tf, leaf)
        elif hasattr(leaf, "nested_row_splits"):
            leaves += [leaf.flat_values, *leaf.nested_row_splits]
        elif hasattr(leaf, "dense_shape"):
            leaves += [leaf.values, leaf.indices, leaf.dense_shape]
        else:
            leaves.append(leaf)
    return leaves


def value_of(tf, np, leaf):
    if isinstance(leaf, tf.Variable):
        leaf = leaf.read_value()  # what a function returns of it
    if not is_plain(tf, leaf):
        return repr(leaf)[:80] if isinstance(leaf, (bool, int, float, str, type(None))) else type(leaf).__name__
    values = leaf.numpy() if leaf.dtype.name not in ("resource", "variant") else np.zeros([])
    shown = np.asarray(values).reshape(-1) if np.size(values) else np.zeros([0])
    shown = np.concatenate([shown[:192], shown[-64:]]) if len(shown) > 256 else shown
    if shown.dtype.kind not in "OSU":
        shown = shown.astype("complex128" if shown.dtype.kind == "c" else "float64")
        shown = [[float(v.real), float(v.imag)] if shown.dtype.kind == "c" else float(v) for v in shown]
    else:
        shown = [v.hex() if isinstance(v, bytes) else str(v) for v in shown.tolist()]
    return [leaf.dtype.name, list(leaf.shape), shown]


def limit(limits):
    line = "VmSize" if limits.resource == resource.RLIMIT_AS else "VmData"
    used = int(re.search(line + r":\s*(\d+)", open("/proc/self/status").read())[1]) << 10
    resource.setrlimit(limits.resource, (used + limits.bytes,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run_child(path, start, library, against_cpu, outcome=None):
    """outcome(tf, np, case, begin): of a case; it says begin() before each part that has the time of a call."""
    outcome = outcome or (on_both if against_cpu else beside_eager)
    faulthandler.enable(os.fdopen(os.dup(2), "w"))  # where it was, for the parent
    warnings.simplefilter("ignore")
    if library == "tandem":
        sys.path.insert(0, PACKAGE)
    out = os.fdopen(os.dup(1), "w", buffering=1)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)  # what is said of an end (by the allocator, by an exception that nobody catches) is for the parent
    import numpy as np

    tf = __import__(library)
    import logging

    logging.disable(logging.CRITICAL)
    tf.reduce_sum(tf.ones([2]))
    list(tf.data.Dataset.range(1).map(lambda x: x))
    limits = OF_A_GPU if against_cpu else USUAL
    limit(limits)
    for number, line in enumerate(open(path)):
        if number < start:
            continue
        out.write(f"B {number}\n")
        found = outcome(tf, np, json.loads(line), lambda: out.write(f"B {number}\n"))  # noqa: B023
        out.write(f"E {number} {json.dumps(found)}\n")
        if not found.get("usable", True):
            break
        resident = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
        if resident > limits.resident // 2:
            import gc

            gc.collect()
            resident = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
            out.write(f"M {number} {resident}\n")
            if resident > limits.resident // 2:
                break
    out.write("D 0\n")
    out.flush()
    os._exit(0)


def beside_eager(tf, np, case, begin):
    """The outcome, and what the same call gives eagerly on the CPU."""
    outcome = outcome_of(tf, np, case)
    if tf.__name__ == "tandem" and case["mode"] in EAGER_MODES:
        with contextlib.suppress(tf.errors.OpError):
            tf._core.synchronize()  # its errors are not the next one's
        begin()
        outcome["eager"] = outcome_of(tf, np, case, "CPU:0", EAGER_MODES[case["mode"]])
    return outcome


def on_both(tf, np, case, begin):
    """The outcome on the GPU, whether the GPU can be used after it, and the outcome on the CPU."""
    outcome = outcome_of(tf, np, case, "GPU:0")
    return {**outcome, "usable": is_usable(tf), "cpu": outcome_of(tf, np, case, "CPU:0")}


def is_usable(tf):
    try:
        tf._core.synchronize()
    except tf.errors.OpError:
        pass  # of the call that has raised already: not one of the next
    try:
        with tf.device("GPU:0"):
            return (tf.range(4) + 1).numpy().tolist() == [1, 2, 3, 4]
    except Exception:  # noqa: BLE001  whatever it is, the GPU does not compute
        return False


def outcome_of(tf, np, case, device=None, mode=None):
    try:
        return {"value": evaluate(tf, np, case, device, mode)}
    except Exception as error:  # noqa: BLE001  whatever it is, it is judged
        return described(tf, error)


def described(tf, error):
    kind = type(error)
    if kind.__name__ == "StagingError":  # what AutoGraph makes of a class that it does not know
        inner = re.findall(r"^    (\w+): ", str(error), re.MULTILINE)
        inner = "TypeError" if inner and inner[-1].startswith("UFunc") else inner[-1] if inner else ""  # NumPy's own
        return {"error": "StagingError", "base": inner, "op_error": False, "message": str(error)[-400:]}
    message = str(error)
    if message.startswith("in user code:"):  # the stack of it
        message = re.sub(r"^\w+: ", "", message[message.rindex("\n    ") :].strip())
    base = next((k.__name__ for k in kind.__mro__ if k.__name__ in (*RIGHT, *ALSO)), kind.__name__)
    op_error = isinstance(error, tf.errors.OpError)
    described = {"error": kind.__name__, "base": base, "op_error": op_error, "message": message[:400]}
    at = error.__traceback__
    while at.tb_next:
        at = at.tb_next
    if at.tb_frame.f_code.co_filename in ("<string>", __file__):
        described["of_the_call"] = True  # its own text raised, or what it calls that is written in C; or what reads results
    return described


# ---- The parent


class Run:
    """Children that run a file of cases, one after the other, watched."""

    def __init__(self, python, library, cases, report, against_cpu=False, script=__file__):
        self._command = [python, script, "--library", library, *["--against-cpu"] * against_cpu]
        self._environment = environment(against_cpu)
        self._limits = OF_A_GPU if against_cpu else USUAL
        self.cases, self._report = cases, report
        self.outcomes = {}

    def all(self, deadline=None):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            for case in self.cases:
                file.write(json.dumps(case) + "\n")
            file.flush()
            start = 0
            while start < len(self.cases) and (deadline is None or time.monotonic() < deadline):
                start = self._child(file.name, start, deadline)
        return start

    def _child(self, path, start, deadline):
        with tempfile.TemporaryFile("w+") as errors:
            return self._watched(path, start, deadline, errors)

    def _watched(self, path, start, deadline, errors):
        child = subprocess.Popen(
            [*self._command, "--child", path, "--start", str(start)],
            stdout=subprocess.PIPE, stderr=errors, env=self._environment,
        )  # fmt: skip

        def stacks():
            end = os.fstat(errors.fileno()).st_size
            return os.pread(errors.fileno(), 4000, max(0, end - 4000)).decode(errors="replace")

        at, rest, fresh = start - 1, b"", True
        began, cpu = time.monotonic(), 0.0
        try:
            while True:
                ready, _, _ = select.select([child.stdout], [], [], 0.5)
                now = time.monotonic()
                if deadline is not None and now > deadline:
                    return at + 1
                if ready:
                    data = os.read(child.stdout.fileno(), 1 << 16)
                    if not data:
                        break
                    lines = (rest + data).split(b"\n")
                    rest = lines.pop()
                    for line in lines:
                        kind, number, *more = line.decode().split(" ", 2)
                        if kind == "B":
                            at, fresh = int(number), False
                        elif kind == "E":
                            self.outcomes[int(number)] = json.loads(more[0])
                            self._report(self.cases[int(number)], self.outcomes[int(number)])
                        elif kind == "M" and int(more[0]) > self._limits.resident:
                            self._report(self.cases[int(number)], {"memory": int(more[0])})
                        elif kind == "D":
                            return at + 1
                    began, cpu = now, cpu_of(child.pid)
                elif not fresh and (now - began > WALL_SECONDS * self._patience(at)
                                    or cpu_of(child.pid) - cpu > self._limits.cpu_seconds * self._patience(at)):  # fmt: skip
                    child.send_signal(signal.SIGABRT)  # it says where it is
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        child.wait(10)
                    self._bad(at, {"hang": round(now - began, 1), "stacks": stacks()})
                    return at + 1
        finally:
            child.kill()
            child.wait()
            child.stdout.close()
        if fresh:
            raise RuntimeError(f"the child ended before its first case, with status {child.returncode}")
        self._bad(at, {"crash": child.returncode, "stacks": stacks()})
        return at + 1

    def _patience(self, at):
        return 4 if MANY_RESULTS.search(self.cases[at]["function"]) else 1

    def _bad(self, at, outcome):
        self.outcomes[at] = outcome
        self._report(self.cases[at], outcome)


def cpu_of(pid):
    try:
        fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def environment(against_cpu):
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "TANDEM_CPP_MIN_LOG_LEVEL": "3"}
    made = {**os.environ, **quiet, "TANDEM_EMULATED_MEMORY_MB": "256",
             "TANDEM_CPU_CACHE_MB": "256"}  # memory that is there for the next tensor is not kept  # fmt: skip
    if against_cpu:
        # Products in full precision; several of these processes share a GPU.
        made |= {"TANDEM_TF32": "0", "TANDEM_GPU_MEMORY_MB": "2048"}
    else:
        made |= {"TANDEM_EMULATE_GPUS": "2", "TANDEM_CUDA": "0"}
    made["OMP_NUM_THREADS"] = made.get("OMP_NUM_THREADS", "2")
    return made


def wrong(case, outcome):
    """Why an outcome is a finding, or None."""
    if "crash" in outcome:
        status = outcome["crash"]
        return f"crash ({signal.Signals(-status).name})" if status < 0 else f"the process ended with status {status}"
    if "hang" in outcome:
        return f"hang ({outcome['hang']} s)"
    if "memory" in outcome:
        return f"{outcome['memory'] >> 20} MB are kept"
    if not outcome.get("usable", True):
        return f"the GPU cannot be used after this call ({outcome.get('error')}: {outcome.get('message')})"
    if "error" not in outcome:
        return other_than_cpu(case, outcome) or other_than_eager(case, outcome)
    name, base = outcome["error"], outcome["base"]
    if case["mode"] == "map" and name == "StopIteration":
        return None  # a dataset of nothing
    if outcome["op_error"]:
        of_ours = name in ("InternalError", "UnknownError", "OpError")
        return f"{name}: {outcome['message']}" if of_ours else other_than_eager(case, outcome)
    if outcome["error"] == "StagingError":
        said = outcome["message"].strip().splitlines()[-1].strip() if outcome["message"].strip() else ""
    else:
        said = f"{name}: {outcome['message']}"
    if (outcome.get("of_the_call") or outcome["error"] == "StagingError") and of_no_function(case, said):
        return other_than_eager(case, outcome)
    if base in RIGHT or (base in ALSO and re.search(ALSO[base], case["function"])) or ALWAYS.search(said):
        return other_than_eager(case, outcome)
    return f"{name}: {outcome['message']}"


def of_no_function(case, said):
    """An error of what a call does before and after the functions: NumPy's own, and attributes of what is something else."""
    if said == "IndexError: tuple index out of range" and "a[0]" in case["call"]:
        return True  # a function of FUNCTIONS, called without arguments
    if re.search(r"^(MemoryError|OverflowError)", said):
        # NumPy's words, and Python's own lists, which say nothing.
        return "np." in case["call"] or "Unable to allocate" in said or said == "MemoryError: "
    return re.search(r"^AttributeError: ('NoneType' object|'tandem\.\w*Tensor' object has no attribute '(values|indices|dense_shape)')", said)


def other_than_cpu(case, outcome):
    """How the GPU's values differ from the CPU's, or None."""
    cpu = outcome.get("cpu", {})
    if "value" not in cpu or ILL_POSED.search(case["function"]) or ILL_POSED_OPS.search(case["function"]):
        return None
    if TRANSFORMS.search(case["function"]) and SPECIAL_VALUES.search(" ".join([case["call"], *case["tensors"]])):
        return None
    if PRODUCTS.search(case["function"]) and case["mode"] == "gradient" and not all_finite(cpu):
        return None
    if re.search(r"as_string$|AsString$", case["function"]):
        outcome, cpu = without_nan_signs(outcome), without_nan_signs(cpu)
    if NO_INTEGER.search(" ".join([case["call"], *case["tensors"]])):
        outcome, cpu = ({"value": [v for v in o["value"] if not is_integers(v)]} for o in (outcome, cpu))
    reason = difference(case, outcome, cpu, scaled=True)
    return reason and f"on the GPU (here) and the CPU (there): {reason}"


def other_than_eager(case, outcome):
    """How a mode's outcome differs from the eager one, or None."""
    eager = outcome.get("eager")
    if eager is None:
        return None
    if "error" in outcome and "error" in eager:
        return None  # what is refused when a function is traced is refused with other words; each class is judged by itself
    if case["mode"] == "gradient" and "value" in eager:
        if "error" in outcome:
            return None  # what has no gradient; it is compared in "backward"
        outcome = {"value": outcome["value"][: len(eager["value"])]}
    if NO_INTEGER.search(" ".join([case["call"], *case["tensors"]])):
        outcome, eager = ({**o, "value": [v for v in o["value"] if not is_integers(v)]} if "value" in o else o
                          for o in (outcome, eager))  # fmt: skip
    reason = difference(case, outcome, eager, scaled=True)
    if reason is None or exception_of(case, reason):
        return None
    return f"{case['mode']} (here) and eager (there): {reason}"


def exception_of(case, reason):
    """The name of what lets a mode differ from the eager call, or None."""
    text = " ".join([case["call"], *case["tensors"]])
    for name, rule in MAY_DIFFER.items():
        if re.search(rule.functions, case["function"]) and re.search(rule.reason, reason) and re.search(rule.calls, text):
            return name
    return None


def all_finite(outcome):
    values = [v[2] for v in outcome["value"] if isinstance(v, list)]
    return all(abs(n) < float("inf") for n in numbers(sum(values, [])))


def without_nan_signs(outcome):
    """The NaN of 0 * inf has a sign on x86 processors and none on GPUs."""
    return {"value": json.loads(json.dumps(outcome["value"]).replace(b"-nan".hex(), b"nan".hex()))}


def is_integers(value):
    return isinstance(value, list) and "int" in value[0]


def shown(case):
    made = "".join(f"    t{i} = {text}\n" for i, text in enumerate(case["tensors"]))
    return f"{case['mode']}:\n{made}    {case['call']}"


class Findings:
    """Prints each kind once: what was called, how, and what became of it."""

    def __init__(self, options):
        self.calls, self.count = 0, 0
        self._again = f"--seed {options.seed}" + " --against-cpu" * options.against_cpu
        if options.modes != default_modes(options):
            self._again += f" --modes {','.join(options.modes)}"
        if options.functions:
            self._again += f" --functions '{options.functions}'"
        self._seen = collections.Counter()
        self.outcomes = collections.Counter()

    def report(self, case, outcome):
        if "memory" not in outcome:
            self.calls += 1
            self.outcomes["error" if "error" in outcome else "value" if "value" in outcome else "finding"] += 1
        reason = wrong(case, outcome)
        if reason is not None:
            self.count += 1
            self._print(case, reason, outcome)
        elif "error" in outcome and "value" in outcome.get("cpu", {}):
            self.outcomes["refused by the GPU alone"] += 1
            self._print(case, f"note: only the GPU refuses it: {outcome['error']}: {outcome['message']}", outcome)

    def _print(self, case, reason, outcome):
        key = (case["function"], re.sub(r"\d+", "#", reason)[:60])
        self._seen[key] += 1
        if self._seen[key] > 1:
            return
        again = f"tests/fuzz/fuzz_ops.py {self._again} --only {case['number']}"
        print(f"{reason}\n  {shown(case)}\n  again: {again}\n{outcome.get('stacks', '')}", flush=True)


def fuzz(options):
    generator = Generator(options.seed, options.modes, options.functions)
    findings = Findings(options)
    deadline = time.monotonic() + options.seconds if options.seconds else None
    print(f"seed {options.seed}, {len(generator)} functions, modes {', '.join(options.modes)}", flush=True)
    number = options.start
    while (options.calls is None or findings.calls < options.calls) and (deadline is None or time.monotonic() < deadline):
        count = BATCH if options.calls is None else min(BATCH, options.calls - findings.calls)
        cases = [generator.case(number + i) for i in range(count)]
        Run(sys.executable, "tandem", cases, findings.report, options.against_cpu).all(deadline)
        number += count
    print(", ".join(f"{k}: {v}" for k, v in sorted(findings.outcomes.items())))
    print(f"fuzz_ops: {findings.calls} calls, {findings.count} findings")
    return 1 if findings.count else 0


def only(options):
    generator = Generator(options.seed, options.modes, options.functions)
    case = generator.case(options.only)
    print(shown(case))
    gathered = []
    Run(sys.executable, "tandem", [case], lambda _, outcome: gathered.append(outcome), options.against_cpu).all()
    reason = wrong(case, gathered[-1])
    print(json.dumps(gathered[-1])[:2000], *[reason] * bool(reason), sep="\n")
    return 1 if reason else 0


# ---- Against TensorFlow


def same_class(mine, theirs):
    if mine["error"] == theirs["error"] or mine["base"] == theirs["base"]:
        return True
    # Traced calls raise Python's classes for what is refused when the function is traced.
    loose = {"InvalidArgumentError", "ValueError", "TypeError", "UnimplementedError", "NotFoundError", "NotImplementedError"}
    return all(outcome["error"] in loose or outcome["base"] in loose for outcome in (mine, theirs))


def difference(case, mine, theirs, scaled=False):
    """What to say of two outcomes, or None. Scaled: an element may be off by a share of the greatest one."""
    if "crash" in theirs or "hang" in theirs or "crash" in mine or "hang" in mine:
        return None  # TensorFlow has its own
    if "error" in mine and "error" in theirs:
        return None if same_class(mine, theirs) else f"class: {mine['error']} here, {theirs['error']} there"
    if "error" in theirs:
        return f"value here, there {theirs['error']}: {theirs['message'][:200]}"
    if "error" in mine:
        return f"value there, here {mine['error']}: {mine['message'][:200]}"
    if RANDOM.search(case["function"]):
        return None
    if len(mine["value"]) != len(theirs["value"]):
        return f"{len(mine['value'])} results here, {len(theirs['value'])} there"
    for a, b in zip(mine["value"], theirs["value"]):
        if type(a) is not type(b) or (isinstance(a, list) and (a[0] != b[0] or a[1] != b[1])):
            return f"another result: {str(a)[:100]} here, {str(b)[:100]} there"
        if isinstance(a, list) and not close(a[0], a[2], b[2], scaled):
            return f"another value: {str(a)[:160]} here, {str(b)[:160]} there"
    return None


def numbers(values):
    return [v for x in values for v in (x if isinstance(x, list) else [x]) if isinstance(v, float)]


def close(dtype, a, b, scaled=False):
    tolerance = {"float16": 1e-2, "bfloat16": 6e-2, "float64": 1e-8, "complex128": 1e-8}.get(dtype, 1e-4)
    scale = max((abs(w) for w in numbers(b) if abs(w) < float("inf")), default=0.0) if scaled else 0.0
    for x, y in zip(a, b):
        for v, w in zip(x, y) if isinstance(x, list) else [(x, y)]:
            if v == w or (v != v and w != w):
                continue
            if not isinstance(v, float) or not abs(v - w) <= tolerance * (1 + max(abs(w), scale)):
                return False
    return True


def compare(options):
    generator = Generator(options.seed, options.modes, options.functions)
    seen = collections.Counter()
    calls, found, number = 0, 0, options.start
    print(f"seed {options.seed}", flush=True)
    while calls < (options.calls or 4000):
        cases = [generator.case(number + i) for i in range(min(BATCH, (options.calls or 4000) - calls))]
        number += len(cases)
        calls += len(cases)
        mine, theirs = (Run(python, library, cases, lambda *_: None)
                        for python, library in ((sys.executable, "tandem"), (options.compare, "tensorflow")))  # fmt: skip
        mine.all()
        if options.findings:
            theirs = Run(options.compare, "tensorflow", [c for i, c in enumerate(cases)
                                                         if i in mine.outcomes and wrong(c, mine.outcomes[i])], lambda *_: None)  # fmt: skip
            theirs.all()
            for i, case in enumerate(theirs.cases):
                at = case["number"] - cases[0]["number"]
                print(f"{wrong(case, mine.outcomes[at])[:150]}\n  there {json.dumps(theirs.outcomes.get(i))[:200]}\n"
                      f"  {shown(case)}\n  number {case['number']}\n", flush=True)  # fmt: skip
            continue
        theirs.all()
        for i, case in enumerate(cases):
            if i not in mine.outcomes or i not in theirs.outcomes:
                continue
            reason = wrong(case, mine.outcomes[i])
            if reason and mine.outcomes[i].get("base") != theirs.outcomes[i].get("base"):
                reason = f"{reason} (there: {json.dumps(theirs.outcomes[i])[:200]})"
            else:
                reason = difference(case, mine.outcomes[i], theirs.outcomes[i])
            if reason is None:
                continue
            found += 1
            key = (case["function"], re.sub(r"[-\d.]+", "#", reason)[:40])
            seen[key] += 1
            if seen[key] == 1:
                print(f"{reason}\n  {shown(case)}\n  number {case['number']}\n", flush=True)
    print(f"compare: {calls} calls, {found} differences of {len(seen)} kinds")
    return 0


def default_modes(options):
    return list(MODES_OF_A_GPU if options.against_cpu else MODES)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--calls", type=int, help="end after so many")
    parser.add_argument("--start", type=int, default=0, help="the number of the first call")
    parser.add_argument("--only", type=int, help="this call alone")
    parser.add_argument("--modes", type=lambda v: v.split(","))
    parser.add_argument("--functions", help="a regular expression that names must match")
    parser.add_argument("--against-cpu", action="store_true", help="on the machine's own GPU and on the CPU")
    parser.add_argument("--compare", metavar="PYTHON", help="a Python that has TensorFlow")
    parser.add_argument("--findings", action="store_true", help="with --compare: what is said there to the findings here")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--library", default="tandem", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.modes = options.modes or default_modes(options)
    if options.child:
        return run_child(options.child, options.start, options.library, options.against_cpu)
    if options.only is not None:
        return only(options)
    if options.compare:
        return compare(options)
    if options.seconds is None and options.calls is None:
        options.seconds = 60
    return fuzz(options)


if __name__ == "__main__":
    sys.exit(main())
