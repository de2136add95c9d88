"""What loading a config has to tell: where each value came from, and what does not do what it seems to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from zeroclaw_tui.config.schema import KIND_WORDS, Kind, fits, kind_of
from zeroclaw_tui.memory.text import mask_secrets, one_line

FILE = "config.toml"
DEFAULT = "default"
OPTION = "option"
_LONGEST_NAME_SHOWN = 60
_LIKENESS_OF_A_SLIP = 0.75


Concern = Literal["file", "fact", "store", "recall", "vectors", "hygiene", "snapshot"]
"""What a warning is about: the config as such, a plain fact that wants no attention, which store is open, what is
recalled, whether vectors are made, what hygiene takes, or what a snapshot does."""

_CONCERNS: Mapping[str, Concern] = {
    "vector_weight": "recall",
    "keyword_weight": "recall",
    "search_mode": "recall",
    "min_relevance_score": "recall",
    "embedding": "vectors",
    "hygiene_enabled": "hygiene",
    "archive_after_days": "hygiene",
    "purge_after_days": "hygiene",
    "conversation_retention_days": "hygiene",
    "daily_": "hygiene",
    "core_": "hygiene",
    "policy.retention_days": "hygiene",
    "policy.threat_scan": "recall",
    "snapshot_": "snapshot",
}


def concern_of(setting: str) -> Concern:
    """What a setting of [memory] acts on ("memory.vector_weight": "recall"); "file" where it is nothing shown here."""
    name = setting.removeprefix("memory.")
    return next((concern for start, concern in _CONCERNS.items() if name.startswith(start)), "file")


@dataclass(slots=True)
class Notes:
    """Sources by key and warnings in the order found; each warning once, `concerns` tells what it is about."""

    sources: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    concerns: dict[str, Concern] = field(default_factory=dict)

    def warn(self, sentence: str, concern: Concern = "file") -> None:
        """Keep a sentence."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)
            self.concerns[sentence] = concern

    def unknown(self, name: str, place: str, known: Iterable[str]) -> None:
        """Tell of a key that no ZeroClaw version has, with the one probably meant."""
        import difflib

        near = difflib.get_close_matches(name, list(known), n=1, cutoff=_LIKENESS_OF_A_SLIP)
        meant = f"; did you mean {near[0]}?" if near else "."
        self.warn(f"{place} has the key {shown(name)}, which ZeroClaw does not know and ignores{meant}")

    def table(self, document: Mapping[str, Any], *path: str) -> dict[str, Any]:
        """The table at a path of a document, empty when there is none; anything else there is told."""
        value: Any = document
        for depth, name in enumerate(path, start=1):
            value = value.get(name, {})
            if not isinstance(value, dict):
                where = ".".join(path[:depth])
                self.wrong_type(where, value, "a table", path[0], "is left out")
                return {}
        return dict(value)

    def value(self, table: Mapping[str, Any], name: str, kind: Kind, where: str) -> Any:
        """A value of a table if it has its type, else None, which is told unless it is not there at all."""
        if name not in table:
            return None
        if fits(kind, table[name]):
            return table[name]
        self.wrong_type(where, table[name], KIND_WORDS[kind], where.partition(".")[0], "is left out")
        return None

    def wrong_type(self, where: str, value: object, expected: str, section: str, done: str) -> None:
        """Tell of a value of the wrong type, without showing it."""
        self.warn(
            f"{shown(where)} is {kind_of(value)} and must be {expected}; it {done} here. ZeroClaw <= 0.7.5 refuses "
            f"a config with such a value, >= 0.8.0 takes the whole [{section}] section for absent.",
            concern_of(where),
        )


def shown(name: str) -> str:
    """A word out of a config, safe and short enough for a sentence, without what looks like a key."""
    clean = one_line(mask_secrets(name))
    return clean if len(clean) <= _LONGEST_NAME_SHOWN else clean[: _LONGEST_NAME_SHOWN - 1] + "…"
