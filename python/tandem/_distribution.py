"""What importlib.metadata says of `tensorflow` where Tandem serves it."""

import importlib.metadata

from tandem.served import VERSION


class TensorFlow(importlib.metadata.Distribution):
    def read_text(self, filename):
        if filename != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: tensorflow\nVersion: {VERSION}\nSummary: served by Tandem\n"

    def locate_file(self, path):
        raise NotImplementedError(f"{path}: tensorflow is served by Tandem and has no files of its own.")
