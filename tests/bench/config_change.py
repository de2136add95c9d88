"""What changing a key of a very large config costs, in readings of it: run `python tests/bench/config_change.py`.

590 KB in 2,600 sections, secrets among them. Planning the new text has at most 5 to cost, comparing it with the old one
at most 4, and showing a file that is all new, where every line is masked, at most 10.
"""

from __future__ import annotations

import statistics
import time
import tomllib
from collections.abc import Callable

from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.save import difference

SECTION = """
# Channel {0}
[channels.room{0}]
bot_token = "123456:{0:035}"
allowed = ["user{0}", "another{0}"]
url = "https://host{0}.example/v1?limit=5"
retries = {0}
is_on = true
note = "some words about it"
"""
TEXT = '[memory]\nbackend = "sqlite"\nvector_weight = 0.7 # mine\n' + "".join(map(SECTION.format, range(2600)))
ROUNDS = 5
CHANGE = {("memory", "vector_weight"): 0.5, ("memory", "min_relevance_score"): 0.33}


def main() -> None:
    # A document keeps what was found in its text, so that each round begins with new ones.
    after = ConfigDocument.from_text(TEXT).with_values(CHANGE).text
    works: dict[str, tuple[Callable[[ConfigDocument, ConfigDocument], object], float]] = {
        "read by tomllib": (lambda old, new: tomllib.loads(old.text), 1),
        "plan the new text": (lambda old, new: old.with_values(CHANGE), 5),
        "compare it with the old one": (difference, 4),
        "show it as a new file": (lambda old, new: difference(ConfigDocument(), new), 10),
    }
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, (work, _) in works.items():
            old, new = ConfigDocument.from_text(TEXT), ConfigDocument.from_text(after)
            start = time.process_time()
            work(old, new)
            taken[name].append(time.process_time() - start)
    (bare, *_) = (statistics.median(times) for times in taken.values())
    print(f"{len(TEXT):,} characters{'':13} {'ms CPU':>7} {'ratio':>6} {'bar':>4}")
    for name, (_, bar) in works.items():
        spent = statistics.median(taken[name])
        print(f"{name:30} {spent * 1000:7.0f} {spent / bare:6.1f} {bar:4}")


if __name__ == "__main__":
    main()
