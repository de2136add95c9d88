"""What reading and writing one memory looks like."""

from __future__ import annotations

from collections.abc import Callable

from support.settling import pressing
from tui.tui_samples import Inspector

Snap = Callable[..., bool]
SIZE = (120, 30)


def test_reading_a_result_of_a_recall(inspector: Inspector, snap_compare: Snap) -> None:
    """The whole text, its facts, and how its score was made."""
    assert snap_compare(inspector.app(), terminal_size=SIZE, run_before=pressing("slash", *"ramen", "enter", "enter"))


def test_writing(inspector: Inspector, snap_compare: Snap) -> None:
    """Every field, the cursor behind the text, and what saving will do."""
    assert snap_compare(inspector.app(), terminal_size=SIZE, run_before=pressing("e", *" And tea."))


def test_writing_on_a_low_terminal(inspector: Inspector, snap_compare: Snap) -> None:
    """The content is in view."""
    assert snap_compare(inspector.app(), terminal_size=(40, 12), run_before=pressing("e"))
