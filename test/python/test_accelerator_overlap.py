"""Units of an accelerator's core overlap: flags, which are as many as needed, order them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import perpend
import pytest
from cli.tool import BUILD
from python.test_accelerators import ON_UNITS, expect, floats, model_of, node

pytestmark = pytest.mark.skipif(not (BUILD / "bin" / "quoin-verify").exists(), reason="no verifier is built")

# Tiles with rests, sums that go on, results that go through several nests and through memory.
PROGRAMS: dict[str, Any] = {
    "tiles": (
        [node("Mul", "a b", "p"), node("Exp", "p", "e"), node("Relu", "e")],
        {"a": floats(151, 701), "b": floats(701)},
        {},
    ),
    **{name: ON_UNITS[name] for name in ("map", "product", "softmax", "convolution", "pool", "transpose", "large")},
    "epilogue": (
        [node("MatMul", "a b", "p"), node("Add", "p c", "s"), node("Relu", "s", "r"), node("Add", "r d")],
        {"a": floats(150, 70), "d": floats(150, 90)},
        {"b": floats(70, 90), "c": floats(90)},
    ),
}
FLAG = re.compile(r"[A-Z]{2}>[A-Z]{2}:\d+")


def tool(name: str, *arguments: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BUILD / "bin" / name, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def program_of(name: str, target: str, folder: Path) -> Path:
    nodes, inputs, weights = PROGRAMS[name]
    path = folder / f"{name}.qn"
    perpend.import_model(model_of(nodes, inputs, weights)).compile(str(path), {"target": target})
    return path


@pytest.mark.parametrize("target", ["quoin:t1", "quoin:c8"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_verified(name: str, target: str, tmp_path: Path) -> None:
    verified = tool("quoin-verify", program_of(name, target, tmp_path))
    assert verified.stdout == "verified\n", verified.stderr


def without(text: str, flag: str) -> str:
    """The assembly without the flag: nobody sets it or waits for it."""
    lines = [line for line in text.splitlines() if not re.match(rf"\s*(setf|waitf) {flag},", line)]
    kept = []
    for line in lines:
        for word in ("wait", "set"):
            line = re.sub(rf"( {word} (?:\S+, )*){flag}(?:@\w+)?(?:, | |$)", r"\1", line + " ").rstrip().rstrip(",")
            line = re.sub(rf" {word}(?= set | wait |$)", "", line)
        kept.append(line)
    return "\n".join(kept) + "\n"


@pytest.mark.parametrize("name", ["tiles", "softmax", "epilogue"])
def test_no_flag_is_superfluous(name: str, tmp_path: Path) -> None:
    text = tool("quoin-dis", program_of(name, "quoin:t1", tmp_path)).stdout
    flags = sorted(set(FLAG.findall(text)))
    assert len(flags) >= 2
    for flag in flags:
        mutant = tmp_path / "mutant.s"
        mutant.write_text(without(text, flag))
        assert flag not in FLAG.findall(mutant.read_text())
        found = tool("quoin-verify", mutant)
        assert found.returncode == 2 and ("E_RACE" in found.stderr or "E_UNINIT" in found.stderr), (flag, found.stderr)


def cycles(path: Path, *options: str) -> int:
    report = tool("quoin-sim", path, "--mode=time", "--report", *options).stdout
    return int(report.split()[1])


def test_units_overlap(tmp_path: Path) -> None:
    path = program_of("tiles", "quoin:t1", tmp_path)
    assert 1.5 * cycles(path) < cycles(path, "--serial") <= cycles(path, "--serial", "--no-llb")


@pytest.mark.parametrize("name", ["epilogue", "softmax"])
def test_all_orders_give_the_same_bits(name: str, tmp_path: Path) -> None:
    nodes, inputs, weights = PROGRAMS[name]
    path = program_of(name, "quoin:c8", tmp_path)
    given = []
    for number, value in enumerate(inputs.values()):
        (tmp_path / f"in{number}").write_bytes(value.tobytes())
        given.append(f"--input=in{number}={tmp_path}/in{number}")
    results = set()
    for seed in range(5):
        ran = tool("quoin-sim", path, *given, f"--seed={seed}", f"--output=out0={tmp_path}/out")
        assert ran.returncode == 0, ran.stderr
        results.add((tmp_path / "out").read_bytes())
    (bits,) = results
    (wanted,) = perpend.import_model(model_of(nodes, inputs, weights)).evaluate(*inputs.values())
    np.testing.assert_allclose(np.frombuffer(bits, np.float32).reshape(wanted.shape), wanted, rtol=2e-5, atol=2e-5)


def test_results_of_products_stay_on_the_core(tmp_path: Path) -> None:
    text = tool("quoin-dis", program_of("epilogue", "quoin:t1", tmp_path)).stdout
    drains = [line for line in text.splitlines() if " drain" in line]
    assert drains and all("act=relu" in line for line in drains)
    stores = [line for line in text.splitlines() if " st." in line]
    assert len(stores) == len(drains)


@pytest.mark.parametrize("target", ["quoin:t1", "quoin:c8"])
def test_what_all_rows_have_is_loaded_once(target: str, tmp_path: Path) -> None:
    """A bias, which is another number for each column, for all tiles and for what no tile divides."""
    x, w, b, c = floats(701, 96), floats(96, 301), floats(301), floats(301).astype(np.float16)
    nodes = [node("MatMul", "x w", "p"), node("Add", "p b", "s"), node("Relu", "s", "r"), node("Cast", "c", "d", to=1)]
    model = model_of([*nodes, node("Mul", "r d")], {"x": x}, {"w": w, "b": b, "c": c})
    assert expect(model, {"x": x}, target) == []
    path = tmp_path / "columns.qn"
    perpend.import_model(model).compile(str(path), {"target": target})
    assert tool("quoin-verify", path).stdout == "verified\n"
    cores = tool("quoin-dis", path).stdout.split(".core ")[1:]
    for core in cores:
        assert len(re.findall(r"ld\.1d \S+ L1\[\S+\], \S+\], e0=301\b", core)) == 2, core


def test_cores_load_before_they_meet(tmp_path: Path) -> None:
    """Weights of a product come while other cores still compute what is in front of it. What those compute does not."""
    nodes, inputs, weights = [], {"x": floats(1, 64, 16, 16)}, {}
    for layer in range(4):
        size = 3 if layer % 2 else 1
        weights[f"w{layer}"], weights[f"b{layer}"] = floats(64, 64, size, size) / 24, floats(64)
        pads = [size // 2] * 4
        nodes.append(node("Conv", f"{f'v{layer - 1}' if layer else 'x'} w{layer} b{layer}", f"v{layer}", pads=pads))
    model = model_of([*nodes, node("Relu", "v3")], inputs, weights)
    assert expect(model, inputs, "quoin:c8") == []
    path = tmp_path / "early.qn"
    perpend.import_model(model).compile(str(path), {"target": "quoin:c8"})
    assert tool("quoin-verify", path).stdout == "verified\n"
    for core in tool("quoin-dis", path).stdout.split(".core ")[1:]:
        meetings = re.findall(r"setf ST>SEQ:(?:(?!waitf ST>SEQ).)*waitf ST>SEQ", core, re.DOTALL)
        assert any(re.search(r" ld\.", meeting) for meeting in meetings), core


def test_primes_have_large_tiles(tmp_path: Path) -> None:
    """A prime extent of more than L1 holds takes little more time than one that tiles divide."""
    times = []
    for extent in (100_003, 100_000):
        x = np.zeros((1, extent), np.float32)
        path = tmp_path / f"{extent}.qn"
        perpend.import_model(model_of([node("Exp", "x")], {"x": x})).compile(str(path), {"target": "quoin:t1"})
        times.append(cycles(path))
    assert times[0] < 1.1 * times[1]


def test_a_unit_is_not_too_many_sections_ahead(tmp_path: Path) -> None:
    """A flag has at most 15 tokens, and loads of rows that lie together are faster than stores that are apart."""
    inputs = {f"x{number}": floats(4000, 1) for number in range(40)}
    nodes = [node("Concat", " ".join(inputs), "y", axis=1)]
    path = tmp_path / "sections.qn"
    perpend.import_model(model_of(nodes, inputs, {})).compile(str(path), {"target": "quoin:c1"})
    timed = tool("quoin-sim", path, "--mode=time")
    assert timed.returncode == 0, timed.stderr


def test_products_read_narrow_floats_as_they_are(tmp_path: Path) -> None:
    """Both factors are one value, of which the kernel would otherwise keep a copy in f32."""
    inputs = {"x": np.round(floats(3, 40, 64)).astype(np.float16)}
    model = model_of([node("Transpose", "x", "t", perm=[0, 2, 1]), node("MatMul", "x t")], inputs)
    path = tmp_path / "rows.qn"
    perpend.import_model(model).compile(str(path), {"target": "quoin:t1"})
    text = tool("quoin-dis", path).stdout
    assert "mm.acc f16,f16->f32" in text and "cvt f16->f32" not in text
    expect(model, inputs)


@pytest.mark.parametrize("target", ["quoin:t1", "quoin:c1", "quoin:c8"])
def test_values_of_one_unit_need_no_fence(target: str, tmp_path: Path) -> None:
    """Each number of a row is computed from two words by some thirty instructions of the vector unit, whose results no
    other unit reads: they are no reason to wait for all units."""
    tables, rows = 12, 64
    inputs = {"x": floats(rows, 32), "i": np.random.default_rng(2).integers(-50, 50, (rows, tables))}
    inputs |= {f"t{number}": floats(50, 32) for number in range(tables)}
    weights = {f"n{number}": np.array(number) for number in range(tables)}
    nodes = [
        each
        for number in range(tables)
        for each in (
            node("Gather", f"i n{number}", f"i{number}", axis=1),
            node("Gather", f"t{number} i{number}", f"r{number}"),
        )
    ]
    nodes.append(node("Concat", " ".join(["x", *(f"r{number}" for number in range(tables))]), axis=1))
    model = model_of(nodes, inputs, weights)
    assert expect(model, inputs, target) == []
    path = tmp_path / "tables.qn"
    perpend.import_model(model).compile(str(path), {"target": target})
    verified = tool("quoin-verify", path)
    assert verified.stdout == "verified\n", verified.stderr
    first = tool("quoin-dis", path).stdout.split(".core ")[1]
    assert len(re.findall(r"^  fence", first, re.MULTILINE)) <= tables / 3, first
