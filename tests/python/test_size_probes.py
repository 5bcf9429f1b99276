"""Sizes and limits that only a run of a function knows give what they give on TensorFlow, with its static shapes.

Every probe of size_probes.py, but those in data/size_probes_known.txt, a list that only shrinks and is at most 1 % of
all. SIZE_PROBES=shrink takes out of it what passes now.
"""

import os

import size_probes

import tandem as tf

def test_symbolic_sizes_and_limits():
    probes, reference, known = size_probes.probes(), size_probes.reference(), size_probes.known()
    assert set(probes) == set(reference), "run tools/reference/make_size_reference.py"
    held = sorted(p for p, outcome in reference.items() if not isinstance(outcome, str))
    assert known <= set(held) and len(known) <= 0.01 * len(held)
    wrong = {}
    for probe in held:
        found = size_probes.difference(probe, reference[probe], size_probes.outcome(tf, *probes[probe]))
        if found:
            wrong[probe] = found
    if os.environ.get("SIZE_PROBES") == "shrink":
        lines = size_probes.KNOWN.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if line.startswith("#") or line.partition("  # ")[0] in wrong]
        size_probes.KNOWN.write_text("\n".join(kept) + "\n", encoding="utf-8")
    wrong = {p: d for p, d in wrong.items() if p not in known}
    assert not wrong, "\n" + "\n".join(f"{p}: {d}" for p, d in sorted(wrong.items()))
