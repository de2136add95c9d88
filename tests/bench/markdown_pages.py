"""Notes of 10,000 and 100,000 lines beside what bare Python takes for the same answer.

Run it with `python tests/bench/markdown_pages.py [lines ...]`. The bare way to a listing is every file read, split and
stripped by ZeroClaw's rule into a dictionary a line; to a recall, the share of the query's words in each line and a
sort. The last column is how many times the bare way's time ours takes. Blocks have no bare way: they are shown beside
the lines.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from side_by_side import medians

from zeroclaw_tui.backends.markdown.store import MarkdownMemory
from zeroclaw_tui.memory.query import MemoryFilter, Sort

PER_FILE = 500
LINE = "- **key {0}**: a note of some words, as people write them, number {0}\n"
PAGE = 50


def write(root: Path, lines: int) -> None:
    (root / "memory").mkdir()
    for at in range(0, lines, PER_FILE):
        text = "".join(map(LINE.format, range(at, at + PER_FILE)))
        (root / "memory" / f"2026-{at // PER_FILE:05}.md").write_text(f"# Daily Log\n\n{text}")


def bare_lines(root: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for path in sorted((root / "memory").iterdir(), reverse=True):
        stripped = (line.strip() for line in path.read_text("utf-8").split("\n"))
        kept = [line.removeprefix("- ") for line in stripped if line and not line.startswith("#")]
        for at, line in enumerate(kept):
            name = f"{path.stem}:{at}"
            found.append(
                {"id": name, "key": name, "content": line, "category": "daily", "timestamp": path.stem,
                 "size": len(line.encode())}
            )  # fmt: skip
    return found


def bare_recall(lines: list[dict[str, object]], query: str) -> list[tuple[float, dict[str, object]]]:
    words = query.lower().split()
    scored = [(sum(word in str(line["content"]).lower() for word in words) / len(words), line) for line in lines]
    return sorted((hit for hit in scored if hit[0] > 0), key=lambda hit: hit[0], reverse=True)[:10]


def measure(lines: int) -> None:
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        root = Path(folder)
        write(root, lines)
        memory = MarkdownMemory(root)
        runner.run(memory.open())
        held = bare_lines(root)

        def anew() -> object:
            fresh = MarkdownMemory(root)
            runner.run(fresh.open())
            return runner.run(fresh.page(MemoryFilter(), Sort(), None, PAGE))

        query = "number 77 words"
        pairs = {
            "first page, read anew": (lambda: bare_lines(root)[:PAGE], anew),
            "recall": (lambda: bare_recall(held, query), lambda: runner.run(memory.recall(query, 10))),
            "order of blocks": (
                lambda: runner.run(memory.order(MemoryFilter(), Sort())),
                lambda: runner.run(memory.order(MemoryFilter(blocks=True), Sort())),
            ),
        }
        for name, (bare, ours) in pairs.items():
            taken = medians({"bare": bare, "ours": ours}, 5)
            theirs, mine = taken["bare"], taken["ours"]
            print(f"{lines:>8,}  {name:24} {theirs:10.1f} ms {mine:10.1f} ms {mine / theirs:6.2f} x")


def main() -> None:
    print(f"{'lines':>8}  {'':24} {'bare':>13} {'ours':>13} {'':>8}")
    for lines in [int(text) for text in sys.argv[1:]] or [10_000, 100_000]:
        measure(lines)


if __name__ == "__main__":
    main()
