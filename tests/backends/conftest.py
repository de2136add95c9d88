"""Fixtures for the tests of several stores, and the contract tests that some stores must skip."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest
from support.opened import opened_memory
from support.slept_clock import Clock

from zeroclaw_tui.testing.tools import Contract

KEYS_ARE_PLACES = (
    "test_a_key_that_is_taken_is_refused_or_replaced",
    "test_a_second_store_of_a_key_keeps_id_and_creation_time",
    "test_undo_reports_a_key_that_exists_again",
    "test_two_memories_swap_keys_and_undo_swaps_them_back",
    "test_one_of_two_stores_of_the_same_new_key_is_a_conflict",
)
NO_TRANSACTIONS = ("test_a_write_by_another_program_before_ours_is_not_lost",)
EXPECTED_SKIPS = {
    "markdown": KEYS_ARE_PLACES,
    "qdrant": NO_TRANSACTIONS,
    "test_backends_contract.py::TestTraitWriting": NO_TRANSACTIONS,
}
"""The contract tests that a store cannot pass, by its folder or class."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Fail a contract test that is skipped without being listed, or listed without being skipped."""
    report = yield
    if report.when == "call" and report.outcome != "failed" and issubclass(item.cls or object, Contract):
        listed = [names for place, names in EXPECTED_SKIPS.items() if place in item.nodeid.split("/", 2)[2]]
        is_expected = any(item.originalname in names for names in listed)
        if report.skipped != is_expected:
            report.longrepr = f"expected to be skipped: {is_expected}, was skipped: {report.skipped}"
            report.outcome = "failed"
        elif is_expected:
            report.outcome = "passed"
    return report


@pytest.fixture
async def opening():
    """Open a store and close it after the test."""
    async with AsyncExitStack() as stack:

        async def opened(memory):
            return await stack.enter_async_context(opened_memory(memory))

        yield opened


@pytest.fixture
def clock():
    return Clock()
