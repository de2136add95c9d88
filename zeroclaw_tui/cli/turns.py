"""`memory tail`: print the turns that ZeroClaw recorded, each compared with a recall made now."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from zeroclaw_tui.cli import output
from zeroclaw_tui.cli.options import option, parse_time, single_agent
from zeroclaw_tui.cli.output import BOLD, DIM, GREEN, RED, YELLOW, Line, Styled
from zeroclaw_tui.cli.verbs import verb
from zeroclaw_tui.memory.errors import DONE
from zeroclaw_tui.memory.text import counted, cut, one_line

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.turns import ComparedTurn, TurnLog

MAX_FIRST_TURNS = 10
"""The number of recorded turns to show before new ones, unless --since is given."""
_MAX_QUERY_LENGTH = 400


@verb(
    "tail",
    "{turn, at, agent, session, channel, query, sent, predicted, equal, why_not_equal, source}, a line a turn",
    options=[
        option("--follow", action="store_true", help="Then wait for new turns, until Ctrl-C"),
        option("--since", metavar="WHEN", help="Only turns since then: 12h, 30d, a date or RFC 3339"),
    ],
    agents="Only the turns of this agent",
    concerns=("store", "recall", "vectors"),
    examples=("tail --since 12h", "tail --follow --json"),
)
async def tail(library: Library, args: argparse.Namespace) -> int:
    """Print the recorded turns, each compared with a recall made now; with --json one line per turn."""
    from zeroclaw_tui.curation.turns import follow, read_turns
    from zeroclaw_tui.memory.days import moment

    agent = single_agent(args)
    since = None if args.since is None else moment(parse_time(args.since, args.now))
    printed: set[str] = set()
    if not args.follow:
        await _print_turns(library, args, await read_turns(library, since=since, agent=agent), printed)
        return DONE
    output.note("zeroclaw: Waiting for new turns. Press Ctrl-C to end.")
    async for log in follow(library, since=since, agent=agent, most=MAX_FIRST_TURNS if since is None else None):
        await _print_turns(library, args, log, printed)
    return DONE


async def _print_turns(library: Library, args: argparse.Namespace, log: TurnLog, printed: set[str]) -> None:
    """Print turns, and the remarks on the trace that were not printed before."""
    from zeroclaw_tui.curation.turns import compare

    broken = f"{counted(log.broken_lines, 'line')} of the trace could not be read." if log.broken_lines else ""
    every = map(one_line, filter(None, (*log.problems, broken, log.why_nothing)))
    remarks = [remark for remark in every if remark not in printed]
    output.notes(remarks)
    printed.update(remarks)
    for turn in log.turns:
        compared = await compare(library, turn)
        if args.json:
            output.print_document(compared.as_json(), compact=True)
        else:
            output.write_lines(_turn_lines(compared))
            sys.stdout.flush()


def _turn_lines(compared: ComparedTurn) -> Iterator[Line]:
    """Yield the lines of a turn: time and agent, the message, the comparison, and the differences."""
    turn = compared.turn
    who = " · ".join(one_line(part) for part in (turn.agent, turn.channel, turn.session) if part)
    message = cut(one_line(turn.query[:_MAX_QUERY_LENGTH]), max(20, output.width() - 2)) or "(no message recorded)"
    yield Styled(f"{turn.moment.astimezone():%Y-%m-%d %H:%M:%S}  {who or 'no agent named'}", DIM)
    yield Styled(f"  {message}", BOLD)
    sign, colour = {True: ("✓", GREEN), False: ("✗", RED), None: ("–", YELLOW)}[compared.equal]
    yield Styled(f"  {sign} {one_line(compared.sentence())}", colour)
    if compared.equal is False or (compared.equal is None and compared.changed_since):
        yield from _difference_lines(turn.sent or "", compared.predicted or "")


def _difference_lines(sent: str, predicted: str) -> Iterator[Line]:
    """Yield the diff: lines only sent as +, lines only predicted as -, common lines without a sign."""
    from zeroclaw_tui.memory.text_difference import diff_lines

    room = max(20, output.width() - 6)
    for line in diff_lines(predicted, sent, whole=True):
        if text := cut(one_line(line.text), room):
            yield Styled(f"    {line.sign} {text}", {"+": GREEN, "-": RED}.get(line.sign, DIM))
