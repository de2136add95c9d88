"""What the vectors of a database mean for recall by meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zeroclaw_tui.backends.base import Health
from zeroclaw_tui.backends.sqlite.upkeep.row_facts import RowFacts
from zeroclaw_tui.curation.doctor.finding import DoctorFinding, Risk
from zeroclaw_tui.curation.doctor.words import BACKED_UP, are, counted, fine
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.text import one_line

_REINDEX = "`zeroclaw memory reindex` makes vectors once an embedding provider is configured."
_STEPS = (
    BACKED_UP,
    "Have the configured model make a vector of each such memory; `zeroclaw memory reindex --dry-run` tells how many, "
    "where their text goes and about what it costs.",
    "Write them a few at a time; stopping loses nothing.",
)

Details = tuple[tuple[str, str], ...]


def vector_findings(library: Library, health: Health, rows: RowFacts) -> list[DoctorFinding]:
    """Coverage by category, vectors of a wrong length, cut vectors, and which model they come from."""
    if not library.memory.capabilities.vectors:
        return []
    facts = health.facts
    return [_coverage(library, facts, rows), *_lengths(library, facts), *_cut(library, facts), *_model(library, facts)]


def expected_dimensions(library: Library, facts: Mapping[str, Any]) -> tuple[int | None, str]:
    """How long vectors should be and who says so: the store, else the config, else most of them; None for no word."""
    named = str(facts.get("embedding identity", {}).get("embedding_dimensions", ""))
    if named.isdecimal():
        return int(named), "the store's own note"
    if library.config.embedding.is_on:
        return library.config.embedding.dimensions, "memory.embedding_dimensions"
    lengths: Mapping[str, int] = facts.get("embedded by dimensions", {})
    most = max(lengths, key=lambda length: lengths[length], default=None)
    return (int(most), "most of them") if most is not None else (None, "")


def _coverage(library: Library, facts: Mapping[str, Any], rows: RowFacts) -> DoctorFinding:
    embedded, lacking = facts.get("embedded", 0), rows.without_vector
    details: Details = tuple(
        (one_line(category) or "(none)", f"{with_vector:,} of {with_vector + without:,}")
        for category, (with_vector, without) in rows.embedded.items()
    )
    target = library.memory.location
    if library.embedder is None and not embedded:
        title = "No embeddings are configured, and no memory has a vector: recall goes by words."
        return DoctorFinding("vectors", title, "fine", "", target=target)
    if not lacking:
        return DoctorFinding("vectors", "Every memory has a vector.", "fine", "", target=target, details=details)
    title = f"{are(lacking)} without a vector, {embedded:,} with one."
    return DoctorFinding(
        "vectors", title, "worth knowing", "Recall by meaning never finds those without.", **_filling(library),
        target=target, details=details,
    )  # fmt: skip


def _lengths(library: Library, facts: Mapping[str, Any]) -> list[DoctorFinding]:
    lengths: Mapping[str, int] = facts.get("embedded by dimensions", {})
    expected, by_whom = expected_dimensions(library, facts)
    if not lengths or expected is None:
        return []
    wrong = {length: count for length, count in lengths.items() if int(length) != expected}
    if not wrong:
        return [fine("vector-lengths", f"Every vector has {expected:,} numbers.", library.memory.location)]
    risk: Risk = "serious" if len(wrong) == len(lengths) else "worth knowing"
    total = sum(wrong.values())
    title = f"{counted(total)} {'has a vector' if total == 1 else 'have vectors'} of another length than {expected:,}."
    details = tuple((f"{int(length):,} numbers", counted(count)) for length, count in lengths.items())
    return [
        DoctorFinding(
            "vector-lengths", title, risk,
            "A vector of another length than the query's counts as nothing alike, without a word from ZeroClaw.",
            **_filling(library, expected), target=library.memory.location,
            details=(("expected", f"{expected:,} numbers, by {by_whom}"), *details),
        )
    ]  # fmt: skip


def _cut(library: Library, facts: Mapping[str, Any]) -> list[DoctorFinding]:
    cut = facts.get("cut vectors", 0)
    if not cut:
        return []
    return [
        DoctorFinding(
            "cut-vectors", f"{are(cut)} embedded with a vector cut in the middle of a number.", "serious",
            "Something wrote half a vector; recall by meaning never finds them.", **_filling(library),
            target=library.memory.location,
        )
    ]  # fmt: skip


def _model(library: Library, facts: Mapping[str, Any]) -> list[DoctorFinding]:
    stamped: Mapping[str, str] = facts.get("embedding identity", {})
    embedding = library.config.embedding
    if not stamped or not embedding.is_on:
        return []
    ours = {
        "embedding_provider": embedding.provider,
        "embedding_model": embedding.model,
        "embedding_dimensions": str(embedding.dimensions),
    }
    other = {name: stamped[name] for name in ours if name in stamped and stamped[name] != ours[name]}
    if not other:
        return [fine("vector-model", "The vectors come from the configured model.", library.memory.location)]
    return [
        DoctorFinding(
            "vector-model",
            "The vectors come from another model than the configured one.",
            "worth knowing",
            "When ZeroClaw next opens the database it empties all of them.",
            by_hand="Start ZeroClaw once, then run `zeroclaw memory reindex`; or set the model back.",
            target=library.memory.location,
            details=tuple((name, f"{one_line(value)}, configured: {ours[name]}") for name, value in other.items()),
        )
    ]


def _filling(library: Library, expected: int | None = None) -> dict[str, Any]:
    """How missing vectors are made, where they can be."""
    embedder = library.embedder
    if embedder is None:
        because = library.no_embedder_because or "No embeddings are configured."
        return {"by_hand": f"{because[:1].upper()}{because[1:]} {_REINDEX}"}
    if library.read_only_because is not None:
        return {"by_hand": f"{library.read_only_because} {_REINDEX}"}
    if expected is not None and embedder.dimensions != expected:
        return {
            "by_hand": "The configured model makes vectors of another length than the store notes. Start ZeroClaw "
            "once: it empties the old ones. Then run `zeroclaw memory reindex`."
        }
    return {"repair": "fill vectors", "repair_steps": _STEPS}
