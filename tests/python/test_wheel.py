"""What `make wheel` and `make test-wheel` decide, without a build: the contents of a wheel, its floor, the one version."""

import importlib.metadata
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tomllib

import pytest
import tandem
from conftest import PACKAGE, ROOT, environment

sys.path.insert(0, str(ROOT / "tools/wheel"))

import contents  # noqa: E402
import licences  # noqa: E402

TEXTS = ("LICENSE", *(f"libraries/{name}.txt" for name in
                      ("oneDNN-LICENSE", "libopenblas0-pthread", "libgomp1", "fmtlib", "nanobind")))
VERSION = re.search(r"VERSION (\d+\.\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text())[1]


def names_of_a_whole_wheel():
    names = contents.expected(ROOT, "cp312")
    names |= {f"tandem_runtime.libs/{library}-0123abcd.so.1" for library in contents.BUNDLED}
    return names | {f"tandem_runtime-{VERSION}.dist-info/licenses/{text}" for text in TEXTS}


def test_the_version_is_the_same_everywhere():
    assert tandem.__version__ == VERSION
    assert f"## {VERSION}" in (ROOT / "CHANGELOG.md").read_text()
    assert tandem.version.VERSION == "2.21.0"  # TensorFlow's
    command = subprocess.check_output([sys.executable, "-m", "tandem", "--version"], text=True, env=environment())
    assert command.split() == ["tandem", VERSION]
    wheels = re.findall(r"tandem_runtime-(\S+?)-cp", (ROOT / "README.md").read_text())
    assert wheels and set(wheels) == {VERSION}


def test_keras_has_one_range():
    from tandem import keras_loader

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert keras_loader.RANGE in project["dependencies"]
    low, high = re.fullmatch(r"keras>=3\.(\d+),<3\.(\d+)", keras_loader.RANGE).groups()
    assert keras_loader.MINORS == tuple(f"3.{minor}" for minor in range(int(low), int(high)))


@pytest.mark.parametrize("version", ["3.16.0"])
def test_another_keras_is_refused_in_one_sentence(version, tmp_path):
    folder = tmp_path / "keras/src"
    folder.mkdir(parents=True)
    (tmp_path / "keras/__init__.py").write_text("raise SystemError('was run')")
    (folder / "version.py").write_text(f'__version__ = "{version}"\n')
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(PACKAGE)])}
    run = subprocess.run([sys.executable, "-c", "import tandem; tandem.keras"], env=env, capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1] == (
        f"ImportError: tandem.keras runs Keras 3.14 and 3.15, but {version} is installed; run: pip install 'keras>=3.14,<3.16'"
    )


def test_a_whole_wheel_lacks_nothing():
    names = names_of_a_whole_wheel()
    assert {"tandem.pth", "tandem/py.typed", "tandem/facts/api.txt", "tandem/libtandem_cuda.kernels"} <= names
    assert contents.missing(names, ROOT, "cp312") == []


def test_every_file_of_the_package_is_asked_for():
    tracked = subprocess.run(["git", "ls-files", "python"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip("the sources are not in a git repository")
    below = {str(pathlib.Path(name).relative_to("python")) for name in tracked.stdout.split()} - {"names.table"}
    assert below <= contents.expected(ROOT, "cp312")


@pytest.mark.parametrize("name", ["tandem.pth", "tandem/facts/api.txt", "tandem/py.typed", "tandem/libdnnl.so.3"])
def test_what_is_not_in_a_wheel_is_named(name):
    assert contents.missing(names_of_a_whole_wheel() - {name}, ROOT, "cp312") == [f"{name} is not in it"]


def test_a_library_or_a_licence_that_is_not_in_a_wheel_is_named():
    names = names_of_a_whole_wheel()
    assert len(contents.missing({n for n in names if "openblas" not in n}, ROOT, "cp312")) == 2
    assert contents.missing({n for n in names if not n.endswith("/LICENSE")}, ROOT, "cp312") == ["no LICENSE in it"]


def test_every_library_that_is_bundled_has_a_licence():
    assert set(contents.BUNDLED) <= set(licences.BUNDLED)


def test_symbols_above_the_floor_are_found():
    def line(version):
        return f"0000000000000000      DF *UND*\t0000000000000000 ({version}) name\n"

    assert contents.too_new(line("GLIBC_2.31") + line("GLIBC_2.2.5") + line("GLIBCXX_3.4.28")) == []
    assert contents.too_new(line("GLIBC_2.34") + line("GLIBCXX_3.4.30")) == ["GLIBCXX_3.4.30", "GLIBC_2.34"]


def test_a_wheel_that_was_built():
    """One of those: auditwheel has looked at each, and `make test-wheel` does."""
    wheels = sorted((ROOT / "dist").glob(f"tandem_runtime-{VERSION}-*.whl"))
    if not wheels:
        pytest.skip(f"no wheel of {VERSION} was made (make wheel)")
    problems = contents.problems(wheels[-1], ROOT, quick=True)
    # Sources may have files that are newer than the wheel; `make test-wheel` names those, too.
    assert [p for p in problems if not p.startswith("tandem/") or "asks for" in p] == []


def test_a_source_distribution_that_was_built():
    archive = ROOT / f"dist/tandem_runtime-{VERSION}.tar.gz"
    if not archive.exists():
        pytest.skip(f"{archive.name} was not made (make wheel)")
    with tarfile.open(archive) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    assert {"CMakeLists.txt", "pyproject.toml", "LICENSE", "cmake/version.h.in", "python/tandem.pth"} <= names
    assert {name for name in names if name.startswith(("build/", ".venv", "dist/"))} == set()
    sources = {str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*") if path.is_file()}
    assert sources - names == set()


REQUIREMENTS = {
    "tensorflow>=2.16": "tensorflow>=2.16",
    "tensorflow (>=2.0)": "tensorflow>=2.0",
    "tensorflow-cpu ; python_version > '3.8'": "tensorflow-cpu",
    "tensorflow>=2; extra == 'tf'": None,
    "tensorflow-datasets": None,
    "numpy": None,
}


@pytest.mark.parametrize("line, asked", REQUIREMENTS.items())
def test_who_asks_for_tensorflow(line, asked):
    from tandem import requirers

    assert requirers.asks_for(line) == asked


def test_doctor_says_what_to_do_about_packages_that_ask_for_tensorflow(tmp_path):
    folder = tmp_path / "needs_it-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: needs-it\nVersion: 1.0\nRequires-Dist: tensorflow>=2.16\n")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(PACKAGE)])}
    said = subprocess.check_output([sys.executable, "-m", "tandem", "doctor"], env=env, text=True)
    if any((d.metadata["Name"] or "").lower() == "tensorflow" for d in importlib.metadata.distributions()):
        pytest.skip("a tensorflow is installed here, so nobody asks in vain")
    assert "needs-it 1.0 asks for tensorflow>=2.16" in said
    assert "pip install --no-deps NAME" in said and "tandem coverage NAME" in said
