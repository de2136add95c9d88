"""What-if as a person does it: in a real terminal, on a copy of a database ZeroClaw wrote."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest
from support.terminal import Terminal

INSPECTOR = [sys.executable, "-m", "zeroclaw_tui", "--profile", "0.8.4"]
DATABASE = Path(__file__).parents[1] / "data" / "zeroclaw" / "0.7.5" / "brain.db.gz"
CONFIG = """# mine
default_temperature = 0.7
[memory]
backend = "sqlite"   # one file
auto_save = true
# tried and found
min_relevance_score = 0.4
"""


@pytest.fixture
def config_dir(clean_environment: Path) -> Path:
    """A config with comments around a database of ZeroClaw 0.7.5."""
    folder = clean_environment / ".zeroclaw"
    database = folder / "workspace" / "memory" / "brain.db"
    database.parent.mkdir(parents=True)
    database.write_bytes(gzip.decompress(DATABASE.read_bytes()))
    (folder / "config.toml").write_text(CONFIG, encoding="utf-8")
    return folder


def test_try_another_threshold_and_write_it(config_dir: Path) -> None:
    """Search, try, see who enters and leaves, write; the comments stay, and the search follows."""
    with Terminal([*INSPECTOR, str(config_dir)], columns=80, lines=24) as screen:
        screen.wait_for("memories", "last stored first")
        screen.press("/")
        screen.wait_for("recall")
        screen.press("rust memory")
        screen.wait_for("rust", "limit 5")
        screen.press("enter")
        screen.wait_for("x explain")
        screen.press("w")
        screen.wait_for("settings not modified", "keyword weight")
        before = screen.text
        assert "injected" in before
        screen.wait_for("must reach")
        screen.press("enter")
        screen.wait_for("enter continue")
        screen.press("\x15", "1.00", "enter")
        screen.wait_for("0.40 → 1.00", "− leaves")
        screen.press("\x1b[D")
        screen.wait_for("0.40 → 0.95")
        screen.press("W")
        screen.wait_for("Save to config.toml?", "- min_relevance_score = 0.4", "+ min_relevance_score = 0.95")
        screen.press("y")
        screen.wait_for("threshold        0.95")
        screen.press("\x1b")
        screen.wait_for("limit 5")
        screen.press("\x1b")
        screen.wait_for("last stored first")
        screen.press("q")
        assert screen.wait_exit() == 0
    written = (config_dir / "config.toml").read_text(encoding="utf-8")
    assert written == CONFIG.replace("score = 0.4", "score = 0.95")
