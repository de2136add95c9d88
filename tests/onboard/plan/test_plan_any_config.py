"""Property test: repeated plans for any config change only the requested settings, with the intended values."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

import pytest
from any_config import AnyConfig, any_configs, is_valid
from hypothesis import given
from hypothesis import strategies as st
from support.places import MemoryConfig
from support.wizard_world import BACKENDS, NEEDED, World, flat

from zeroclaw_tui.onboard.answers import Answers, shortens_retention
from zeroclaw_tui.onboard.plan import Plan, apply_plan, make_plan

ASKED = {
    "auto_save": st.sampled_from(["true", "false"]),
    "hygiene_enabled": st.sampled_from(["true", "false"]),
    "archive_after_days": st.sampled_from(["0", "7", "100"]),
    "conversation_retention_days": st.sampled_from(["0", "3", "400"]),
    "vector_weight": st.sampled_from(["1", "0.5"]),
    "embedding_model": st.sampled_from(['a"b\\c', "no\xa0break", "😀", "it's"]),
    "storage.postgres.schema": st.sampled_from(["public", "agents"]),
    "storage.postgres.db_url": st.sampled_from(["postgres://u:p%40x@h/d", "postgres://é:ü@h/d"]),
    "storage.qdrant.collection": st.sampled_from(["mine", "zeroclaw_memories"]),
    "storage.qdrant.api_key": st.sampled_from(["", "tunafish"]),
}
RETENTION = ("hygiene_enabled", "archive_after_days", "purge_after_days", "conversation_retention_days")
asks = st.tuples(st.sampled_from([None, *BACKENDS]), st.fixed_dictionaries({}, optional=ASKED))


def text_of(world: World) -> str:
    return world.file.read_bytes().decode()


def answers_with_what_is_missing(world: World, flags: Sequence[str], memory: str | None) -> Answers:
    """Return the answers, with a URL for a store that has none."""
    missing = world.answers(*flags, memory=memory).missing()
    needed = [flag for flags in NEEDED.values() for flag in flags if flag.partition("=")[0] in missing]
    return world.answers(*flags, *needed, memory=memory)


def check_only_the_changes_differ(before: str, after: str, plan: Plan) -> None:
    old, new = (flat(tomllib.loads(text.removeprefix("\ufeff"))) for text in (before, after))
    differing = {path for path in {*old, *new} if repr(old.get(path)) != repr(new.get(path))}
    assert differing == {change.path for change in plan.changes}
    assert after.startswith("\ufeff") == before.startswith("\ufeff")
    assert (after.count("\n") == after.count("\r\n")) == ("\r\n" in before), "all line endings must be kept"
    keys = {change.path[-1] for change in plan.changes}
    left = after.splitlines()
    for line in before.splitlines():
        if not any(key in line for key in keys) and "{" not in line:
            # All other lines are still there, in order.
            left = left[left.index(line) + 1 :]


def check_values_are_as_requested(
    before: MemoryConfig, config: MemoryConfig, memory: str | None, asked: dict[str, str]
) -> None:
    if memory is not None:
        assert (config.backend, config.zeroclaw_backend) == (memory, memory)
    for name, text in asked.items():
        section, kind, key = name.split(".") if name.startswith("storage.") else ("memory", "", name)
        if section == "memory":
            assert text_with_newlines_of(config.values[key], text) == config.values[key]
        elif kind == config.backend:
            assert config.storage[key] == text
    new = set(config.warnings) - set(before.warnings)
    assert not any("does not start" in warning or "refuses" in warning for warning in new)


def text_with_newlines_of(like: Any, text: str) -> Any:
    return text == "true" if isinstance(like, bool) else type(like)(text)


def check_retention_is_not_shortened(before: MemoryConfig, after: MemoryConfig, asked: dict[str, str]) -> None:
    for name in RETENTION:
        if name not in asked:
            assert not shortens_retention(f"memory.{name}", getattr(before, name), getattr(after, name)), name


@given(config=any_configs().filter(is_valid), asked_in_turn=st.lists(asks, min_size=1, max_size=3))
def test_any_config_accepts_any_answers(
    tmp_path_factory: pytest.TempPathFactory,
    config: AnyConfig,
    asked_in_turn: list[tuple[str | None, dict[str, str]]],
) -> None:
    world = World(tmp_path_factory.mktemp("world"), config.text).with_key()
    (world.config_dir / config.layout).mkdir()
    for memory, asked in asked_in_turn:
        flags = [f"{name}={value}" for name, value in asked.items()]
        before, loaded = text_of(world), world.loaded()
        plan = make_plan(answers_with_what_is_missing(world, flags, memory))
        apply_plan(plan)
        check_only_the_changes_differ(before, text_of(world), plan)
        check_values_are_as_requested(loaded, world.loaded(), memory, asked)
        check_retention_is_not_shortened(loaded, world.loaded(), asked)
        assert world.plan(*flags, memory=memory).is_empty
    assert world.plan().is_empty
