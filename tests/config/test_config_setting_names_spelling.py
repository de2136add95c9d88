"""Names of settings: every spelling of either generation means one, and a slip is reported with what was meant."""

from __future__ import annotations

import pytest

from zeroclaw_tui.config.schema import MEMORY_KEYS, SETTINGS
from zeroclaw_tui.config.setting_names import setting_name
from zeroclaw_tui.memory.errors import WRONG_USE, UsageError

URL = "storage.postgres.db_url"


def test_every_memory_key_means_a_setting_but_mem0_and_the_table_of_days() -> None:
    rest = [key for key in MEMORY_KEYS if not key.startswith("mem0.") and MEMORY_KEYS[key].kind != "table"]
    assert {setting_name(key) for key in rest} <= set(SETTINGS)
    assert {setting_name(f"memory.{key}") for key in rest} == {setting_name(key) for key in rest}


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("vector_weight", "memory.vector_weight"),
        ("policy.threat_scan", "memory.policy.threat_scan"),
        (" backend ", "memory.backend"),
        ("storage.provider.config.provider", "memory.backend"),
        ("db_url", URL),
        ("storage.provider.config.db_url", URL),
        ("storage.provider.config.dbURL", URL),
        ("storage.postgres.work.database_url", URL),
        ("storage.postgres.work.db_url", URL),
        ("storage.provider.config.schema", "storage.postgres.schema"),
        ("memory.postgres.vector_enabled", "storage.postgres.vector_enabled"),
        ("memory.qdrant.url", "storage.qdrant.url"),
        ("qdrant.api_key", "storage.qdrant.api_key"),
        ("storage.qdrant.default.collection", "storage.qdrant.collection"),
        ("sqlite_open_timeout_secs", "storage.sqlite.open_timeout_secs"),
        ("memory.sqlite_open_timeout_secs", "storage.sqlite.open_timeout_secs"),
    ],
)
def test_spellings_of_both_generations_mean_one_setting(written: str, name: str) -> None:
    assert setting_name(written) == name


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("vektor_weight", "memory.vector_weight"),
        ("storage.postgres.db_ulr", URL),
        ("storage.postgress.db_url", URL),
        ("memory.policy.retention_days_by_category.cor", "memory.policy.retention_days_by_category.core"),
    ],
)
def test_a_slip_is_reported_with_the_setting_meant(written: str, meant: str) -> None:
    with pytest.raises(UsageError) as caught:
        setting_name(written)
    assert caught.value.message == f"ZeroClaw knows no setting {written}; did you mean {meant}?"
    assert caught.value.exit_code == WRONG_USE


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("storage.sqlite.work.path", "storage.sqlite.path"),
        ("storage.markdown.directory", "storage.markdown.directory"),
        ("storage.provider.config.tls", "storage.postgres.tls"),
    ],
)
def test_keys_without_effect_are_refused_with_the_reason(written: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"ZeroClaw reads {meant} but never uses it"):
        setting_name(written)


def test_a_key_typed_as_a_name_is_not_shown() -> None:
    with pytest.raises(UsageError) as caught:
        setting_name("sk-abcdefghijklmnop1234")
    assert "abcdefghijklmnop" not in str(caught.value)
