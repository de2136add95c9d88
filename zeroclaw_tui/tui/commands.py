"""Commands, and a room made of commands: bindings, palette, help, messages and background work."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, TypeVar

from rich.cells import cell_len, set_cell_size
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.dom import DOMNode
from textual.events import Key
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.widget import Widget
from textual.worker import Worker

from zeroclaw_tui.config.locations import config_dir_option, shell_path
from zeroclaw_tui.config.real_binary import runnable, runnable_command
from zeroclaw_tui.memory.errors import InspectorError, SearchInterrupted
from zeroclaw_tui.tui.format import shown_words
from zeroclaw_tui.tui.themes import ACCENT, MUTED, STRONG

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

Result = TypeVar("Result")
Change = Callable[["Library"], Awaitable[object]]
Group = Literal[
    "Find", "Try", "Why", "Change", "Mark", "Choose", "As of", "Look", "Panes", "Program", "Upkeep",
]  # fmt: skip
"""What commands are told under in the help."""

_BRACES = re.compile(r"\{(\w+)\}")
_WORDS = re.compile(r"[^\W_]+(?:-\w+)*")
_NAME, _PALETTE, _PALETTE_EDGES = 16, 110, 8
"""Cells of a name, of a line of the palette at most, and of what is next to it."""
_SAID_AFTER = 0.1
"""How long to wait before something is said where no patience is set."""


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
    group: Group
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


SYNONYMS = {
    "changes": "trash restore undo history deleted recover log",
    "clean up": "audit junk pollution duplicates secrets purge",
    "copies": "backups leftovers also found",
    "copy": "clipboard yank",
    "copy JSON": "clipboard yank",
    "copy to": "migrate move transfer",
    "copy to store": "migrate move transfer",
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
    "live": "turns trace tail recording sent what really recalled",
    "mark": "select",
    "mark all": "select everything",
    "unmark all": "select mark none",
    "mark to here": "select range",
    "new": "add store write create",
    "notices": "warnings",
    "statistics": "stats numbers growth size count",
    "same session": "only these category filter",
    "open a file": "path r-mem memory-rs markdown import",
    "sort": "order date newest oldest",
    "scoring": "profile version rules",
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
    "conversation": "talk chat source session came from",
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
    "facets": "stats --json {filter}",
    "filter": "list {filter}",
    "health": "doctor",
    "history": "get {key} --history",
    "hygiene": "hygiene --dry-run",
    "import": "import {file}",
    "live": "tail",
    "new": "store {key} {content}",
    "no filter": "list",
    "notices": "health",
    "statistics": "stats",
    "same session": "list {filter}",
    "open": "get {key}",
    "scoring": "recall {query} --profile {version}",
    "prompt": "prompt {query}",
    "re-embed": "reindex",
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


def usual_commands(room: str, *, out: str = "One step out", back: str = "Back to where you came from") -> list[Command]:
    """What every room has: its keys, the palette, a step out and the way back."""
    return [
        Command(f"{room}.help", "question_mark,f1", "show_help", "keys", "The keys that work here", "Program", True),
        Command(f"{room}.palette", "colon,ctrl+p", "app.command_palette", "commands", "Find a command", "Program",
                in_palette=False),
        Command(f"{room}.out", "escape", "step_out", "out", out, "Program", True, in_palette=False),
        Command(f"{room}.leave", "q", "leave", "back", back, "Program", in_palette=False),
    ]  # fmt: skip


def mark_commands(room: str, row: str, every: str, group: Group = "Change", *, in_footer: bool = True) -> list[Command]:
    """What marks rows of a list: the one under the cursor, every one that is shown, none."""
    return [
        Command(f"{room}.mark", "space", "mark", "mark", f"Mark or unmark {row}", group, in_footer),
        Command(f"{room}.mark_all", "asterisk", "mark_all", "mark all", every, group),
        Command(f"{room}.mark_none", "backslash", "mark_none", "unmark all", "Unmark all", group),
    ]


class Room(Screen[Result], Generic[Result]):
    """A screen whose keys are commands: one that cannot be done is dimmed, and says why when it is pressed."""

    KEYS: ClassVar[Sequence[Command]] = ()

    def __init_subclass__(cls) -> None:
        """Its keys are those of its commands."""
        cls.BINDINGS = bindings(cls.KEYS)
        super().__init_subclass__()

    @property
    def commands(self) -> Sequence[Command]:
        """The commands that are known now."""
        return self.KEYS

    @property
    def with_keys(self) -> Sequence[tuple[str, Widget]]:
        """The widgets with their own keys here, with their title in the help; by default a list."""
        return (("In the list", self.query_one("CursorList")),)

    def why_dimmed(self, action: str) -> str | None:
        """Why an action, as it is bound, cannot be done now, in a sentence; None when it can."""
        return None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        bound = f"{action}({parameters[0]!r})" if parameters else action
        return None if self.why_dimmed(bound) is not None else True

    def palette_commands(self) -> Iterable[Command]:
        """The commands that make sense now."""
        return [one for one in self.commands if one.in_palette and self.check_action(one.action, ()) is not False]

    def line_facts(self) -> Mapping[str, str]:
        """The values for the braces of LINES, quoted for a shell; unknown ones are left out.

        `store` is what names the store, for the end of every line.
        """
        return {}

    def on_key(self, event: Key) -> None:
        """A dimmed key says why it is dimmed."""
        bound = self.active_bindings.get(event.key)
        because = None if bound is None or bound.enabled else self.why_dimmed(bound.binding.action)
        if because is not None:
            event.stop()
            self.notify(shown_words(because), title="Not here", severity="warning", markup=False)

    def action_show_help(self) -> None:
        from zeroclaw_tui.tui.help import HelpScreen

        self.app.push_screen(HelpScreen(self))

    def action_step_out(self) -> None:
        self.action_leave()

    def action_leave(self) -> None:
        self.dismiss()

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Leave, and stop all questions: a late answer would look for widgets that no longer exist."""
        for node in self.walk_children(with_self=True):
            self.workers.cancel_node(node)
        return super().dismiss(result)


class MakesChanges(Protocol):
    """A room, or a part of one, that makes changes one at a time."""

    def begin(self, change: Change) -> None:
        """Make a change, unless another one is under way."""
        ...


Maker = TypeVar("Maker", bound=MakesChanges)


def changing(work: Callable[[Maker, Library], Awaitable[object]]) -> Callable[[Maker], None]:
    """Makes an action of what changes memories: it is begun, unless another change is under way."""

    def action(maker: Maker) -> None:
        maker.begin(partial(work, maker))

    action.__doc__ = work.__doc__
    return action


def start_work(
    node: DOMNode, group: str, work: Callable[..., Awaitable[None]], *given: object, exclusive: bool = True
) -> Worker[None]:
    """Do something in the background; if `exclusive`, it replaces what already runs in that group."""
    # Not a coroutine: a worker that is cancelled before its first step would leave that behind, never awaited.
    worker: Worker[None] = Worker(node, partial(work, *given), group=group)
    node.workers.add_worker(worker, start=True, exclusive=exclusive)
    return worker


async def guarded(node: Widget, work: Callable[..., Awaitable[None]], *given: object) -> None:
    """Do something; failures are reported, and an interruption is ignored."""
    try:
        await work(*given)
    except SearchInterrupted:
        return
    except InspectorError as error:
        tell_failure(node, error)


@contextmanager
def saying(node: MessagePump, patience: float, say: Callable[[], None], *, again: bool = False) -> Iterator[None]:
    """Show a progress message after the patience time, once or, with `again`, repeatedly."""
    is_over = False

    def say_still() -> None:
        # The timer may have fired at the very end.
        if not is_over:
            say()

    seconds = patience or _SAID_AFTER
    timer = node.set_interval(seconds, say_still) if again else node.set_timer(seconds, say_still)
    try:
        yield
    finally:
        is_over = True
        timer.stop()


def tell(node: Widget, sentence: str) -> None:
    """Say what was done."""
    node.notify(shown_words(runnable(sentence)), markup=False)


def warn(node: Widget, sentence: str) -> None:
    """Say what was not done."""
    node.notify(shown_words(runnable(sentence)), severity="warning", markup=False)


def tell_failure(node: Widget | App[Any], error: InspectorError) -> None:
    """One sentence and what to do next."""
    node.notify(shown_words(runnable(str(error))), title=error.title, severity="error", markup=False)


def store_options(library: Library) -> str:
    """What names this store for a command of the shell; nothing where that finds it by itself."""
    install = library.config.install
    if install.layout == "lone":
        return f"--location {shell_path(library.memory.about.location)}"
    return config_dir_option(install, os.environ)


def line_of(room: Room[Any], command: Command) -> str:
    """The line for a shell that does what a command does here; "" where there is none."""
    template = command.line or LINES.get(command.name)
    if not template:
        return ""
    facts = room.line_facts()
    words, last = ["zeroclaw memory"], [facts.get("store", "")]
    for word in template.split():
        filled = _BRACES.sub(lambda found: facts.get(found[1], found[1].upper()), word)
        if word in (filled, "{filter}") or not filled.lstrip("$'").startswith("-"):
            words.append(filled)
        elif words[-1].startswith("-"):
            words[-1] += f"={filled}"
        else:
            # What begins like an option is none behind this.
            last += ["--", filled]
    return runnable_command(" ".join(filter(None, (*words, *last))))


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


class Palette(CommandPalette):
    """Textual's palette, which closes only itself and does not page before its list is laid out."""

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Leave, unless another screen has come over it in the meantime: Textual 8.2.8 would close that one."""
        return super().dismiss(result) if self.app.screen is self else AwaitComplete()

    def _action_command_list(self, action: str) -> None:
        with suppress(KeyError):
            super()._action_command_list(action)


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
        return self.screen.palette_commands() if isinstance(self.screen, Room) else ()

    def _why_not(self, command: Command) -> str | None:
        return self.screen.why_dimmed(command.action) if isinstance(self.screen, Room) else None

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
            return partial(self.app.notify, shown_words(because), severity="warning", markup=False)
        return partial(self.screen.run_action, command.action)

    def _keys(self, command: Command) -> str:
        if not command.keys:
            return ""
        return self.app.get_key_display(Binding(command.keys.split(",")[0], command.action, id=command.id))
