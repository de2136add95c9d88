"""Recall tests against the baseline of a gate, with a report as JUnit XML."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.curation.evaluation.figures import (
    Evaluation,
    QueryFigures,
)
from zeroclaw_tui.files.disk import write_whole
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import one_line

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class Loss:
    """A test that does worse: the expected keys that no longer reach the prompt, the rejected ones that now do."""

    name: str
    query: str
    missing: tuple[str, ...]
    unwanted: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Its part of a document."""
        return asdict(self)


Held = tuple[frozenset[str], frozenset[str]]
"""The expected keys that reach the prompt, and the rejected ones that do not: all that a test can lose."""


def _held(figures: QueryFigures) -> Held:
    asked = figures.asked
    return frozenset(asked.expected) - set(figures.missing), frozenset(asked.rejected) - set(figures.unwanted)


def _loss(held: Held, figures: QueryFigures) -> Loss | None:
    """What a test has no more of what it held; None where it does not do worse."""
    missing = tuple(key for key in figures.missing if key in held[0])
    unwanted = tuple(key for key in figures.unwanted if key in held[1])
    return Loss(figures.asked.name, figures.asked.query, missing, unwanted) if missing or unwanted else None


FORM = "zeroclaw-tui recall baseline 1"
MOST_BASELINE_BYTES = 64 * 1024**2
_SAVE = "`zeroclaw memory test --save-baseline FILE` writes one."
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML 1.0 document can hold, not even escaped (W3C, XML 1.0, 2.2)."""
_SAVED = ("name", "query", "session", "agent", "channel", "expected", "rejected", "missing", "unwanted")
_COMPARED = ("expected", "missing", "rejected", "unwanted")
Which = tuple[str, str | None, str | None, str | None]
"""Which test: its message, session, agent and channel."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A run held against a baseline: what it lost, the tests that are new, how many of the baseline were not asked."""

    file: str
    lost: tuple[Loss, ...]
    new: tuple[str, ...]
    not_asked: int

    def as_json(self) -> dict[str, Any]:
        """The `gate` of the document."""
        return asdict(self)


def save_baseline(file: Path, run: Evaluation) -> None:
    """Write how every test did, in one step. Raises Unreadable. Blocks."""
    tests = [{name: told[name] for name in _SAVED} for told in (figures.as_json() for figures in run.queries)]
    document = {"form": FORM, "profile": run.profile, "as_of": run.as_of, "tests": tests}
    write_whole(file, (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode("utf-8"))


def read_baseline(file: Path) -> Mapping[Which, Held]:
    """What the tests of a baseline held, those of one turn together. Raises UsageError where it is none. Blocks."""
    shown = one_line(str(file))
    try:
        with file.expanduser().open("rb") as stream:
            data = stream.read(MOST_BASELINE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{shown} cannot be read: {error.strerror or error}.", hint=_SAVE) from error
    try:
        if len(data) > MOST_BASELINE_BYTES:
            raise ValueError
        document = json.loads(data.decode("utf-8"))
        if document["form"] != FORM:
            raise ValueError
        found: dict[Which, Held] = {}
        for which, held in map(_baseline_test, document["tests"]):
            came, stayed_away = found.get(which, (frozenset(), frozenset()))
            found[which] = came | held[0], stayed_away | held[1]
        return found
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{shown} is no baseline of recall tests.", hint=_SAVE) from error


def held_against(run: Evaluation, baseline: Mapping[Which, Held], file: str) -> Gate:
    """What a run lost: expected keys that came then and are missing now, rejected ones that stayed away then."""
    lost, new, asked = [], [], set()
    for figures in run.queries:
        test = figures.asked
        # Its name may change.
        which = test.query, test.session_id, test.agent, test.channel
        asked.add(which)
        held = baseline.get(which)
        if held is None:
            new.append(test.name)
        elif (loss := _loss(held, figures)) is not None:
            lost.append(loss)
    return Gate(file, tuple(lost), tuple(new), len(baseline.keys() - asked))


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


def _baseline_test(test: Mapping[str, Any]) -> tuple[Which, Held]:
    expected, missing, rejected, unwanted = (frozenset(map(str, test[name])) for name in _COMPARED)
    return (test["query"], test["session"], test["agent"], test["channel"]), (expected - missing, rejected - unwanted)


def _xml(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)
