"""What a command is, and how bindings, footer and palette come from it; each room declares its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

from rich.cells import cell_len, set_cell_size
from textual.binding import Binding, BindingType
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.events import Key
from textual.screen import Screen

from zeroclaw_tui.memory.text import display_text, mask_secrets
from zeroclaw_tui.tui.themes import ACCENT, MUTED, STRONG

_BRACES = re.compile(r"\{(\w+)\}")
_WORDS = re.compile(r"[^\W_]+(?:-\w+)*")
_NAME, _PALETTE, _PALETTE_EDGES = 16, 110, 8
"""Cells of a name, of a line of the palette at most, and of what stands beside it."""


@dataclass(frozen=True, slots=True)
class Command:
    """`keys` are Textual's names, the first one is shown; `id` is what a person re-binds by.

    `name` is the word in the footer, `sentence` what palette and help say.
    A `priority` command also works while typing, unless its screen's `check_action` says else. One that `writes` is
    dimmed where nothing can be changed. `also` are other words that people look for it by, `line` is what does the same
    in a shell, behind `zeroclaw memory`, with facts of the room in braces; without them SYNONYMS and LINES hold.
    """

    id: str
    keys: str
    action: str
    name: str
    sentence: str
    group: str
    in_footer: bool = False
    priority: bool = False
    in_palette: bool = True
    writes: bool = False
    also: str = ""
    line: str = ""

    def binding(self) -> Binding:
        """The binding of its keys."""
        return Binding(
            self.keys,
            self.action,
            self.name,
            id=self.id,
            show=self.in_footer,
            tooltip=self.sentence,
            priority=self.priority,
        )


FIND = "Find"
WHY = "Why"
CHANGE = "Change"
LOOK = "Look"
PANES = "Panes"
PROGRAM = "Program"
UPKEEP = "Upkeep"


SYNONYMS = {
    "audit": "junk clean pollution duplicates secrets",
    "changes": "trash restore undo history deleted recover log",
    "clean up": "audit junk pollution duplicates secrets purge",
    "copies": "backups leftovers also found",
    "copy": "clipboard yank",
    "copy JSON": "clipboard yank",
    "copy to": "migrate move transfer",
    "copy to it": "migrate move transfer",
    "delete": "remove forget purge",
    "delete all": "purge remove forget",
    "edit": "change fix correct",
    "erase": "gdpr wipe destroy for good",
    "explain": "why reason stages miss score",
    "export": "save dump backup",
    "facets": "side counts",
    "filter": "narrow chips facet category session",
    "health": "doctor check repair fix",
    "history": "versions changes log",
    "hygiene": "retention archive expire clean",
    "import": "load bring mem0 openclaw",
    "keys": "help shortcuts bindings",
    "length": "size long short",
    "live": "turns trace tail recording sent what really recalled",
    "mark": "select",
    "mark all": "select everything",
    "mark none": "select unmark",
    "mark to here": "select range",
    "new": "add store write create",
    "notices": "warnings",
    "numbers": "stats statistics growth size count",
    "only these": "session category same filter",
    "open a file": "path r-mem memory-rs markdown import",
    "order": "sort date newest oldest",
    "profile": "scoring version rules",
    "prompt": "injected context block",
    "quit": "exit leave close",
    "re-embed": "vector embedding reindex",
    "redo": "again undo",
    "reload": "refresh retry look again",
    "search": "find query look for recall",
    "show again": "superseded supersede",
    "similar": "near neighbours related vector",
    "snapshot": "backup hydrate",
    "stages": "explain why reason miss score",
    "stores": "backend switch database",
    "talk": "conversation chat source session came from",
    "theme": "colours color dark light",
    "undo": "restore revert take back",
    "what-if": "weights threshold tune try",
    "$EDITOR": "editor vim emacs",
}
"""Other words that people look for a command by, for its name."""
LINES = {
    "clean up": "audit",
    "changes": "trash list",
    "copy": "get {key}",
    "copy JSON": "get {key} --json",
    "copy to": "copy --to {backend}",
    "copy to it": "copy --to {backend}",
    "delete": "forget {key}",
    "delete all": "purge {filter}",
    "edit": "edit {key}",
    "erase": "erase {text}",
    "explain": "explain {key} --query {query}",
    "export": "export {file} {filter}",
    "facets": "facets {filter}",
    "filter": "list {filter}",
    "health": "doctor",
    "history": "trash history {key}",
    "hygiene": "hygiene --dry-run",
    "import": "import {file}",
    "live": "tail",
    "new": "store {key} {content}",
    "no filter": "list",
    "notices": "health",
    "numbers": "stats",
    "only these": "list {filter}",
    "open": "get {key}",
    "profile": "recall {query} --profile {version}",
    "prompt": "prompt {query}",
    "re-embed": "reindex",
    "read": "get {key}",
    "redo": "redo",
    "search": "recall {query}",
    "show again": "edit {key} --unsupersede",
    "similar": "similar {key}",
    "snapshot": "snapshot --diff",
    "stages": "explain {key} --query {query}",
    "stores": "health",
    "undo": "undo",
    "what-if": "recall {query} --vector-weight {number} --keyword-weight {number}",
}
"""What does the same in a shell, behind `zeroclaw memory`, for the name of a command; in braces facts of the room."""


def bindings(commands: Iterable[Command]) -> list[BindingType]:
    """The bindings of the commands that have keys."""
    return [command.binding() for command in commands if command.keys]


def say_why_not(screen: Screen[Any], event: Key, why_not: Callable[[str], str | None]) -> None:
    """A dimmed key says why; `why_not` gives the sentence for an action as it is bound, None for one that works."""
    bound = screen.active_bindings.get(event.key)
    if bound is None or bound.enabled:
        return
    because = why_not(bound.binding.action)
    if because is not None:
        event.stop()
        screen.notify(shown_sentence(because), title="Not here", severity="warning", markup=False)


def shown_sentence(because: str) -> str:
    """A sentence of a store as it may be shown."""
    return display_text(mask_secrets(because))


@runtime_checkable
class HasCommands(Protocol):
    """A screen that offers commands to the palette."""

    def palette_commands(self) -> Iterable[Command]:
        """The commands that make sense now."""
        ...


@runtime_checkable
class SaysWhyNot(Protocol):
    """A screen on which some of its commands may be dimmed."""

    def why_not(self, command: Command) -> str | None:
        """Why a command is dimmed, in a sentence; None when it works."""
        ...


@runtime_checkable
class HasLines(Protocol):
    """A screen whose commands have a `zeroclaw memory` line that does the same."""

    def line_facts(self) -> Mapping[str, str]:
        """What stands in the braces of LINES here, quoted for a shell; what is unknown is left out.

        `store` is what names the store, for the end of every line.
        """
        ...


def line_of(screen: Screen[Any], command: Command) -> str:
    """The line for a shell that does what a command does here; "" where there is none."""
    template = command.line or LINES.get(command.name)
    if not template:
        return ""
    facts = screen.line_facts() if isinstance(screen, HasLines) else {}
    line = _BRACES.sub(lambda found: facts.get(found[1], found[1].upper()), template)
    return " ".join(f"zeroclaw memory {line} {facts.get('store', '')}".split())


def match(command: Command, typed: str) -> int:
    """How well a command fits what was typed, 0 for not at all; every typed word has to be found.

    The beginning of its name is worth most, then that of a synonym, of a word of its sentence, then any part.
    """
    total = 0
    for word in typed.casefold().split():
        name, also, sentence = (
            command.name.casefold(),
            command.also or SYNONYMS.get(command.name, ""),
            command.sentence.casefold(),
        )
        worth = max(
            8 * name.startswith(word),
            6 * _begins(name, word),
            5 * _begins(also, word),
            3 * _begins(sentence, word),
            1 * (len(word) > 2 and word in f"{name} {also} {sentence}"),
        )
        if not worth:
            return 0
        total += worth
    return total


def _begins(text: str, word: str) -> bool:
    return any(part.startswith(word) for part in _WORDS.findall(text))


class InspectorCommands(Provider):
    """The palette's view of the commands of the screen it was opened on: a line each, the key at its end."""

    async def discover(self) -> Hits:
        """Every command, before anything is typed."""
        for command in self._commands():
            yield DiscoveryHit(self._line(command), self._run(command), command.sentence)

    async def search(self, query: str) -> Hits:
        """The commands that have every word that was typed, in name, synonyms or sentence."""
        for command in self._commands():
            worth = match(command, query)
            if worth:
                yield Hit(worth, self._line(command), self._run(command), command.sentence)

    def _commands(self) -> Iterable[Command]:
        return self.screen.palette_commands() if isinstance(self.screen, HasCommands) else ()

    def _why_not(self, command: Command) -> str | None:
        return self.screen.why_not(command) if isinstance(self.screen, SaysWhyNot) else None

    def _line(self, command: Command) -> Content:
        """Name, sentence and key on one line of the width that the palette has."""
        keys = self._keys(command)
        room = max(20, min(_PALETTE, self.app.size.width - _PALETTE_EDGES) - _NAME - cell_len(keys) - 2)
        sentence = (
            set_cell_size(command.sentence, room)
            if cell_len(command.sentence) <= room
            else (set_cell_size(command.sentence, room - 1) + "…")
        )
        is_dim = self._why_not(command) is not None
        return Content.assemble(
            (set_cell_size(command.name, _NAME), MUTED if is_dim else STRONG),
            (sentence, MUTED if is_dim else ""),
            ("  " + keys, MUTED if is_dim else ACCENT),
        )

    def _run(self, command: Command) -> partial[Any]:
        because = self._why_not(command)
        if because is not None:
            return partial(self.app.notify, shown_sentence(because), severity="warning", markup=False)
        return partial(self.screen.run_action, command.action)

    def _keys(self, command: Command) -> str:
        if not command.keys:
            return ""
        return self.app.get_key_display(Binding(command.keys.split(",")[0], command.action, id=command.id))
