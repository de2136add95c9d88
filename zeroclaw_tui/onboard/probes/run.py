"""Which answers can be tested, and testing one."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module

from zeroclaw_tui.config.secrets import SecretUnreadable
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.probes.finding import Finding

SECONDS = 8.0
"""The longest a test may take."""

_PROBES = {
    "sqlite": "files:probe_sqlite",
    "markdown": "files:probe_markdown",
    "postgres": "postgres:probe",
    "qdrant": "qdrant:probe",
    "lucid": "lucid:probe",
    "embedding": "embedding:probe",
}
_SEARCH_BY_VECTOR = ("sqlite", "lucid", "qdrant")
_EMBEDDING_SETTINGS = frozenset(f"memory.embedding_{name}" for name in ("provider", "model", "dimensions", "api_key"))
_STORED_VECTORS = frozenset(("memory.embedding_provider", "memory.embedding_dimensions"))
"""What decides whether vectors fit into a collection."""


def subjects(answers: Answers, changed: Collection[str] | None = None) -> tuple[str, ...]:
    """What to test for these answers: the backend ("sqlite", "markdown", "postgres", "lucid", "qdrant"), then
    "embedding" where a provider is on and the backend searches by vector. With `changed` (setting names) only those
    that one of them concerns; a changed `memory.backend` concerns the backend's."""
    backend = answers.backend()
    found = [backend] if backend in _PROBES and _concerns(backend, changed) else []
    provider = str(answers.value("memory.embedding_provider") or "").strip()
    is_on = provider not in ("", "none") and answers.value("memory.embedding_dimensions") != 0
    if is_on and backend in _SEARCH_BY_VECTOR and (changed is None or _EMBEDDING_SETTINGS & set(changed)):
        found.append("embedding")
    return tuple(found)


def _concerns(backend: str, changed: Collection[str] | None) -> bool:
    if changed is None or "memory.backend" in changed:
        return True
    if backend == "qdrant" and _STORED_VECTORS & set(changed):
        return True
    return any(name.startswith(f"storage.{backend}.") for name in changed)


async def run_probe(subject: str, answers: Answers, *, seconds: float = SECONDS) -> Finding:
    """Test one subject; never writes anything, never raises for what it finds, ends within the limit."""
    module, _, name = _PROBES[subject].partition(":")
    probe = getattr(import_module(f"zeroclaw_tui.onboard.probes.{module}"), name)
    try:
        finding: Finding = await probe(answers, seconds)
    except SecretUnreadable as error:
        return Finding(subject, "not tested", f"{error.message} {error.hint}".strip())
    except InspectorError as error:
        return Finding(subject, "bad", error.message, hint=error.hint, exit_code=error.exit_code)
    return finding
