"""Stores: the stores of the config with their status, and files of other tools."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from shlex import quote

from textual.content import Content

from zeroclaw_tui.backends.factory import backend_info
from zeroclaw_tui.curation.config_choice import Candidate, StoreStatus
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.text import NO_VALUE, counted
from zeroclaw_tui.tui.commands import Command, Room, common_commands, inform, store_options
from zeroclaw_tui.tui.dialogs import ask_path, yes_or_no
from zeroclaw_tui.tui.format import shorten_path
from zeroclaw_tui.tui.rooms.listing import Listing
from zeroclaw_tui.tui.themes import MUTED, STRONG, WARNING
from zeroclaw_tui.tui.transfer import clean, copy_to
from zeroclaw_tui.tui.widgets.lines import TitleLine
from zeroclaw_tui.tui.widgets.table_list import Column, TableList

COMMANDS = (
    Command("open", "enter", "open", "Open the store under the cursor", True, shell="health"),
    Command("reload", "r", "reload", "Check every store again", True, synonyms="refresh retry"),
    Command("open_file", "O", "open a file", "Open a file or directory: a database, notes, or another tool's data",
            True, synonyms="path r-mem memory-rs markdown import"),
    Command("copy_here", "C", "copy to store", "Copy the memories of the open store …", True,
            synonyms="migrate move transfer", shell="copy --to {backend}"),
    Command("allow_changes", "W", "allow changes", "Allow changes to the DATABASE_URL database"),
    *common_commands(out="Back to the list", back="Back to the list"),
)  # fmt: skip
_FOREIGN = "Only DATABASE_URL names it, so it may be another program's and is read-only. Press W to allow changes."
_NAMES = {
    "keyword": "keyword search",
    "superseded": "superseded rows",
    "kind": "kinds",
    "pinned": "pins",
    "write": "writing",
}


class StoresRoom(Listing, Room["Candidate | None"]):
    """The stores that the config names. Its result is the store to open, or None.

    `library` is the open store, the source of a copy; `profile` is the ZeroClaw version from the options. `find` is
    called in a thread. All stores are checked concurrently, and each row is updated when its result arrives.
    """

    CSS_PATH = "stores.tcss"
    AUTO_FOCUS = "#stores"
    PLACE = "stores"
    KEYS = COMMANDS
    TITLES = ("Stores", "Store")

    def __init__(
        self,
        library: Library | None,
        find: Callable[[], Sequence[Candidate]],
        check: Callable[[Candidate], Awaitable[StoreStatus]],
        profile: str | None,
        patience: float,
    ) -> None:
        super().__init__()
        self._library = library
        self._find_all = find
        self._check_one = check
        self._profile = profile
        self._patience = patience
        self._statuses: dict[tuple[str, str], StoreStatus] = {}
        """The status of each checked store."""
        self.table = TableList[Candidate](self._columns(), key=_key_of, id="stores")

    def on_table_list_row_opened(self) -> None:
        self.action_open()

    def why_dimmed(self, action: str) -> str | None:
        """Say why an action is not available for the store under the cursor."""
        if action not in ("copy_here", "allow_changes"):
            return None
        candidate = self.table.selected
        if candidate is None:
            return "No stores found yet."
        if action == "allow_changes":
            return None if candidate.is_foreign else "Only the database of DATABASE_URL needs to be confirmed."
        if self._library is None:
            return "No store is open to copy from."
        if candidate.is_current:
            return "This is the open store. Choose another one."
        kind = backend_info(candidate.config.backend)
        if kind is not None and kind.keeps_nothing:
            return "This backend stores no memories."
        if candidate.config.read_only:
            return "This store is read-only, so nothing can be copied into it."
        status = self._statuses.get(_key_of(candidate))
        return status.limitations.get("write") if status is not None else None

    def shell_facts(self) -> Mapping[str, str]:
        """The open store, and the backend under the cursor, for shell commands."""
        facts = {} if self._library is None else {"store": store_options(self._library)}
        candidate = self.table.selected
        return facts if candidate is None else facts | {"backend": quote(candidate.config.backend)}

    def action_open(self) -> None:
        candidate = self.table.selected
        if candidate is not None:
            self.dismiss(None if candidate.is_current and self._library is not None else candidate)

    def action_copy_here(self) -> None:
        self.run_background("copy-write", self._copy, exclusive=False)

    def action_allow_changes(self) -> None:
        self.run_background("stores-confirm", self._confirm, exclusive=False)

    def action_open_file(self) -> None:
        self.run_background("stores-file", self._open_file)

    async def load(self) -> None:
        """Find the stores, and check all of them concurrently."""
        if not self.table.rows:
            self.query_one(TitleLine).say("Searching for the stores of this config …")
        candidates = await asyncio.to_thread(self._find_all)
        self._statuses = {}
        self.table.set_rows(candidates)
        self._paint()
        await asyncio.gather(*map(self._check, candidates))

    async def _check(self, candidate: Candidate) -> None:
        self._statuses[_key_of(candidate)] = await self._check_one(candidate)
        self._paint()

    async def _open_file(self) -> None:
        about = "A brain.db, a directory of notes, or a file of R-Mem, memory-rs or another tool (read-only)."
        title = "Open which file or directory?"
        candidate = await ask_path(self.app, title, about, lambda path: asyncio.to_thread(Candidate.from_path, path))
        if candidate is not None:
            self.dismiss(candidate)

    async def _copy(self) -> None:
        candidate = self.table.selected
        if candidate is None or self._library is None:
            return
        message = await copy_to(self.app, self._library, candidate, self._profile, self._patience)
        if message is not None:
            inform(self, message)
            self.action_reload()

    async def _confirm(self) -> None:
        candidate = self.table.selected
        if candidate is None:
            return
        body = Content(
            f"{clean(candidate.location)}\nDATABASE_URL names this database, but many programs read that variable. "
            "Allow changes only if ZeroClaw stores its memories there."
        )
        question = yes_or_no("Is this ZeroClaw's database?", "Allow changes", body)
        if await self.app.push_screen_wait(question):
            self.dismiss(await asyncio.to_thread(candidate.confirm))

    def _paint(self) -> None:
        """Show the known status of each store, and how many stores answer."""
        answering = sum(status.problem is None for status in self._statuses.values())
        self.query_one(TitleLine).say(f"{counted(len(self.table.rows), 'store')} configured: {answering} answering")
        self.table.redraw()
        self.show_loaded()
        self.refresh_bindings()

    def _columns(self) -> Sequence[Column[Candidate]]:
        def state(candidate: Candidate) -> Content | str:
            status = self._statuses.get(_key_of(candidate))
            if status is None:
                return Content.styled("… asking", "muted")
            if status.problem is None:
                return "✓ answers"
            return Content.styled("– not yet", "muted") if status.is_missing else Content.styled("✗ fails", "bad")

        def count(candidate: Candidate) -> str:
            status = self._statuses.get(_key_of(candidate))
            return "…" if status is None else NO_VALUE if status.memories is None else f"{status.memories:,}"

        return (
            Column("", lambda row: "●" if row.is_current else "", width=1, look="final"),
            Column("store", lambda row: clean(row.name), width=15),
            Column("", state, width=10),
            Column("memories", count, width=9, right=True, hidden_below=48),
            Column("where", lambda row: clean(row.location), flex=True, look="muted", shortened=shorten_path),
        )

    async def about(self, candidate: Candidate) -> Content:
        """The location of the store, what names it, its status, its capabilities, and missing ones with reasons."""
        status = self._statuses.get(_key_of(candidate))
        parts: list[str | tuple[str, str]] = [
            (clean(candidate.name), STRONG),
            f"  {clean(candidate.location)}",
            (f"\nknown by {clean(candidate.why)}", MUTED),
            (f"\n! {_FOREIGN}" if candidate.is_foreign else "", WARNING),
        ]
        if status is None:
            parts.append(("\nchecking …", MUTED))
        elif status.problem is not None:
            parts.append(f"\n{clean(status.problem)}")
        else:
            can = ", ".join(_NAMES.get(name, name) for name in status.badges)
            parts.append(f"\nsupports {can}" if can else "")
            for why in dict.fromkeys(status.limitations.values()):
                names = ", ".join(_NAMES.get(name, name) for name, other in status.limitations.items() if other == why)
                parts.append((f"\nno {names}: {clean(why)}", MUTED))
        return Content.assemble(*parts)


def _key_of(candidate: Candidate) -> tuple[str, str]:
    return candidate.name, candidate.location
