"""Fetches packages for a Python that may not be able to itself: one without a network, or built without OpenSSL."""

import subprocess

GLIBC = 31  # 2.31


def download(pip, version, folder, packages, glibc=GLIBC):
    """Puts wheels of the packages and of what they need into folder, with the pip of another Python."""
    command = [pip, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--dest", folder]
    command += ["--only-binary=:all:", "--python-version", version, "--implementation", "cp"]
    command += [f"--platform=manylinux_2_{minor}_x86_64" for minor in range(glibc, 4, -1)]
    command += ["--platform=manylinux2014_x86_64", "--platform=manylinux2010_x86_64", "--platform=manylinux1_x86_64"]
    return subprocess.run([*command, *packages], capture_output=True, text=True, check=False)
