"""docs/decisions/README.md lists every decision once, as the pages' headers say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parents[2] / "docs/decisions"
FIELDS = ["Date", "Status", "Successors", "No longer holds", "Scope"]
STATUSES = {"accepted", "partly obsolete", "obsolete"}
PAGES = sorted(page for page in FOLDER.glob("*.md") if page.name != "README.md")


class Decision(NamedTuple):
    file: str
    number: str
    title: str
    date: str
    status: str
    successors: list[str]


def links(text: str) -> list[str]:
    return re.findall(r"\((\d{4}-[\w-]+\.md)\)", text)


def from_page(page: Path) -> Decision:
    title, empty, *lines = page.read_text().splitlines()
    found = re.fullmatch(r"# (\d{4}) · (.+)", title)
    assert found and not empty, f"{page.name}: expected '# NUMBER · TITLE' and an empty line, got {title!r}"
    header = dict(re.findall(r"^- ([A-Z][\w ]+): (.+)$", "\n".join(lines[: lines.index("")]), re.MULTILINE))
    assert list(header) == [key for key in FIELDS if key in header], f"{page.name}: fields {list(header)}"
    successors = links(header.get("Successors", ""))
    return Decision(page.name, found[1], found[2], header["Date"], header["Status"], successors)


def from_index() -> list[Decision]:
    rows = re.findall(r"^\| \[(\d{4})\]\(([\w-]+\.md)\) \| (.+)$", (FOLDER / "README.md").read_text(), re.MULTILINE)
    decisions = []
    for number, file, row in rows:
        title, date, status, successors = (cell.strip() for cell in row.removesuffix("|").split("|"))
        decisions.append(Decision(file, number, title, date, status, links(successors)))
    return decisions


def test_the_index_agrees_with_the_pages() -> None:
    assert from_index() == [from_page(page) for page in PAGES]


def test_numbers_are_consecutive() -> None:
    assert [page.name[:4] for page in PAGES] == [f"{number:04}" for number in range(1, len(PAGES) + 1)]


def test_headers() -> None:
    names = {page.name for page in PAGES}
    for page in PAGES:
        decision = from_page(page)
        assert decision.number == page.name[:4] and decision.status in STATUSES
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", decision.date)
        assert bool(decision.successors) == (decision.status != "accepted"), f"{page.name}: successors and status"
        assert set(decision.successors) <= names, f"{page.name}: no such successor"
        assert ("- No longer holds: " in page.read_text()) == (decision.status == "partly obsolete"), page.name
