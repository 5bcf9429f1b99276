"""`tandem kernel install`: a kernel for notebooks in which `import tensorflow` is Tandem, from the first cell on."""

import argparse
import importlib.util
import json
import os
import sys
import tempfile


def kernel_spec(python=sys.executable):
    """What Jupyter is told: the command that starts a kernel, and the name that people choose."""
    spec = {
        "argv": [python, "-m", "tandem", "run", "--quiet", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "Python (Tandem as TensorFlow)",
        "language": "python",
        "metadata": {"debugger": True},
    }
    if os.environ.get("PYTHONPATH"):  # Tandem may lie there
        spec["env"] = {"PYTHONPATH": os.environ["PYTHONPATH"]}
    return spec


def main(arguments):
    parser = argparse.ArgumentParser(prog="tandem kernel", description="A kernel for notebooks.")
    parser.add_argument("action", choices=["install", "show"], help="install it, or print what Jupyter would be told")
    parser.add_argument("--name", default="tandem", help="the name of the kernel's folder (tandem)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="for this user")
    where.add_argument("--prefix", help="under PREFIX/share/jupyter/kernels (this environment)")
    options = parser.parse_args(arguments)
    text = json.dumps(kernel_spec(), indent=1)
    if options.action == "show":
        print(text)
        return 0
    if importlib.util.find_spec("ipykernel") is None:
        sys.stderr.write("tandem kernel: notebooks need ipykernel in this environment; run: pip install ipykernel\n")
        return 1
    from jupyter_client.kernelspec import KernelSpecManager

    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "kernel.json"), "w", encoding="utf-8") as file:
            file.write(text)
        prefix = None if options.user else options.prefix or sys.prefix
        found = KernelSpecManager().install_kernel_spec(folder, options.name, user=options.user, prefix=prefix)
    print(f"tandem: installed the kernel {options.name!r} in {found}")
    return 0
