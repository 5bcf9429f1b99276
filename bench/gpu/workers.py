"""How the drivers of `make bench-gpu` start their workers: Tandem's, twice, and those of the peers."""

import sys

from common.driver import ROOT, Worker, environment

SCRIPTS = {"torch": "gpu/torch_gpu.py", "jax": "gpu/jax_gpu.py"}


def add_arguments(parser):
    parser.add_argument("--small", action="store_true", help="large models and tensors at sizes for a CPU")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="of the peers (default cuda)")


def start_workers(arguments):
    python = environment(arguments) / "bin/python" if arguments.peers else None
    common = ["--threads", str(arguments.threads)] + ["--small"] * arguments.small
    tandem = [arguments.tandem, *common]
    settings = {"JAX_PLATFORMS": arguments.device}
    workers = [Worker("tandem", tandem)]
    for name in arguments.peers:
        if name not in SCRIPTS:
            sys.exit(f"bench-gpu: no peer named {name}; there are: {', '.join(SCRIPTS)}")
        script = [python, ROOT / "bench" / SCRIPTS[name], *common, "--device", arguments.device]
        workers.append(Worker(name, script, settings))
    return workers + [Worker("tandem again", tandem)]
