"""What the list of memories tells its screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.message import Message

from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.query import SortField
from zeroclaw_tui.memory.recall import ScoredEntry

if TYPE_CHECKING:
    from zeroclaw_tui.tui.widgets.memory_list import MemoryList


class ListMessage(Message, namespace="memory_list"):
    """Something a list says."""

    def __init__(self, list_: MemoryList) -> None:
        super().__init__()
        self.list = list_

    @property
    def control(self) -> MemoryList:
        """The list it came from."""
        return self.list


class RowsWanted(ListMessage, namespace="memory_list"):
    """Rows are in sight, or about to be, that are not loaded; `put_rows` brings them."""

    def __init__(self, list_: MemoryList, handles: Sequence[Handle]) -> None:
        super().__init__(list_)
        self.handles = handles


class OrderWanted(ListMessage, namespace="memory_list"):
    """Rows are in sight whose handles are not known; `show_more` brings the order for the first `rows` at least."""

    def __init__(self, list_: MemoryList, rows: int) -> None:
        super().__init__(list_)
        self.rows = rows


class RowMessage(ListMessage, namespace="memory_list"):
    """Something about one memory, with its result in a recall."""

    def __init__(self, list_: MemoryList, entry: MemoryEntry, result: ScoredEntry | None) -> None:
        super().__init__(list_)
        self.entry = entry
        self.result = result


class RowHighlighted(RowMessage, namespace="memory_list"):
    """The cursor stands on another memory, or the memory under it has arrived or changed."""


class RowOpened(RowMessage, namespace="memory_list"):
    """A memory was chosen for reading."""


class SortWanted(ListMessage, namespace="memory_list"):
    """A heading was clicked."""

    def __init__(self, list_: MemoryList, field: SortField) -> None:
        super().__init__(list_)
        self.field = field


class MarksChanged(ListMessage, namespace="memory_list"):
    """A mark was set or taken away by hand."""
