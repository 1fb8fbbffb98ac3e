"""The page of a tuning run, `perpend tune --html`: everything that was tried is on it, and it needs no other file."""

import re
import sqlite3
from contextlib import closing
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

from cli.tool import DIGITS, GOOD, USAGE_ERROR, VERSION, perpend, reject

TUNE = ("tune", DIGITS, "--symbol", "n=2", "-o", "t.db", "--html", "t.html", "--budget")


class Page(HTMLParser):
    """Fails where an element is not closed, or something is fetched."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.titles: list[str] = []
        self.headings: list[str] = []
        self.steps: list[list[tuple[float, float]]] = []
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)
        assert self.open == []

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag == "polyline":
            points = (dict(attributes)["points"] or "").split()
            self.steps.append([(float(x), float(y)) for x, y in (point.split(",") for point in points)])

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "img", "link", "iframe"), tag
        assert not {"src", "href", "onclick", "onload"} & {name for name, _ in attributes}
        if tag in ("meta", "br"):
            return
        self.open.append(tag)
        if tag == "tr":
            self.tables.setdefault(self.headings[-1], []).append([])
        elif tag in ("td", "th"):
            self.tables[self.headings[-1]][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "h2" in self.open[-1:]:
            self.headings.append(data)
        elif "circle" in self.open and self.open[-1] == "title":
            self.titles.append(data)
        elif {"td", "th"} & set(self.open):
            self.tables[self.headings[-1]][-1][-1] += data


def tune(folder: Path, budget: str, *options: str) -> Page:
    done = perpend(*TUNE, budget, *options, folder=folder)
    assert done.returncode == GOOD and "\nwrote t.html\nwrote t.db\n" in done.stdout, done.stderr
    return Page(folder / "t.html")


def test_a_run(tmp_path: Path) -> None:
    page = tune(tmp_path, "5s", "--seed", "3")
    head, *kernels = page.tables["Kernels"]
    assert head[0] == "kernel" and head[5] == "candidates" and len(kernels) >= 2
    assert f"Tuning {DIGITS}" in page.text and "seed 3, threads 1, n=2" in page.text
    assert [row[0] for row in kernels] == [name for name in page.headings if name in {row[0] for row in kernels}]
    candidates = sum(int(row[5]) for row in kernels)
    measured = [row for row in kernels if row[2] != "-"]  # all, if the machine is not busy
    assert measured and len(page.titles) == candidates + len(measured)  # and the compiler's own
    own = [title for title in page.titles if title.endswith("\nthe compiler's own trace")]
    assert len(own) >= len(measured)
    assert all(re.match(r"\d+\.\d\d s: (measured, |refused, |wrong|crashed|timed out)", title) for title in page.titles)
    assert sum("\n- " in title for title in page.titles) >= candidates - len(own)
    assert len(page.steps) == 1 + len(measured)
    for points in page.steps:
        assert points[-1][0] == 960.0 and all(a[0] <= b[0] and a[1] <= b[1] for a, b in pairwise(points))


def test_why_one_was_none(tmp_path: Path, tiny: Path) -> None:
    """What is known is tried first: a trace that the primitives refuse, with a text that a page has to escape."""
    words = ("tune", tiny, *TUNE[2:])
    perpend(*words, "0.001s", folder=tmp_path)
    text = perpend("inspect", tiny, "--schedules", folder=tmp_path).stdout
    found = re.search(r'^schedule @(\w+) structure "(\w+)" for "([^"]+)"', text, re.M)
    assert found
    name, structure, target = found.groups()
    values = (structure, target, name, '%b = get_block "<b>&amp;"', VERSION)
    with closing(sqlite3.connect(tmp_path / "t.db")) as database, database:
        rest = "5e-6, 0, 1e-5, 7, ?, 'a test', '2026-11-23T12:00:00Z', '', 1, ''"
        database.execute("delete from records")
        database.execute(f"insert into records values (?, ?, 'n=2', 1, ?, ?, {rest})", values)
    assert perpend(*words, "1.5s", folder=tmp_path).returncode == GOOD
    page = Page(tmp_path / "t.html")
    head, *rows = page.tables["Not measured"]
    assert head == ["candidates", "outcome", "why", "the first of them"]
    row = next(row for row in rows if "<b>&amp;" in row[2])
    assert row[:2] == ["1", "refused"] and "get_block: expected one of the blocks " in row[2]
    assert '+ %b = get_block "<b>&amp;"' in row[3] and "\n- " in "\n" + row[3]
    assert next(row for row in page.tables["Kernels"] if row[0] == name)[6] != "0"


def test_no_time(tmp_path: Path) -> None:
    """Nothing is measured: there is a page still, of nothing."""
    done = perpend(*TUNE, "0.000001s", folder=tmp_path)
    assert done.returncode in (GOOD, 1) and "nan" not in Page(tmp_path / "t.html").text


def test_wrong_options(tmp_path: Path) -> None:
    message = reject(*TUNE[:4], "--list", "--html", "t.html", folder=tmp_path, code=USAGE_ERROR)
    assert "option '--html' is for a page of a search, got --list\nhint: " in message
    message = reject(*TUNE[:4], "-o", "t.db", "--html", "t.db", folder=tmp_path, code=USAGE_ERROR)
    assert "option '--html' is for a page of a search, got the database's own name" in message
    message = reject(*TUNE[:6], "--html", "none/t.html", "--budget", "60s", folder=tmp_path)
    assert "cannot write 'none/t.html': No such file or directory" in message
    assert list(tmp_path.iterdir()) == []
