"""Databases of tuning: what `perpend db` says of them and makes of them, and that it loses nothing."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cli.tool import DIGITS, GOOD, USAGE_ERROR, VERSION, perpend, reject, succeed

VERSION_ONE = """
create table records (
  structure text not null, target text not null, symbols text not null, threads integer not null,
  kernel text not null, trace text not null,
  seconds real not null, spread_seconds real not null, default_seconds real not null, trials integer not null,
  compiler text not null, origin text not null, date text not null,
  primary key (structure, target, symbols, threads)
) without rowid;
pragma application_id = 1348825712;
pragma user_version = 1;
"""
COLUMNS = (
    "structure, target, symbols, threads, kernel, trace, seconds, spread_seconds, default_seconds, trials, compiler,"
    " origin, date, primitives"
)
ODD = 'a "quoted" \\ name, \N{LATIN SMALL LETTER E WITH ACUTE} and \N{SLIGHTLY SMILING FACE}\n\n%b\tc\n'


def rows(path: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(f"select {COLUMNS} from records").fetchall()


def make(path: Path, *records: dict[str, Any]) -> Path:
    """A database of these, which are like this one where they do not say otherwise."""
    succeed_silently("tune", DIGITS, "--symbol", "n=2", "-o", path, "--budget", "0.001s", folder=path.parent)
    for record in records:
        usual: dict[str, Any] = {
            "structure": "0123456789abcdef",
            "target": "x86-64-v3,l2=2M",
            "symbols": "n=64",
            "threads": 1,
            "kernel": "matmul_add_0123",
            "trace": '%b = get_block "contract"\nparallel %b',
            "seconds": 5e-6,
            "spread_seconds": 1e-7,
            "default_seconds": 1e-5,
            "trials": 10,
            "compiler": VERSION,
            "origin": "a test",
            "date": "2026-11-23T12:00:00Z",
            "primitives": "",
        }
        assert set(record) <= set(usual)
        values = usual | record
        with closing(sqlite3.connect(path)) as database, database:
            names, marks = ", ".join(values), ", ".join("?" * len(values))
            database.execute(f"insert into records ({names}) values ({marks})", list(values.values()))
    return path


def succeed_silently(*arguments: object, folder: Path) -> None:
    """What is on the standard error is its progress."""
    done = perpend(*arguments, folder=folder)
    assert done.returncode == GOOD, done.stderr


def damage(path: Path, page: int = 3) -> None:
    data = bytearray(path.read_bytes())
    data[page * 4096 : (page + 1) * 4096] = b"\xff" * 4096
    path.write_bytes(data)


def structures(path: Path) -> set[str]:
    return {row[0] for row in rows(path)}


#
# What it does
#


def test_list(tmp_path: Path) -> None:
    path = make(tmp_path / "t.db", {}, {"target": "x86-64", "threads": 2, "symbols": "", "compiler": "0.0.9"})
    before = path.read_bytes()
    text = succeed("db", "list", path, folder=tmp_path)
    first, second = text.split("\n\n")[:2]
    assert first.startswith("target x86-64\n") and second.startswith("target x86-64-v3,l2=2M\n")
    assert second.splitlines()[2].split() == [
        *["2.00x", "5.0000", "us", "2%", "10", "1", VERSION, "2026-11-23", "matmul_add_0123", "n=64"]
    ]
    assert "0.0.9*" in first and "\n* of another version of the compiler" in text and text.endswith("\n\n2 records\n")
    assert path.read_bytes() == before
    assert succeed("db", "list", make(tmp_path / "none.db"), folder=tmp_path) == "0 records\n"


def test_what_a_tuner_finds_is_of_this_compiler(tmp_path: Path) -> None:
    """If it finds something, which no test can ask for."""
    tune = ("tune", DIGITS, "--symbol", "n=16", "-o", "t.db", "--budget")
    for seconds in (4, 8):
        succeed_silently(*tune, f"{seconds}s", folder=tmp_path)
        if rows(tmp_path / "t.db"):
            break
    assert all(re.fullmatch("[0-9a-f]{16}", row[-1]) and row[10] == VERSION for row in rows(tmp_path / "t.db"))
    assert "*" not in succeed("db", "list", "t.db", folder=tmp_path)
    text = succeed("db", "prune", "t.db", "--other-compilers", folder=tmp_path)
    assert text.startswith("removed 0 records, ")


def test_merge(tmp_path: Path) -> None:
    make(tmp_path / "a.db", {"trace": "slow", "seconds": 9e-6}, {"structure": "a", "compiler": "0.9.0"})
    make(tmp_path / "b.db", {"trace": "fast", "seconds": 1e-6}, {"structure": "a", "compiler": "0.10.0", "seconds": 1})
    before = [(tmp_path / name).read_bytes() for name in ("a.db", "b.db")]
    for order in (["a.db", "b.db"], ["b.db", "a.db"]):
        (tmp_path / "c.db").unlink(missing_ok=True)
        text = succeed("db", "merge", *order, "-o", "c.db", folder=tmp_path)
        assert text == "wrote c.db: 2 records, of 4 read\n"
        by_structure = {row[0]: row for row in rows(tmp_path / "c.db")}
        assert by_structure["0123456789abcdef"][5:7] == ("fast", 1e-6)
        assert by_structure["a"][10] == "0.10.0" and {row[9] for row in by_structure.values()} == {20}
    assert [(tmp_path / name).read_bytes() for name in ("a.db", "b.db")] == before
    succeed("db", "merge", "a.db", "a.db", "b.db", "-o", "d.db", folder=tmp_path)
    assert {row[9] for row in rows(tmp_path / "d.db")} == {30}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.db", "b.db", "c.db", "d.db"]


def test_export(tmp_path: Path) -> None:
    odd = {"kernel": ODD, "trace": ODD, "seconds": 0.1 + 0.2, "spread_seconds": 1 / 3e9, "trials": 2**62 + 1}
    path = make(tmp_path / "t.db", odd, {"structure": "b", "trace": ""})
    text = succeed("db", "export", path, folder=tmp_path)
    records = json.loads(text)["perpend records"]
    for record in records:
        record["trace"] = "\n".join(record["trace"])
    assert sorted(tuple(record[name] for name in COLUMNS.split(", ")) for record in records) == sorted(rows(path))
    assert succeed("db", "export", path, "-o", "t.json", folder=tmp_path) == "wrote t.json: 2 records\n"
    assert (tmp_path / "t.json").read_text() == text
    succeed("db", "merge", "t.json", "-o", "again.db", folder=tmp_path)
    assert rows(tmp_path / "again.db") == rows(path)
    assert succeed("db", "list", "t.json", folder=tmp_path) == succeed("db", "list", path, folder=tmp_path)


def test_prune(tmp_path: Path) -> None:
    given: list[dict[str, Any]] = [
        {"structure": "old", "date": "2020-01-01T00:00:00Z"},
        {"structure": "other", "compiler": "0.0.1", "date": "2999-01-01T00:00:00Z"},
        {"structure": "elsewhere", "target": "x86-64,l2=1M", "date": "2999-01-01T00:00:00Z"},
        {"structure": "primitives", "primitives": "0123456789abcdef", "date": "2999-01-01T00:00:00Z"},
    ]
    everything = {record["structure"] for record in given}
    for options, removed in (
        ("--older-than 30d", {"old"}),
        ("--older-than 10h", {"old"}),
        ("--older-than 100000d", set()),
        ("--target x86-64,l2=1M", {"elsewhere"}),
        ("--target made-up", set()),
        ("--other-compilers", {"other", "primitives"}),
        ("--other-compilers --older-than 30d", set()),
    ):
        path = tmp_path / "t.db"
        path.unlink(missing_ok=True)
        make(path, *given)
        text = succeed("db", "prune", path, *options.split(), folder=tmp_path)
        count = f"{len(removed)} record{'' if len(removed) == 1 else 's'}"
        assert text == f"removed {count}, {len(given) - len(removed)} left\n", options
        assert structures(path) == everything - removed, options


def test_a_target_is_resolved(tmp_path: Path) -> None:
    name = succeed("targets", folder=tmp_path).splitlines()[0].removeprefix("host = ").split(":")[0]
    path = make(tmp_path / "t.db", {"target": name}, {"target": "x86-64"})
    assert succeed("db", "prune", path, "--target", "host", folder=tmp_path) == "removed 1 record, 1 left\n"


def test_version_one(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(VERSION_ONE)
        values = "'s', 'x86-64', '', 1, 'k', 'a trace', 5e-6, 0, 1e-5, 7, ?, 'a test', '2026-11-23T12:00:00Z'"
        database.execute(f"insert into records values ({values})", [VERSION])
        database.commit()
    before = path.read_bytes()
    assert f" {VERSION} " in succeed("db", "list", path, folder=tmp_path)
    succeed("db", "merge", path, "-o", "new.db", folder=tmp_path)
    assert path.read_bytes() == before
    assert succeed("db", "prune", path, "--other-compilers", folder=tmp_path) == "removed 0 records, 1 left\n"
    succeed_silently("tune", DIGITS, "--symbol", "n=2", "-o", path, "--budget", "0.001s", folder=tmp_path)
    assert rows(path) == rows(tmp_path / "new.db") and rows(path)[0][5:10] == ("a trace", 5e-6, 0, 1e-5, 7)


#
# What is wrong with files and options
#


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A database of some pages."""
    return make(tmp_path / "t.db", *[{"structure": f"{n:016x}", "trace": "a" * 900} for n in range(0, 2**64, 2**60)])


def test_salvage(many: Path) -> None:
    whole = rows(many)
    text = succeed("db", "salvage", many, "-o", "copy.db", folder=many.parent)
    assert text == "wrote copy.db: 16 records, all of those in the file, which is not damaged\n"
    assert rows(many.parent / "copy.db") == whole
    (many.parent / "copy.db").unlink()
    damage(many)
    before = many.read_bytes()
    for words in ("db list t.db", "db merge t.db -o new.db", "db export t.db", "db prune t.db --older-than 1d"):
        message = reject(*words.split(), folder=many.parent)
        assert message.startswith("error: the database 't.db' is damaged: ") and message.count("\n") == 2
        assert message.endswith("\nhint: `perpend db salvage FILE -o NEW` saves what can be read of it\n")
    text = succeed("db", "salvage", many, "-o", "saved.db", folder=many.parent)
    saved = rows(many.parent / "saved.db")
    assert text == f"wrote saved.db: {len(saved)} records saved; they may include removed ones\n"
    assert set(saved) < set(whole) and len(saved) > 8
    assert many.read_bytes() == before and sorted(path.name for path in many.parent.iterdir()) == ["saved.db", "t.db"]
    many.write_bytes(before[:100])
    message = reject("db", "salvage", many, "-o", "nothing.db", folder=many.parent)
    assert f"nothing of '{many}' can be saved: " in message and not (many.parent / "nothing.db").exists()


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("schedule @k {\n}\n" * 100)
    (tmp_path / "text.json").write_text("[1, 2]")
    for action, *more in (["list"], ["merge", "-o", "x.db"], ["export"], ["prune", "--older-than", "1d"]):
        message = reject("db", action, "none.db", *more, folder=tmp_path)
        assert "cannot read the database 'none.db': no such file\nhint: `perpend tune MODEL -o FILE`" in message
        message = reject("db", action, "text.db", *more, folder=tmp_path)
        assert "'text.db' is no database of tuning\nhint: " in message
        if action != "prune":
            message = reject("db", action, "text.json", *more, folder=tmp_path)
            assert "'text.json': " in message and "hint: `perpend db export FILE` writes it" in message
            assert "cannot read 'none.json': No such file" in reject("db", action, "none.json", *more, folder=tmp_path)
    assert "no such file" in reject("db", "salvage", "none.db", "-o", "x.db", folder=tmp_path)
    assert "nothing of 'text.db' can be saved: " in reject("db", "salvage", "text.db", "-o", "x.db", folder=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.db", "text.json"]


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    path = make(tmp_path / "t.db", {})
    (tmp_path / "link.db").symlink_to("t.db")
    (tmp_path / "other.txt").write_text("mine")
    before = path.read_bytes()
    for action in ("merge", "salvage"):
        for output in ("t.db", "link.db", "other.txt", "."):
            message = reject("db", action, "t.db", "-o", output, folder=tmp_path)
            assert f"the output '{output}' exists\nhint: choose another name" in message
        message = reject("db", action, "t.db", "-o", "none/t.db", folder=tmp_path)
        assert "cannot write 'none/t.db': No such file or directory\nhint: the folder must exist" in message
    message = reject("db", "export", "t.db", "-o", "t.db", folder=tmp_path)
    assert "output 't.db' is the input itself" in message
    assert path.read_bytes() == before and (tmp_path / "other.txt").read_text() == "mine"


def test_usage(tmp_path: Path) -> None:
    def said(*arguments: object) -> str:
        return reject("db", *arguments, folder=tmp_path, code=USAGE_ERROR)

    make(tmp_path / "t.db", {})
    assert "an action is missing\nhint: usage: perpend db ACTION" in said()
    assert "unknown action 'lst'\nhint: did you mean 'list'?" in said("lst")
    assert "unknown action 'frobnicate'\nhint: actions: list, merge, export, prune, salvage" in said("frobnicate")
    for action in ("list", "merge", "export", "prune", "salvage"):
        assert f"a database is missing\nhint: usage: perpend db {action} FILE" in said(action)
        text = succeed("db", action, "--help", folder=tmp_path)
        assert text.startswith(f"usage: perpend db {action} FILE") and f"\n  perpend db {action} " in text
        assert f"\n  {action} " in succeed("db", "--help", folder=tmp_path)
    for action in ("list", "export", "prune", "salvage"):
        assert "unexpected argument 'b.db'" in said(action, "a.db", "b.db")
    for action in ("merge", "salvage"):
        assert "no output\nhint: -o " in said(action, "t.db")
    assert "no option selects the records to remove\nhint: --older-than, " in said("prune", "t.db")
    for age in ("30", "d", "-3d", "1.5d", "soon", "30m", "99999999999d"):
        assert f"option '--older-than': expected a time such as 30d or 12h, got '{age}'" in said(
            "prune", "t.db", f"--older-than={age}"
        )
    assert "did you mean '--other-compilers'?" in said("prune", "t.db", "--other-compiler")
    assert len(rows(tmp_path / "t.db")) == 1
