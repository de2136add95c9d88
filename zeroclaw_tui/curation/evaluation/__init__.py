"""Recall tests: their files, how well a store answers them, and what a change would lose."""

from zeroclaw_tui.curation.evaluation.figures import (
    MEASURES,
    Evaluation,
    QueryFigures,
    difference,
    evaluate,
    figures_of,
    keys_nobody_has,
    plain_trial,
    trial_of_test,
    with_queries_together,
)
from zeroclaw_tui.curation.evaluation.queries import (
    MOST_LINE_BYTES,
    MOST_QUERIES,
    MOST_TOML_BYTES,
    STDIN,
    TESTS,
    TestQuery,
    append_queries,
    append_query,
    read_queries,
    tests_file,
)

__all__ = [
    "MEASURES",
    "MOST_LINE_BYTES",
    "MOST_QUERIES",
    "MOST_TOML_BYTES",
    "STDIN",
    "TESTS",
    "Evaluation",
    "QueryFigures",
    "TestQuery",
    "append_queries",
    "append_query",
    "difference",
    "evaluate",
    "figures_of",
    "keys_nobody_has",
    "plain_trial",
    "read_queries",
    "tests_file",
    "trial_of_test",
    "with_queries_together",
]
