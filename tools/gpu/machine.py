"""Where the pieces of a pack lie, and the environment that its programs run in."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import time


class Machine:
    """`pack` is the unpacked folder: bin, lib, python (the package), site (what it imports), acceptance."""

    def __init__(self, root, output, jobs, small, check, seconds=None):
        self.root, self.output, self.jobs, self.small, self.check = root, output, jobs, small, check
        self.end = time.monotonic() + seconds if seconds else None
        self.pack = unpack(root)
        self.python = sys.executable
        self.emulated = bool(os.environ.get("TANDEM_EMULATE_GPUS"))
        paths = [self.pack / "python", self.pack / "site"]
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "TANDEM_PACKAGE": str(self.pack / "python"),
            "PYTHONUNBUFFERED": "1",
            # What is looked at and timed is the plan that stays, not the one that stands in for it.
            "TANDEM_BACKGROUND_COMPILE": os.environ.get("TANDEM_BACKGROUND_COMPILE", "0"),
            # One for all processes of this machine, since each kernel takes a tenth of a second to compile.
            "TANDEM_CACHE_DIR": os.environ.get("TANDEM_CACHE_DIR", str(self.pack / "kernel-cache")),
        }

    def left(self, most):
        """Seconds that a check has yet, of `most` that it wants."""
        return most if self.end is None else max(0, min(most, self.end - time.monotonic()))

    def program(self, name):
        return str(self.pack / "bin" / name)

    def gpu_name(self):
        """Of the first GPU that Tandem finds; None where there is none."""
        done = subprocess.run(
            [self.program("tandem"), "devices"], env=self.environment, capture_output=True, text=True, check=False
        )
        for line in done.stdout.splitlines():
            if "/physical_device:GPU:0" in line:
                return line.split("/physical_device:GPU:0", 1)[1].strip()
        return None

    def log(self, name):
        """A file for a program's output, in a folder of the check's own: several may run at once."""
        folder = self.pack / "logs" / self.check
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{name}.log"


def unpack(root):
    """Unpacks .gpu-pack/pack.tar.xz where that has not been done, or was done for another one."""
    folder = pathlib.Path(os.environ.get("TANDEM_GPU_PACK", root / ".gpu-pack"))
    archive, unpacked = folder / "pack.tar.xz", folder / "unpacked"
    if not archive.exists():
        sys.exit(f"{archive} is missing; make it with tools/gpu/pack and carry .gpu-pack")
    stamp = unpacked / "stamp"
    mark = hashlib.sha256(archive.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != mark:
        shutil.rmtree(unpacked, ignore_errors=True)
        with tarfile.open(archive) as tar:
            tar.extractall(unpacked, filter="tar")
        stamp.write_text(mark)
    return unpacked
