"""The command `tandem`: `run`, `coverage` and `kernel` are Python; everything else is the native command."""

import argparse
import os
import runpy
import subprocess
import sys
import time
import traceback

USAGE = """usage: tandem run [--quiet] [--trace FILE] (SCRIPT | -m MODULE | -c CODE) [ARGUMENT...]
                                          run a program; tensorflow and keras in it are Tandem
       tandem coverage [--absent]         which of TensorFlow's names there are
       tandem coverage FILE|PACKAGE       which of them a program uses that are not there
       tandem kernel install [--user]     a kernel for notebooks in which tensorflow is Tandem
       tandem doctor | devices | ops ...  see tandem --help of the native command
"""


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["run"]:
        return run(arguments[1:])
    if arguments[:1] == ["coverage"]:
        return coverage(arguments[1:])
    if arguments[:1] == ["kernel"]:
        from tandem import kernel

        return kernel.main(arguments[1:])
    if arguments[:1] == ["doctor"]:
        return doctor(arguments)
    if not arguments:
        sys.stderr.write(USAGE)
        return 2
    if arguments[0] in ("-h", "--help"):
        print(USAGE)
    return native(arguments)


def native(arguments):
    """Passes a command on to the native program."""
    here = os.path.dirname(os.path.abspath(__file__))
    package = os.path.dirname(os.path.abspath(sys.modules["tandem"].__file__))
    for folder in (here, package):
        for candidate in ("bin/tandem", "../../bin/tandem"):
            path = os.path.join(folder, candidate)
            if os.path.exists(path):
                return subprocess.run([path, *arguments], check=False).returncode
    sys.stderr.write(f"tandem: there is no native command beside the package ({package})\n")
    return 1


def doctor(arguments):
    """The native command, and what only Python knows."""
    sys.stdout.flush()
    status = native(arguments)
    if not {"-h", "--help"} & set(arguments):
        from tandem import requirers

        requirers.report()
    return status


def run(arguments):
    parser = argparse.ArgumentParser(prog="tandem run", description="Run a TensorFlow program on Tandem.")
    parser.usage = "tandem run [--quiet] [--trace FILE] (SCRIPT | -m MODULE | -c CODE) [ARGUMENT...]"
    parser.add_argument("--quiet", action="store_true", help="no summary at the end")
    parser.add_argument("--trace", metavar="FILE", help="write what ran where, for Perfetto (Chrome's trace format)")
    own, kind, target, rest = split(arguments)
    options = parser.parse_args(own)
    if target is None:
        parser.error(f"the following arguments are required: {'script' if kind == 'script' else kind}")
    if kind == "script" and not os.path.exists(target):
        sys.stderr.write(f"tandem run: no such file: {target}\n")
        return 2

    import tandem

    tandem.install_as_tensorflow()
    serve_children()
    sys.argv = [target if kind == "script" else kind, *rest]
    sys.path.insert(0, os.path.dirname(os.path.abspath(target)) if kind == "script" else os.getcwd() if kind == "-m" else "")
    start = time.monotonic()
    if options.trace:
        from tandem.profiling import profiler

        profiler.start_trace(os.path.abspath(options.trace))
    status, raised = run_program(kind, target)
    if options.trace:
        profiler.stop_trace()
    if not options.quiet and not raised:
        summarize(time.monotonic() - start)
    return status


def split(arguments):
    """(options of ours, "script", "-m" or "-c", what is run, its arguments): as Python, which stops at the program."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-") and arguments[at] not in ("-m", "-c"):
        at += 2 if arguments[at] == "--trace" else 1
    own, rest = arguments[:at], arguments[at:]
    kind = rest.pop(0) if rest[:1] in (["-m"], ["-c"]) else "script"
    return own, kind, rest[0] if rest else None, rest[1:]


def serve_children():
    """What the program starts has Tandem's tensorflow, too: processes of Python read the variable (tandem.pth), and those
    that multiprocessing starts afresh are told."""
    from multiprocessing import spawn

    os.environ["TANDEM_AS_TENSORFLOW"] = "1"
    prepare = spawn.get_preparation_data
    spawn.get_preparation_data = lambda name: {**prepare(name), "tandem": _InChild()}


class _InChild:
    """Part of what a child is told before it imports the script."""

    def __reduce__(self):
        return _begin_child, ()


def _begin_child():
    import tandem

    tandem.install_as_tensorflow()
    serve_children()


def run_program(kind, target):
    """Runs it as __main__; its tracebacks begin with its own frames. (status, whether it ended in a traceback)."""
    try:
        if kind == "script":
            runpy.run_path(target, run_name="__main__")
        elif kind == "-m":
            runpy.run_module(target, run_name="__main__", alter_sys=True)
        else:
            exec(compile(target, "<string>", "exec"), vars(sys.modules["__main__"]))  # noqa: S102
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(end.code + "\n")
            return 1, False
        return end.code or 0, False
    except BaseException as error:  # noqa: BLE001  (whatever the program raised is shown as Python would)
        frames = error.__traceback__
        own = {__file__, runpy.__file__}
        while frames is not None and (
            frames.tb_frame.f_code.co_filename in own or frames.tb_frame.f_code.co_filename.startswith("<frozen")
        ):
            frames = frames.tb_next
        sys.stdout.flush()
        traceback.print_exception(type(error), error, frames)
        return 130 if isinstance(error, KeyboardInterrupt) else 1, True
    return 0, False


def summarize(seconds):
    from tandem import _core

    stats = _core.run_stats()
    devices = ", ".join(d.name.removeprefix("/device:") for d in _core.config.list_logical_devices())
    sys.stdout.flush()
    sys.stderr.write(f"tandem: {seconds:.1f} s on {devices}\n")
    sys.stderr.write(
        f"tandem: {stats['ops']} eager ops, {stats['copies']} copies between devices "
        f"({stats['copied_bytes'] / 2**20:.1f} MiB)\n"
    )


def coverage(arguments):
    """What there is of TensorFlow's names; of a program or package, what it would miss."""
    parser = argparse.ArgumentParser(prog="tandem coverage", description="Which of TensorFlow's names there are.")
    parser.add_argument("--absent", action="store_true", help="list every name that is not there, with the reason")
    parser.add_argument("target", nargs="?", help="a file, folder or installed package: what of it is missing here")
    options = parser.parse_args(arguments)
    if options.target:
        from tandem import coverage_of

        return coverage_of.report(options.target)
    from tandem import coverage

    return coverage.report(options.absent)
