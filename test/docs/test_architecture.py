"""docs/architecture.md is what docs/generate_architecture.py writes. The dumps change with every pass, so of them only
the phases and the dialects that each one shows are compared."""

from __future__ import annotations

import re
from pathlib import Path

import generate_architecture

ROOT = Path(__file__).resolve().parents[2]

HINT = "hint: run docs/generate_architecture.py and commit docs/architecture.md"
DIALECTS = ["func", "graph", "tile", "scf", "memref", "llvm"]


def split_page(page: str) -> tuple[str, str]:
    before, title, after = page.partition(generate_architecture.DUMPS_TITLE)
    assert title, f"no section '{generate_architecture.DUMPS_TITLE}'; {HINT}"
    return before, title + after


def shown(dumps: str) -> dict[str, set[str]]:
    """The dialects of the text behind every phase."""
    sections = re.findall(r"^### (\d+\. \w+)$(.*?)(?=^### |\Z)", dumps, re.M | re.S)
    return {phase: {name for name in DIALECTS if re.search(rf"\b{name}\.\w", text)} for phase, text in sections}


def test_structure() -> None:
    committed, _ = split_page(generate_architecture.PAGE.read_text())
    assert committed.strip() == generate_architecture.structure().strip(), HINT


def test_dumps() -> None:
    _, committed = split_page(generate_architecture.PAGE.read_text())
    written = generate_architecture.dumps(ROOT / "build" / "bin" / "perpend")
    assert shown(committed) == shown(written), HINT
    assert len(shown(committed)) == len(generate_architecture.phases())


def test_every_primitive_is_listed() -> None:
    names = [name for name, _ in generate_architecture.operators("src/graph/Ops.td", "graph")]
    assert {"graph.constant", "graph.map", "graph.conv", "graph.call_kernel"} < set(names)
    assert len(names) == (ROOT / "src/graph/Ops.td").read_text().count("\ndef ")
