"""What counts where nobody answers: the config, the backend's defaults, and retention that is never tightened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from answers_samples import ALIASED, OLD, OLD_FILE_READ_BY_NEW, PASSWORD, POSTGRES, URL, situation

from zeroclaw_tui.config.schema import Target
from zeroclaw_tui.config.secrets import seal
from zeroclaw_tui.onboard.answers import Answers, Given, gather
from zeroclaw_tui.onboard.situation import Situation

KEY = bytes(range(32))
FIVE = (
    "memory.auto_save",
    "memory.hygiene_enabled",
    "memory.archive_after_days",
    "memory.purge_after_days",
    "memory.embedding_cache_size",
)


def answered(name: str, value: Any, found: Situation) -> Answers:
    return Answers(found).with_given(name, Given(value, "answered", "typed"))


def five(answers: Answers) -> tuple[Any, ...]:
    return tuple(answers.value(name) for name in FIVE)


def test_hygiene_and_days_are_not_tightened_by_a_changed_backend() -> None:
    text = (
        "[memory]\nbackend = 'markdown'\nauto_save = true\nhygiene_enabled = false\narchive_after_days = 0\n"
        "purge_after_days = 90\nembedding_cache_size = 0\n"
    )
    answers = answered("memory.backend", "sqlite", situation(text))
    assert five(answers) == (True, False, 0, 90, 10000)
    assert answers.source("memory.hygiene_enabled") == "config"


def test_the_defaults_file_counts_where_defaults_are_written() -> None:
    found = situation("[memory]\nbackend = 'postgres'\nauto_save = true\n", backend="postgres")
    assert gather(found, memory="postgres").value("storage.postgres.connect_timeout_secs") is None
    without = situation("# no key yet\n")
    assert gather(without, memory="postgres").value("storage.postgres.connect_timeout_secs") == 15
    assert Answers(situation(None)).value("memory.conversation_retention_days") == 30


@pytest.mark.parametrize(
    ("text", "given", "alias"),
    [
        ("[memory]\nbackend = 'postgres.work'\n", None, "work"),
        ("[memory]\nbackend = 'postgres.work'\n", "postgres", "work"),
        ("[memory]\nbackend = 'postgres.work'\n", "postgres.home", "home"),
        ("[memory]\nbackend = 'postgres'\n[storage.postgres.work]\n", None, "default"),
        ("[memory]\nbackend = 'sqlite.main'\n[storage.postgres.work]\n", "postgres", "work"),
        ("[memory]\nbackend = 'sqlite.main'\n[storage.postgres.a]\n[storage.postgres.b]\n", "postgres", "default"),
        ("[memory]\nbackend = 'sqlite.main'\n", "qdrant", "default"),
    ],
)
def test_the_alias_that_storage_is_written_under(text: str, given: str | None, alias: str) -> None:
    found = situation(text, ALIASED)
    answers = answered("memory.backend", given, found) if given else Answers(found)
    assert answers.alias() == alias


@pytest.mark.parametrize("target", [OLD, ALIASED])
def test_a_sealed_secret_is_opened_in_memory_and_shown_nowhere(target: Target, tmp_path: Path) -> None:
    (tmp_path / ".secret_key").write_text(KEY.hex())
    sealed = seal(POSTGRES, KEY, bytes(range(12)))
    table = "storage.postgres.default" if target.has_aliases else "storage.provider.config"
    text = f"[memory]\nbackend = 'postgres'\n[{table}]\ndb_url = '{sealed}'\n"
    answers = Answers(situation(text, target, config_dir=tmp_path))
    assert answers.value(URL) == POSTGRES
    assert (answers.source(URL), answers.missing()) == ("config", ())
    given = answers.with_given(URL, Given(POSTGRES, "flag", "--set"))
    assert PASSWORD not in repr(given) + repr(given.given)


def test_a_secret_that_cannot_be_decrypted_stays_as_it_is(tmp_path: Path) -> None:
    text = "[memory]\nbackend = 'postgres'\n[storage.provider.config]\ndb_url = 'enc2:00ff'\n"
    answers = Answers(situation(text, config_dir=tmp_path))
    assert answers.current(URL) == "enc2:00ff"
    assert answers.missing() == ()


def test_qdrants_key_is_taken_literally_up_to_0_7_5(tmp_path: Path) -> None:
    (tmp_path / ".secret_key").write_text(KEY.hex())
    sealed = seal("the key", KEY, bytes(range(12)))
    text = f"[memory]\nbackend = 'qdrant'\n[memory.qdrant]\napi_key = '{sealed}'\n"
    assert Answers(situation(text, OLD, config_dir=tmp_path)).current("storage.qdrant.api_key") == sealed
    read_by_new = situation(text, OLD_FILE_READ_BY_NEW, config_dir=tmp_path)
    assert Answers(read_by_new).current("storage.qdrant.api_key") == "the key"
