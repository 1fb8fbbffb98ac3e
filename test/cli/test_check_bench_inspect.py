"""perpend check, bench and inspect."""

import json
from pathlib import Path

import pytest
from cli.tool import DIGITS, USER_ERROR, perpend, reject, succeed


@pytest.mark.parametrize("against", ["interpreter", "onnxruntime", "interpreter,onnxruntime"])
def test_check(tmp_path: Path, tiny: Path, against: str) -> None:
    text = succeed("check", tiny, "--against", against, "--symbol", "n=3", "--seed", 5, folder=tmp_path)
    assert text.count("the outputs agree") == len(against.split(","))
    assert "ok       y: f32 [3, 7]  max abs error" in text


def test_check_without_onnxruntime(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERPEND_PYTHON", "no-such-python")
    assert "no-such-python" in reject("check", tiny, "--against", "onnxruntime", folder=tmp_path)


def test_check_sees_a_difference(tmp_path: Path, tiny: Path) -> None:
    """A phase is overridden by one that computes something else; the interpreter sees the model as it is."""
    succeed("compile", tiny, "--stop-after", "simplify", "-o", "part.mlir", folder=tmp_path)
    text = (tmp_path / "part.mlir").read_text()
    (tmp_path / "changed.mlir").write_text(text.replace("arith.maximumf", "arith.minimumf"))
    done = perpend("check", tiny, "--override-phase", "simplify:changed.mlir", folder=tmp_path)
    assert done.returncode == USER_ERROR
    assert "DIFFERS  y: f32" in done.stdout and "the outputs DIFFER" in done.stdout
    assert "first difference: " in done.stdout


def test_bench(tmp_path: Path, library: Path) -> None:
    text = succeed(
        "bench", library, "--threads", "1,2", "--time", 100, "--json", "b.json", "--profile", folder=tmp_path
    )
    assert "median ms" in text and "us/run" in text
    rows = json.loads((tmp_path / "b.json").read_text())["rows"]
    assert [row["threads"] for row in rows] == [1, 2]
    assert all(row["runs"] > 0 and row["median_ms"] >= row["least_ms"] > 0 for row in rows)


def test_bench_runs_once_without_time(tmp_path: Path, library: Path) -> None:
    header, row = succeed("bench", library, "--time", 0, folder=tmp_path).splitlines()
    assert header.split()[:2] == ["threads", "runs"] and row.split()[:2] == ["1", "1"]


def test_inspect(tmp_path: Path, library: Path, tiny: Path) -> None:
    for model in [library, tiny]:
        text = succeed("inspect", model, folder=tmp_path)
        assert "input    x: f32 [n, 5]" in text and "output   y: f32 [n, 7]" in text
        assert "symbols  n\n" in text and "kernels: " in text and "weights  " in text


def test_inspect_stages(tmp_path: Path, tiny: Path) -> None:
    for stage, words in {
        "graph": "graph.contract",
        "fuse": "graph.call_kernel",
        "tile": "memref",
        "llvm": "define",
        "asm": ".text",
    }.items():
        assert words in succeed("inspect", tiny, "--stage", stage, folder=tmp_path), stage


def test_inspect_page(tmp_path: Path) -> None:
    assert succeed("inspect", DIGITS, "--html", "report.html", folder=tmp_path) == "wrote report.html\n"
    page = (tmp_path / "report.html").read_text()
    assert page.startswith("<!doctype html>") and "<svg" in page and page.count("<details>") > 5
    assert "http" not in page.replace("http://www.w3.org", "")
    assert len(page) < 2_000_000
