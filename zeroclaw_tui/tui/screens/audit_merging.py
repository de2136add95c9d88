"""What merging would do: of each group what stays and what goes, before it is done."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import ClassVar, get_args

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static

from zeroclaw_tui.curation.audit.findings import Finding, FindingKind, Sample
from zeroclaw_tui.curation.audit.remedies import Keeps, MergePlan, plan_merge
from zeroclaw_tui.memory.text import mask_secrets, one_line
from zeroclaw_tui.tui.format import absolute_time, count_text, fit, size_text
from zeroclaw_tui.tui.looks import ACCENT, STRONG
from zeroclaw_tui.tui.screens.audit_words import merge_title
from zeroclaw_tui.tui.screens.confirm import Answer, NumberInput, options_of
from zeroclaw_tui.tui.widgets.list_rows import EMPTY_KEY, Pieces, RowStyles
from zeroclaw_tui.tui.widgets.row_list import RowList

_STAYS, _GOES = "✓ stays", "– goes"
_WORD = 8
_SIZE = 7
_WHEN = 16
_LONGEST_LOOKED_AT = 2000

Ways = Mapping[Keeps, MergePlan]


async def plan_ways(finding: Finding, only: Sequence[int] | None) -> dict[Keeps, MergePlan]:
    """The plan of each way to merge these groups of a finding, None for all."""
    ways: tuple[Keeps, ...] = get_args(Keeps)
    return {keeps: await asyncio.to_thread(plan_merge, finding, keeps, only=only) for keeps in ways}


class MergeList(RowList):
    """For each group the memory that stays, and under it those that go."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: list[tuple[Sample, bool]] = []

    def show(self, plan: MergePlan) -> None:
        """Show another plan."""
        self._rows = [(sample, sample is stays) for stays, going in plan.groups for sample in (stays, *going)]
        self.set_row_count(len(self._rows), self.cursor)

    def heading(self, styles: RowStyles) -> Pieces:
        """The names of the columns."""
        key, memory = self._cells
        words = f"{' ' * (_WORD + 2)}{fit('key', key)}  {fit('memory', memory)}"
        return [Segment(f"{words}{fit('size', _SIZE + 1, 'right')}  {fit('changed', _WHEN)}", styles.muted)]

    def pieces(self, row: int, styles: RowStyles) -> Pieces:
        """One memory."""
        sample, stays = self._rows[row]
        key, memory = self._cells
        stamp = sample.stamp
        plain = styles.text if stays else styles.muted
        return [
            Segment(fit(_STAYS if stays else f"  {_GOES}", _WORD + 2), styles.final if stays else styles.faint),
            Segment(fit(_line(stamp.key) or EMPTY_KEY, key), plain),
            Segment("  " + fit(_line(sample.excerpt), memory), plain),
            Segment(fit(size_text(stamp.size), _SIZE + 1, "right"), styles.muted),
            Segment("  " + fit(absolute_time(stamp.updated_at or stamp.when), _WHEN), styles.muted),
        ]

    @property
    def _cells(self) -> tuple[int, int]:
        width = self.row_width - 1 - _WORD - 2 - 2 - _SIZE - 1 - 2 - _WHEN - 1
        key = min(24, max(8, width // 3))
        return key, max(1, width - key)


class MergeScreen(ModalScreen[MergePlan | None]):
    """What stays and what goes, by the way that is chosen. Gives the plan that shall be done, or None."""

    CSS_PATH = ["audit.tcss"]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,n", "dismiss(None)", "keep all"),
        Binding("t", "toggle_way", "newest or longest", priority=True),
        Binding("y", "confirm", "merge", show=False),
        Binding("j,down", "cursor(1)", "down", show=False),
        Binding("k,up", "cursor(-1)", "up", show=False),
        Binding("pagedown,ctrl+d", "cursor(10)", "page down", show=False),
        Binding("pageup,ctrl+u", "cursor(-10)", "page up", show=False),
    ]

    def __init__(self, kind: FindingKind, ways: Ways) -> None:
        super().__init__()
        self._kind = kind
        self._ways = ways
        self._keeps: Keeps = next(keeps for keeps, plan in ways.items() if plan.going.count)

    @property
    def plan(self) -> MergePlan:
        """The plan by the way that is chosen."""
        return self._ways[self._keeps]

    def compose(self) -> ComposeResult:
        """Question, way, groups, where they go, how to confirm."""
        with Vertical(id="merging"):
            yield Static("", id="sentence", markup=False)
            yield Static("", id="way", markup=False)
            yield MergeList(id="groups")
            yield Static("What goes, goes to the trash; u brings it back.", id="facts", markup=False)
            with Horizontal(id="typed-number"):
                yield Static("", id="ask", markup=False)
                yield NumberInput(id="number", compact=True, restrict="[0-9,]*")
            answers = (Answer("n", "Keep all"), Answer("y", "Merge them"))
            yield OptionList(*options_of(answers), id="answers", markup=False, compact=True)
            yield Static("", id="keys", markup=False)

    def on_mount(self) -> None:
        """Nothing happens by accident."""
        self.query_one(MergeList).can_focus = False
        self.query_one(OptionList).highlighted = 0
        self._paint()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Only the very number will do."""
        event.stop()
        if event.value.replace(",", "") == str(self.plan.going.count):
            self.dismiss(self.plan)
        elif event.value:
            self.query_one("#keys", Static).update(Content(f"That is another number.   {self._keys()}"))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Give the answer."""
        self.dismiss(self.plan if event.option_index == 1 else None)

    def action_toggle_way(self) -> None:
        """Keep the longest in the place of the newest, or the other way round."""
        self._keeps = "longest" if self._keeps == "newest" else "newest"
        self._paint()

    def action_confirm(self) -> None:
        """Yes, where a key is enough."""
        if not self.plan.going.is_typed and self.plan.going.count:
            self.dismiss(self.plan)

    def action_cursor(self, rows: int) -> None:
        """Move through the groups."""
        self.query_one(MergeList).cursor += rows

    def _paint(self) -> None:
        plan = self.plan
        other = "longest" if self._keeps == "newest" else "newest"
        self.query_one("#sentence", Static).update(Content.styled(merge_title(plan, self._kind), STRONG))
        way = Content.assemble(f"Of each group the {self._keeps} stays.   ", ("t", ACCENT), f" keeps the {other}")
        self.query_one("#way", Static).update(way)
        self.query_one(MergeList).show(plan)
        self.set_class(plan.going.is_typed, "-typed")
        self.query_one("#ask", Static).update(Content(f"Type {count_text(plan.going.count)} to merge:"))
        self.query_one("#keys", Static).update(Content(self._keys()))
        (self.query_one(NumberInput) if plan.going.is_typed else self.query_one(OptionList)).focus()

    def _keys(self) -> str:
        if self.plan.going.is_typed:
            return "enter merge   j k through the groups   esc keeps all"
        return "↑ ↓ enter choose   y n answer   j k through the groups   esc keeps all"


def _line(text: str) -> str:
    return one_line(mask_secrets(text[:_LONGEST_LOOKED_AT]))
