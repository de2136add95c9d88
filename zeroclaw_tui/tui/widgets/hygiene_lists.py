"""The two lists of hygiene: its rules with what each takes, and the very files and rows that would go."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style

from zeroclaw_tui.curation.hygiene.plan import HygieneItem, HygienePlan
from zeroclaw_tui.curation.hygiene.rules import HygieneRule, RuleName
from zeroclaw_tui.curation.hygiene.words import ARCHIVING, FILE_RULES, SHORT, fate_words, thing_of
from zeroclaw_tui.memory.text import counted, mask_secrets, one_line
from zeroclaw_tui.tui.format import NO_VALUE, absolute_time, fit, size_text
from zeroclaw_tui.tui.widgets.list_rows import EMPTY_KEY, Pieces, RowStyles
from zeroclaw_tui.tui.widgets.row_list import RowList

ARCHIVED, DELETED, TO_TRASH, STAYS = "→", "✗", "↓", "–"
EVERYTHING = "Everything that would go"
_LONGEST_LOOKED_AT = 1000
_NAMES_TOLD = 8
_SIZE, _DATE, _RULE = 6, 10, 12
_WOULD_GO = "would go"
_NAMES_FROM = 96
"""From so many cells on there is room for names beside the rules, and for where a thing goes."""
_MOST_SENTENCE = 68


@dataclass(frozen=True, slots=True)
class _Share:
    """What a rule takes: its words, how many things, their bytes, the first names; whether it ever takes any."""

    words: str
    count: str
    size: str
    names: str
    is_on: bool
    is_one: bool


class RuleList(RowList):
    """Everything, then each rule: its sentence, how many things it takes, their size, and their first names."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rules: Sequence[HygieneRule] = ()
        self._shares: Sequence[_Share] = ()

    @property
    def selected(self) -> HygieneRule | None:
        """The rule under the cursor; None for everything."""
        return self._rules[self.cursor - 1] if 0 < self.cursor <= len(self._rules) else None

    def show(self, plan: HygienePlan, left_out: Collection[str]) -> None:
        """Show the rules of a plan; what is left out is not counted."""
        going: dict[RuleName, list[HygieneItem]] = {rule.name: [] for rule in plan.rules.rules}
        for item in plan.items:
            if item.id not in left_out:
                going[item.rule].append(item)
        everything = [item for items in going.values() for item in items]
        self._rules = plan.rules.rules
        self._shares = [
            _share(None, everything),
            *(_share(rule, going[rule.name]) for rule in self._rules),
        ]
        self.set_row_count(len(self._shares), self.cursor)

    def heading(self, styles: RowStyles) -> Pieces:
        """The names of the columns."""
        words = (
            fit("rule", self._sentence_cells)
            + fit(_WOULD_GO, self._count_cells, "right")
            + fit("size", _SIZE + 2, "right")
        )
        return [Segment(" " + words, styles.muted)]

    def pieces(self, row: int, styles: RowStyles) -> Pieces:
        """One rule, dim where it takes nothing ever."""
        share = self._shares[row]
        plain = styles.text if share.is_on else styles.faint
        return [
            Segment(" " + fit(share.words, self._sentence_cells), plain),
            Segment(
                fit(share.count, self._count_cells, "right"),
                styles.final if share.is_one and share.count != NO_VALUE else plain,
            ),
            Segment(fit(share.size, _SIZE + 2, "right"), styles.muted),
            Segment("   " + fit(share.names, self._names_cells) if self._names_cells else "", styles.muted),
        ]

    @property
    def _count_cells(self) -> int:
        return 2 + max(len(_WOULD_GO), *(len(share.count) for share in self._shares), 0)

    @property
    def _sentence_cells(self) -> int:
        room = self.row_width - 2 - self._count_cells - _SIZE - 2 - 1
        return max(1, min(room, _MOST_SENTENCE) if self.row_width >= _NAMES_FROM else room)

    @property
    def _names_cells(self) -> int:
        if self.row_width < _NAMES_FROM:
            return 0
        return max(0, self.row_width - 2 - self._sentence_cells - self._count_cells - _SIZE - 2 - 3 - 1)


class ItemList(RowList):
    """Each thing on a line: what happens to it, its date, the rule, its name, its size, and where it goes."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._items: Sequence[HygieneItem] = ()
        self._left_out: Collection[str] = ()

    @property
    def selected(self) -> HygieneItem | None:
        """The thing under the cursor."""
        return self._items[self.cursor] if self.cursor < len(self._items) else None

    def show(self, items: Sequence[HygieneItem], left_out: Collection[str]) -> None:
        """Show these, some of which are left out; the cursor stays on its place."""
        self._items, self._left_out = items, left_out
        self.set_row_count(len(items), self.cursor)

    def heading(self, styles: RowStyles) -> Pieces:
        """The names of the columns."""
        words = f"   {fit('date', _DATE)}  {fit('rule', _RULE)}  {fit('name', self._name_cells)}"
        words += fit("size", _SIZE + 2, "right") + (
            "   " + fit("what becomes of it", self._fate_cells) if self._fate_cells else ""
        )
        return [Segment(words, styles.muted)]

    def pieces(self, row: int, styles: RowStyles) -> Pieces:
        """One thing; what is left out is dim, struck through, and has another sign."""
        item = self._items[row]
        stays = item.id in self._left_out
        glyph, colour = (STAYS, styles.faint) if stays else _sign(item, styles)
        plain, quiet = (styles.faint, styles.faint) if stays else (styles.text, styles.muted)
        name = _clean(item.name) or EMPTY_KEY
        struck = plain + Style(strike=True) if stays else plain
        shown = fit(name, self._name_cells)
        words = shown.rstrip()
        return [
            Segment(f" {glyph} ", colour),
            Segment(f"{fit(absolute_time(item.date)[:_DATE], _DATE)}  {fit(SHORT[item.rule], _RULE)}  ", quiet),
            Segment(words, struck),
            Segment(shown[len(words) :], plain),
            Segment(fit(size_text(item.size), _SIZE + 2, "right"), quiet),
            Segment(
                "   " + fit("left out" if stays else _fate(item), self._fate_cells) if self._fate_cells else "", quiet
            ),
        ]

    @property
    def _name_cells(self) -> int:
        room = self._room
        return max(1, room if self.row_width < _NAMES_FROM else room * 9 // 20)

    @property
    def _fate_cells(self) -> int:
        return 0 if self.row_width < _NAMES_FROM else max(0, self._room - self._name_cells - 3)

    @property
    def _room(self) -> int:
        return self.row_width - 4 - _DATE - 2 - _RULE - 2 - _SIZE - 2 - 1


def _share(rule: HygieneRule | None, items: Sequence[HygieneItem]) -> _Share:
    thing = "thing" if rule is None else thing_of(rule.name)
    return _Share(
        words=EVERYTHING if rule is None else one_line(rule.sentence),
        count=counted(len(items), thing) if items else NO_VALUE,
        size=size_text(sum(item.size for item in items)) if items else "",
        names="" if rule is None else "  ".join(map(_last_part, items[:_NAMES_TOLD])),
        is_on=rule is None or rule.is_on,
        is_one=rule is not None,
    )


def _sign(item: HygieneItem, styles: RowStyles) -> tuple[str, Style]:
    if item.rule in ARCHIVING and not item.and_purged:
        return ARCHIVED, styles.vector
    return (DELETED, styles.bad) if item.rule in FILE_RULES or item.rule == "audit log" else (TO_TRASH, styles.keyword)


def _fate(item: HygieneItem) -> str:
    """What becomes of a file; of a row how it begins."""
    if item.excerpt:
        return one_line(item.excerpt[:_LONGEST_LOOKED_AT])
    return _clean(fate_words(item))


def _last_part(item: HygieneItem) -> str:
    """A name beside the rule, which says what folder it is in."""
    name = _clean(item.name)
    return (name.rpartition("/")[2] if item.rule in FILE_RULES else name) or EMPTY_KEY


def _clean(text: str) -> str:
    return one_line(mask_secrets(text[:_LONGEST_LOOKED_AT]))
