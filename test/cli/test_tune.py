"""Tuning: what `perpend tune` finds is what `compile --database` does, and nothing that goes wrong is lost or kept."""

import os
import re
import resource
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest
from cli.tool import DIGITS, GOOD, PERPEND, USAGE_ERROR, USER_ERROR, perpend, reject, save, succeed, value
from e2e.test_states import APPEND
from onnx import helper, numpy_helper

SECTION = re.compile(r'^schedule @(\w+) structure "(\w+)" for "([^"]+)" \{\n(.*?)^\}', re.M | re.S)


def schedules(model: Path, *options: object) -> list[tuple[str, str, str, str]]:
    """Of each kernel: its name, its structure, the target, the trace."""
    done = perpend("inspect", model, "--schedules", *options, folder=model.parent)
    assert done.returncode == GOOD, done.stderr
    return [
        (name, structure, target, "\n".join(line.strip() for line in trace.splitlines() if "//" not in line))
        for name, structure, target, trace in SECTION.findall(done.stdout)
    ]


SHORT = ("tune", DIGITS, "--symbol", "n=2", "-o", "t.db", "--budget", "0.5s")


def execute(path: Path, statement: str, *values: object) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as database, database:
        return database.execute(statement, values).fetchall()


def is_intact(path: Path) -> bool:
    return execute(path, "pragma integrity_check") == [("ok",)]


def save_record(path: Path, structure: str, target: str, trace: str) -> None:
    """As if it had been found; the table is a tuner's."""
    if not path.exists():
        succeed_quietly("tune", DIGITS, "--symbol", "n=2", "-o", path, "--budget", "0.001s", folder=path.parent)
    numbers = "0.5, 0.01, 1.0, 10"  # of seconds, their spread, the rule's seconds, trials
    values = f"?, ?, 'n=64', 1, 'kernel', ?, {numbers}, '0', 'a test', '2026-11-23', '', 1, ''"
    statement = f"insert into records values ({values})"
    execute(path, statement, structure, target, trace)


def succeed_quietly(*arguments: object, folder: Path) -> str:
    """What is on the standard error is its progress."""
    done = perpend(*arguments, folder=folder)
    assert done.returncode == GOOD and "error" not in done.stderr and "warning" not in done.stderr, done.stderr
    return done.stdout


def row_of(table: str) -> tuple[int, float, str]:
    """The last kernel's trials, its gain, its name."""
    found = re.search(r" (\d+) +\S+(?: us)? +(\d+\.\d\d)x  (\w+)\nwrote ", table)
    assert found, table
    return int(found[1]), float(found[2]), found[3]


def agree(model: Path, *options: object) -> None:
    for n in (0, 1, 11):
        text = ["check", model, "--symbol", f"n={n}", "--against", "interpreter", *options]
        done = perpend(*text, folder=model.parent)
        assert done.returncode == GOOD and "the outputs agree" in done.stdout, done.stdout + done.stderr


@pytest.fixture
def database(tiny: Path) -> Path:
    """A record of tiny's kernel, with rows in blocks of 3."""
    ((_, structure, target, trace),) = schedules(tiny)
    path = tiny.parent / "tuned.db"
    save_record(path, structure, target, changed(trace))
    return path


def changed(trace: str) -> str:
    """With another factor for its first split."""
    other = re.sub(r"(split %\w+, \[_, )\d+", r"\g<1>7", trace, count=1)
    assert other != trace
    return other


#
# What it does
#


def test_list(tiny: Path) -> None:
    text = succeed("tune", tiny, "--list", "--symbol", "n=64", folder=tiny.parent)
    head, *rows = text.splitlines()
    assert head.split() == ["calls", "%", "time", "of", "one", "roof", "space", "kernel"]
    assert [row.split()[-1] for row in rows] == [name for name, *_ in schedules(tiny)]
    assert re.fullmatch(r" +1 +100\.0 +\d+\.\d{4} us +\d+% +[\d.e+]+ +\w+", rows[0])
    assert [path.name for path in tiny.parent.iterdir()] == ["tiny.onnx"]


def space_of(tiny: Path, *options: object) -> float:
    text = succeed("tune", tiny, "--list", "--symbol", "n=64", *options, folder=tiny.parent)
    return float(text.splitlines()[1].split()[-2])


def test_spaces(tiny: Path) -> None:
    sizes = {space: space_of(tiny, "--space", space) for space in ("trace", "rules", "all")}
    assert sizes["all"] == space_of(tiny) and sizes["trace"] > 1 and sizes["rules"] > 1
    assert sizes["all"] == pytest.approx(sizes["trace"] + sizes["rules"] - 1, rel=0.01)
    done = perpend(
        "tune", tiny, "-o", "tuned.db", "--symbol", "n=64", "--budget", "3s", "--space", "all", folder=tiny.parent
    )
    assert done.returncode == GOOD and row_of(done.stdout)[0] > 0
    agree(tiny, "--database", "tuned.db")


def test_sketches(tiny: Path) -> None:
    ((name, structure, target, trace),) = schedules(tiny)
    text = f'schedule @{name} structure "{structure}" for "{target}" {{\n{trace}\n}}\n'
    file = tiny.parent / "sketches.txt"
    file.write_text(2 * text)
    own = space_of(tiny, "--space", "trace")
    assert space_of(tiny, "--space", "trace", "--sketches", file) == pytest.approx(3 * own, rel=0.01)
    file.write_text(text.replace(f"@{name}", "@another"))
    done = perpend("tune", tiny, "--list", "--symbol", "n=64", "--sketches", file, folder=tiny.parent)
    assert done.returncode == GOOD and "sketches.txt:1: the sketch of @another is not used: " in done.stderr
    file.write_text(f'schedule @{name} {{\n  %b = get_block "nothing"\n}}\n')
    done = perpend("tune", tiny, "--list", "--symbol", "n=64", "--sketches", file, folder=tiny.parent)
    assert done.returncode == GOOD and "expected one of the blocks " in done.stderr
    reject("tune", tiny, "--list", "--sketches", "none.txt", folder=tiny.parent, code=1)


def test_a_tuned_model(tiny: Path) -> None:
    tune = ["tune", tiny, "-o", "tuned.db", "--symbol", "n=64", "--budget", "3s"]
    done = perpend(*tune, folder=tiny.parent)
    assert done.returncode == GOOD and done.stderr.startswith("measuring kernels: 0 of 1\n")
    assert re.search(r"^\d+ of 3 s: kernels \S+ us -> \S+ us \(\d\.\d\dx\), roof \S+ us$", done.stderr, re.M)
    trials, gain, kernel = row_of(done.stdout)
    ((name, structure, target, _),) = schedules(tiny)
    assert kernel == name and trials > 0
    following = f"next: perpend compile {tiny} -o model.so --database tuned.db\n"
    assert following in done.stdout or "nothing faster than the compiler's own schedules was found\n" in done.stdout
    records = execute(tiny.parent / "tuned.db", "select structure, target, symbols, threads, kernel from records")
    assert records in ([], [(structure, target, "n=64", 1, name)])
    assert (gain > 1) <= (records != [])
    text = succeed("compile", tiny, "-o", "tiny.so", "--database", "tuned.db", folder=tiny.parent)
    assert f"database: records for {len(records)} of 1 kernels" in text
    agree(tiny, "--database", "tuned.db")


def test_the_next_run_goes_on(tiny: Path, database: Path) -> None:
    """What is known is tried first, and what is measured today goes before what a record says."""
    tune = ["tune", tiny, "-o", database, "--symbol", "n=64", "--search", "random", "--seed", "7"]
    done = perpend(*tune, "--budget", "2s", folder=tiny.parent)
    assert done.returncode == GOOD and done.stderr.startswith("known: 1 of 1 kernels, 2.00x to 2.00x\n")
    trials, gain, _ = row_of(done.stdout)
    assert trials >= 1 and is_intact(database)
    records = execute(database, "select default_seconds / seconds, trials, origin from records")
    if any(origin == "a test" for _, _, origin in records):  # what was measured did not say who is faster
        assert [gain for gain, _, _ in records] == [2.0]
    elif gain == 1:
        assert records == []
    else:
        ((known, all_trials, origin),) = records
        assert abs(float(str(known)) - gain) < 0.01 and all_trials == trials + 10 and origin == "random, seed 7"


def test_a_record_that_is_no_gain_goes(tiny: Path, database: Path) -> None:
    """The rule's own loops, without vectors."""
    ((_, _, _, trace),) = schedules(tiny)
    slow = "\n".join(line for line in trace.splitlines() if not line.startswith(("vectorize", "tensorize", "parallel")))
    assert slow != trace
    execute(database, "update records set trace = ?, seconds = 0.001", slow)
    tune = ["tune", tiny, "-o", database, "--symbol", "n=64", "--search", "random", "--budget", "1.5s"]
    done = perpend(*tune, folder=tiny.parent)
    assert done.returncode == GOOD and "known: 1 of 1 kernels, 1000.00x to 1000.00x\n" in done.stderr
    for (gain,) in execute(database, "select default_seconds / seconds from records"):
        assert float(str(gain)) < 100
    other = execute(database, "select count(*) from records where origin = 'a test'")
    assert other == [(0,)]


def test_what_a_record_says_is_done(tiny: Path, database: Path) -> None:
    ((name, structure, target, trace),) = schedules(tiny)
    assert schedules(tiny, "--database", database) == [(name, structure, target, changed(trace))]
    text = succeed("compile", tiny, "-o", "tiny.so", "--database", database, folder=tiny.parent)
    assert "database: records for 1 of 1 kernels; another compiler's for 1\n" in text
    agree(tiny, "--database", database)
    for command in (["run", tiny, "--symbol", "n=5"], ["bench", tiny, "--time", "1"]):
        assert succeed(*command, "--database", database, folder=tiny.parent)


def test_both_compute_the_same(tiny: Path, database: Path) -> None:
    results = []
    for options in ([], ["--database", database]):
        folder = tiny.parent / f"results{len(options)}"
        succeed("run", tiny, "--symbol", "n=11", "--output-dir", folder, *options, folder=tiny.parent)
        results.append(np.load(folder / "y.npy"))
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5, atol=1e-5)


def test_a_schedule_goes_before_a_record(tiny: Path, database: Path) -> None:
    mine = succeed("inspect", tiny, "--schedules", folder=tiny.parent)
    (tiny.parent / "mine.schedules").write_text(mine)
    options = ["--database", database, "--schedules", "mine.schedules", "--stop-after", "schedule"]
    assert "[_, 7" not in succeed("compile", tiny, *options, folder=tiny.parent)
    text = succeed("compile", tiny, "-o", "t.so", *options[:4], folder=tiny.parent)
    assert "database: records for 0 of 0 kernels\n" in text


def test_a_module_that_starts_at_schedules(tiny: Path, database: Path) -> None:
    succeed("compile", tiny, "--dump-phases", "phases", "-o", "a.so", folder=tiny.parent)
    (fused,) = (tiny.parent / "phases").glob("*-fuse.mlir")
    options = ["--start-from", "schedule", "--database", database]
    assert "[_, 7" in succeed("compile", fused, *options, "--stop-after", "schedule", folder=tiny.parent)
    text = succeed("compile", fused, *options, "-o", "b.so", folder=tiny.parent)
    assert "database: records for 1 of 1 kernels" in text


def test_an_input(tiny: Path) -> None:
    """Its rows are the extent; nothing is assumed."""
    np.save(tiny.parent / "x.npy", np.zeros((48, 5), np.float32))
    for option in ("x.npy", "x=x.npy"):
        options = ["--input", option, "-o", f"{len(option)}.db", "--budget", "2s"]
        done = perpend("tune", tiny, *options, folder=tiny.parent)
        assert done.returncode == GOOD and "warning" not in done.stderr, done.stderr
        keys = execute(tiny.parent / f"{len(option)}.db", "select symbols from records")
        assert keys in ([], [("n=48",)])
    list_it = ["tune", tiny, "--list", "--input", "x.npy"]
    assert "input 'x': expected [n, 5], got [48, 5]" in reject(*list_it, "--symbol", "n=3", folder=tiny.parent)
    assert "the model has no input for 'y=x.npy'" in reject(*list_it[:-1], "y=x.npy", folder=tiny.parent)
    assert "the model has no input for 'x.npy'" in reject(*list_it, "--input", "x.npy", folder=tiny.parent)
    assert "input 'x' is given twice" in reject(*list_it, "--input", "x=x.npy", folder=tiny.parent)


def test_an_input_of_one_entry(tmp_path: Path) -> None:
    """Entries have inputs of one name: a file must fit one of them. What fits none is refused."""
    weights = np.arange(40, dtype=np.float32).reshape(5, 8)
    for name, rows in [("prefill", "n"), ("decode", 1)]:
        nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
        save(
            tmp_path / f"{name}.onnx",
            nodes,
            [value("x", [rows, 5])],
            [value("y", [rows, 8])],
            [numpy_helper.from_array(weights, "w")],
        )
    models = ["prefill=prefill.onnx", "decode=decode.onnx"]
    succeed("compile", *models, "--stop-after", "simplify", "-o", "both.mlir", folder=tmp_path)
    list_it = ["tune", "both.mlir", "--list", "--input"]
    np.save(tmp_path / "x.npy", np.zeros((48, 5), np.float32))
    assert succeed(*list_it, "x=x.npy", folder=tmp_path).count("matmul") == 2
    np.save(tmp_path / "x.npy", np.zeros((48, 7), np.float32))
    assert "input 'x': expected [n, 5], got [48, 7]" in reject(*list_it, "x=x.npy", folder=tmp_path)
    np.save(tmp_path / "x.npy", np.zeros((48, 5), np.int32))
    assert "input 'x': expected f32, got i32" in reject(*list_it, "x=x.npy", folder=tmp_path)


def test_a_growing_state(tmp_path: Path) -> None:
    """Runs of the whole model would have other lengths than the kernels were measured with: none refutes a record."""
    (tmp_path / "cache.mlir").write_text(APPEND.replace("capacity = 20", "capacity = 4000"))
    extents = ["--symbol", "n=64", "--symbol", "length=512"]
    done = perpend("tune", "cache.mlir", *extents, "-o", "t.db", "--budget", "12s", folder=tmp_path)
    assert done.returncode == GOOD, done.stderr
    found = execute(tmp_path / "t.db", "select count(*) from records")
    refused = "the model was not measured with the new schedules: its state 'k' grows from run to run" in done.stdout
    assert refused == (found != [(0,)]), done.stdout


def test_a_short_budget(tmp_path: Path) -> None:
    """What was not measured has no row."""
    text = succeed_quietly(*SHORT[:-1], "0.3s", folder=tmp_path)
    kernels = len(schedules(DIGITS))
    _, *rows, others, _, _ = text.splitlines()
    assert others == f"not measured: {kernels - len(rows)} kernels" and 1 <= len(rows) < kernels
    assert all(re.match(r" +\d+ +\d+\.\d +[1-9\d.]+ [mu]s ", row) for row in rows)


#
# Records that do not fit
#


@pytest.mark.parametrize("other", ["structure", "target"])
def test_a_record_of_another(tiny: Path, database: Path, other: str) -> None:
    value = "0123456789abcdef" if other == "structure" else "x86-64-v3,l2=3M"
    execute(database, f"update records set {other} = ?", value)
    assert schedules(tiny, "--database", database) == schedules(tiny)
    text = succeed("compile", tiny, "-o", "tiny.so", "--database", database, folder=tiny.parent)
    why = "none" if other == "structure" else "another target's"
    assert f"database: records for 0 of 1 kernels; {why} for 1\n" in text


def test_the_record_with_the_most_gain(tiny: Path, database: Path) -> None:
    ((_, structure, target, trace),) = schedules(tiny)
    execute(database, "update records set symbols = 'n=1', seconds = 0.9")
    save_record(database, structure, target, trace.replace("parallel", "// parallel"))
    execute(database, "update records set trace = replace(trace, '// ', '') where symbols = 'n=64'")
    assert schedules(tiny, "--database", database) == schedules(tiny)


REFUSED = {
    "a primitive that there is not": "%b = get_blok",
    "a primitive refuses": '%b = get_block "nothing"',
    "no trace": "a trace is something else\n\n\n[[[",
    "too large": "",  # see below
    "NUL": "%b = \0",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_record(tiny: Path, database: Path, name: str) -> None:
    ((kernel, _, _, trace),) = expected = schedules(tiny)
    broken = REFUSED[name] or re.sub(r"\[_, \d+", f"[_, {2**62}", trace, count=1)
    execute(database, "update records set trace = ?", broken)
    done = perpend("compile", tiny, "-o", "tiny.so", "--database", database, folder=tiny.parent)
    assert done.returncode == GOOD, done.stderr
    assert done.stderr.count("warning: ") == 1 and "error: " not in done.stderr and "perpend bug" not in done.stderr
    assert f"warning: kernel '{kernel}': its record in the database is not used: " in done.stderr
    assert done.stderr.endswith("\nhint: tune again into another file\n")
    assert schedules(tiny, "--database", database) == expected
    agree(tiny, "--database", database)
    text = succeed_quietly("tune", tiny, "-o", database, "--budget", "0.3s", "--symbol", "n=64", folder=tiny.parent)
    assert "wrote" in text  # a tuner that knows it goes on, too


#
# What is wrong with options and files
#


def test_wrong_options(tiny: Path) -> None:
    def said(*options: object, code: int = USAGE_ERROR) -> str:
        return reject("tune", tiny, *options, folder=tiny.parent, code=code)

    for budget in ("", "soon", "0", "-3s", "5d", "10 m", "nan", "s"):
        assert "option '--budget': expected " in said("-o", "t.db", "--budget", budget)
    message = said("-o", "t.db", "--search", "evolutionry")
    assert "no search is named 'evolutionry'\nhint: did you mean 'evolutionary'? searches: evolutionary, " in message
    message = said("-o", "t.db", "--scheduler", "turn")
    assert "no scheduler is named 'turn'\nhint: did you mean 'turns'? schedulers: gradient, turns" in message
    assert "expected N" in said("-o", "t.db", "--trials", "0")
    message = said("-o", "t.db", "--space", "rule")
    assert "no space is named 'rule'\nhint: did you mean 'rules'? spaces: trace, rules, all" in message
    assert "no output\nhint: -o tuned.db, or --list" in said()
    for extent in ("0", "00", "-1", "m", "1,,2"):
        wrong = extent.split(",")[1] if "," in extent else extent
        message = said("--list", "--symbol", f"n={extent}")
        assert f"option '--symbol': expected an extent of at least 1, got '{wrong}'" in message
    assert "expected a weight above 0, of at most 1000000" in said("--list", "--symbol", "n=1:0")
    message = said("--list", "--symbol", "n=1,2", "--symbol", "m=1,2,3")
    assert "'m' has 3 extents, expected as many as another symbol has, 2\nhint: lists go together" in message
    foreign = "avxvnniint16" if "amx_tile" in Path("/proc/cpuinfo").read_text() else "amx-tile"
    message = said("--list", "--target", f"x86-64-v3,+{foreign}", "--symbol", "n=1", code=USER_ERROR)
    assert f"a tuner measures on this machine, which lacks {foreign}" in message
    assert "\nhint: tune on a machine" in message
    for pair in ("n", "=3", "n="):
        assert f"option '--symbol': expected NAME=N,…, got '{pair}'" in said("--list", "--symbol", pair)
    assert "expected N" in said("-o", "t.db", "--threads", "0") and "expected N" in said("-o", "t.db", "--seed", "x")
    assert "did you mean '--budget'?" in said("-o", "t.db", "--buget", "3s")
    assert [path.name for path in tiny.parent.iterdir()] == ["tiny.onnx"]


def test_no_source(tmp_path: Path, library: Path) -> None:
    message = reject("tune", library, "-o", "t.db", folder=tmp_path)
    assert "is compiled already\nhint: tune the model it was made from" in message
    assert "cannot read 'none.onnx'" in reject("tune", "none.onnx", "-o", "t.db", folder=tmp_path)
    assert not (tmp_path / "t.db").exists()


def test_no_database(tiny: Path) -> None:
    (tiny.parent / "text.db").write_text("schedule @k {\n}\n" * 100)
    with closing(sqlite3.connect(tiny.parent / "other.db")) as other, other:
        other.execute("create table bookmarks (title text)")
    for name in ("text.db", "other.db"):
        bytes_before = (tiny.parent / name).read_bytes()
        for words in (f"tune {tiny} -o {name} --budget 1s", f"compile {tiny} -o t.so --database {name}"):
            message = reject(*words.split(), folder=tiny.parent)
            assert f"'{name}' is no database of tuning\nhint: `perpend tune MODEL -o FILE` makes a database" in message
        assert (tiny.parent / name).read_bytes() == bytes_before
    message = reject("compile", tiny, "-o", "t.so", "--database", "none.db", folder=tiny.parent)
    assert "cannot read the database 'none.db': no such file\nhint: " in message
    assert "it cannot be opened: " in reject("tune", tiny, "-o", "none/t.db", folder=tiny.parent)
    for words in (f"tune {tiny} -o .", f"check {tiny} --database .", "db list ."):
        assert "the database '.' is a folder, expected a file\nhint: " in reject(*words.split(), folder=tiny.parent)
    assert not (tiny.parent / "none.db").exists() and not (tiny.parent / "t.so").exists()


def test_extents_that_nobody_said(tmp_path: Path) -> None:
    done = perpend("tune", DIGITS, "-o", "t.db", "--budget", "0.001s", folder=tmp_path)
    assert done.returncode == GOOD and done.stderr.startswith("warning: n is taken as 2, ")
    assert "\nhint: --symbol n=N\n" in done.stderr


def test_a_truncated_database(tiny: Path, database: Path) -> None:
    whole = database.read_bytes()
    tune = ["tune", tiny, "-o", database, "--budget", "0.1s"]
    for size in (50, 4096, 4096 + 100):
        database.write_bytes(whole[:size])
        for command in (tune, ["compile", tiny, "-o", "t.so", "--database", database]):
            assert f"'{database}'" in reject(*command, folder=tiny.parent)


#
# Ends that nobody has planned
#


@pytest.fixture
def tuner(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """One that measures candidates, for a minute."""
    (tmp_path / "temporary").mkdir()
    command = [str(PERPEND), "tune", str(DIGITS), "--symbol", "n=2", "-o", "t.db", "--budget", "60s"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={"TMPDIR": "temporary"}
    )
    try:
        assert process.stderr and process.stderr.readline().startswith("measuring ")
        time.sleep(0.5)
        yield process
    finally:
        process.kill()
        process.communicate()


def candidates_in(folder: Path) -> list[str]:
    """Processes that work there, whoever their parent is."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").readlink() == folder:
                found.append((entry / "stat").read_text())
        except OSError:
            continue  # it has ended
    return found


def wait_for_none(folder: Path) -> None:
    end = time.monotonic() + 10
    while candidates_in(folder) and time.monotonic() < end:
        time.sleep(0.05)
    assert candidates_in(folder) == []


def test_interruption(tmp_path: Path, tuner: subprocess.Popen[str]) -> None:
    start = time.monotonic()
    tuner.send_signal(signal.SIGINT)
    output, errors = tuner.communicate(timeout=30)
    assert tuner.returncode == GOOD and "\nwrote t.db\n" in output and "error" not in errors
    assert time.monotonic() - start < 10
    assert is_intact(tmp_path / "t.db") and list((tmp_path / "temporary").iterdir()) == []
    assert "wrote t.db" in succeed_quietly(
        "tune", DIGITS, "--symbol", "n=2", "-o", "t.db", "--budget", "0.5s", folder=tmp_path
    )
    wait_for_none(tmp_path)


def test_termination(tmp_path: Path, tuner: subprocess.Popen[str]) -> None:
    tuner.send_signal(signal.SIGTERM)
    output, errors = tuner.communicate(timeout=30)
    assert tuner.returncode == 128 + signal.SIGTERM and "\nwrote t.db\n" in output and "error" not in errors
    wait_for_none(tmp_path)
    assert is_intact(tmp_path / "t.db") and list((tmp_path / "temporary").iterdir()) == []


def test_sudden_death(tmp_path: Path, tuner: subprocess.Popen[str]) -> None:
    save_record(tmp_path / "t.db", "structure", "target", "trace")
    assert len(candidates_in(tmp_path)) >= 1
    tuner.kill()
    tuner.communicate()
    wait_for_none(tmp_path)
    assert is_intact(tmp_path / "t.db")
    assert execute(tmp_path / "t.db", "select trace from records where structure = 'structure'") == [("trace",)]
    assert "wrote t.db" in succeed_quietly(
        "tune", DIGITS, "--symbol", "n=2", "-o", "t.db", "--budget", "0.5s", folder=tmp_path
    )
    assert "database: records for " in succeed("compile", DIGITS, "-o", "d.so", "--database", "t.db", folder=tmp_path)


def test_candidates_that_are_killed(tmp_path: Path, tuner: subprocess.Popen[str]) -> None:
    """Copies that compile, and programs that measure."""
    killed = 0
    end = time.monotonic() + 40  # of a machine that is busy; four take less than a second
    while killed < 4 and time.monotonic() < end:
        for stat in candidates_in(tmp_path):
            if (number := int(stat.split()[0])) != tuner.pid:
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
                    killed += 1
        time.sleep(0.02)
    assert killed > 3 and tuner.poll() is None
    tuner.send_signal(signal.SIGINT)
    output, errors = tuner.communicate(timeout=30)
    assert tuner.returncode == GOOD and "\nwrote t.db\n" in output and "error" not in errors
    assert is_intact(tmp_path / "t.db")


def test_two_tuners(tiny: Path) -> None:
    commands = [
        [str(PERPEND), "tune", str(tiny), "-o", "t.db", "--symbol", f"n={n}", "--budget", "3s", "--seed", str(seed)]
        for n, seed in ((64, 1), (64, 2), (32, 3))
    ]
    running = [
        subprocess.Popen(words, cwd=tiny.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for words in commands
    ]
    for process in running:
        output, errors = process.communicate(timeout=60)
        assert process.returncode == GOOD and "\nwrote t.db\n" in output and "error" not in errors, errors
    assert is_intact(tiny.parent / "t.db")
    keys = execute(tiny.parent / "t.db", "select symbols from records")
    assert len(keys) == len(set(keys)) and set(keys) <= {("n=64",), ("n=32",)}


def tune_with_files_of(most: int, tiny: Path) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    command = [str(PERPEND), "tune", str(tiny), "-o", "t.db", "--budget", "2s", "--symbol", "n=64"]
    return subprocess.run(command, cwd=tiny.parent, capture_output=True, text=True, preexec_fn=limit, timeout=60)


def test_no_room_for_candidates(tiny: Path) -> None:
    done = tune_with_files_of(20000, tiny)
    assert done.returncode == USER_ERROR and done.stderr.count("error: ") == 1
    assert "cannot be measured: " in done.stderr and "error: no kernel of the model could be measured" in done.stderr
    assert is_intact(tiny.parent / "t.db")


def test_full_disk(tiny: Path) -> None:
    done = tune_with_files_of(1000, tiny)
    assert done.returncode == USER_ERROR and done.stderr.count("error: ") == 1
    assert done.stderr == (
        "error: the database 't.db': its tables cannot be made: disk I/O error\nhint: is the disk full?\n"
    )


def test_trees_learn_from_what_is_measured(tmp_path: Path) -> None:
    lines = []
    for _ in range(2):
        succeed_quietly(*SHORT[:-1], "3s", "--cost-model", "trees", folder=tmp_path)
        lines.append((tmp_path / "t.db.points").read_text().splitlines())
    assert lines[1][: len(lines[0])] == lines[0]
    assert {line.count("\t") for line in lines[1]} <= {3}
    if not lines[1]:
        pytest.skip("the machine was too busy to measure a candidate in time")


def test_points_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "t.db.points").mkdir()
    assert "cannot read 't.db.points'" in reject(*SHORT, "--cost-model", "trees", folder=tmp_path)
