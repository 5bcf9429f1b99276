"""Installed packages that ask for the package tensorflow, which pip does not find here: what `tandem doctor` says of them."""

import importlib.metadata
import re

# tensorflow>=2.16; python_version < "3.13" -- but not what only an extra asks for.
_ASKS = re.compile(r"(tensorflow(?:-cpu|-gpu|-intel)?)(?![\w.-])\s*(?:\[[^]]*\])?\s*\(?([^;()]*)\)?\s*(;.*)?$", re.I)


def asks_for(requirement):
    """The form in which a line of Requires-Dist asks for tensorflow, or None."""
    found = _ASKS.match(requirement)
    if not found or "extra" in (found[3] or ""):
        return None
    return (found[1] + found[2]).strip()


def requirers():
    """(name, version, what it asks for) of each; none where a tensorflow is installed."""
    found = []
    for package in importlib.metadata.distributions():
        name = package.metadata["Name"] or ""
        if name.lower().startswith("tensorflow") and asks_for(name):
            return []
        for requirement in package.requires or ():
            asked = asks_for(requirement)
            if asked:
                found.append((name, package.version, asked))
                break
    return sorted(found)


def report():
    """Prints them, and what to do."""
    found = requirers()
    if not found:
        return
    print("\npackages that ask for tensorflow:")
    for name, version, asked in found:
        print(f"  {name} {version} asks for {asked}")
    print(
        "  pip check says that tensorflow is not installed: Tandem is another package. Programs under `tandem run` or with\n"
        "  TANDEM_AS_TENSORFLOW=1 get Tandem. Install such a package with `pip install --no-deps NAME`, and what else it\n"
        "  needs by name; `tandem coverage NAME` says what of it is missing here."
    )
