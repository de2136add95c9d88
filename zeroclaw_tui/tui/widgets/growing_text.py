"""Text of automatic height that changes while it is shown."""

from __future__ import annotations

from typing import Any, Self

from textual.widgets import Static


class GrowingText(Static):
    """A Static that always gets the height of its newest content.

    Textual 8.2.8 counts requests for a layout once until a widget is idle. A Static that was laid out with its siblings
    in between keeps that height, whatever content it is given next.
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__("", id=id, classes=classes, markup=False)

    def refresh(self, *regions: Any, layout: bool = False, **options: Any) -> Self:
        if layout and self._layout_required:
            self._layout_updates += 1
        return super().refresh(*regions, layout=layout, **options)
