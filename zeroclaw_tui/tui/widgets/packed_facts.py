"""Facts joined by dots, as many on a line as fit, none of them broken."""

from __future__ import annotations

from textual.app import RenderResult
from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.widget import Widget

from zeroclaw_tui.tui.widgets.detail_text import packed


class PackedFacts(Widget):
    """As high as its facts need at its width. They are shown as they are: clean them first."""

    DEFAULT_CSS = "PackedFacts { width: 1fr; height: auto; }"

    facts: reactive[tuple[str, ...]] = reactive((), layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """One line for each that is needed."""
        return len(packed(self.facts, width))

    def render(self) -> RenderResult:
        """The lines at this width."""
        return Content("\n".join(packed(self.facts, self.content_size.width)))
