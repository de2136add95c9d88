"""What is known of a store: the line of its facts, the notices behind it, and why nothing is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.app import RenderResult
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from zeroclaw_tui.memory.text import counted, display_text, mask_secrets, one_line
from zeroclaw_tui.tui.format import with_tilde
from zeroclaw_tui.tui.themes import MUTED, STRONG, STRONG_ACCENT, WARNING

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

KeyHint = tuple[str, str]
ASSUMED = "assumed"
READ_ONLY = "read-only"


class Empty(Static):
    """A fact, a sentence, and the keys that help."""

    DEFAULT_CSS = """
    Empty { padding: 1 3; height: 1fr; width: 1fr; }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)

    def show(self, fact: str, sentence: str = "", keys: Sequence[KeyHint] = ()) -> None:
        """Say why nothing is here: a fact in bold, a sentence, and a line for each key."""
        parts: list[str | tuple[str, str]] = [(display_text(mask_secrets(fact)), STRONG)]
        if sentence:
            parts += ["\n\n", (display_text(mask_secrets(sentence)), MUTED)]
        widest = max((len(key) for key, _ in keys), default=0)
        for number, (key, does) in enumerate(keys):
            parts += ["\n" if number else "\n\n", (key.ljust(widest), STRONG_ACCENT), f"  {does}"]
        self.update(Content.assemble(*parts))


class StoreFacts(Widget):
    """Scoring in as many words as fit, how many notices there are, and whether nothing can be written."""

    DEFAULT_CSS = "StoreFacts { height: 1; padding: 0 1; color: $foreground-muted; }"

    scoring: reactive[tuple[str, ...]] = reactive(())
    """The same facts in ever fewer words."""
    is_read_only: reactive[bool] = reactive(False)
    notices: reactive[int] = reactive(0)

    def show(self, library: Library) -> None:
        """The facts of an open store."""
        self.scoring = scoring_words(library)
        self.is_read_only = library.read_only_because is not None and not library.memory.about.keeps_nothing
        self.notices = len(needing_attention(library))

    def render(self) -> RenderResult:
        notices = f" · {counted(self.notices, 'notice')} (: notices)" if self.notices else ""
        badge = f" · {READ_ONLY}" if self.is_read_only else ""
        room = self.content_size.width - cell_len(notices) - cell_len(badge)
        fitting = (words for words in self.scoring if cell_len(words) <= room)
        words = next(fitting, self.scoring[-1] if self.scoring else "")
        return Content.assemble((words, MUTED), (f"{badge}{notices}", WARNING))

    async def on_click(self) -> None:
        if self.notices:
            await self.screen.run_action("notices")


def location_words(library: Library) -> str:
    """Where the store is; without a store the config, which is what a person looks at."""
    install = library.config.install
    if library.memory.about.keeps_nothing:
        return one_line(mask_secrets(with_tilde(str(install.config_dir or install.root))))
    return one_line(mask_secrets(with_tilde(library.memory.about.location)))


def scoring_words(library: Library) -> tuple[str, ...]:
    """Backend, scoring version with its source, and what recall works with; from many words to few."""
    memory, profile = library.memory, library.profile
    name = memory.name
    theirs = library.config.zeroclaw_backend
    long_name = name if theirs == library.config.backend else f"{name} (ZeroClaw would use {theirs})"
    if memory.about.keeps_nothing:
        return ("backend none: stores no memories", "backend none")
    if memory.about.not_read_because is not None:
        described = memory.about.not_read_because.rstrip(".")
        return (f"{long_name} · {one_line(described)}", one_line(described), f"{name} · not read by any agent")
    if memory.about.rule is not None and not memory.about.rule.name:
        return (f"{long_name} · its own ranking", name)
    parts, short = _parts_words(library)
    version = profile.profile.version
    assumed = f" ({ASSUMED})" if profile.source == ASSUMED else ""
    newer = profile.profile.newer
    # No words that pass for the store's own version.
    scoring = f"scoring {version}" if newer is None else f"{newer} scored as {version}"
    described = f"{name} · {scoring}{assumed}"
    return (
        f"{long_name} · scoring {version} ({profile.source}) · {parts}",
        f"{described} · {parts}",
        *((f"{described} · {short}",) if short else ()),
        described,
    )


def notices_of(library: Library) -> tuple[str, ...]:
    """Every sentence a person should know about this store, the store's own first."""
    because = library.why_no_vectors
    keyword_only = (because,) if because and "keyword" not in library.memory.why_not else ()
    # Without a store there is nothing to write to, and its own words say so.
    has_store = not library.memory.about.keeps_nothing
    read_only = (library.read_only_because,) if library.read_only_because and has_store else ()
    found = (
        *read_only,
        *(notice.sentence for notice in library.memory.about.notices),
        *library.config.warnings,
        *keyword_only,
    )
    return tuple(dict.fromkeys(found))


def needing_attention(library: Library) -> tuple[str, ...]:
    """Those of `notices_of` that are no plain facts, and that the line does not say in other words already."""
    minor = {notice.sentence for notice in library.memory.about.notices if notice.is_minor}
    facts = {*minor, *library.config.warned_about("fact"), library.why_no_vectors}
    if not library.memory.about.keeps_nothing:
        facts.add(library.read_only_because)
    return tuple(sentence for sentence in notices_of(library) if sentence not in facts)


def _parts_words(library: Library) -> tuple[str, str]:
    """What recall works with, and the same in few words; keyword-only is always shown with its reason."""
    rule = library.memory.about.rule
    if rule is not None:
        return (rule.name, rule.name)
    if library.why_no_vectors:
        configured = "vectors" not in library.memory.why_not
        why = "no embeddings configured" if configured else "this store has no vectors"
        return (f"keyword only: {why}", "")
    if library.settings.search_mode == "bm25":
        return ("keyword only: search_mode is bm25", "")
    if library.settings.search_mode == "embedding":
        return ("vectors only: search_mode is embedding", "")
    words = f"hybrid {library.settings.vector_weight:g} / {library.settings.keyword_weight:g}"
    return (words, words)
