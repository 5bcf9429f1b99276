"""The checks by name. Each is made to take at most eight minutes on a machine with 16 cores and one H200."""

from runners import (
    Acceptance, Bench, Examples, Fuzz, Fuzzer, Keras, Measured, Programs, Pytest, program, sanitizer, script,
)  # fmt: skip

# Values against the CPU: products in full precision, and no GPU is no success.
EXACT = {"TANDEM_TF32": "0", "TANDEM_TEST_NEEDS_GPU": "1"}
RTX_3080 = {"TANDEM_GPU_MEMORY_MB": "10240", "TANDEM_EMULATED_MEMORY_MB": "10240"}
OP_VALUES, OP_GRADIENTS, OP_FUNCTIONS = "Gpu.*:Emulated.*", "*GpuGradient.*", "*GpuTraced.*"
OP_PARTS = 3
SANITIZER_PARTS = 4
PYTHON_PARTS = 3
# Those of op_test take sizes that need few threads; libraries' own kernels are left out.
SHARED_MEMORY = [
    ("cuda_device_test", "CudaRows.*:CudaNorm.*:CudaFused.*:CudaRecurrent.*:CudaKernels.*:CudaLinalg.*-*EveryTime"),
    ("cuda_attention_test", "-*Cudnn*:*LargeCalls*:*EveryTime"),
]
LAYERS = (
    ("layers-1", ["layers/activations", "layers/attention", "layers/convolutional"]),
    ("layers-2", ["layers/core", "layers/merging", "layers/normalization", "layers/pooling"]),
    ("layers-3", ["layers/regularization", "layers/reshaping", "layers/rnn"]),
)


def ops(part):
    return Programs(f"every op of the table against the CPU, part {part + 1} of {OP_PARTS}", [("op_test", OP_VALUES)], part, OP_PARTS, EXACT)


def sanitized(tool, part, of):
    what = f"op tests under compute-sanitizer's {tool}, part {part + 1} of {of}"
    return Programs(what, [("op_test", OP_VALUES)], part, of, EXACT, sanitizer(tool))


def steps(what, cases):
    return Bench(f"training steps beside PyTorch and JAX: {what}", "bench/gpu/run.py", ("--cases", cases, "--rounds", "5"))


# On the machine's own GPU. Each process has a context of half a gigabyte and threads for some cores.
STRESS = Fuzz(
    "threads that share the CPU and the GPU, every value checked",
    (
        Fuzzer("threads", script("tests/fuzz/fuzz_threads.py"), processes=3, slice=40),
        Fuzzer("stress", program("emulated_run_test", "--gtest_filter=Stress.*", "--gtest_repeat=5"), processes=2),
    ),
    ("emulated_run_test",),
    EXACT,
)
FUZZ_OPS = Fuzz(
    "random and hostile calls: public functions beside the CPU, ops of the table, stored graphs",
    (
        Fuzzer("functions", script("tests/fuzz/fuzz_ops.py", "--against-cpu"), processes=6),
        Fuzzer("ops", script("tests/fuzz/fuzz_raw_ops.py", "--own-gpu"), processes=4),
    ),
    ("op_test", "hostile_graph_test"),
    EXACT,
)

CHECKS = {
    # Tests that read files beside their sources, or start programs by their place in the build, stay at home.
    "host": Programs("the plugin's host logic, and that all kernels compile", [("cuda_host_test", "-CudaDoctor.*:Nvtx.*")]),
    "device": Programs("memory, streams, captured steps and errors of the device", ["cuda_device_test"], environment=EXACT),
    "attention": Programs("attention on tensor cores", ["cuda_attention_test"], environment={"TANDEM_TEST_NEEDS_GPU": "1"}),
    **{f"ops-{i + 1}": ops(i) for i in range(OP_PARTS)},
    "gradients": Programs("gradients of every op against the CPU", [("op_test", OP_GRADIENTS)], environment=EXACT),
    "functions": Programs(
        "every op in a compiled function, and the tests of functions, loops and training",
        [("op_test", OP_FUNCTIONS), "function_test", "control_flow_test", ("cpu_train_test", "TracedOptimizer.*:MixedPrecision.*:LossScale.*"), ("fused_test", "*EveryDevice*")],
        environment=EXACT,
    ),
    "graphs": Programs(
        "random graphs across the CPU and the GPU",
        ["planned_graph_test", ("branches_test", "RandomBranches.*")],
        environment=EXACT,
    ),
    "examples": Examples(
        "the programs under examples/", ("custom_loop", "pipeline", "train_mlp", "demo"), ("cpu_and_gpu.py", "mirrored.py")
    ),
    **{
        f"python-{i + 1}": Pytest(f"tests of the Python package, part {i + 1} of {PYTHON_PARTS}", i, PYTHON_PARTS)
        for i in range(PYTHON_PARTS)
    },
    "acceptance": Acceptance("the acceptance scripts"),
    "acceptance-10gb": Acceptance("the acceptance scripts with the memory of an RTX 3080", RTX_3080),
    **{f"keras-{name}": Keras(f"Keras's own tests: {', '.join(only)}", only) for name, only in LAYERS},
    "keras-losses": Keras("Keras's own tests: losses and metrics", ["losses/", "metrics/"]),
    "keras-optimizers": Keras("Keras's own tests: optimizers", ["optimizers/"]),
    "keras-trainers": Keras("Keras's own tests: trainers", ["trainers/"]),
    "stress": STRESS,
    "fuzz-ops": FUZZ_OPS,
    "ulp": Measured("errors of elementwise functions in ulp", "tools/gpu/ulp", EXACT),
    "growth": Measured("the GPU's memory while models train", "tools/gpu/growth", EXACT),
    **{f"memcheck-{i + 1}": sanitized("memcheck", i, SANITIZER_PARTS) for i in range(SANITIZER_PARTS)},
    **{f"{tool}-{i + 1}": sanitized(tool, i, 2) for tool in ("racecheck", "initcheck", "synccheck") for i in range(2)},
    "racecheck-kernels": Programs(
        "tests of the kernels with shared memory under compute-sanitizer's racecheck",
        SHARED_MEMORY,
        environment=EXACT,
        wrapper=sanitizer("racecheck"),
    ),
    "bench-small": steps("MLPs, CNN, LSTM", "mlp,cnn_b64,lstm_b32"),
    "bench-transformer": steps("the transformer", "transformer_512_b8"),
    "bench-gpt2": steps("GPT-2", "gpt2_b8_bf16"),
    "bench-resnet50-tf32": steps("ResNet-50 in TF32", "resnet50_b128_tf32"),
    "bench-resnet50-bf16": steps("ResNet-50 in bfloat16", "resnet50_b128_bf16"),
    "bench-ops": Bench("single ops and their share of what the GPU can do", "bench/gpu/ops.py", ("--rounds", "5")),
    "bench-fit": Bench("fit of Keras models beside JAX and PyTorch", "bench/fit/run.py", ("--device", "gpu", "--peers", "jax,torch", "--cases", "fit", "--rounds", "3")),
}
