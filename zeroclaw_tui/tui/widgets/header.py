"""What is known of a store: the line of its facts, the notices behind it, and why nothing is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from zeroclaw_tui.memory.text import counted, display_text, mask_secrets, one_line, with_tilde
from zeroclaw_tui.tui.themes import MUTED, STRONG, STRONG_ACCENT, WARNING
from zeroclaw_tui.tui.widgets.lines import GrowingText

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

KeyHint = tuple[str, str]


class Empty(GrowingText):
    """A fact, a sentence, and the keys that help."""

    DEFAULT_CSS = """
    Empty { padding: 1 3; height: 1fr; width: 1fr; }
    """

    def show(self, fact: str, sentence: str = "", keys: Sequence[KeyHint] = ()) -> None:
        """Say why nothing is here: a fact in bold, a sentence, and a line for each key."""
        parts: list[str | tuple[str, str]] = [(display_text(mask_secrets(fact)), STRONG)]
        if sentence:
            parts += ["\n\n", (display_text(mask_secrets(sentence)), MUTED)]
        widest = max((len(key) for key, _ in keys), default=0)
        for number, (key, does) in enumerate(keys):
            parts += ["\n" if number else "\n\n", (key.ljust(widest), STRONG_ACCENT), f"  {does}"]
        self.update(Content.assemble(*parts))


class StoreFacts(Static):
    """Whether nothing can be written, how many notices there are, backend and scoring."""

    DEFAULT_CSS = """
    StoreFacts { height: 1; padding: 0 1; color: $foreground-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def show(self, library: Library) -> None:
        """The facts of an open store."""
        is_read_only = library.read_only_because is not None and not library.memory.about.keeps_nothing
        notices = len(needing_attention(library))
        words = "read-only · " if is_read_only else ""
        words += f"{counted(notices, 'notice')} (: notices) · " if notices else ""
        self.update(Content.assemble((words, WARNING), scoring_words(library)))


def location_words(library: Library) -> str:
    """Where the store is; without a store the config, which is what a person looks at."""
    install = library.config.install
    is_none = library.memory.about.keeps_nothing
    shown = str(install.config_dir or install.root) if is_none else library.memory.about.location
    return one_line(mask_secrets(with_tilde(shown)))


def scoring_words(library: Library) -> str:
    """Backend, scoring version with its source, and what recall works with."""
    memory, profile = library.memory, library.profile
    theirs = library.config.zeroclaw_backend
    name = memory.name if theirs == library.config.backend else f"{memory.name} (ZeroClaw would use {theirs})"
    if memory.about.keeps_nothing:
        return "backend none: stores no memories"
    if memory.about.not_read_because is not None:
        return f"{name} · {one_line(memory.about.not_read_because.rstrip('.'))}"
    if memory.about.rule is not None and not memory.about.rule.name:
        return f"{name} · its own ranking"
    version, newer = profile.profile.version, profile.profile.newer
    # No words that pass for the store's own version.
    scoring = f"scoring {version}" if newer is None else f"{newer} scored as {version}"
    return f"{name} · {scoring} ({profile.source}) · {_parts_words(library)}"


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


def _parts_words(library: Library) -> str:
    """What recall works with; keyword-only is always shown with its reason."""
    settings, rule = library.settings, library.memory.about.rule
    if rule is not None:
        return rule.name
    if library.why_no_vectors:
        configured = "vectors" not in library.memory.why_not
        return f"keyword only: {'no embeddings configured' if configured else 'this store has no vectors'}"
    alone = {"bm25": "keyword only", "embedding": "vectors only"}.get(settings.search_mode)
    if alone is not None:
        return f"{alone}: search_mode is {settings.search_mode}"
    return f"hybrid {settings.vector_weight:g} / {settings.keyword_weight:g}"
