"""What `perpend compile --database` says of kernels: for which there is a record, and why others have none."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from cli.tool import DIGITS, USAGE_ERROR, VERSION, perpend, reject, succeed

SECTION = re.compile(r'^schedule @(\w+) structure "(\w+)" for "([^"]+)" \{\n(.*?)^\}', re.M | re.S)


class Tuned:
    """A model and a database for it, which has no record at first."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "t.db"
        done = perpend("tune", DIGITS, "--symbol", "n=2", "-o", self.path, "--budget", "0.001s", folder=self.folder)
        assert self.path.exists(), done.stderr
        self.execute("delete from records")
        text = succeed("inspect", DIGITS, "--schedules", folder=self.folder)
        self.kernels: list[tuple[str, str, str, str]] = [
            (name, structure, target, "\n".join(line.strip() for line in trace.splitlines() if "//" not in line))
            for name, structure, target, trace in SECTION.findall(text)
        ]
        assert len(self.kernels) >= 2

    def execute(self, statement: str, *values: object) -> None:
        with closing(sqlite3.connect(self.path)) as database, database:
            database.execute(statement, values)

    def save(self, number: int, **others: object) -> str:
        """A record of the kernel of this number, whose name it returns."""
        name, structure, target, trace = self.kernels[number]
        record: dict[str, object] = {
            "structure": structure, "target": target, "symbols": "n=2", "threads": 1, "kernel": name, "trace": trace,
            "seconds": 1e-6, "spread_seconds": 0.0, "default_seconds": 1.5e-6, "trials": 3, "compiler": VERSION,
            "origin": "a test", "date": "2026-11-23T12:00:00Z",
        } | others  # fmt: skip
        marks = ", ".join("?" * len(record))
        self.execute(f"insert into records ({', '.join(record)}) values ({marks})", *record.values())
        return name

    def says(self, *options: str, warnings: int = 0) -> list[str]:
        done = perpend("compile", DIGITS, "-o", "m.so", "--database", "t.db", *options, folder=self.folder)
        assert done.returncode == 0 and done.stderr.count("warning: ") == warnings, done.stderr
        found = re.search(r"^(database: .*\n(?:  .*\n)*)", done.stdout, re.M)
        assert found, done.stdout
        return found[1].splitlines()


@pytest.fixture
def tuned(tmp_path: Path) -> Tuned:
    return Tuned(tmp_path)


def test_hits_and_misses(tuned: Tuned) -> None:
    count = len(tuned.kernels)
    assert tuned.says() == [f"database: records for 0 of {count} kernels; none for {count}"]
    name = tuned.save(0)
    assert tuned.says() == [f"database: records for 1 of {count} kernels; none for {count - 1}"]
    head, *reasons = tuned.says("--explain")
    assert head == tuned.says()[0] and len(reasons) == count
    assert reasons[0] == f"  {name}: gain 1.50x with n=2, 1 thread"
    assert reasons[1:] == [f"  {other}: no record" for other, *_ in tuned.kernels[1:]]


def test_another_target(tuned: Tuned) -> None:
    name = tuned.save(0, target="x86-64-v3,l2=3M")
    tuned.save(0, target="x86-64")
    head, reason, *_ = tuned.says("--explain")
    assert head.startswith("database: records for 0 of ") and head.endswith("; another target's for 1")
    ours = tuned.kernels[0][2]
    assert reason == f"  {name}: its records are for x86-64 and x86-64-v3,l2=3M, expected one for {ours}"


@pytest.mark.parametrize("line", [1, 2])
def test_a_refused_record(tuned: Tuned, line: int) -> None:
    lines = tuned.kernels[0][3].splitlines()
    name = tuned.save(0, trace="\n".join([*lines[: line - 1], '%b = get_block "nothing"', *lines[line:]]))
    head, reason, *_ = tuned.says("--explain", warnings=1)
    assert head.startswith("database: records for 0 of ") and head.endswith("; refused for 1")
    assert reason.startswith(f"  {name}: refused: ") and f"instruction {line}," in reason
    assert "get_block: expected one of the blocks " in reason


def test_another_compiler(tuned: Tuned) -> None:
    name = tuned.save(0, compiler="0.0.9")
    head, reason, *_ = tuned.says("--explain")
    assert head.startswith("database: records for 1 of ") and "; another compiler's for 1" in head
    assert reason == f"  {name}: gain 1.50x with n=2, 1 thread; found by perpend 0.0.9; its trace still applies"
    tuned.execute("update records set compiler = ?, primitives = '0123456789abcdef'", VERSION)
    _, reason, *_ = tuned.says("--explain")
    assert reason.endswith(f"; found by perpend {VERSION} with other primitives; its trace still applies")
    tuned.execute("update records set primitives = ''")  # as version 1 has it
    assert tuned.says("--explain")[1] == f"  {name}: gain 1.50x with n=2, 1 thread"


def test_all_have_records(tuned: Tuned) -> None:
    for number, _ in enumerate(tuned.kernels):
        tuned.save(number)
    count = len(tuned.kernels)
    assert tuned.says() == [f"database: records for {count} of {count} kernels"]


def test_several_machines(tuned: Tuned) -> None:
    head, *reasons = tuned.says("--target", "x86-64,x86-64-v3", "--explain")
    assert re.fullmatch(r"database: records for 0 of (\d+) kernels; none for \1", head)
    assert any(" for x86-64: no record" in reason for reason in reasons)
    assert any(" for x86-64-v3: no record" in reason for reason in reasons)


def test_without_a_database(tuned: Tuned) -> None:
    message = reject("compile", DIGITS, "-o", "m.so", "--explain", folder=tuned.folder, code=USAGE_ERROR)
    assert "option '--explain' is for --database\nhint: leave it out, or name a database" in message


def test_the_module_keeps_no_reason(tuned: Tuned) -> None:
    tuned.save(0, trace='%b = get_block "nothing"')
    done = perpend("compile", DIGITS, "--database", "t.db", "--stop-after", "schedule", folder=tuned.folder)
    assert done.returncode == 0 and "tile.scheduled" in done.stdout and "refused_record" not in done.stdout
