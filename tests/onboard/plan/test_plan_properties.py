"""Property test: a plan for any form writes exactly the requested settings, and a second one nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.wizard_world import FORMS, NEEDED, World, flat

ASKED = {
    "auto_save": st.sampled_from(["true", "false"]),
    "hygiene_enabled": st.sampled_from(["true", "false"]),
    "archive_after_days": st.integers(0, 400).map(str),
    "conversation_retention_days": st.integers(0, 400).map(str),
    "vector_weight": st.floats(0, 1).map(lambda share: f"{share:.3f}"),
    "embedding_provider": st.sampled_from(["none", "openai", "custom:http://localhost:8080/v1"]),
    "embedding_model": st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_categories=["Cc"]))
    .map(str.strip)
    .filter(bool),
    "storage.postgres.schema": st.sampled_from(["public", "agents"]),
    "storage.qdrant.collection": st.sampled_from(["zeroclaw_memories", "mine"]),
    "storage.sqlite.open_timeout_secs": st.integers(1, 300).map(str),
}
assignments = st.fixed_dictionaries({}, optional=ASKED)


@given(
    form=st.sampled_from(sorted(FORMS)), backend=st.sampled_from([None, *sorted(NEEDED), "lucid"]), asked=assignments
)
def test_requested_settings_are_written_and_a_second_run_writes_nothing(
    tmp_path_factory: pytest.TempPathFactory, form: str, backend: str | None, asked: dict[str, str]
) -> None:
    world = World(tmp_path_factory.mktemp("world"), FORMS[form]).with_key()
    flags = [f"{name}={value}" for name, value in asked.items()] + list(NEEDED.get(backend or "", ()))
    if backend is None and form == "old, by provider":
        flags += NEEDED["postgres"]
    before = flat(world.values)
    plan = world.write(*flags, memory=backend)
    after = flat(world.values)
    differing = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    assert differing == {change.path for change in plan.changes}
    assert world.file.read_bytes() == plan.after.to_bytes()
    again = world.answers(*flags, memory=backend)
    for name in asked:
        full = name if name.startswith("storage.") else f"memory.{name}"
        assert again.current(full) == again.given[full].value
    assert world.write(*flags, memory=backend).is_empty
