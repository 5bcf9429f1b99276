"""For fuzzers that call in their own process: what does not return is told with the stacks of all threads and ends the
process with status 1. Nothing of Python has to run for it, so it sees a hang of native code, too."""

import faulthandler


def within(seconds):
    """What is done until the next call of this, or of done(), must not take longer."""
    faulthandler.dump_traceback_later(seconds, exit=True)


def done():
    faulthandler.cancel_dump_traceback_later()
