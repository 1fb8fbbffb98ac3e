"""perpend.tune: what `perpend tune` does, with Python's objects, signals and exceptions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import perpend
import pytest
from cli.tool import DIGITS, reject, save_tiny
from cli.tool import perpend as command
from perpend.tuning import Progress, extents

PRODUCT = """
func.func @main(%x: tensor<?x32xf32> {graph.name = "x"}) -> tensor<?x32xf32> { return %x : tensor<?x32xf32> }
"""
WORDS: dict[str, Any] = {"symbols": {"n": 2}, "budget": 60}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return save_tiny(tmp_path)


def names(path: Path) -> list[str]:
    return [kernel.name for kernel in perpend.tune(path, None, **WORDS).kernels]


def exported(database: Path) -> list[dict[str, Any]]:
    done = command("db", "export", database, folder=database.parent)
    assert done.returncode == 0, done.stderr
    records: list[dict[str, Any]] = json.loads(done.stdout)["perpend records"]
    return records


# What it finds


def test_a_model_is_tuned_and_compiled_from_the_database(tiny: Path, tmp_path: Path) -> None:
    steps: list[Progress] = []
    tuned = perpend.tune(tiny, tmp_path / "tuned.db", trials=5, progress=steps.append, **WORDS)
    (kernel,) = tuned.kernels
    assert kernel.trials == 5 and kernel.calls == 1 and kernel.symbols == "n=2" and len(kernel.structure) > 8
    assert kernel.default_seconds >= kernel.seconds > 0 and kernel.gain >= 1 and kernel.trace
    assert tuned.database == str(tmp_path / "tuned.db") and tuned.target
    assert tuned.gain == pytest.approx(kernel.gain)
    assert [step.kernel for step in steps] == [kernel.name] * 6  # the compiler's own, and five others
    assert [step.trials for step in steps] == list(range(6)) and steps[0].outcome == "measured"
    assert steps[-1].seconds == pytest.approx(tuned.seconds)
    x = np.ones((3, 5), np.float32)
    model = perpend.compile(tiny, database=tuned.database)
    np.testing.assert_allclose(model(x), perpend.compile(tiny)(x), rtol=1e-5)


def test_the_model_is_measured_with_what_is_found(tiny: Path, tmp_path: Path) -> None:
    """Whatever the machine does: a kernel that has a gain has one there, too."""
    tuned = perpend.tune(tiny, tmp_path / "t.db", budget=60, trials=40, symbols={"n": 64})
    improved = any(kernel.gain > 1 for kernel in tuned.kernels)
    for gain in tuned.model:
        assert gain.symbols == gain.refusal == "" and 0 < gain.seconds <= gain.default_seconds * 1.05
    assert len(tuned.model) == 1 if improved else len(tuned.model) <= 1


def test_what_is_found_is_what_the_command_line_reads(tmp_path: Path) -> None:
    database = tmp_path / "tuned.db"
    tuned = perpend.tune(DIGITS, database, trials=12, **WORDS)
    found = {kernel.structure: kernel for kernel in tuned.kernels if kernel.gain > 1}
    records = exported(database)
    assert {record["structure"] for record in records} == set(found)
    for record in records:
        kernel = found[record["structure"]]
        assert record["trace"] == kernel.trace.split("\n") and record["trials"] == kernel.trials
        assert record["target"] == tuned.target and record["symbols"] == kernel.symbols
        assert record["seconds"] == pytest.approx(kernel.seconds)


def test_kernels_are_only_measured_without_a_database(tiny: Path, tmp_path: Path) -> None:
    tuned = perpend.tune(tiny, None, **WORDS)
    assert tuned.database is None and tuned.kernels[0].seconds > 0 and tuned.kernels[0].trials == 0
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.onnx"]


def test_several_extents(tiny: Path) -> None:
    tuned = perpend.tune(tiny, None, symbols={"n": {1: 10, 64: 1}})
    assert [kernel.symbols for kernel in tuned.kernels] == ["n=1", "n=64"]
    assert tuned.kernels[0].weight > tuned.kernels[1].weight


def test_extents_are_as_the_command_line_has_them() -> None:
    assert extents({"n": 1, "t": [1, 128], "k": {1: 10, 128: 1}}) == ["n=1", "t=1,128", "k=1:10.0,128:1.0"]


def test_inputs_give_the_extents(tiny: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tuned = perpend.tune(tiny, None, inputs={"x": np.ones((7, 5), np.float32)})
    assert tuned.kernels[0].symbols == "n=7"


def test_extents_that_nobody_gives_are_warned_of(tiny: Path) -> None:
    with pytest.warns(UserWarning, match=r"n is taken as 2, .*\nhint: symbols=\{'n': N\}") as caught:
        assert perpend.tune(tiny, None).kernels[0].symbols == "n=2"
    assert caught[0].filename == __file__


def test_behind_torch(tiny: Path, tmp_path: Path) -> None:
    import torch

    class Product(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.relu(x @ x)

    x = torch.ones(32, 32)
    (x @ x).sum()  # its threads are there
    done = threading.Thread(target=lambda: perpend.compile(tiny)(np.ones((64, 5), np.float32)))
    done.start()
    done.join()
    tuned = perpend.tune(Product(), tmp_path / "tuned.db", example_inputs=(x,), trials=3, budget=60)
    assert max(k.trials for k in tuned.kernels) == 3 and not sum(k.crashed + k.timed_out for k in tuned.kernels)


def test_modules_and_texts(tiny: Path, tmp_path: Path) -> None:
    module = perpend.import_model(tiny)
    expected = [kernel.structure for kernel in perpend.tune(module, None, **WORDS).kernels]
    copy = perpend.Module.from_bytes(module.to_bytes())
    assert [kernel.structure for kernel in perpend.tune(copy, None, **WORDS).kernels] == expected
    x = np.linspace(-1, 1, 10, dtype=np.float32).reshape(2, 5)
    np.testing.assert_array_equal(copy.evaluate(x)[0], module.evaluate(x)[0])
    text = Path(__file__).parents[2] / "docs/small_model.mlir"
    assert perpend.tune(text, None, symbols={"n": 4}).kernels


# How it ends


def test_only_some_kernels(tmp_path: Path) -> None:
    every = names(DIGITS)
    assert len(every) > 1
    tuned = perpend.tune(DIGITS, tmp_path / "t.db", kernels=every[-1:], trials=2, **WORDS)
    assert [kernel.name for kernel in tuned.kernels] == every[-1:]
    done = command("tune", DIGITS, "--list", "--symbol", "n=2", "--kernels", ",".join(every[:2]), folder=tmp_path)
    assert [line.split()[-1] for line in done.stdout.splitlines()[1:]] and done.stdout.count("\n") == 3
    message = reject("tune", DIGITS, "--list", "--kernels", every[0] + "x", folder=tmp_path)
    assert f"no kernel of the model is named '{every[0]}x'\nhint: did you mean '{every[0]}'? its kernels: " in message


class Enough(Exception):
    pass


def test_an_exception_of_progress_ends_it(tmp_path: Path) -> None:
    """Once what was found is written."""
    best: dict[str, float] = {}
    calls = 0

    def stop(step: Progress) -> None:
        nonlocal calls
        calls += 1
        if step.seconds < step.default_seconds and step.trials:
            best[step.kernel] = step.seconds
        if best or calls == 20:  # a busy machine may find nothing faster
            raise Enough

    with pytest.raises(Enough):
        perpend.tune(DIGITS, tmp_path / "t.db", progress=stop, trials=200, **WORDS)
    assert [record["kernel"] for record in exported(tmp_path / "t.db")] == list(best)


INTERRUPTED = """
import sys, perpend
def progress(step):
    print(step.outcome, flush=True)
try:
    perpend.tune(sys.argv[1], sys.argv[2], symbols={"n": 2}, budget="1h", progress=progress)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_interrupts_end_it(tmp_path: Path) -> None:
    script = [sys.executable, "-c", INTERRUPTED, str(DIGITS), str(tmp_path / "t.db")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(script, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "measured\n"
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(timeout=20) == 0
    assert rest.endswith("interrupted\n")
    exported(tmp_path / "t.db")


def test_other_threads_go_on(tiny: Path) -> None:
    """The interpreter lock is free while candidates are measured."""
    seen: list[int] = []
    is_over = threading.Event()

    def count() -> None:
        while not is_over.wait(0.01):
            seen.append(1)

    thread = threading.Thread(target=count)
    thread.start()
    perpend.tune(tiny, None, **WORDS)
    is_over.set()
    thread.join()
    assert len(seen) > 20


# What is refused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"budget": "soon"}, "option 'budget': expected seconds, or a time such as '90s', '10m' or '1h', got 'soon'"),
        ({"budget": -1}, "option 'budget': expected seconds, or .*, got '-1'"),
        ({"trials": 0}, "option 'trials': expected a number of at least 1, got 0"),
        ({"threads": 0}, "option 'threads': expected a number of at least 1, got 0"),
        ({"threads": "2"}, "option 'threads': expected int, got str"),
        ({"search": 3}, "option 'search': expected str, got int"),
        ({"search": "evolutionry"}, "no search is named 'evolutionry'\nhint: did you mean 'evolutionary'. searches: "),
        ({"space": "rule"}, "no space is named 'rule'\nhint: did you mean 'rules'"),
        ({"scheduler": "turn"}, "no scheduler is named 'turn'"),
        ({"cost_model": "tree"}, "no cost model is named 'tree'"),
        ({"symbols": {"n": 0}}, "symbols: expected an extent of at least 1, got '0'"),
        ({"symbols": {"m": 1}}, "the inputs have no symbol 'm'"),
        ({"inputs": {"x": np.ones((2, 5))}}, "input 'x': expected f32, got f64"),
        ({"inputs": {"y": np.ones(2)}}, "the model lacks one of the given inputs: y"),
        ({"inputs": {"x": np.ones((2, 6), np.float32)}}, r"input 'x': expected \[n, 5\], got \[2, 6\]"),
        ({"kernels": ["none"]}, "no kernel of the model is named 'none'\nhint: its kernels: "),
        ({"sketches": "none.txt"}, "none.txt"),
        ({"target": "znver9"}, "znver9"),
        ({"budgt": 3}, "there is no option 'budgt'\nhint: did you mean 'budget'"),
        (
            {"checked": True},
            "option 'checked': it is for compile, and changes no kernel\nhint: a tuner takes opt_level",
        ),
        ({"opt_level": "3"}, "option 'opt_level': expected int, got str"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_is_refused(tiny: Path, tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(perpend.CompileError, match=message), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        perpend.tune(tiny, tmp_path / "t.db", **arguments)
    assert not (tmp_path / "t.db").exists()


def test_databases_that_are_none(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "t.db").write_text("no database, but long enough that it might be one" * 100)
    with pytest.raises(perpend.CompileError, match=r"is no database|not a database"):
        perpend.tune(tiny, tmp_path / "t.db", **WORDS)
    with pytest.raises(perpend.CompileError, match=r"'none/t.db'"):
        perpend.tune(tiny, "none/t.db", **WORDS)


def test_nothing_can_be_measured(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(perpend.CompileError, match=r"no kernel of the model could be measured\nhint: "):
        perpend.tune(tiny, tmp_path / "t.db", symbols={"n": 2}, budget=1e-9)


# Records that travel (perpend.fleet)


def test_records_that_are_added(tmp_path: Path) -> None:
    """Those that were known and not found again go, with their trials; other trials add up."""
    from perpend import _perpend

    def text(*records: dict[str, Any]) -> str:
        return json.dumps({"perpend records": records})

    def record(trace: str, seconds: float, structure: str = "s", trials: int = 3) -> dict[str, Any]:
        texts = {name: "" for name in ("kernel", "symbols", "compiler", "primitives", "origin", "date")}
        numbers = {"threads": 1, "spread_seconds": 0.0, "default_seconds": 1.0, "weight": 1.0}
        own = {"structure": structure, "target": "t", "trace": [trace], "seconds": seconds, "trials": trials}
        return {**texts, **numbers, "elsewhere": "", **own}

    def all_of() -> list[tuple[str, str, int]]:
        return [(each["structure"], each["trace"][0], each["trials"]) for each in exported(database)]

    database = tmp_path / "t.db"
    false, slower = record("false", 0.1, trials=0), record("slower", 0.5)
    _perpend.add_records(str(database), text(record("false", 0.1), record("other", 0.5, "o")), text())
    assert all_of() == [("o", "other", 3), ("s", "false", 3)]
    _perpend.add_records(str(database), text(slower), text(false))
    assert all_of() == [("o", "other", 3), ("s", "slower", 3)]
    _perpend.add_records(str(database), text(record("better", 0.4, trials=2)), text())
    _perpend.add_records(str(database), text(record("worse", 0.9, trials=2)), text())
    assert all_of() == [("o", "other", 3), ("s", "better", 7)]
    _perpend.add_records(str(database), text(), text(record("other", 0.5, "o", trials=0)))
    assert all_of() == [("s", "better", 7)]
    assert "better" in _perpend.export_records(str(database), "s", "t")
    assert "better" not in _perpend.export_records(str(database), "o", "t")
    with pytest.raises(perpend.CompileError, match="perpend db export"):
        _perpend.add_records(str(database), "{}", text())
