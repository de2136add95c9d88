"""The list of anything in columns, driven by keys and mouse."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from textual.content import Content
from textual.pilot import Pilot
from tui_widget_samples import WidgetApp, shown

from zeroclaw_tui.tui.widgets.table_list import Column, TableList


@dataclass(frozen=True, slots=True)
class Thing:
    name: str
    count: int = 0
    about: str = ""
    line: str | None = None


COLUMNS = (
    Column[Thing]("thing", lambda thing: thing.name),
    Column[Thing]("count", lambda thing: f"{thing.count:,}", width=7, right=True, look="muted"),
    Column[Thing]("about", lambda thing: thing.about, flex=True),
    Column[Thing]("only wide", lambda thing: "yes", hidden_below=70),
)
HOSTILE = "[bold]hi[/] [/foo] \x1b]0;owned\x07\x1b[31m \x9b1m \u202eevil\u202c\nsecond \ud800 line"


@asynccontextmanager
async def listing(
    rows: Sequence[Thing], width: int = 60, height: int = 8, **parts: Any
) -> AsyncIterator[tuple[TableList[Thing], WidgetApp, Pilot[None]]]:
    table = TableList(COLUMNS, rows, **parts)
    app = WidgetApp(table)
    async with app.run_test(size=(width, height)) as pilot:
        table.focus()
        await pilot.pause()
        yield table, app, pilot


def lines(table: TableList[Thing]) -> list[str]:
    return [line.rstrip() for line in shown(table)]


def things(count: int) -> list[Thing]:
    return [Thing(f"thing {number}", number) for number in range(count)]


async def test_keys_move_the_cursor_and_stop_at_both_ends() -> None:
    async with listing(things(100), height=21) as (table, app, pilot):
        places = []
        for key in ("j", "down", "k", "G", "j", "g", "end", "home", "k", "ctrl+d", "ctrl+u", "pagedown", "pageup"):
            await pilot.press(key)
            places.append(table.cursor)
        assert places == [1, 2, 1, 99, 99, 0, 99, 0, 0, 10, 0, 19, 0]
        highlighted = [message.row.name for message in app.saw(TableList.RowHighlighted)]
        assert highlighted[:4] == ["thing 0", "thing 1", "thing 2", "thing 1"]


async def test_columns_are_as_wide_as_needed_and_numbers_are_at_the_right() -> None:
    rows = [Thing("ham", 7, "smoked"), Thing("a longer name", 1200, "x" * 90)]
    async with listing(rows, width=68) as (table, _, pilot):
        assert lines(table)[:2] == [" thing            count  about", "▌ham                  7  smoked"]
        assert lines(table)[2].startswith(" a longer name    1,200  xxxx")
        assert lines(table)[2].endswith("x…")
        await pilot.resize_terminal(80, 8)
        assert lines(table)[0].split() == ["thing", "count", "about", "only", "wide"]


async def test_text_is_neither_markup_nor_does_it_steer_the_terminal() -> None:
    styled = (Column[Thing]("styled", lambda thing: Content.styled(thing.about, "bad"), flex=True),)
    for columns in (COLUMNS, styled):
        table = TableList(columns, [Thing("one", 1, HOSTILE)])
        async with WidgetApp(table).run_test(size=(120, 6)):
            line = lines(table)[1]
            assert "[bold]hi[/] [/foo] ␛]0;owned" in line
            assert not {"\x1b", "\x9b", "\u202e", "\n"} & {*line}


async def test_what_looks_like_a_key_is_masked() -> None:
    async with listing([Thing("token", 1, "sk-abcdefghijklmnop1234")]) as (table, _, _):
        assert "abcdefghijklmnop" not in lines(table)[1]
        assert "sk-••••" in lines(table)[1]


async def test_the_cursor_stays_on_its_row_when_others_come() -> None:
    async with listing(things(4), key=lambda thing: thing.name) as (table, _, pilot):
        await pilot.press("j", "j")
        table.set_rows([Thing("new"), *things(4)])
        assert table.selected == Thing("thing 2", 2)
        table.set_rows(things(2))
        assert table.selected == Thing("thing 1", 1)
        table.set_rows(things(4), cursor=3)
        assert table.selected == Thing("thing 3", 3)


async def test_a_click_selects_and_a_double_click_opens() -> None:
    async with listing(things(4)) as (table, app, pilot):
        await pilot.click(TableList, offset=(5, 3))
        assert table.cursor == 2
        assert app.saw(TableList.RowOpened) == []
        await pilot.double_click(TableList, offset=(5, 2))
        assert [message.row.name for message in app.saw(TableList.RowOpened)] == ["thing 1"]
        await pilot.click(TableList, offset=(5, 0))
        assert table.cursor == 1


async def test_an_empty_list_says_why() -> None:
    async with listing([], empty="Nothing was found here. [b]r[/b] looks again.") as (table, _, pilot):
        assert lines(table)[0] == "  Nothing was found here. [b]r[/b] looks again."
        await pilot.press("j", "G", "ctrl+d")
        assert table.selected is None
        table.say_empty("Stopped.")
        assert lines(table)[0] == "  Stopped."
