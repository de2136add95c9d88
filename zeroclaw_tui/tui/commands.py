"""Commands, and the base class of rooms: bindings, palette, key line, messages and background work."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from rich.cells import cell_len
from textual import on
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.binding import ActiveBinding, Binding, BindingType
from textual.command import Command as PaletteRow
from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.dom import DOMNode
from textual.events import Key, Mount
from textual.message_pump import MessagePump
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget
from textual.worker import Worker

from zeroclaw_tui.config.locations import config_dir_option, shell_path
from zeroclaw_tui.config.real_binary import runnable, runnable_command
from zeroclaw_tui.memory.errors import InspectorError, SearchInterrupted
from zeroclaw_tui.memory.text import fit
from zeroclaw_tui.tui.format import safe_text, shorten_path
from zeroclaw_tui.tui.themes import ACCENT, HIGHLIGHT, MUTED, STRONG, STRONG_ACCENT, clickable
from zeroclaw_tui.tui.widgets.table_list import wrap

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

Result = TypeVar("Result")
RunChange = Callable[["Library"], Awaitable[object]]

_BRACES = re.compile(r"\{(\w+)\}")
_KEY_CELLS, _NAME_CELLS = 10, 15
"""Widths of the keys and the name of a command in the palette, in cells."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a room.

    `id` is the name of the action method and of the binding, by which the keys can be remapped. `key` has Textual's
    key names separated by commas; the first is shown, and a command without a key is only in the palette. `name` is the
    word in the footer, `title` the sentence in the palette.
    A `priority` command also works while text is typed. A command that `writes` is dimmed in a read-only store.
    The palette also finds a command by its `synonyms`. `shell` is the equivalent of the command after `zeroclaw memory`
    in a shell, with facts of the room in braces. `target` is what runs the command if not the room: "app", "room" to
    enter another room, "tab" to open a tab of a room.
    """

    id: str
    key: str
    name: str
    title: str
    footer: bool = False
    writes: bool = False
    priority: bool = False
    listed: bool = True
    synonyms: str = ""
    shell: str = ""
    target: Literal["", "app", "room", "tab"] = ""

    @property
    def action(self) -> str:
        """The action that Textual runs."""
        if self.target == "room":
            return f"app.enter_room('{self.id}')"
        if self.target == "tab":
            return f"open_tab('{self.id}')"
        return f"{self.target}.{self.id}" if self.target else self.id

    def binding(self) -> Binding:
        """The Textual binding of the command."""
        return Binding(
            self.key, self.action, self.name, id=self.id, show=self.footer, tooltip=self.title, priority=self.priority
        )


def bindings(commands: Iterable[Command]) -> list[BindingType]:
    """The bindings of the commands that have keys."""
    return [command.binding() for command in commands if command.key]


ROOM_COMMANDS = (
    Command("memories", "1", "Memories", "Go to the memories", target="room", synonyms="list browse home"),
    Command("why", "2", "Why", "Explain a recall, try other settings, see the prompt", target="room"),
    Command("upkeep", "3", "Upkeep", "Clean up, hygiene, health and snapshot", target="room",
            synonyms="audit doctor duplicates junk secrets check", shell="audit"),
    Command("changes", "4", "Changes", "All changes and the trash", target="room",
            synonyms="trash restore undo history deleted recover log", shell="trash list"),
    Command("live", "5", "Live", "Recorded turns", target="room",
            synonyms="turns trace tail recording sent what really recalled", shell="tail"),
    Command("stores", "6", "Stores", "Choose another store of this config", target="room",
            synonyms="backend switch database", shell="health"),
)  # fmt: skip
"""The commands that enter the six rooms, in the order of the top line; the key is the number of the room."""


def common_commands(*, out: str = "One step out", back: str = "Back to where you came from") -> list[Command]:
    """The commands of every room: enter each room, show the keys, open the palette, step out and go back."""
    return [
        *ROOM_COMMANDS,
        Command(
            "keys", "question_mark,f1", "keys", "The keys that work here", True, synonyms="help shortcuts bindings"
        ),
        Command("command_palette", "colon,ctrl+p", "commands", "Find a command", listed=False, target="app"),
        Command("step_out", "escape", "out", out, listed=False),
        Command("leave", "q", "back", back, listed=False),
        Command(
            "move", "j,k", "move", "Move by row or line; g G to the ends, ctrl+d ctrl+u by half a page", listed=False
        ),
    ]


def mark_commands(row: str, every: str) -> list[Command]:
    """The commands that mark the row under the cursor, and all rows."""
    return [
        Command("mark", "space", "mark", f"Mark or unmark {row}", True, synonyms="select"),
        Command("mark_all", "asterisk", "mark all", f"{every}; again: none", synonyms="select everything unmark"),
    ]


class ClickedLine(Widget):
    """A line with clickable parts that run actions, without the style of links."""

    ALLOW_SELECT = False
    auto_links = reactive(False)


class TopLine(ClickedLine):
    """The store and the rooms, the current one highlighted; a click enters a room."""

    DEFAULT_CSS = """
    TopLine { dock: top; height: 1; padding: 0 1; pointer: pointer; text-wrap: nowrap; text-overflow: clip; }
    """

    def __init__(self, place: str) -> None:
        super().__init__()
        self._place = place

    def on_mount(self) -> None:
        self.watch(self.app, "sub_title", self._show_store)

    def _show_store(self) -> None:
        self.refresh()

    def render(self) -> Content:
        width = self.content_size.width
        tabs = self._tabs(with_names=True)
        # The store's name needs at least 12 cells next to the names of all rooms.
        if tabs.cell_length + 12 > width:
            tabs = self._tabs(with_names=False)
        room = max(0, width - tabs.cell_length)
        name = shorten_path(self.app.sub_title or self.app.title, room)
        return Content.styled(name, STRONG) + Content(" " * (room - cell_len(name))) + tabs

    def _tabs(self, *, with_names: bool) -> Content:
        """The numbers of the rooms, with all names or only that of the current room."""
        tabs = Content("")
        for command in ROOM_COMMANDS:
            is_here = command.id == self._place
            number = (command.key, STRONG_ACCENT if is_here else ACCENT)
            name = (f" {command.name}", HIGHLIGHT if is_here else MUTED) if with_names or is_here else ""
            gap = "  " if with_names or is_here else " "
            tabs += clickable(Content.assemble(gap, number, name), "", "app.enter_room", command.id)
        return tabs


class KeyLine(ClickedLine):
    """The footer: at most seven important keys, as many as fit, and the key that lists all of them.

    A click acts like the key; an unavailable command is dimmed.
    """

    DEFAULT_CSS = "KeyLine { dock: bottom; height: 1; padding: 0 1; pointer: pointer; }"

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.refresh())

    def render(self) -> Content:
        bindings: dict[str, ActiveBinding] = {}
        for active in self.screen.active_bindings.values():
            if active.binding.show and active.binding.description:
                bindings.setdefault(active.binding.action, active)
        all_keys = bindings.pop("keys", None)
        last = Content("") if all_keys is None else self._format_key(all_keys)
        line = Content("")
        for active in list(bindings.values())[:7]:
            name = self._format_key(active)
            if line.cell_length + name.cell_length + last.cell_length > self.content_size.width:
                break
            line += name
        return line + last

    async def action_press(self, key: str) -> None:
        active = self.screen.active_bindings[key]
        await self.app.run_action(active.binding.action, active.node)

    def _format_key(self, active: ActiveBinding) -> Content:
        key = self.app.get_key_display(active.binding)
        words = Content.assemble((key, ACCENT if active.enabled else MUTED), (f" {active.binding.description}", MUTED))
        return clickable(words, "", "press", active.binding.key) + Content("  ")


class Room(Screen[Result], Generic[Result]):
    """A screen whose keys are commands; the key of an unavailable command is dimmed, and says why when pressed."""

    KEYS: ClassVar[Sequence[Command]] = ()
    PLACE: ClassVar[str] = "memories"
    """The room that is highlighted in the top line."""

    def __init_subclass__(cls) -> None:
        """Set the bindings of the commands."""
        cls.BINDINGS = bindings(cls.KEYS)
        super().__init_subclass__()

    @on(Mount)
    def show_lines(self) -> None:
        """Add the top line and the key line."""
        self.mount(TopLine(self.PLACE), KeyLine())

    @property
    def commands(self) -> Sequence[Command]:
        """The commands that exist in the current state."""
        return self.KEYS

    def why_dimmed(self, command: str) -> str | None:
        """Say why a command is not available now; None if it is."""
        return None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        # If a room's action has an argument, that is the id of the command.
        return None if self.why_dimmed(str(parameters[0]) if parameters else action) is not None else True

    async def run_command(self, id: str) -> None:
        """Run a command, or say why it is not available."""
        command = next(command for command in self.commands if command.id == id)
        reason = self.why_dimmed(id)
        if reason is None:
            await self.app.run_action(command.action, self.node_of(command))
        else:
            warn(self, reason, title="Not here")

    async def action_do(self, id: str) -> None:
        """Run a command after a click on its tab."""
        await self.run_command(id)

    def node_of(self, command: Command) -> DOMNode:
        """The node that has the action of a command: this room, or a part of it."""
        return self

    def shell_facts(self) -> Mapping[str, str]:
        """The values for the braces in shell commands, quoted for a shell; unknown values are left out.

        `store` has the options that name the store, which end every line.
        """
        return {}

    def on_key(self, event: Key) -> None:
        """Say why a pressed key is dimmed."""
        bound = self.active_bindings.get(event.key)
        reason = None if bound is None or bound.enabled else self.why_dimmed(bound.binding.id or "")
        if reason is not None:
            event.stop()
            warn(self, reason, title="Not here")

    def run_background(
        self,
        group: str,
        work: Callable[..., Awaitable[None]],
        *args: object,
        exclusive: bool = True,
    ) -> None:
        """Run work in the background; errors are shown, and interruptions ignored."""

        async def run() -> None:
            try:
                await work(*args)
            except SearchInterrupted:
                # A newer query interrupted this one, or the store is being closed.
                return
            except InspectorError as error:
                self.say_failure(error)

        start_work(self, group, run, exclusive=exclusive)

    def say_failure(self, error: InspectorError) -> None:
        """Show an error and what to do next; the screen does not change."""
        show_failure(self, error)

    def action_keys(self) -> None:
        placeholder = "Keys: type to search, ⏎ runs one, ctrl+y copies its shell command"
        self.app.push_screen(Palette(providers=[RoomKeys], placeholder=placeholder))

    def step_out(self) -> bool:
        """Go one step back within the room; False if there is none."""
        return False

    def action_step_out(self) -> None:
        if not self.step_out():
            self.action_leave()

    def action_leave(self) -> None:
        self.dismiss()

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Leave, and cancel all workers: a late result would query widgets that no longer exist."""
        for node in self.walk_children(with_self=True):
            self.workers.cancel_node(node)
        return super().dismiss(result)


def changing(work: Callable[[Any, Library], Awaitable[object]]) -> Callable[[Any], None]:
    """Make an action from a change of memories: the room's `begin` runs it, unless another change is running."""

    def action(room: Any) -> None:
        room.begin(partial(work, room))

    return action


def start_work(
    node: DOMNode, group: str, work: Callable[[], Awaitable[None]], *, exclusive: bool = True
) -> Worker[None]:
    """Run work in the background; if `exclusive`, it cancels the other workers of the group."""
    # Not a coroutine: a worker cancelled before its first step would leave the coroutine unawaited.
    worker: Worker[None] = Worker(node, work, group=group)
    node.workers.add_worker(worker, start=True, exclusive=exclusive)
    return worker


@contextmanager
def say_after(node: MessagePump, patience: float, say: Callable[[], None]) -> Iterator[None]:
    """Show a progress message if the body takes longer than `patience` seconds."""
    timer = node.set_timer(patience or 0.1, say)
    try:
        yield
    finally:
        timer.stop()


def inform(node: Widget, sentence: str) -> None:
    """Show what was done."""
    node.notify(safe_text(runnable(sentence)), markup=False)


def warn(node: Widget, sentence: str, title: str = "") -> None:
    """Show what was not done."""
    node.notify(safe_text(runnable(sentence)), title=title, severity="warning", markup=False)


def show_failure(node: Widget | App[Any], error: InspectorError) -> None:
    """Show an error and what to do next."""
    node.notify(safe_text(runnable(str(error))), title=error.title, severity="error", markup=False)


def store_options(library: Library) -> str:
    """The options that name this store for a shell command; "" if the command finds it without options."""
    install = library.config.install
    if install.layout == "lone":
        return f"--location {shell_path(library.memory.about.location)}"
    return config_dir_option(install, os.environ)


def shell_line(room: Room[Any], command: Command) -> str:
    """The equivalent shell command; "" if there is none."""
    if not command.shell:
        return ""
    facts = room.shell_facts()
    words, last = ["zeroclaw memory"], [facts.get("store", "")]
    for word in command.shell.split():
        filled = _BRACES.sub(lambda found: facts.get(found[1], found[1].upper()), word)
        if word in (filled, "{filter}") or not filled.lstrip("$'").startswith("-"):
            words.append(filled)
        elif words[-1].startswith("-"):
            words[-1] += f"={filled}"
        else:
            # After "--", a value that begins with a dash is not an option.
            last += ["--", filled]
    return runnable_command(" ".join(filter(None, (*words, *last))))


@dataclass(frozen=True, slots=True)
class PaletteCommand:
    """A command of a room in the palette."""

    room: Room[Any]
    command: Command

    @property
    def keys(self) -> str:
        """Its currently bound keys as shown to people; "" if there are none."""
        active = [one.binding for one in self.room.active_bindings.values() if one.binding.id == self.command.id]
        bound = active or Binding.make_bindings([self.command.binding()] if self.command.key else [])
        return " ".join(dict.fromkeys(map(self.room.app.get_key_display, bound)))

    async def __call__(self) -> None:
        await self.room.run_command(self.command.id)


class Palette(CommandPalette):
    """Textual's palette, which closes only itself and can copy the shell command of the highlighted row."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+y", "copy_shell_line", "copy the shell command")]

    async def action_copy_shell_line(self) -> None:
        from zeroclaw_tui.tui.external import copy_text

        rows = self.query_one(CommandList)
        row = None if rows.highlighted is None else rows.get_option_at_index(rows.highlighted)
        chosen = row.hit.command if isinstance(row, PaletteRow) else None
        line = shell_line(chosen.room, chosen.command) if isinstance(chosen, PaletteCommand) else ""
        if line:
            self.notify(await copy_text(self.app, line), markup=False)
        else:
            self.notify("There is no shell command for this.", severity="warning", markup=False)

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Leave, unless another screen is on top by now: Textual 8.2.8 would close that one."""
        return super().dismiss(result) if self.app.screen is self else AwaitComplete()


class RoomCommands(Provider):
    """The available commands of the room below, found by name, title, synonyms and keys."""

    async def discover(self) -> Hits:
        for found in self._commands():
            yield DiscoveryHit(self._line(found), found, found.command.title)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for found in self._commands():
            command = found.command
            score = max(matcher.match(text) for text in (command.name, command.synonyms, command.title, found.keys))
            if score:
                yield Hit(score, self._line(found), found, command.title)

    def _commands(self) -> list[PaletteCommand]:
        """The commands to choose from."""
        room = self.screen
        if not isinstance(room, Room):
            return []
        offered = (one for one in room.commands if one.listed and room.check_action(one.id, ()) is not False)
        return [PaletteCommand(room, command) for command in offered]

    def _line(self, found: PaletteCommand) -> Content:
        """The keys, name and title of a command; below them why it is not available, else the text of `_more`."""
        reason = found.room.why_dimmed(found.command.id)
        is_dimmed, more = reason is not None, safe_text(reason or self._more(found))
        keys = (fit(found.keys, _KEY_CELLS), MUTED if is_dimmed else ACCENT)
        name = (fit(found.command.name, _NAME_CELLS), MUTED if is_dimmed else STRONG)
        blank = "\n" + " " * min(_KEY_CELLS + _NAME_CELLS, found.room.size.width // 3)
        rest = blank + blank.join(wrap(more, found.room.size.width - len(blank) - 6)) if more else ""
        return Content.assemble(keys, name, (found.command.title, MUTED if is_dimmed else ""), (rest, MUTED))

    def _more(self, found: PaletteCommand) -> str:
        return ""


class RoomKeys(RoomCommands):
    """The keys of the room, each with its shell command."""

    def _commands(self) -> list[PaletteCommand]:
        room = self.screen
        found = [PaletteCommand(room, command) for command in room.commands] if isinstance(room, Room) else []
        return [command for command in found if command.keys]

    def _more(self, found: PaletteCommand) -> str:
        return shell_line(found.room, found.command)
