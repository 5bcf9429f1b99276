"""Keeps the results of each part under build/keras-tests, so that a run that was interrupted can be taken up again.

Results belong to the package that they were made with: a rebuilt one has another fingerprint, and starts anew.
"""

import hashlib
import json
import pathlib

import processes


def fingerprint(package):
    """Of the contents of the Python package and of the libraries beside it."""
    digest = hashlib.sha256()
    files = {p for pattern in ("*.py", "*.so*") for p in (package / "tandem").rglob(pattern)}
    for path in sorted(files | set((package.parent / "lib").glob("libtandem.so*"))):
        digest.update(str(path).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


class Kept:
    def __init__(self, folder, package):
        self.folder, self.package = folder, fingerprint(package)
        self.folder.mkdir(parents=True, exist_ok=True)

    def _file(self, part):
        name = part.path.removesuffix(".py").replace("/", ".")
        return self.folder / f"{name}.{part.number}-{part.count}.json"

    def get(self, part):
        """(results, error) of this part with this package; None when there are none, or a test ran out of time."""
        try:
            kept = json.loads(self._file(part).read_text())
        except (OSError, ValueError):
            return None
        late = any(message.startswith(processes.OUT_OF_TIME) for _, message in kept["results"].values())
        if late or kept["package"] != self.package:
            return None
        return {test: tuple(result) for test, result in kept["results"].items()}, kept["error"]

    def put(self, part, results, error):
        written = self._file(part).with_suffix(".new")
        written.write_text(json.dumps({"package": self.package, "results": results, "error": error}, indent=0))
        pathlib.Path(written).replace(self._file(part))
