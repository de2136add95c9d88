"""The files and layers named in the guide exist."""

from __future__ import annotations

import re
from pathlib import Path

from house.test_house_layers import LAYERS

PACKAGE = Path(__file__).parents[2] / "zeroclaw_tui"
GUIDE = (PACKAGE / "README.md").read_text("utf-8")


def test_every_file_named_in_the_guide_exists() -> None:
    named = re.findall(r"`([a-z_]+/[\w/]*)(?:\.py)?`", GUIDE)
    assert len(named) > 30
    assert [name for name in named if not (PACKAGE / name).is_dir() and not (PACKAGE / f"{name}.py").is_file()] == []


def test_the_map_lists_every_package_in_its_layer() -> None:
    lines = re.findall(r"^((?:\w+/ +)+)layer (\d)", GUIDE, re.MULTILINE)
    shown = {name.rstrip("/"): int(layer) for names, layer in lines for name in names.split()}
    assert shown == {name: layer for name, layer in LAYERS.items() if name != "__main__"}


def test_every_class_in_the_table_of_nouns_is_in_the_named_file() -> None:
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|.*\| (`[\w/.]+`(?:, `[\w/.]+`)*) \|$", GUIDE, re.MULTILINE)
    assert len(rows) >= 15
    for names, files in rows:
        sources = "".join((PACKAGE / file).read_text("utf-8") for file in re.findall(r"`([^`]+)`", files))
        for name in re.findall(r"`(\w+)`", names):
            assert re.search(rf"^(class {name}\b|{name}\b.* = )", sources, re.MULTILINE), name
