"""The pictures of the README show the program as it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_pictures_are_what_the_program_draws_now(tmp_path: Path) -> None:
    """Drawn again they are the same; else `python tests/pictures/make_screenshots.py` and a look at them is due."""
    script = ROOT / "tests" / "pictures" / "make_screenshots.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True, timeout=300)
    drawn = {path.name: path.read_text("utf-8") for path in tmp_path.glob("*.svg")}
    kept = {path.name: path.read_text("utf-8") for path in (ROOT / "screenshots").glob("*.svg")}
    assert drawn.keys() == kept.keys()
    assert [name for name in drawn if drawn[name] != kept[name]] == []
