"""Several sets of extents, and several models: each kernel once, each range of a symbol its own schedule."""

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from cli.test_tune import agree, changed, execute, save_record, schedules
from cli.tool import GOOD, perpend, reject, succeed


def rows_of(table: str) -> list[list[str]]:
    """Of each kernel: its calls and its name, with the extents behind it where there are several."""
    found = re.findall(r"^ +(\d+) +[\d.]+ .* (\w+?)(?: (\S+=\S+))?$", table, re.M)
    return [[text for text in row if text] for row in found]


def test_a_row_for_each_set(tiny: Path) -> None:
    table = succeed("tune", tiny, "--list", "--symbol", "n=1,64,64", folder=tiny.parent)
    ((name, *_),) = schedules(tiny)
    assert sorted(rows_of(table)) == [["1", name, "n=1"], ["1", name, "n=64"]]


def test_weights_are_parts_of_the_time(tiny: Path) -> None:
    def share(symbol: str) -> float:
        table = succeed("tune", tiny, "--list", "--symbol", symbol, folder=tiny.parent)
        (row,) = [line for line in table.splitlines() if line.endswith("n=8")]
        return float(row.split()[1])

    assert share("n=8:1,512:50") < 25 < 75 < share("n=8:50,512:1")


def tuned_for_both(tiny: Path) -> list[bool]:
    """Of each record that a run has written: whether it has a time for the other extents too, in its form."""
    done = perpend(
        "tune", tiny, "-o", "t.db", "--symbol", "n=2,512", "--budget", "60s", "--trials", "40", folder=tiny.parent
    )
    assert done.returncode == GOOD, done.stderr
    known = []
    for symbols, elsewhere in execute(tiny.parent / "t.db", "select symbols, elsewhere from records"):
        other = {"n=2": "n=512", "n=512": "n=2"}[str(symbols)]
        assert not elsewhere or re.fullmatch(rf"{other} \d+(\.\d+)?(e-?\d+)? 1", str(elsewhere))
        known.append(bool(elsewhere))
    return known or [False]


@pytest.mark.alone
def test_what_is_found_is_known_for_all(tiny: Path) -> None:
    # A time that other work disturbs is not recorded, so one run may leave one out; three in a row do not.
    assert any(all(tuned_for_both(tiny)) for _ in range(3))
    agree(tiny, "--database", "t.db")


def save(tiny: Path, *records: tuple[str, float, str]) -> Path:
    """Records as a tuner writes them, with a trace that is another than the compiler's own."""
    ((_, structure, target, trace),) = schedules(tiny)
    path = tiny.parent / "tuned.db"
    for symbols, seconds, elsewhere in records:
        save_record(path, structure, target, changed(trace).replace("_, 7", f"_, {7 if symbols == 'n=1' else 5}", 1))
        execute(
            path,
            "update records set symbols = ?, seconds = ?, elsewhere = ? where symbols = 'n=64'",
            symbols, seconds, elsewhere,
        )  # fmt: skip
    return path


def test_ranges(tiny: Path) -> None:
    database = save(tiny, ("n=1", 0.5, "n=128 3 1"), ("n=128", 0.8, "n=1 2 1"))
    said = succeed("compile", tiny, "-o", "t.so", "--database", database, "--explain", folder=tiny.parent)
    assert ": n <= 11: " in said and "gain 2.00x with n=1, 1 thread" in said and "; else: " in said
    text = succeed("inspect", tiny, "--schedules", "--database", database, folder=tiny.parent)
    few, rest = text.split('where "n <= 11"')[1].split("schedule @")
    assert "[_, 7, " in few and "[_, 5, " in rest
    for n in (0, 1, 11, 12, 300):
        check = ["check", tiny, "--symbol", f"n={n}", "--against", "interpreter", "--database", database]
        assert "the outputs agree" in succeed(*check, folder=tiny.parent)


def test_a_refused_range(tiny: Path) -> None:
    database = save(tiny, ("n=1", 0.5, "n=128 3 1"), ("n=128", 0.8, "n=1 2 1"))
    execute(database, "update records set trace = '%b = get_block \"none\"' where symbols = 'n=1'")
    done = perpend("compile", tiny, "-o", "t.so", "--database", database, "--explain", folder=tiny.parent)
    assert done.returncode == GOOD and "refused for 1" in done.stdout and ": n <= 11: refused: " in done.stdout
    agree(tiny, "--database", database)


def test_what_gains_at_one_place_and_loses_at_another_is_not_used_there(tiny: Path) -> None:
    database = save(tiny, ("n=1", 0.5, "n=128 3 1"))
    said = succeed("compile", tiny, "-o", "t.so", "--database", database, "--explain", folder=tiny.parent)
    assert ": n <= 11: gain 2.00x with n=1, 1 thread" in said and "; else: the compiler's own trace" in said
    database.unlink()
    save(tiny, ("n=1", 0.95, "n=128 1.2 1"))
    said = succeed("compile", tiny, "-o", "t.so", "--database", database, "--explain", folder=tiny.parent)
    assert "records for 0 of 1 kernels; no gain for 1" in said


def test_several_models(tiny: Path) -> None:
    other = tiny.parent / "other.onnx"
    model = onnx.load(tiny)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    onnx.save(model, other)
    table = succeed("tune", tiny, other, "--list", "--symbol", "n=8", "--symbol", "batch=8", folder=tiny.parent)
    ((name, *_),) = schedules(tiny)
    assert rows_of(table) == [["2", name]], "both call one kernel"
    table = succeed("tune", tiny, other, "--list", "--symbol", "n=8", "--symbol", "batch=9", folder=tiny.parent)
    assert sorted(rows_of(table)) == [["1", name, "n=8"], ["1", name, "n=9"]]
    assert "no symbol 'm'" in reject("tune", tiny, other, "--list", "--symbol", "m=1", folder=tiny.parent, code=1)


def test_what_follows_has_the_same_options(tiny: Path) -> None:
    """With others, kernels are others, and have no records."""
    options = ["--precision", "bf16", "-O1", "--unpacked", "--dim", "n=4"]
    known = succeed("inspect", tiny, "--schedules", *options, folder=tiny.parent)
    found = re.search(r'^schedule @\w+ structure "(\w+)" for "([^"]+)" \{\n(.*?)^\}', known, re.M | re.S)
    assert found
    save_record(tiny.parent / "t.db", found[1], found[2], found[3])
    execute(tiny.parent / "t.db", "update records set symbols = '', seconds = 0.9")
    done = perpend("tune", tiny, "-o", "t.db", "--trials", "1", "--budget", "20s", *options, folder=tiny.parent)
    said = done.stdout or done.stderr
    assert f"next: perpend compile {tiny} -o model.so --database t.db --dim n=4 -O1 --precision bf16 --unpacked" in said


def test_mistakes(tiny: Path) -> None:
    def said(*symbols: str) -> str:
        words = [word for symbol in symbols for word in ("--symbol", symbol)]
        return reject("tune", tiny, "--list", *words, folder=tiny.parent, code=2)

    assert "'n' is given twice\nhint: all its extents in one list" in said("n=1", "n=2")
    assert "'t' has weights, and another symbol has" in said("n=1:2,3:4", "t=1:2,3:4")
    assert "'n' has one extent, whose weight means nothing" in said("n=1:3")
    assert "expected a weight above 0, of at most 1000000, behind ':', got '1e300'" in said("n=1:1e300,2")


def test_an_input_of_another_type(tiny: Path) -> None:
    np.save(tiny.parent / "x.npy", np.zeros((3, 5), np.float64))
    message = reject("tune", tiny, "--list", "--input", "x.npy", folder=tiny.parent, code=1)
    assert ": expected f32, got f64" in message


def test_the_page_tells_sets_apart(tiny: Path) -> None:
    words = ("tune", tiny, "-o", "t.db", "--symbol", "n=2,512", "--budget", "6s", "--trials", "4", "--html", "t.html")
    done = perpend(*words, folder=tiny.parent)
    assert done.returncode == GOOD, done.stderr
    page = (tiny.parent / "t.html").read_text()
    ((name, *_),) = schedules(tiny)
    assert f"<h2>{name} n=2</h2>" in page and f"<h2>{name} n=512</h2>" in page
