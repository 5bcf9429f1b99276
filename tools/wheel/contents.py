"""What a wheel has to hold, and how old a C library it runs with."""

import os
import re
import subprocess
import tempfile
import zipfile

FLOOR = {"GLIBC": (2, 31), "GLIBCXX": (3, 4, 28), "CXXABI": (1, 3, 12)}
LIBRARIES = ("libtandem.so", "libdnnl.so.3", "bin/tandem")
CUDA = ("libtandem_cuda.so", "libtandem_cuda.kernels")
GENERATED = ("_generated/ops.py", "_generated/ops.pyi", "_generated/names.py")
BUNDLED = ("libgfortran", "libgif", "libgomp", "libjpeg", "libopenblas", "libpng16", "libre2", "libsqlite3", "libzstd")
LARGEST = 60e6


def expected(root, tag, cuda=True):
    """Names of files, from the sources in root; tag is cp312."""
    names = {"tandem.pth"}
    for folder, _, files in os.walk(f"{root}/python/tandem"):
        inside = os.path.relpath(folder, f"{root}/python")
        names |= {f"{inside}/{file}" for file in files if "__pycache__" not in folder and not file.endswith((".pyc", ".so"))}
    names |= {f"tandem/{name}" for name in (*LIBRARIES, *GENERATED, *(CUDA if cuda else ()))}
    suffix = f"cpython-{tag.removeprefix('cp')}-x86_64-linux-gnu.so"
    return names | {f"tandem/{module}.{suffix}" for module in ("_core", "_processor")}


def missing(names, root, tag, cuda=True):
    """What the wheel with these names lacks, as sentences."""
    found = [f"{name} is not in it" for name in sorted(expected(root, tag, cuda) - set(names))]
    for library in BUNDLED:
        if not any(re.match(rf"tandem_runtime\.libs/{library}[p-]", name) for name in names):
            found.append(f"no {library} beside the package")
    texts = [name for name in names if ".dist-info/licenses/" in name]
    if not any(name.endswith("licenses/LICENSE") for name in texts):
        found.append("no LICENSE in it")
    for library in ("oneDNN-LICENSE", "libopenblas0-pthread", "libgomp1", "fmtlib", "nanobind"):
        if not any(name.endswith(f"licenses/libraries/{library}.txt") for name in texts):
            found.append(f"no licence of {library} in it")
    return found


def too_new(symbols):
    """Of versions of symbols as objdump -T prints them, those above the floor."""
    found = set()
    for kind, version in re.findall(r"\b(GLIBC|GLIBCXX|CXXABI)_([\d.]+)", symbols):
        if tuple(map(int, version.split("."))) > FLOOR[kind]:
            found.add(f"{kind}_{version}")
    return sorted(found)


def problems(wheel, root, cuda=True, quick=False):
    """All that is wrong with a wheel, as sentences. Quick: without looking into the libraries of others."""
    tag = os.path.basename(wheel).split("-")[2]
    found = [f"{os.path.getsize(wheel) / 1e6:.1f} MB"] if os.path.getsize(wheel) > LARGEST else []
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as folder:
        names = archive.namelist()
        found += missing(names, root, tag, cuda)
        for name in names:
            others = name.startswith("tandem_runtime.libs/") or "libdnnl" in name
            if (re.search(r"\.so(\.|$)", name) or name.endswith("bin/tandem")) and not (quick and others):
                path = archive.extract(name, folder)
                symbols = subprocess.check_output(["objdump", "-T", path], text=True)
                undefined = "\n".join(line for line in symbols.splitlines() if "*UND*" in line)
                found += [f"{name} asks for {symbol}" for symbol in too_new(undefined)]
    return found
