"""What a command is, and how bindings, footer and palette come from it; each room declares its own."""

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
UPKEEP = "Upkeep"


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
