"""Licences of what a wheel holds: the texts of all libraries that are linked in or lie beside, in its folder of licences."""

import glob
import os
import re
import shutil

# Linked in, without a file of its own: the folder below usr/share/doc of the sysroot.
LINKED_IN = ("fmtlib", "spdlog", "nlohmann-json3-dev", "libcli11-dev", "libprotozero-dev", "liblapacke", "libstdc++6")
# Files that auditwheel put in, by how their names begin, and their packages.
BUNDLED = {
    "libgfortran": "libgfortran5",
    "libgif": "libgif7",
    "libgomp": "libgomp1",
    "libjpeg": "libjpeg62-turbo",
    "libopenblas": "libopenblas0-pthread",
    "libpng16": "libpng16-16",
    "libquadmath": "libquadmath0",
    "libre2": "libre2-9",
    "libsqlite3": "libsqlite3-0",
    "libz": "zlib1g",
    "libzstd": "libzstd1",
}


def debian_text(sysroot, package):
    """The file `copyright` of a package; one folder may stand for another by a link."""
    path = os.path.realpath(f"{sysroot}/usr/share/doc/{package}")
    text = f"{path}/copyright"
    if not os.path.exists(text):
        raise SystemExit(f"wheel: no licence of {package} ({text})")
    return text


def packages_of(tree):
    """The packages whose libraries auditwheel put in."""
    packages = []
    for path in sorted(glob.glob(f"{tree}/*.libs/*")):
        name = re.split(r"[-.]", os.path.basename(path))[0]
        if name not in BUNDLED and name.rstrip("p") in BUNDLED:  # libopenblasp
            name = name.rstrip("p")
        if name not in BUNDLED:
            raise SystemExit(f"wheel: {os.path.basename(path)} has no line in tools/wheel/licences.py")
        packages.append(BUNDLED[name])
    return packages


def texts_beside(onednn, environment):
    """Name and file of the licences that come with Python packages."""
    found = [(f"oneDNN-{name}.txt", f"{onednn}/share/doc/onednn/{name}") for name in ("LICENSE", "THIRD-PARTY-PROGRAMS")]
    for path in glob.glob(f"{environment}/lib/python3*/site-packages/nanobind-*.dist-info/licenses/LICENSE"):
        found.append(("nanobind.txt", path))
    if len(found) != 3:
        raise SystemExit("wheel: no licence of nanobind")
    return found


def add(tree, sysroot, onednn, environment):
    """Writes them into tree, an unpacked wheel."""
    (info,) = glob.glob(f"{tree}/*.dist-info")
    folder = f"{info}/licenses/libraries"
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for package in sorted({*LINKED_IN, *packages_of(tree)}):
        shutil.copyfile(debian_text(sysroot, package), f"{folder}/{package}.txt")
    for name, path in texts_beside(onednn, environment):
        shutil.copyfile(path, f"{folder}/{name}")
