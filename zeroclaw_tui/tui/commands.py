"""Every command of the browser, declared once: bindings, footer, palette and help all come from here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

from textual.binding import Binding, BindingType
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.events import Key
from textual.screen import Screen

from zeroclaw_tui.memory.text import display_text, mask_secrets
from zeroclaw_tui.tui.looks import MUTED


@dataclass(frozen=True, slots=True)
class Command:
    """`keys` are Textual's names, the first one is shown; `id` is what a person re-binds by.

    `name` is the word in the footer, `sentence` what palette and help say.
    A `priority` command also works while typing, unless its screen's `check_action` says else. One that `writes` is
    dimmed where nothing can be changed.
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

CHANGE_COMMANDS = (
    Command("edit", "e", "edit", "edit", "Edit this memory", CHANGE, in_footer=True, writes=True),
    Command("delete", "d", "delete", "delete", "Delete the marked memories, or this one", CHANGE, True, writes=True),
    Command("undo", "u", "undo", "undo", "Take back the last change", CHANGE, in_footer=True, writes=True),
    Command("redo", "U", "redo", "redo", "Do again what was taken back last", CHANGE, writes=True),
    Command("mark", "space", "toggle_mark", "mark", "Mark this memory, or take its mark away", CHANGE, in_footer=True),
    Command("new", "n", "create", "new", "Write a new memory", CHANGE, writes=True),
    Command("edit.external", "E", "edit_externally", "$EDITOR", "Edit this memory in $EDITOR", CHANGE, writes=True),
    Command(
        "show.again",
        "",
        "show_again",
        "show again",
        "Show this superseded memory to the agent again",
        CHANGE,
        writes=True,
    ),
    Command("mark.range", "v", "mark_range", "mark to here", "Mark from the last marked memory to this one", CHANGE),
    Command("mark.all", "asterisk", "mark_all", "mark all", "Mark all memories shown", CHANGE),
    Command("mark.none", "backslash", "mark_none", "mark none", "Take all marks away", CHANGE),
    Command("delete.shown", "", "delete_shown", "delete all", "Delete all memories shown …", CHANGE, writes=True),
    Command(
        "erase",
        "",
        "erase",
        "erase",
        "Erase the marked memories or this one, or a text, from every place for ever …",
        CHANGE,
        writes=True,
    ),
    Command("trash", "T", "show_trash", "trash", "What was deleted, and bring it back", CHANGE),
    Command("history", "h", "show_history", "history", "What was done here to this memory", CHANGE),
    Command("copies", "C", "show_copies", "also found in", "Where else the text of this memory lies", CHANGE),
)

UPKEEP = "Upkeep"
UPKEEP_COMMANDS = (
    Command(
        "hygiene", "H", "show_upkeep('hygiene')", "hygiene", "What ZeroClaw's hygiene would take, and when", UPKEEP
    ),
    Command("audit", "A", "show_upkeep('clean_up')", "audit", "What pollutes this store", UPKEEP),
    Command("snapshot", "S", "show_upkeep('snapshot')", "snapshot", "Write, compare and hydrate a snapshot", UPKEEP),
    Command("doctor", "D", "show_upkeep('health')", "doctor", "What is wrong with this store, and its repair", UPKEEP),
    Command("stats", "I", "show_upkeep('numbers')", "stats", "How much is remembered, and how it grew", UPKEEP),
    Command("re-embed", "R", "re_embed", "re-embed", "Make the vector of this memory anew", UPKEEP, writes=True),
    Command("export", "", "export_shown", "export", "Export the memories shown to a file …", UPKEEP),
    Command("import", "", "import_file", "import", "Import memories from a file …", UPKEEP, writes=True),
    Command("copy.to", "", "copy_to_store", "copy to", "Copy all memories to another store …", UPKEEP),
)

SCORE_COMMANDS = (
    Command("explain", "x", "explain", "explain", "Why this memory is recalled for a message, or not", WHY, True),
    Command("what-if", "w", "what_if", "what-if", "What other weights and thresholds would recall", WHY, True),
    Command("prompt", "P", "show_prompt", "prompt", "The text ZeroClaw puts before a message", WHY),
    Command("similar", "s", "similar", "similar", "Memories near this one", WHY),
)

BROWSER_COMMANDS = (
    # With priority it is done before the next key is looked at, so that fast typing goes where it is meant to.
    Command("search", "slash", "open_search", "search", "Search the memories", FIND, in_footer=True, priority=True),
    Command(
        "filter",
        "F",
        "choose_filters",
        "filter",
        "Filter by category, session, agent, namespace, age",
        FIND,
        in_footer=True,
    ),
    # A narrow footer shows the first of them only, and what changes memories beside it.
    SCORE_COMMANDS[0],
    *CHANGE_COMMANDS,
    *SCORE_COMMANDS[1:],
    *UPKEEP_COMMANDS,
    Command(
        "search.mode",
        "ctrl+f",
        "next_mode",
        "mode",
        "Next search mode: recall, contains, words, regex, similar",
        FIND,
        in_footer=True,
        priority=True,
    ),
    Command("filter.length", "l", "choose_length", "length", "Filter by the length of the content", FIND),
    Command("filter.clear", "", "clear_filters", "no filter", "Remove every filter", FIND),
    Command("order", "o", "choose_order", "order", "Choose the order of the list", LOOK, in_footer=True),
    Command(
        "profile",
        "p",
        "choose_profile",
        "profile",
        "Choose whose scoring rules recall follows",
        LOOK,
        in_footer=True,
    ),
    Command("blocks", "B", "toggle_blocks", "blocks", "Show lines together as the blocks a person sees, or not", LOOK),
    Command("markdown", "m", "toggle_markdown", "markdown", "Show the content as Markdown or plain", LOOK),
    Command("reload", "r", "reload", "reload", "Read the store again; after a failure: try again", LOOK),
    Command("copy", "y", "copy_content", "copy", "Copy the content", LOOK, in_footer=True),
    Command("copy.json", "Y", "copy_json", "copy JSON", "Copy the memory as JSON", LOOK),
    Command("facets", "f", "toggle_facets", "facets", "Show or hide the facets", PANES),
    Command("pane.facets", "1", "focus_pane('facets')", "facets", "Go to the facets", PANES, in_palette=False),
    Command("pane.list", "2", "focus_pane('list')", "list", "Go to the list", PANES, in_palette=False),
    Command("pane.detail", "3", "focus_pane('detail')", "detail", "Go to the detail", PANES, in_palette=False),
    Command("step.out", "escape", "step_out", "out", "One step out; never quits", PANES, in_palette=False),
    Command("backend", "b", "choose_backend", "backend", "Look at another store this config knows", PROGRAM),
    Command("installs", "i", "choose_install", "installs", "Choose another install found here", PROGRAM),
    Command("notices", "N", "show_notices", "notices", "What should be known about this store", PROGRAM),
    Command("theme", "", "app.change_theme", "theme", "Choose the colours", PROGRAM),
    Command("help", "question_mark,f1", "show_help", "keys", "The keys that work here", PROGRAM, in_footer=True),
    Command(
        "palette",
        "colon,ctrl+p",
        "app.command_palette",
        "commands",
        "Find a command by its name",
        PROGRAM,
        False,
        False,
        False,
    ),
    Command("quit", "q", "app.quit", "quit", "Quit", PROGRAM, in_footer=True),
)


def bindings(commands: Iterable[Command]) -> list[BindingType]:
    """The bindings of the commands that have keys."""
    return [command.binding() for command in commands if command.keys]


def say_why_dimmed(screen: Screen[Any], event: Key, writing: Collection[str], because: str | None) -> None:
    """A key whose action is among those that write, and dimmed, says why nothing can be written."""
    bound = screen.active_bindings.get(event.key)
    if bound is not None and not bound.enabled and bound.binding.action in writing and because is not None:
        event.stop()
        screen.notify(because, title="Read-only", severity="warning", markup=False)


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


class InspectorCommands(Provider):
    """The palette's view of the commands of the screen it was opened on."""

    async def discover(self) -> Hits:
        """Every command, before anything is typed."""
        for command in self._commands():
            words = Content.styled(command.sentence, self._style(command))
            yield DiscoveryHit(words, self._run(command), command.sentence, help=self._keys(command))

    async def search(self, query: str) -> Hits:
        """The commands whose sentence matches."""
        matcher = self.matcher(query)
        for command in self._commands():
            score = matcher.match(command.sentence)
            if score > 0:
                words = matcher.highlight(command.sentence).stylize_before(self._style(command))
                yield Hit(score, words, self._run(command), command.sentence, help=self._keys(command))

    def _commands(self) -> Iterable[Command]:
        return self.screen.palette_commands() if isinstance(self.screen, HasCommands) else ()

    def _why_not(self, command: Command) -> str | None:
        return self.screen.why_not(command) if isinstance(self.screen, SaysWhyNot) else None

    def _style(self, command: Command) -> str:
        return MUTED if self._why_not(command) else ""

    def _run(self, command: Command) -> partial[Any]:
        because = self._why_not(command)
        if because is not None:
            return partial(self.app.notify, shown_sentence(because), severity="warning", markup=False)
        return partial(self.screen.run_action, command.action)

    def _keys(self, command: Command) -> str | None:
        if not command.keys:
            return None
        return self.app.get_key_display(Binding(command.keys.split(",")[0], command.action, id=command.id))
