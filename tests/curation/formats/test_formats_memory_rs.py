"""The JSON of memory-rs, written by a program or saved from its MCP server."""

from __future__ import annotations

from format_sources import DATA, read, value


def test_items_and_the_result_of_a_search_come_with_owner_agent_and_session() -> None:
    rows, report = read(DATA / "memory_rs.json")
    row = rows["memrs_5f3c2d100000"]
    assert (row.agent, *value(row, "content", "category", "namespace", "session_id", "created_at")) == (
        "helper",
        "User likes tea",
        "preference",
        "mila",
        "r1",
        "2025-12-07T10:00:00.123456789+00:00",
    )
    assert report.lost == {"metadata": 1}
    row = rows["memrs_5f3c2d100001"]
    assert value(row, "content", "category", "updated_at") == ("Lives in Riga", "core", "2025-12-09T10:00:00+00:00")
