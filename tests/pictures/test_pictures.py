"""The pictures of the README are up to date."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_pictures_equal_those_drawn_now(tmp_path: Path) -> None:
    """If they differ, run `python tests/pictures/make_screenshots.py` and look at the result."""
    script = ROOT / "tests" / "pictures" / "make_screenshots.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True, timeout=300)
    drawn = {path.name: path.read_text("utf-8") for path in tmp_path.glob("*.svg")}
    kept = {path.name: path.read_text("utf-8") for path in (ROOT / "screenshots").glob("*.svg")}
    assert drawn.keys() == kept.keys()
    assert [name for name in drawn if drawn[name] != kept[name]] == []
