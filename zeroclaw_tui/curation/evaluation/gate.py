"""Recall tests held against an earlier run: baselines, what was lost since, and a report for continuous integration."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zeroclaw_tui.config.whole_file import failures_told, keep_looks, sync_folder, unfinished_file, write_all
from zeroclaw_tui.curation.evaluation.figures import Evaluation, QueryFigures
from zeroclaw_tui.curation.evaluation.losses import Loss
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.text import one_line

FORM = "zeroclaw-tui recall baseline 1"
MOST_BASELINE_BYTES = 64 * 1024**2
_SAVE = "`zeroclaw memory test --save-baseline FILE` writes one."
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML 1.0 document can hold, not even escaped (W3C, XML 1.0, 2.2)."""
Which = tuple[str, str | None, str | None, str | None]
"""Which test: its message, session, agent and channel."""


@dataclass(frozen=True, slots=True)
class BaselineTest:
    """How a test did when the baseline was saved."""

    expected: frozenset[str]
    rejected: frozenset[str]
    missing: frozenset[str]
    unwanted: frozenset[str]


@dataclass(frozen=True, slots=True)
class Gate:
    """A run held against a baseline: what it lost, the tests that are new, how many of the baseline were not asked."""

    file: str
    lost: tuple[Loss, ...]
    new: tuple[str, ...]
    not_asked: int

    def as_json(self) -> dict[str, Any]:
        """The `gate` of the document."""
        return {
            "file": self.file,
            "lost": [loss.as_json() for loss in self.lost],
            "new": list(self.new),
            "not_asked": self.not_asked,
        }


def save_baseline(file: Path, run: Evaluation) -> None:
    """Write how every test did, in one step. Raises Unreadable. Blocks."""
    tests = [
        {
            "name": figures.asked.name,
            "query": figures.asked.query,
            "session": figures.asked.session_id,
            "agent": figures.asked.agent,
            "channel": figures.asked.channel,
            "expected": list(figures.asked.expected),
            "rejected": list(figures.asked.rejected),
            "missing": list(figures.missing),
            "unwanted": list(figures.unwanted),
        }
        for figures in run.queries
    ]
    document = {"form": FORM, "profile": run.profile, "as_of": run.as_of, "tests": tests}
    write_file(file, (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode("utf-8"))


def read_baseline(file: Path) -> Mapping[Which, BaselineTest]:
    """What a baseline says of each test. Raises WrongUse where it is none. Blocks."""
    shown = one_line(str(file))
    try:
        with file.expanduser().open("rb") as stream:
            data = stream.read(MOST_BASELINE_BYTES + 1)
    except OSError as error:
        raise WrongUse(f"{shown} cannot be read: {error.strerror or error}.", hint=_SAVE) from error
    try:
        if len(data) > MOST_BASELINE_BYTES:
            raise ValueError
        document = json.loads(data.decode("utf-8"))
        if document["form"] != FORM:
            raise ValueError
        return {_which_of(test): _test_of(test) for test in document["tests"]}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise WrongUse(f"{shown} is no baseline of recall tests.", hint=_SAVE) from error


def held_against(run: Evaluation, baseline: Mapping[Which, BaselineTest], file: str) -> Gate:
    """What a run lost: expected keys that came then and are missing now, rejected ones that stayed away then."""
    lost, new, asked = [], [], set()
    for figures in run.queries:
        which = which_test(figures)
        asked.add(which)
        then = baseline.get(which)
        if then is None:
            new.append(figures.asked.name)
            continue
        came = then.expected - then.missing
        stayed_away = then.rejected - then.unwanted
        missing = tuple(key for key in figures.missing if key in came)
        unwanted = tuple(key for key in figures.unwanted if key in stayed_away)
        if missing or unwanted:
            lost.append(Loss(figures.asked.name, figures.asked.query, missing, unwanted))
    return Gate(file, tuple(lost), tuple(new), len(baseline.keys() - asked))


def which_test(figures: QueryFigures) -> Which:
    """What tells a test from the others; its name may change."""
    asked = figures.asked
    return asked.query, asked.session_id, asked.agent, asked.channel


def junit_xml(run: Evaluation, suite: str, gate: Gate | None = None) -> bytes:
    """The run as JUnit XML in UTF-8: a failed test is a failure. With a gate only what was lost is one, and what
    failed before is skipped. What XML cannot hold is U+FFFD."""
    from xml.etree import ElementTree

    lost = {(loss.name, loss.query) for loss in gate.lost} if gate is not None else set()
    known = set(gate.new) if gate is not None else set()
    root = ElementTree.Element("testsuites")
    element = ElementTree.SubElement(root, "testsuite", name=_xml(suite), tests=str(len(run.queries)), errors="0")
    failures = skipped = 0
    for figures in run.queries:
        asked = figures.asked
        case = ElementTree.SubElement(element, "testcase", classname="recall", name=_xml(asked.name or "a blank query"))
        if figures.passed:
            continue
        words = failure_words(figures)
        if gate is None or (asked.name, asked.query) in lost or asked.name in known:
            failures += 1
            failure = ElementTree.SubElement(case, "failure", message=_xml(words), type="recall")
            failure.text = _xml(f"{asked.query}\n{words}\nin the prompt: {', '.join(figures.injected) or 'nothing'}")
        else:
            skipped += 1
            ElementTree.SubElement(case, "skipped", message=_xml(f"as in the baseline: {words}"))
    element.set("failures", str(failures))
    element.set("skipped", str(skipped))
    found: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return found + b"\n"


def failure_words(figures: QueryFigures | Loss) -> str:
    """What is wrong with a test."""
    parts = []
    if figures.missing:
        parts.append(f"missing {', '.join(figures.missing)}")
    if figures.unwanted:
        parts.append(f"should not come: {', '.join(figures.unwanted)}")
    return "; ".join(parts)


def write_file(file: Path, data: bytes) -> None:
    """Write a file that a person named in one step; one that is there keeps its mode. Raises Unreadable. Blocks."""
    target = Path(os.path.realpath(file.expanduser()))
    with failures_told(target):
        with unfinished_file(target) as (beside, handle):
            keep_looks(handle, target)
            write_all(handle, data)
            os.fsync(handle)
            beside.replace(target)
        sync_folder(target.parent)


def _which_of(test: Mapping[str, Any]) -> Which:
    return test["query"], test["session"], test["agent"], test["channel"]


def _test_of(test: Mapping[str, Any]) -> BaselineTest:
    sets = [frozenset(map(str, test[name])) for name in ("expected", "rejected", "missing", "unwanted")]
    return BaselineTest(*sets)


def _xml(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)
