"""Configs, answers that differ from the offered ones, and fake tests of answers with prepared findings."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from support.memories import UsageError
from support.scripted_asker import ENTER, Moment, Reply
from support.wizard_world import BACKENDS, World

from zeroclaw_tui.onboard.answers import Answers
from zeroclaw_tui.onboard.plan import Plan
from zeroclaw_tui.onboard.probes import Finding
from zeroclaw_tui.onboard.questions import questions_for

OLD = """# kept
default_temperature = 0.7   # warm
default_model = "m"

[memory]
backend = "sqlite"          # where
auto_save = true
hygiene_enabled = true
archive_after_days = 7
purge_after_days = 30
conversation_retention_days = 30
embedding_provider = "none"
embedding_model = "text-embedding-3-small"
embedding_dimensions = 1536
vector_weight = 0.7
keyword_weight = 0.3

# ---- channels ----
[channels_config]
cli = true
"""
ALIASED = """schema_version = 3

[memory]
backend = "sqlite.default"
auto_save = true
# mine
vector_weight = 0.7

[storage.sqlite.default]
open_timeout_secs = 5

[unknown]
key = "kept"
"""
FORMS: dict[str, str | None] = {"new": None, "old": OLD, "aliased": ALIASED}
EACH_ONCE = tuple(zip(itertools.cycle(FORMS), BACKENDS, strict=False))
"""Each backend with one form of config, each form with two backends."""
PASSWORD = "hunter2hunter2"
POSTGRES_URL = f"postgres://zeroclaw:{PASSWORD}@127.0.0.1:1/memory"
REQUIRED = {
    "storage.postgres.db_url": POSTGRES_URL,
    "storage.qdrant.url": "http://127.0.0.1:1",
}
"""Values of settings that a backend requires."""
_TEXTS = (
    POSTGRES_URL,
    "http://127.0.0.1:1/v1",
    "custom:http://127.0.0.1:1/v1",
    f"sk-{PASSWORD}",
    "other",
    "/tmp/other",
)


def flow_world(folder: Path, config: str | None, **variables: str) -> World:
    """Create a home folder with one config dir, isolated from this machine's own files."""
    home = folder / "home"
    home.mkdir()
    return World(home, config, **{"HOME": str(home), "PATH": str(home / "bin"), **variables})


@dataclass
class FakeProbes:
    """Replaces `run_probe`: the `findings` of a subject are used up one by one, then every test is good."""

    findings: dict[str, list[Finding]] = field(default_factory=dict)
    tested: list[str] = field(default_factory=list)

    async def __call__(self, subject: str, answers: Answers, *, seconds: float = 8.0) -> Finding:
        self.tested.append(subject)
        left = self.findings.get(subject)
        return left.pop(0) if left else Finding(subject, "good", f"{subject} answers")


def bad(subject: str, **more: object) -> Finding:
    return Finding(subject, "bad", f"{subject} does not answer", hint="Start it.", **more)  # type: ignore[arg-type]


def valid_texts(moment: Moment) -> Iterator[str]:
    """Return texts that the question accepts and that differ from the offered answer."""
    assert moment.question is not None
    assert moment.answers is not None
    for text in moment.values or (*_numbers(moment.preset or ""), *_TEXTS):
        try:
            value = moment.question.read(moment.answers, text)
        except UsageError:
            continue
        if value not in (None, "") and value != moment.answers.value(moment.question.setting):
            yield text


def _numbers(present: str) -> Iterator[str]:
    try:
        number = float(present)
    except ValueError:
        return
    yield from (str(int(number) + 7), "0.25", str(int(number) + 1))


def other(moment: Moment) -> Reply:
    """Return a fixed answer that differs from the offered one, or enter if there is none."""
    return next(valid_texts(moment), ENTER)


def everything(backend: str, moment: Moment) -> Reply:
    """Return an answer that differs from the offered one and leads to more questions."""
    if moment.question is None or moment.question.setting == "memory.backend":
        return with_backend(backend, moment)
    if moment.values:
        more = [value for value in ("yes", "hybrid") if value in moment.values]
        return more[0] if more else ENTER
    return other(moment)


def with_backend(kind: str, moment: Moment) -> Reply:
    """Answer with this backend and its required settings, and otherwise press enter."""
    if moment.question is None:
        return ENTER
    if moment.question.setting == "memory.backend":
        return kind
    if not moment.preset and moment.question.setting in REQUIRED:
        return REQUIRED[moment.question.setting]
    return ENTER


def outcome(plan: Plan | None) -> list[tuple[object, ...]]:
    """Return the changes of a plan with plain secrets (their encrypted form differs each time)."""
    assert plan is not None
    return [(change.name, change.path, change.before, change.after) for change in plan.changes]


def given(answers: Answers) -> dict[str, object]:
    return {name: given.value for name, given in answers.given.items()}


def ids(answers: Answers) -> list[str]:
    return [question.id for question in questions_for(answers)]
