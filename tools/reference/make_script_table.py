#!/usr/bin/env python3
"""Writes python/tandem/facts/scripts.txt: from which code point on characters are of which script, by the numbers of
ICU's UScriptCode. Run with a Python that has tensorflow 2.21."""

import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

OUT = pathlib.Path(__file__).resolve().parents[2] / "python/tandem/facts/scripts.txt"
scripts = tf.strings.unicode_script(np.arange(0x110000, dtype=np.int32)).numpy()
starts = [0, *(np.flatnonzero(np.diff(scripts)) + 1).tolist()]
lines = [f"{start:x} {scripts[start]}" for start in starts]
OUT.write_text("# Where scripts begin (hexadecimal) and their numbers, by tools/reference/make_script_table.py.\n" + "\n".join(lines) + "\n")
print(f"{len(lines)} ranges")
