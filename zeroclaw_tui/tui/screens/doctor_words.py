"""The sentences of the doctor's screen: what was found, what a repair would do, what vectors would cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rich.cells import cell_len
from textual.content import Content

from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.format import count_text, fit
from zeroclaw_tui.tui.looks import ACCENT, MUTED, STRONG
from zeroclaw_tui.tui.screens.working import shown_words
from zeroclaw_tui.tui.widgets.doctor_list import COLOURS, GLYPHS

if TYPE_CHECKING:
    from zeroclaw_tui.config.memory_config import EmbeddingConfig
    from zeroclaw_tui.curation.doctor.database import DoctorFinding, DoctorReport
    from zeroclaw_tui.curation.doctor.repairs import Repaired
    from zeroclaw_tui.curation.reindex import Reindexed, ReindexPlan

_CUSTOM = "custom:"
_CENT = 0.01
_LONGEST_NAME = 28
_LONGEST_STEP = 180
_MOST_STEPS = 5


def report_words(report: DoctorReport) -> tuple[str, str]:
    """How bad it is; and how much is fine, which may be left out."""
    counts = Counter(finding.risk for finding in report.findings)
    serious, worth, fine = counts["serious"], counts["worth knowing"], counts["fine"]
    bad = [
        f"{_things(serious)} serious" if serious else "",
        f"{count_text(worth) if serious else _things(worth)} worth knowing" if worth else "",
    ]
    said = ", ".join(part for part in bad if part)
    looked = f"{count_text(fine)} looked at and fine" if fine else ""
    return (said, looked) if said else (f"Nothing is wrong: {looked}" if looked else "There was nothing to look at", "")


def finding_content(finding: DoctorFinding, read_only_because: str | None) -> Content:
    """Everything about one finding."""
    parts: list[str | tuple[str, str]] = [
        (f"{GLYPHS[finding.risk]} ", COLOURS[finding.risk]),
        (shown_words(finding.title), STRONG),
        "\n",
        (finding.risk, MUTED),
    ]
    if finding.risk_sentence:
        parts += ["\n\n", shown_words(finding.risk_sentence)]
    facts = [*finding.details, *([("file", finding.target)] if finding.target else [])]
    widest = min(_LONGEST_NAME, max((cell_len(one_line(name)) for name, _ in facts), default=0))
    for number, (name, value) in enumerate(facts):
        parts += [
            "\n" if number else "\n\n",
            (f"{fit(one_line(name), widest)}  ", MUTED),
            one_line(shown_words(value)),
        ]
    if finding.repair is not None:
        key = ("enter ", ACCENT) if read_only_because is None else ("The repair ", MUTED)
        parts += ["\n\n", key, (f"{finding.repair}:" if read_only_because is None else "would be:", MUTED)]
        parts += [f"\n  {step}" for step in map(shown_words, finding.repair_steps)]
        parts += [("\n" + shown_words(read_only_because), MUTED)] if read_only_because else []
    if finding.by_hand:
        parts += ["\n\n", ("by hand  ", MUTED), shown_words(finding.by_hand)]
    return Content.assemble(*parts)


def report_text(report: DoctorReport, location: str) -> str:
    """Everything as plain text, as it is handed on to somebody who helps."""
    lines = [shown_words(location), ". ".join(part for part in report_words(report) if part) + "."]
    for finding in report.findings:
        lines += ["", f"{GLYPHS[finding.risk]} {shown_words(finding.title)}"]
        lines += [f"  {shown_words(line)}" for line in (finding.risk_sentence, finding.by_hand) if line]
        lines += [f"  {one_line(name)}: {one_line(shown_words(value))}" for name, value in finding.details]
        lines += [f"  file: {one_line(shown_words(finding.target))}"] if finding.target else []
    lines += ["", *map(shown_words, report.notes)] if report.notes else []
    return "\n".join(lines) + "\n"


def repair_body(finding: DoctorFinding) -> Content:
    """What a repair would do, cut so that the answers stay in sight."""
    steps = "\n".join(f"{number}. {_cut(step)}" for number, step in enumerate(finding.repair_steps[:_MOST_STEPS], 1))
    risk = _cut(finding.risk_sentence)
    return Content.assemble((risk, MUTED), "\n\n" if steps and risk else "", steps)


def repaired_words(repaired: Repaired) -> str:
    """What was done, and where the backup lies."""
    backup = [f"The backup is {repaired.backup}."] if repaired.backup is not None else []
    return " ".join([*repaired.done, *backup]) or "Nothing had to be done."


def vectors_title(plan: ReindexPlan) -> str:
    """The question of a plan."""
    return f"Make {_vectors(plan.count)} with {one_line(shown_words(plan.model[:200]))}?"


def vectors_body(plan: ReindexPlan, embedding: EmbeddingConfig) -> Content:
    """How many, how much text, what it costs, where it goes."""
    facts = [
        f"{_have(len(plan.missing))} none" if plan.missing else "",
        f"{_have(len(plan.wrong))} one that fits no query" if plan.wrong else "",
    ]
    texts = f"{count_text(plan.characters)} characters, about {count_text(plan.tokens)} tokens"
    return Content.assemble(
        ", ".join(fact for fact in facts if fact) + "\n",
        (f"{texts}{_cost(plan)}\n\n", MUTED),
        _where(plan, embedding),
    )


def filled_words(done: Reindexed, planned: int) -> str:
    """How making vectors went."""
    said = [f"{_vectors(done.filled)} made."]
    rest = planned - done.filled - done.left
    if done.left:
        said.append(f"{count_text(done.left)} changed meanwhile and were left alone.")
    if done.stopped and rest > 0:
        said.append(f"Stopped: enter on the finding goes on with the other {count_text(rest)}.")
    return " ".join([*said, *map(one_line, done.failed)])


def endpoint_host(embedding: EmbeddingConfig) -> str:
    """The host that texts are sent to."""
    from zeroclaw_tui.embeddings.addresses import BASES

    provider = embedding.provider
    url = provider.removeprefix(_CUSTOM) if provider.startswith(_CUSTOM) else BASES.get(provider, "")
    return one_line(urlsplit(url).hostname or provider)


def notes_words(notes: Sequence[str]) -> str:
    """What should be known about the examination itself."""
    return " ".join(shown_words(note) for note in notes)


def _where(plan: ReindexPlan, embedding: EmbeddingConfig) -> str:
    if not plan.is_remote:
        return "The texts stay on this machine."
    return f"The texts of these memories are sent to {endpoint_host(embedding)}."


def _cost(plan: ReindexPlan) -> str:
    if plan.cost is None:
        return "; its price is not known here" if plan.is_remote else ""
    return ", less than a cent" if plan.cost < _CENT else f", about ${plan.cost:,.2f}"


def _cut(sentence: str) -> str:
    return fit(one_line(shown_words(sentence[: 4 * _LONGEST_STEP])), _LONGEST_STEP).rstrip()


def _vectors(count: int) -> str:
    return "1 vector" if count == 1 else f"{count_text(count)} vectors"


def _things(count: int) -> str:
    return "1 thing is" if count == 1 else f"{count_text(count)} things are"


def _have(count: int) -> str:
    return f"{count_text(count)} {'has' if count == 1 else 'have'}"
