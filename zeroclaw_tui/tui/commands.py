"""Every command of the browser, declared once: bindings, footer, palette and help all come from here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

from textual.binding import Binding, BindingType
from textual.command import DiscoveryHit, Hit, Hits, Provider


@dataclass(frozen=True, slots=True)
class Command:
    """`keys` are Textual's names, the first one is shown; `id` is what a person re-binds by.

    `name` is the word in the footer, `sentence` what palette and help say. A `priority` command works while typing.
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
LOOK = "Look"
PANES = "Panes"
PROGRAM = "Program"

BROWSER_COMMANDS = (
    Command("search", "slash", "open_search", "search", "Search the memories", FIND, in_footer=True),
    Command(
        "search.mode",
        "ctrl+f",
        "next_mode",
        "mode",
        "Next search mode: recall as the agent, contains",
        FIND,
        in_footer=True,
        priority=True,
    ),
    Command(
        "filter",
        "F",
        "choose_filters",
        "filter",
        "Filter by category, session, agent, namespace, age",
        FIND,
        in_footer=True,
    ),
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
    Command("markdown", "m", "toggle_markdown", "markdown", "Show the content as Markdown or plain", LOOK),
    Command("reload", "r", "reload", "reload", "Read the store again; after a failure: try again", LOOK),
    Command("copy", "y", "copy_content", "copy", "Copy the content", LOOK, in_footer=True),
    Command("copy.json", "Y", "copy_json", "copy JSON", "Copy the memory as JSON", LOOK),
    Command("facets", "f", "toggle_facets", "facets", "Show or hide the facets", PANES),
    Command("pane.facets", "1", "focus_pane('facets')", "facets", "Go to the facets", PANES, in_palette=False),
    Command("pane.list", "2", "focus_pane('list')", "list", "Go to the list", PANES, in_palette=False),
    Command("pane.detail", "3", "focus_pane('detail')", "detail", "Go to the detail", PANES, in_palette=False),
    Command("step.out", "escape", "step_out", "out", "One step out; never quits", PANES, in_palette=False),
    Command("installs", "i", "choose_install", "installs", "Choose another install found here", PROGRAM),
    Command("notices", "", "show_notices", "notices", "What should be known about this store", PROGRAM),
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


@runtime_checkable
class HasCommands(Protocol):
    """A screen that offers commands to the palette."""

    def palette_commands(self) -> Iterable[Command]:
        """The commands that make sense now."""
        ...


class InspectorCommands(Provider):
    """The palette's view of the commands of the screen it was opened on."""

    async def discover(self) -> Hits:
        """Every command, before anything is typed."""
        for command in self._commands():
            yield DiscoveryHit(command.sentence, self._run(command), help=self._keys(command))

    async def search(self, query: str) -> Hits:
        """The commands whose sentence matches."""
        matcher = self.matcher(query)
        for command in self._commands():
            score = matcher.match(command.sentence)
            if score > 0:
                yield Hit(score, matcher.highlight(command.sentence), self._run(command), help=self._keys(command))

    def _commands(self) -> Iterable[Command]:
        return self.screen.palette_commands() if isinstance(self.screen, HasCommands) else ()

    def _run(self, command: Command) -> partial[Any]:
        return partial(self.screen.run_action, command.action)

    def _keys(self, command: Command) -> str | None:
        if not command.keys:
            return None
        return self.app.get_key_display(Binding(command.keys.split(",")[0], command.action, id=command.id))
