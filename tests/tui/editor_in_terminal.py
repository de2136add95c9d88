"""A terminal program that shows the editor on a hostile, superseded memory.

python editor_in_terminal.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.inspector import RoomApp
from textual.app import App
from tui.samples import editable, row

from zeroclaw_tui.tui.rooms.editor import EditorScreen

HOSTILE = "EVIL\x1b]0;EVIL\x07\x1b]52;c;RVZJTA==\x1b\\\x1b[31mEVIL\x9b2J\x9d0;EVIL\x9c\u202eEVIL\u2066\x00\x08\udcff\r"


class Terminal(RoomApp):
    """Exits with its screen; really hands over the terminal to another program."""

    suspend = App.suspend

    def take(self, result: Any) -> None:
        self.exit()


if __name__ == "__main__":
    hostile = row(1, HOSTILE, HOSTILE, HOSTILE, session_id=HOSTILE, namespace=HOSTILE)
    Terminal(lambda: EditorScreen(editable(Path(sys.argv[1])), hostile)).run()
