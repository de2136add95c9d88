"""The tables of evaluate, for people: each query, then the figures of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zeroclaw_tui.cli.output import BOLD, DIM, GREEN, NOTHING, RED, Line, Part, Styled, date_shown, width
from zeroclaw_tui.curation.evaluation import MEASURES, Evaluation, QueryFigures
from zeroclaw_tui.memory.text import cells, counted, cut, one_line, padded

Pair = tuple[QueryFigures, QueryFigures]
_LEAST_ROOM = 20
_MOST_DECIMALS = 6
_LONGEST_NAME = 400
ARROW = " → "


def evaluation_lines(file: str, runs: Sequence[Evaluation]) -> Iterator[Line]:
    """What was asked, a row for each query, and the figures in all; `runs` are one, or one before and one after."""
    before, after = runs[0], runs[-1]
    order = "worst first"
    if len(runs) > 1:
        order = "what got worse, what got better, then worst first"
    yield (Styled(f"{counted(len(before.queries), 'query')} of {one_line(file)}", BOLD),)
    yield (Styled(f"the first {before.k} of each · {order}", DIM),)
    for run in runs:
        yield (Styled(_setting(run, tells_moment=before.as_of != after.as_of), DIM),)
    yield ()
    pairs = list(zip(before.queries, after.queries, strict=True))
    yield from _query_table(sorted(pairs, key=_order), before.k)
    yield ()
    yield from _totals(runs)


def _setting(run: Evaluation, *, tells_moment: bool) -> str:
    scoring = f"scoring {run.profile}"
    vector, keyword = run.weights
    parts = [scoring if run.label == scoring else f"{run.label}: {scoring}"]
    parts += [f"weights {vector:g} / {keyword:g}", f"threshold {run.threshold:g}"]
    parts += [f"search mode {run.search_mode}"] * (run.search_mode != "hybrid")
    parts += [f"decay to {date_shown(run.as_of)}"] * tells_moment
    return one_line(" · ".join(parts))


def _order(pair: Pair) -> tuple[bool, float, bool, float, bool]:
    """What got worse, what got better, and then the worst; a prompt won or lost weighs as much as a rank."""
    was, is_now = pair
    gain = (is_now.ndcg - was.ndcg) + (is_now.in_prompt - was.in_prompt)
    is_same = (was.hit, was.ndcg, was.in_prompt) == (is_now.hit, is_now.ndcg, is_now.in_prompt)
    return is_same, 0.0 if is_same else gain, is_now.hit, is_now.ndcg, is_now.in_prompt


def _query_table(pairs: Sequence[Pair], k: int) -> Iterator[Line]:
    rows = [(_hit(*pair), _rank(*pair), _ndcg(*pair), _prompt(*pair)) for pair in pairs]
    names = ("", "rank", f"nDCG@{k}", "prompt")
    wide = [max(len(name), *(map(_cells, column))) for name, column in zip(names, zip(*rows, strict=True), strict=True)]
    room = max(_LEAST_ROOM, width() - sum(wide) - 2 * len(wide))
    head = "  ".join(padded(name, cell) for name, cell in zip(names, wide, strict=True))
    yield (Styled(f"{head}  query", DIM),)
    for row, (_, is_now) in zip(rows, pairs, strict=True):
        parts: list[Part] = []
        for cell, wanted in zip(row, wide, strict=True):
            parts += [*cell, " " * (wanted - _cells(cell) + 2)]
        yield (*parts, *_asked(is_now, room))


def _cells(parts: Sequence[Part]) -> int:
    return sum(cells(part if isinstance(part, str) else part.text) for part in parts)


def _hit(was: QueryFigures, is_now: QueryFigures) -> list[Part]:
    marks = [Styled("✓ hit", GREEN) if figures.hit else Styled("✗ miss", RED) for figures in (was, is_now)]
    return [marks[1]] if was.hit == is_now.hit else [marks[0], ARROW, marks[1]]


def _rank(was: QueryFigures, is_now: QueryFigures) -> list[Part]:
    """The place of the first expected one."""
    before, after = (f"{round(1 / each.reciprocal_rank)}" if each.hit else NOTHING for each in (was, is_now))
    return _changed(before, after)


def _changed(was: str, is_now: str) -> list[Part]:
    return [is_now if was == is_now else f"{was}{ARROW}{is_now}"]


def _ndcg(was: QueryFigures, is_now: QueryFigures) -> list[Part]:
    before, after, gain = _compared(was.ndcg, is_now.ndcg)
    return [after] if not gain.text else [f"{before}{ARROW}{after} ", gain]


def _prompt(was: QueryFigures, is_now: QueryFigures) -> list[Part]:
    return _changed("yes" if was.in_prompt else "no", "yes" if is_now.in_prompt else "no")


def _asked(figures: QueryFigures, room: int) -> list[Part]:
    """The query's name and, where something is left to wish for, what was expected."""
    name = cut(one_line(figures.asked.name[:_LONGEST_NAME]) or "a blank query", room)
    left = room - cells(name) - 2
    if figures.hit or left < _LEAST_ROOM:
        return [name]
    expected = ", ".join(one_line(key[:_LONGEST_NAME]) or '""' for key in figures.asked.expected[:_LEAST_ROOM])
    return [name, "  ", Styled(cut(f"expected {expected}", left), DIM)]


def _totals(runs: Sequence[Evaluation]) -> Iterator[Line]:
    before, after = runs[0].in_all, runs[-1].in_all
    k = runs[0].k
    says = {
        "hit_rate": ("hit rate", f"an expected key is among the first {k}"),
        "mrr": ("MRR", "1 / rank of the first expected key"),
        "ndcg": (f"nDCG@{k}", "1.00: all expected keys come first"),
        "prompt_rate": ("prompt rate", "an expected key is in the prompt"),
    }
    left = max(len(name) for name, _ in says.values())
    labels = [*(one_line(run.label) for run in runs), "difference"] if len(runs) > 1 else [""]
    wide = [max(6, cells(label)) for label in labels]
    room = width() - left - sum(wide) - 2 * len(wide) - 3
    is_explained = all(len(meaning) <= room for _, meaning in says.values())
    if len(runs) > 1:
        heads = (padded(label, wanted, right=True) for label, wanted in zip(labels, wide, strict=True))
        yield (Styled("  ".join([" " * left, *heads]), DIM),)
    for measure in MEASURES:
        name, meaning = says[measure]
        was, is_now, gain = _compared(before[measure], after[measure])
        shown = [Styled(was, BOLD), Styled(is_now, BOLD), gain][: len(wide)]
        parts: list[Part] = [padded(name, left)]
        for cell, wanted in zip(shown, wide, strict=True):
            parts += ["  ", Styled(padded(cell.text or "0.00", wanted, right=True), cell.code)]
        yield (*parts, "   ", Styled(meaning, DIM)) if is_explained else parts


def _compared(was: float, is_now: float) -> tuple[str, str, Styled]:
    """Both with two decimals, or as many more as it takes to tell them apart, and the gain; "" where they are equal."""
    if was == is_now:
        return f"{was:.2f}", f"{is_now:.2f}", Styled("", DIM)
    decimals = next((some for some in range(2, _MOST_DECIMALS) if f"{was:.{some}f}" != f"{is_now:.{some}f}"), 2)
    gain = is_now - was
    return f"{was:.{decimals}f}", f"{is_now:.{decimals}f}", Styled(f"{gain:+.{decimals}f}", GREEN if gain > 0 else RED)
