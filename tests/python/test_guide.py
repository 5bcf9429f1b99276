"""Every page of docs/guide is a script: its Python blocks, one after the other, run as they stand."""

import pathlib
import re

import pytest

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "guide"
PAGES = sorted(p.stem for p in GUIDE.glob("*.md") if p.stem != "README")


def script_of(page):
    """The page's code, each block at the line it has in the page, so that errors point there."""
    text = (GUIDE / f"{page}.md").read_text()
    lines = [""] * (text.count("\n") + 1)
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.S | re.M):
        first = text.count("\n", 0, block.start(1))
        for i, line in enumerate(block[1].splitlines()):
            lines[first + i] = line
    return "\n".join(lines)


@pytest.mark.parametrize("gpus", [0, 1, 2])
@pytest.mark.parametrize("page", PAGES)
def test_page(page, gpus, tmp_path, tandem_run):
    script = tmp_path / f"{page}.py"
    script.write_text(script_of(page))
    done = tandem_run(script, gpus=gpus)
    assert done.returncode == 0, done.stdout + done.stderr


def test_readme_lists_every_page():
    listed = re.findall(r"\]\((\S+)\.md\)", (GUIDE / "README.md").read_text())
    assert sorted(listed) == PAGES
