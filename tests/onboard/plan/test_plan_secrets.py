"""Secrets written to the file, and the key that encrypts them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.wizard_world import KEY, NEEDED, OLD, URL, World

from zeroclaw_tui.config.secrets import KEY_FILE, SecretUnreadable, decrypt, encrypt
from zeroclaw_tui.onboard.plan import apply_plan

ASK = NEEDED["postgres"]
THIRD = "schema_version = 3\n" + OLD
QDRANT_ASK = (*NEEDED["qdrant"], "embedding_provider=openai")


def db_url(world: World) -> str:
    storage = world.values["storage"]
    return str((storage.get("provider", {}).get("config") or storage["postgres"]["default"])["db_url"])


@pytest.mark.parametrize("config", [OLD, THIRD])
def test_a_database_url_is_encrypted_with_the_existing_key(tmp_path: Path, config: str) -> None:
    world = World(tmp_path, config).with_key(f"{KEY}\n")
    plan = world.write(*ASK, memory="postgres")
    assert plan.new_key is None
    assert db_url(world).startswith("enc2:")
    assert decrypt(db_url(world), world.config_dir) == URL
    assert (world.config_dir / KEY_FILE).read_text() == f"{KEY}\n"


@pytest.mark.parametrize("config", [None, OLD])
def test_a_missing_key_file_is_created_only_when_the_config_is_written(tmp_path: Path, config: str | None) -> None:
    world = World(tmp_path, config)
    plan = world.plan(*ASK, memory="postgres")
    assert not (world.config_dir / KEY_FILE).exists()
    assert plan.new_key is not None
    assert plan.new_key not in repr(plan)
    apply_plan(plan)
    assert (world.config_dir / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert decrypt(db_url(world), world.config_dir) == URL


@pytest.mark.parametrize("text", ["", "short", "z" * 64, "\xff" * 64])
def test_a_damaged_key_file_is_kept_and_nothing_is_written(tmp_path: Path, text: str) -> None:
    world = World(tmp_path, OLD).with_key(text)
    with pytest.raises(SecretUnreadable):
        world.write(*ASK, memory="postgres")
    assert world.file.read_text() == OLD
    assert (world.config_dir / KEY_FILE).read_text() == text


@pytest.mark.parametrize("config", [OLD, THIRD])
def test_disabled_encryption_writes_plain_text_and_says_so(tmp_path: Path, config: str) -> None:
    world = World(tmp_path, config + "\n[secrets]\nencrypt = false\n")
    plan = world.write(*ASK, memory="postgres")
    assert db_url(world) == URL
    assert any("plain text" in note and "[secrets] encrypt is false" in note for note in plan.notes)
    assert not (world.config_dir / KEY_FILE).exists()


def test_qdrants_key_is_written_plain_in_the_old_form_and_reported(tmp_path: Path) -> None:
    world = World(tmp_path, OLD).with_key()
    plan = world.write(*QDRANT_ASK, memory="qdrant")
    assert world.values["memory"]["qdrant"]["api_key"] == "tunafish"
    (note,) = [note for note in plan.notes if "plain text" in note]
    assert note.startswith("memory.qdrant.api_key")
    assert "tunafish" not in note


def test_the_key_of_qdrant_is_encrypted_under_an_alias(tmp_path: Path) -> None:
    world = World(tmp_path, THIRD).with_key()
    plan = world.write(*QDRANT_ASK, memory="qdrant")
    sealed = world.values["storage"]["qdrant"]["default"]["api_key"]
    assert sealed.startswith("enc2:")
    assert decrypt(sealed, world.config_dir) == "tunafish"
    assert not any("plain text" in note for note in plan.notes)


def test_the_same_secret_is_not_encrypted_again(tmp_path: Path) -> None:
    sealed = encrypt(URL, bytes.fromhex(KEY), bytes(12))
    config = (
        '[memory]\nbackend = "postgres"\nauto_save = true\n'
        f'[storage.provider.config]\ndb_url = "{sealed}"\nprovider = "postgres"\n'
    )
    world = World(tmp_path, config).with_key()
    assert world.plan(*ASK).is_empty
    plan = world.write("storage.postgres.db_url=postgres://other/d")
    (change,) = plan.changes
    assert (change.before, change.after, change.is_secret) == (URL, "postgres://other/d", True)


@pytest.mark.parametrize("value", ["enc2:00ff", "enc:00ff", "op://vault/item/field", "${MY_URL}"])
def test_a_value_that_is_no_secret_itself_is_written_unchanged(tmp_path: Path, value: str) -> None:
    world = World(tmp_path, THIRD).with_key()
    world.write(f"storage.postgres.db_url={value}", memory="postgres")
    assert db_url(world) == value
    assert world.plan(f"storage.postgres.db_url={value}", memory="postgres").is_empty


def test_a_password_with_unreadable_secrets_is_written_plain_only_on_request(tmp_path: Path) -> None:
    unreadable = OLD.replace('api_key = "k"', 'api_key = "enc2:00ff"')
    refused = World(tmp_path / "refused", unreadable)
    with pytest.raises(SecretUnreadable, match="cannot be encrypted") as caught:
        refused.write(*ASK, memory="postgres")
    assert "encrypt" in caught.value.hint
    assert URL not in (refused.config_dir / "config.toml").read_text()
    chosen = World(tmp_path / "chosen", f"{unreadable}\n[secrets]\nencrypt = false\n")
    chosen.write(*ASK, memory="postgres")
    assert db_url(chosen) == URL
