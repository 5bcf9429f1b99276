"""A root folder with next to nothing in it, in which commands run without a network."""

import glob
import os
import re
import shutil
import subprocess

# What the tags of manylinux let a wheel expect of a system, and what Python needs for itself.
SYSTEM = ("libc.so.6", "libm.so.6", "libmvec.so.1", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1", "libresolv.so.2",
          "libnss_files.so.2", "libcrypt.so.1", "libgcc_s.so.1", "libstdc++.so.6", "libz.so.1", "libffi.so.7", "libffi.so.8")
LEFT_OUT = shutil.ignore_patterns("site-packages", "test", "tests", "__pycache__", "config-3*", "idlelib", "lib2to3", "tkinter", "*.a")
LIMIT_S = 900


def interpreter(version, tools):
    """One made for the sysroot's C library if there is one, else one of this machine."""
    own = [f"{tools}/python-{version}/bin/python{version}"]
    pyenv = sorted(glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python{version}")))
    for path in [*own, *pyenv, shutil.which(f"python{version}")]:
        if path and os.path.exists(path):
            return os.path.realpath(path)
    return None


def runs_with(python, glibc):
    """Whether this interpreter asks for no newer C library."""
    files = [python, *glob.glob(os.path.join(os.path.dirname(python), "../lib/libpython3*.so.*"))]
    asked = re.findall(r"GLIBC_2\.(\d+)", "".join(subprocess.check_output(["objdump", "-T", path], text=True) for path in files))
    return max(map(int, asked)) <= glibc


class BareRoot:
    def __init__(self, version, python, tools):
        self.version = version
        self.folder = os.path.join(tools, f"bare-{version}")
        self.remove()
        old = runs_with(python, 31)
        self.glibc = "2.31" if old else os.confstr("CS_GNU_LIBC_VERSION").split()[1]
        places = [f"{tools}/root/lib/x86_64-linux-gnu", f"{tools}/root/usr/lib/x86_64-linux-gnu"] if old else \
            ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"]
        for folder in ("bin", "dev", "etc", "home/user", "lib/x86_64-linux-gnu", "lib64", "proc", "root", "tmp"):
            os.makedirs(f"{self.folder}/{folder}")
        os.chmod(f"{self.folder}/tmp", 0o1777)
        os.chown(f"{self.folder}/home/user", 1000, 1000)
        for name in SYSTEM:
            for place in places:
                if os.path.exists(f"{place}/{name}"):
                    shutil.copyfile(f"{place}/{name}", f"{self.folder}/lib/x86_64-linux-gnu/{name}")
                    break
        loader = f"{self.folder}/lib64/ld-linux-x86-64.so.2"
        shutil.copyfile(os.path.realpath(f"{places[0]}/ld-2.31.so" if old else "/lib64/ld-linux-x86-64.so.2"), loader)
        os.chmod(loader, 0o755)
        with open(f"{self.folder}/etc/passwd", "w") as file:
            file.write("root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n")
        self._take_shell(tools)
        self._take_python(python)

    def _take_shell(self, tools):
        (busybox,) = glob.glob(f"{tools}/root/bin/busybox")
        shutil.copy(busybox, f"{self.folder}/bin/busybox")
        for name in ("sh", "mkdir", "printf", "ls", "cat", "env", "uname"):
            os.symlink("busybox", f"{self.folder}/bin/{name}")

    def _take_python(self, python):
        prefix = os.path.dirname(os.path.dirname(python))
        name = f"python{self.version}"
        os.makedirs(f"{self.folder}/python/bin")
        os.makedirs(f"{self.folder}/python/lib")
        shutil.copy(python, f"{self.folder}/python/bin/{name}")
        for library in glob.glob(f"{prefix}/lib/libpython3*.so.*"):
            shutil.copy(library, f"{self.folder}/lib/x86_64-linux-gnu/")
        shutil.copytree(f"{prefix}/lib/{name}", f"{self.folder}/python/lib/{name}", ignore=LEFT_OUT, symlinks=True)

    def home(self, user):
        return "/root" if user == "root" else f"/home/{user}"

    def take(self, folder, files):
        os.makedirs(f"{self.folder}/{folder}", exist_ok=True)
        for path in files:
            shutil.copy(path, f"{self.folder}/{folder}/")

    def run(self, command, user, env):
        """(status, all that it printed)."""
        inside = f"mount -t proc proc {self.folder}/proc && mount -t tmpfs tmpfs {self.folder}/dev && cd {self.folder}/dev && " \
                 "touch null zero urandom random && for f in null zero urandom random; do mount --bind /dev/$f $f; done && " \
                 f"mkdir -m 1777 shm && exec chroot --userspec={user} {self.folder} /bin/sh -c \"$0\""
        home = "/root" if user.startswith("0:") else "/home/user"
        clean = {"HOME": home, "PATH": "/bin", "LANG": "C.UTF-8", "TMPDIR": "/tmp", **env}
        result = subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "/bin/sh", "-c", f"PATH=/usr/sbin:/usr/bin:/sbin:/bin; {inside}",
                                 command], env=clean, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=LIMIT_S)
        return result.returncode, result.stdout

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)
