"""Whether the PostgreSQL server of the answers lets ZeroClaw in, and whether ZeroClaw may do what it does there."""

from __future__ import annotations

from typing import Any

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.factory import create_memory
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.memory.errors import REFUSED, WRONG_USE, DriverMissing, NotLetIn
from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.probes.finding import Finding
from zeroclaw_tui.onboard.probes.values import plain_answer

SUBJECT = "postgres"
_SETTINGS = ("schema", "table", "connect_timeout_secs")
_SHAPE = "It should look like postgres://user:password@host:5432/database."
_WITHOUT_TLS = "ZeroClaw always connects without TLS: allow that for this user (pg_hba.conf), or use a tunnel."


async def probe(answers: Answers, seconds: float) -> Finding:
    """Connect as ZeroClaw does and look at the rights; nothing is ever written, made or locked."""
    url = plain_answer(answers, "storage.postgres.db_url")
    if not url:
        return Finding(SUBJECT, "bad", "There is no database URL.", hint=_SHAPE, exit_code=WRONG_USE)
    memory = store_at(
        url,
        answers,
        {name: answers.value(f"storage.postgres.{name}") for name in _SETTINGS},
    )
    try:
        found = await memory.readiness(seconds)
    except DriverMissing as error:
        return Finding(
            SUBJECT, "bad", "PostgreSQL cannot be tested without its driver.", hint=error.hint, exit_code=REFUSED
        )
    except NotLetIn as error:
        hint = _WITHOUT_TLS if error.only_with_tls else error.hint
        return Finding(SUBJECT, "bad", error.message, hint=hint, exit_code=REFUSED)
    if found.problem is None:
        return Finding(SUBJECT, "good", found.summary, facts=found.facts)
    return Finding(
        SUBJECT,
        "bad",
        found.problem.message,
        facts=(found.summary, *found.facts),
        hint=found.problem.hint,
        exit_code=found.problem.exit_code,
    )


def store_at(url: str, answers: Answers, settings: dict[str, Any] | None = None) -> Memory:
    """The store of a URL, not opened. Raises WrongUse for a URL or a name that cannot be."""
    config = MemoryConfig(answers.situation.install, backend="postgres", storage={"db_url": url, **(settings or {})})
    return create_memory(config)
