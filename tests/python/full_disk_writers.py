"""Lets every writer of killed_writers.py save onto a full disk: no file may grow beyond a limit (RLIMIT_FSIZE).

A save that fails says so, as OSError or ResourceExhaustedError, and leaves what was saved before; when there is room again,
the next save succeeds. Prints `WRITER: N saves, M refused, K wrong` for each.
"""

import os
import resource
import shutil
import sys
import tempfile
import traceback

from killed_writers import WRITERS, keras, left_beside, tf

LIMITS = (0, 700, 30_000, 200_000)
ROOM = resource.getrlimit(resource.RLIMIT_FSIZE)
# Files that grow are tested by themselves: see test_full_disk.py.
WHOLE = [name for name, kind in WRITERS.items() if not kind.every_version and name != "tensorboard"]


def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, ROOM[1]))


def check(kind, folder):
    """(saves, those that were refused)."""
    writer = kind(folder)
    writer.save(1)
    there, version, refused = 1, 1, 0
    for size in LIMITS:
        version += 1
        limit(size)
        try:
            writer.save(version)
            there = version
        except (OSError, tf.errors.ResourceExhaustedError) as error:
            refused += 1
            assert ".tandem-new-" not in str(error), f"the message names a file of ours: {error}"
        finally:
            limit(ROOM[0])
        stored = kind(folder).stored()
        assert stored == there, f"limit {size}: version {there} was saved, and {stored} is there"
        version += 1
        writer.save(version)
        there = version
        assert kind(folder).stored() == there, f"after the limit {size}: {kind(folder).stored()} is there, not {there}"
        assert not left_beside(folder), left_beside(folder)
    return len(LIMITS), refused


def main():
    keras.utils.disable_interactive_logging()
    for name in WHOLE:
        folder = tempfile.mkdtemp(prefix=f"full-{name}-")
        child = os.fork()
        if child:
            _, status = os.waitpid(child, 0)
            if status:
                print(f"{name}: wrong, status {status}", flush=True)
            shutil.rmtree(folder)
            continue
        try:
            saves, refused = check(WRITERS[name], folder)
            print(f"{name}: {saves} saves, {refused} refused, 0 wrong", flush=True)
            status = 0
        except BaseException:  # noqa: BLE001
            traceback.print_exc(file=sys.stdout)
            sys.stdout.flush()
            status = 1
        os._exit(status)


if __name__ == "__main__":
    main()
