"""Texts of the wizard: the found situation, the review and the final messages, all without secrets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.wizard_world import situation_of

from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.schema import Target
from zeroclaw_tui.onboard.answers import Answers
from zeroclaw_tui.onboard.plan import KeyChange, Plan
from zeroclaw_tui.onboard.probes import Finding
from zeroclaw_tui.onboard.review import after_lines, plan_document, review_lines
from zeroclaw_tui.onboard.situation import Situation
from zeroclaw_tui.onboard.wizard import found_lines

HOME = Path("/home/ada")
BEFORE = '# mine\n[memory]\nbackend = "sqlite"\nhygiene_enabled = true\n\n[gateway]\nport = 1\n'
AFTER = (
    '# mine\n[memory]\nbackend = "postgres"\nhygiene_enabled = false\n\n[gateway]\nport = 1\n\n'
    '[storage.provider.config]\ndb_url = "enc2:00ff"\n'
)
URL = "postgres://zeroclaw:hunter2@db:5432/zeroclaw"
CHANGES = (
    KeyChange("memory.backend", ("memory", "backend"), "sqlite", "postgres"),
    KeyChange("memory.hygiene_enabled", ("memory", "hygiene_enabled"), True, False),
    KeyChange("storage.postgres.db_url", ("storage", "provider", "config", "db_url"), None, URL, is_secret=True),
)


def situation(text: str | None = BEFORE, *, version: str | None = None, **other: Any) -> Situation:
    return situation_of(
        text,
        Target(schema=1, has_aliases=False, is_modern=False, version=version),
        HOME / ".zeroclaw",
        found=("workspace/memory/brain.db: 3 memories",),
        warnings=("vector_wieght is not known; did you mean vector_weight?",),
        **{"environ": {"HOME": str(HOME)}, **other},
    )


def plan(where: Situation | None = None, **more: Any) -> Plan:
    where = where or situation()
    made = Plan(
        answers=Answers(where),
        before=where.document,
        after=ConfigDocument.from_text(AFTER),
        changes=CHANGES,
        notes=("Hygiene is off: PostgreSQL has none in ZeroClaw.",),
    )
    return replace(made, **more)


def rows(lines: Sequence[Sequence[tuple[str, str]]]) -> list[str]:
    return ["".join(text for _, text in line).rstrip() for line in lines]


def test_a_new_secret_is_masked_and_marked_as_encrypted() -> None:
    shown = rows(review_lines(plan(), ()))
    assert '+ db_url = "postgres://zeroclaw:••••@db:5432/zeroclaw"    encrypted' in shown
    assert not any("enc2" in row or "hunter2" in row for row in shown)
    assert sum("    encrypted" in row for row in shown) == 1


FINDINGS = (
    Finding("postgres", "good", "connects in 12 ms", ("may create tables",)),
    Finding("embedding", "bad", "answers with 768 numbers", (), "Put it right.", corrections={"memory.x": 768}),
    Finding("lucid", "not tested", "The program is not asked here."),
)


def test_findings_have_marks_besides_colour() -> None:
    shown = rows(review_lines(plan(), FINDINGS))
    assert "✓ PostgreSQL: connects in 12 ms" in shown
    assert "  may create tables" in shown
    assert "✗ Embeddings: answers with 768 numbers" in shown
    assert "  Put it right." in shown
    assert "  Suggested: memory.x = 768" in shown
    assert "– The program is not asked here." in shown


def test_after_writing_the_restore_command_and_the_key_are_shown() -> None:
    shown = rows(after_lines(plan(new_key="00"), "backup-1"))
    assert "    zeroclaw onboard --restore backup-1" in shown
    settings = "backend, hygiene_enabled, storage.postgres.db_url"
    assert f"  Lines: 2 changed, 3 added, 5 unchanged. Settings: {settings}." in shown
    assert any(".secret_key" in row for row in shown)
    assert "    zeroclaw-tui" in shown
    bare = rows(after_lines(plan(), None))
    assert not any("--restore" in row or ".secret_key" in row for row in bare)


@pytest.mark.parametrize("variable", ["", "/srv/another"])
def test_commands_name_a_config_dir_that_they_would_not_find_themselves(variable: str) -> None:
    place = "/srv/claw" if not variable else f"{HOME}/.zeroclaw"
    there = situation(None, environ={"HOME": str(HOME), "ZEROCLAW_CONFIG_DIR": variable})
    install = there.install._replace(config_dir=Path(place))
    named = replace(there, install=install, config_file=Path(place, "config.toml"), binary="/usr/bin/zeroclaw")
    shown = rows(after_lines(plan(named), "backup-1"))
    assert f"    zeroclaw onboard --config-dir {place} --restore backup-1" in shown
    assert f"    ZEROCLAW_CONFIG_DIR={place} zeroclaw --real onboard" in shown
    assert f"    zeroclaw-tui --config-dir {place}" in shown


def test_the_found_situation_is_described() -> None:
    shown = rows(found_lines(Answers(situation(version="0.7.5"))))
    assert shown == [
        "Config     ~/.zeroclaw/config.toml  ZeroClaw 0.7.5",
        "Memory     sqlite  in use",
        "           workspace/memory/brain.db: 3 memories",
        "! vector_wieght is not known; did you mean vector_weight?",
    ]
    new = rows(found_lines(Answers(situation(None))))
    assert new[0] == "Config     ~/.zeroclaw/config.toml (new)  for ZeroClaw 0.7.5 (not on PATH)"
    here = situation()
    elsewhere = replace(here, install=here.install._replace(rule="ZEROCLAW_CONFIG_DIR"))
    assert rows(found_lines(Answers(elsewhere)))[0].endswith("chosen by ZEROCLAW_CONFIG_DIR")


def test_the_json_hides_secrets() -> None:
    message = plan_document(plan(), FINDINGS, written=True, backup="b")
    assert "hunter2" not in str(message)
    assert "enc2" not in str(message)
    assert message["changes"][2]["to"] == "••••"
    assert message["changes"][0]["path"] == ["memory", "backend"]
    assert message["tests"][1]["corrections"] == {"memory.x": 768}
    assert (message["backup"], message["written"]) == ("b", True)


def test_hostile_text_stays_on_its_line() -> None:
    hostile = plan(notes=("a\x1b[31mred\nsecond",))
    assert "! a␛[31mred second" in rows(review_lines(hostile, ()))
