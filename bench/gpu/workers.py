"""How the drivers of `make bench-gpu` start their workers: Tandem's, twice, and those of the peers."""

import os
import sys

from common.driver import ROOT, Worker, environment

SCRIPTS = {"torch": "gpu/torch_gpu.py", "jax": "gpu/jax_gpu.py"}
# Processes of one peer, by what they are told: a graph that torch.compile captures after others have captured
# theirs in the same process ends in an assertion on the device. JAX would take three quarters of the memory.
SETTINGS = {
    "torch": [{"TANDEM_TORCH_FORMS": forms} for forms in ("eager,graph", "compile", "compile_graphs")],
    "jax": [{"XLA_PYTHON_CLIENT_MEM_FRACTION": "0.25"}],
}


def add_arguments(parser):
    parser.add_argument("--small", action="store_true", help="large models and tensors at sizes for a CPU")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="of the peers (default cuda)")


def processes(name, device):
    """The environments of the processes that stand for a peer. TANDEM_TORCH_FORMS limits PyTorch's forms."""
    if name != "torch":
        return SETTINGS[name]
    if device == "cpu":
        return [{}]
    wanted = os.environ.get("TANDEM_TORCH_FORMS")
    chosen = []
    for settings in SETTINGS[name]:
        forms = [f for f in settings["TANDEM_TORCH_FORMS"].split(",") if not wanted or f in wanted.split(",")]
        if forms:
            chosen.append({"TANDEM_TORCH_FORMS": ",".join(forms)})
    return chosen


def start_workers(arguments):
    python = environment(arguments) / "bin/python" if arguments.peers else None
    common = ["--threads", str(arguments.threads)] + ["--small"] * arguments.small
    tandem = [arguments.tandem, *common]
    workers = [Worker("tandem", tandem)]
    for name in arguments.peers:
        if name not in SCRIPTS:
            sys.exit(f"bench-gpu: no peer named {name}; there are: {', '.join(SCRIPTS)}")
        script = [python, ROOT / "bench" / SCRIPTS[name], *common, "--device", arguments.device]
        for settings in processes(name, arguments.device):
            workers.append(Worker(name, script, {"JAX_PLATFORMS": arguments.device, **settings}))
    return workers + [Worker("tandem again", tandem)]
