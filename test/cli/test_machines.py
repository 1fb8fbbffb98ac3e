"""One artifact for several machines: the right variant runs, what they have in common is there once."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import perpend
import pytest
from cli.tool import DIGITS, ROOT, reject, runs_here, save, sets_of, succeed, value
from e2e.models import CLANG
from onnx import TensorProto, helper, numpy_helper

TARGETS = ["x86-64", "x86-64-v3", "x86-64-v4"]
FORCE = "PERPEND_TARGET"


@pytest.fixture(autouse=True)
def nothing_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FORCE, raising=False)


def save_block(folder: Path) -> Path:
    """Attention with one head and a wider layer behind it, each with a residual."""
    generator = np.random.default_rng(2)
    width, inner = 48, 96
    shapes = {name: (width, width) for name in ("wq", "wk", "wv", "wo")} | {"w1": (width, inner), "w2": (inner, width)}
    weights = [
        numpy_helper.from_array((generator.standard_normal(shape) / shape[0] ** 0.5).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    weights += [numpy_helper.from_array(np.ones(width, np.float32), name) for name in ("g1", "g2")]
    nodes = [
        helper.make_node("LayerNormalization", ["x", "g1"], ["n1"], axis=-1),
        *(helper.make_node("MatMul", ["n1", f"w{name}"], [name]) for name in "qkv"),
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["q", "kt"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "v"], ["mixed"]),
        helper.make_node("MatMul", ["mixed", "wo"], ["projected"]),
        helper.make_node("Add", ["x", "projected"], ["r"]),
        helper.make_node("LayerNormalization", ["r", "g2"], ["n2"], axis=-1),
        helper.make_node("MatMul", ["n2", "w1"], ["h"]),
        helper.make_node("Relu", ["h"], ["a"]),
        helper.make_node("MatMul", ["a", "w2"], ["o"]),
        helper.make_node("Add", ["r", "o"], ["y"]),
    ]
    shape = ["b", "t", width]
    return save(folder / "block.onnx", nodes, [value("x", shape)], [value("y", shape)], weights)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("machines")
    shutil.copy(DIGITS, folder / "digits.onnx")
    save_block(folder)
    for model in ("digits", "block"):
        arguments = ["compile", f"{model}.onnx", "--name", model]
        succeed(*arguments, "--target", ",".join(TARGETS), "-o", f"{model}.so", folder=folder)
        for target in TARGETS:
            succeed(*arguments, "--target", target, "-o", f"{model}-{target}.so", folder=folder)
    yield folder


def inputs_of(model: str) -> list[np.ndarray]:
    generator = np.random.default_rng(3)
    shapes = {"digits": [(1, 1, 8, 8), (5, 1, 8, 8)], "block": [(1, 7, 48), (2, 33, 48)]}
    return [generator.standard_normal(shape).astype(np.float32) for shape in shapes[model]]


# Variants


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("model", ["digits", "block"])
def test_each_variant_is_what_its_machine_alone_gets(
    folder: Path, model: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not runs_here(target):
        pytest.skip(f"this machine is no {target}")
    alone = perpend.load(folder / f"{model}-{target}.so")
    monkeypatch.setenv(FORCE, target)
    variant = perpend.load(folder / f"{model}.so")
    assert variant.description["target"] == target
    assert variant.description["kernels"] == alone.description["kernels"]
    for given in inputs_of(model):
        np.testing.assert_array_equal(variant(given), alone(given))


def test_the_last_of_the_machines_that_runs_here_is_chosen(folder: Path) -> None:
    best = [target for target in TARGETS if runs_here(target)][-1]
    model = perpend.load(folder / "digits.so")
    assert model.description["target"] == best
    assert [variant["target"] for variant in model.description["variants"]] == TARGETS[::-1]
    assert {*model.description["isa"]} == sets_of(best)


@pytest.mark.parametrize("model", ["digits", "block"])
def test_check_compares_every_variant(folder: Path, model: str) -> None:
    symbols = {"digits": ["n=3"], "block": ["b=2", "t=5"]}[model]
    options = [word for symbol in symbols for word in ("--symbol", symbol)]
    text = succeed("check", f"{model}.onnx", "--target", ",".join(TARGETS), *options, folder=folder)
    names = [target for target in reversed(TARGETS) if runs_here(target)]
    assert re.findall(r"^(\S+) against interpreter:$", text, re.M) == names
    assert text.count("the outputs agree\n") == len(names)


@pytest.mark.skipif(runs_here("sapphirerapids"), reason="this machine is a sapphirerapids")
def test_check_says_what_it_does_not_compare(folder: Path) -> None:
    text = succeed("check", "digits.onnx", "--target", "sapphirerapids,x86-64", folder=folder)
    assert re.match(r"sapphirerapids: not compared, this machine lacks \S.*amx-tile.*\n", text)
    assert "sse" not in text and "\nx86-64 against interpreter:\n" in text


def test_check_of_the_one_that_is_forced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FORCE, "x86-64")
    text = succeed("check", "digits.onnx", "--target", ",".join(TARGETS), folder=folder)
    assert text.count("against interpreter:") == 1


@pytest.mark.skipif(not runs_here("x86-64-v4"), reason="this machine lacks what a variant needs")
def test_inspect_lists_the_variants(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FORCE, "x86-64")
    text = succeed("inspect", "digits.so", "--html", tmp_path / "digits.html", folder=folder)
    text = succeed("inspect", "digits.so", folder=folder)
    rows = re.findall(r"^variant  (.+): code (\d+) bytes, weights (\d+) bytes, isa (.*)$", text, re.M)
    assert [row[0] for row in rows] == ["x86-64-v4", "x86-64-v3", "x86-64 (runs here)"]
    assert [set(row[3].split()) - {"sse2"} for row in rows] == [sets_of(target) for target in reversed(TARGETS)]
    alone = {t: perpend.load(folder / f"digits-{t}.so").description["weightsBytes"] for t in TARGETS}
    assert [int(row[2]) for row in rows] == [alone[target] for target in reversed(TARGETS)]
    size = (folder / "digits.so").stat().st_size
    assert all(1000 < int(row[1]) < size for row in rows)
    assert "x86-64 (runs here)" in (tmp_path / "digits.html").read_text()
    assert "variant" not in succeed("inspect", "digits-x86-64.so", folder=folder)


def test_bench_with_a_profile(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FORCE, "x86-64")
    options = ["--profile", "--time", "0", "--symbol", "n=4"]
    text = succeed("bench", "digits.onnx", "--target", ",".join(TARGETS), *options, folder=folder)
    alone = succeed("bench", "digits.onnx", "--target", "x86-64", *options, folder=folder)
    assert sorted(re.findall(r"\w+_\w+", text)) == sorted(re.findall(r"\w+_\w+", alone)) and "%" in text


def test_texts_and_library_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Identities of constant texts are weights, too, and each variant has a table of them."""
    words = helper.make_tensor("words", TensorProto.STRING, [2], [b"one", b"two"])
    nodes = [helper.make_node("StringConcat", ["x", "words"], ["y"])]
    tensors = [value(name, [2], TensorProto.STRING) for name in "xy"]
    graph = helper.make_graph(nodes, "texts", tensors[:1], tensors[1:], [words])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.save(model, tmp_path / "texts.onnx")
    succeed("compile", "texts.onnx", "-o", "texts.so", "--target", "x86-64,x86-64-v2", folder=tmp_path)
    for target in ("x86-64", "x86-64-v2"):
        monkeypatch.setenv(FORCE, target)
        assert perpend.load(tmp_path / "texts.so")(np.array(["a", ""])).tolist() == ["aone", "two"]


@pytest.mark.parametrize("option", ["-O0", "-O3", "--checked"])
def test_no_weights(tmp_path: Path, option: str) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    save(tmp_path / "relu.onnx", nodes, [value("x", ["n"])], [value("y", ["n"])])
    succeed("check", "relu.onnx", "--target", "x86-64,x86-64-v2", option, folder=tmp_path)
    succeed("compile", "relu.onnx", "--target", "x86-64,x86-64-v2", option, "-o", "relu.so", folder=tmp_path)
    assert perpend.load(tmp_path / "relu.so").description["weightsBytes"] == 0


def test_weights_without_elements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They lie where the next one does, or behind all."""
    weights = [
        numpy_helper.from_array(np.ones((0, 3), np.float32), "a"),
        numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(2, 3), "b"),
        numpy_helper.from_array(np.ones((0, 2), np.int64), "c"),
    ]
    nodes = [helper.make_node("Concat", [name, "x"], ["x" + name], axis=0) for name in "ab"]
    nodes += [helper.make_node("ScatterND", ["x", "c", "e"], ["y"])]
    weights += [numpy_helper.from_array(np.ones(0, np.float32), "e")]
    outputs = [value("xa", None), value("xb", None), value("y", ["n", 3])]
    save(tmp_path / "empty.onnx", nodes, [value("x", ["n", 3])], outputs, weights)
    succeed("compile", "empty.onnx", "--target", "x86-64,x86-64-v2", "-O0", "-o", "empty.so", folder=tmp_path)
    x = np.ones((4, 3), np.float32)
    for target in ("x86-64", "x86-64-v2"):
        monkeypatch.setenv(FORCE, target)
        xa, xb, y = perpend.load(tmp_path / "empty.so")(x)
        assert (xa == x).all() and (y == x).all() and (xb[:2] == np.arange(6).reshape(2, 3)).all()


def test_a_list_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FORCE, "x86-64-v2,+avx")
    model = perpend.compile(DIGITS, ["x86-64", "x86-64-v2,+avx"])
    assert model.description["target"] == "x86-64-v2,+avx"
    assert [name for name, _ in model.report.times][-1] == "join"  # type: ignore[union-attr]
    model.save(tmp_path / "saved.so")
    monkeypatch.setenv(FORCE, "x86-64")
    assert perpend.load(tmp_path / "saved.so").description["target"] == "x86-64"
    for wrong in (3, ["x86-64", "x86-64"], []):
        with pytest.raises(perpend.CompileError):
            perpend.compile(DIGITS, wrong)  # type: ignore[arg-type]


def test_sessions_of_several_variants_in_one_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = inputs_of("block")[1]
    loaded = []
    for target in filter(runs_here, TARGETS):
        monkeypatch.setenv(FORCE, target)
        loaded.append(perpend.load(folder / "block.so", threads=2))
    expected = [model(given) for model in loaded]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            for model, result in zip(loaded, pool.map(lambda model: model(given), loaded), strict=True):
                np.testing.assert_array_equal(result, expected[loaded.index(model)])
    for result in expected[1:]:
        np.testing.assert_allclose(result, expected[0], rtol=1e-4, atol=1e-4)


# C


def build(folder: Path, *arguments: object) -> None:
    subprocess.run([CLANG, *map(str, arguments)], check=True, cwd=folder, timeout=120)


PROGRAM = """
#include "first.h"
#include "perpend_module.h"
#include "second.h"
#include <stdio.h>
int main(void) {
  const perpend_module *modules[2] = {perpend_module_first(), perpend_module_second()};
  for (int i = 0; i < 2; ++i) {
    perpend_model *model = NULL;
    if (perpend_model_from_module(modules[i], &model))
      return puts(perpend_error_message()), 1;
    puts(perpend_model_descriptor(model));
    perpend_model_free(model);
  }
  return 0;
}
"""


def test_two_static_libraries_in_one_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, targets in [("first", "x86-64,x86-64-v2"), ("second", "x86-64,x86-64-v3")]:
        succeed("compile", DIGITS, "-o", f"{name}.a", "--target", targets, folder=tmp_path)
    (tmp_path / "main.c").write_text(PROGRAM)
    build(tmp_path, "-I", ROOT / "runtime/include", "main.c", "first.a", "second.a", "-lm", "-lpthread", "-o", "main")
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, timeout=60)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["name"] for one in found] == ["first", "second"]
    assert found[0]["target"] == "x86-64-v2"
    monkeypatch.setenv(FORCE, "x86-64-v2")
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "PERPEND_TARGET to be one of 'x86-64-v3', 'x86-64', got" in done.stdout


def test_a_program_by_itself(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    succeed("compile", DIGITS, "--exe", "-o", "digits", "--target", ",".join(TARGETS), folder=tmp_path)
    given = inputs_of("digits")[1]
    np.save(tmp_path / "x.npy", given)
    for target in filter(runs_here, TARGETS):
        monkeypatch.setenv(FORCE, target)
        command = [tmp_path / "digits", "--input", "x.npy", "--output-dir", "out"]
        subprocess.run(command, check=True, capture_output=True, cwd=tmp_path, timeout=60)
        result = np.load(next((tmp_path / "out").glob("*.npy")))
        np.testing.assert_array_equal(result, perpend.load(folder / f"digits-{target}.so")(given))


@pytest.mark.skipif(not shutil.which("qemu-x86_64"), reason="there is no qemu-x86_64")
@pytest.mark.parametrize(("processor", "target"), [("qemu64", "x86-64"), ("Haswell", "x86-64-v3")])
def test_on_another_processor(tmp_path: Path, processor: str, target: str) -> None:
    succeed("compile", DIGITS, "-o", "first.a", "--target", ",".join(TARGETS), folder=tmp_path)
    (tmp_path / "main.c").write_text(PROGRAM.replace("second", "first"))
    build(tmp_path, "-I", ROOT / "runtime/include", "main.c", "first.a", "-lm", "-lpthread", "-o", "main")
    done = subprocess.run(["qemu-x86_64", "-cpu", processor, tmp_path / "main"], capture_output=True, text=True)
    assert json.loads(done.stdout.splitlines()[0])["target"] == target, done.stdout + done.stderr


# Weights


def test_equal_weights_are_there_once(tmp_path: Path) -> None:
    options = ["compile", DIGITS, "--name", "digits"]
    succeed(*options, "--target", "x86-64-v3", "-o", "one.so", folder=tmp_path)
    text = succeed(*options, "--target", "x86-64-v3,haswell", "-o", "two.so", folder=tmp_path)
    one, two = (perpend.load(tmp_path / f"{name}.so").description for name in ("one", "two"))
    assert two["weightsBytes"] == one["weightsBytes"]
    assert [variant["weightsBytes"] for variant in two["variants"]] == [one["weightsBytes"]] * 2
    assert re.search(r"^target haswell: code .*\(0 bytes of its own\)$", text, re.M)
    assert b"PERPEND_TARGET" in (tmp_path / "two.so").read_bytes()
    assert b"PERPEND_TARGET" not in (tmp_path / "one.so").read_bytes()  # it has nothing to choose
    assert (tmp_path / "two.so").stat().st_size < (tmp_path / "one.so").stat().st_size + one["weightsBytes"]


def test_compiling_twice_gives_the_same_bytes(tmp_path: Path, folder: Path) -> None:
    options = ["--name", "digits", "--target", ",".join(TARGETS[::-1]), "-o", "again.so"]
    succeed("compile", DIGITS, *options, folder=tmp_path)
    assert (tmp_path / "again.so").read_bytes() == (folder / "digits.so").read_bytes()


# Refusals


def test_a_machine_without_any_of_them(tmp_path: Path) -> None:
    if runs_here("sapphirerapids") or not runs_here("x86-64-v4"):
        pytest.skip("this machine is a sapphirerapids, or lacks more than tiles")
    succeed("compile", DIGITS, "--target", "sapphirerapids", "-o", "one.so", folder=tmp_path)
    assert re.search(r"needs \S*amx-tile\S*, which this machine lacks", reject("run", "one.so", folder=tmp_path))
    targets = "sapphirerapids,x86-64-v4,+avx512fp16"
    succeed("compile", DIGITS, "--target", targets, "-o", "two.so", folder=tmp_path)
    assert re.search(
        r"^runs     not here: model \S+ was compiled for the target \S+ and needs \S*amx-tile\S*, which \S.* lacks\n"
        r"target   sapphirerapids\ninput ",
        succeed("inspect", "one.so", folder=tmp_path),
        re.M,
    )
    text = succeed("inspect", "two.so", folder=tmp_path)
    assert re.findall(r"^variant  (\S+): code", text, re.M) == ["sapphirerapids", "x86-64-v4,+avx512fp16"]
    assert "runs     not here" in text and "\ninput " in text and "\ntarget " not in text
    error = reject("run", "two.so", folder=tmp_path)
    assert re.search(
        r"needs \S*amx-tile\S*(?: and \d more)? \(sapphirerapids\), or "
        r"\S*avx512fp16\S* \(x86-64-v4,\+avx512fp16\), which this",
        error,
    )
    assert f"was compiled for the target {targets} and needs " in error


def test_forcing_what_cannot_be(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FORCE, "x86-64-v5")
    error = reject("run", folder / "digits.so", folder=tmp_path)
    assert "needs PERPEND_TARGET to be one of 'x86-64-v4', 'x86-64-v3', 'x86-64', got 'x86-64-v5'" in error
    assert error.rstrip().endswith("hint: correct or unset PERPEND_TARGET")
    assert "\nvariant  x86-64-v3: code" in succeed("inspect", folder / "digits.so", folder=tmp_path)
    monkeypatch.setenv(FORCE, '"\\\n' + "x" * 1000)
    assert "got '???xxx" in reject("run", folder / "digits.so", folder=tmp_path)
    succeed("run", folder / "digits-x86-64.so", folder=tmp_path)  # of one machine
    if not runs_here("sapphirerapids"):
        succeed("compile", DIGITS, "--target", "x86-64,sapphirerapids", "-o", "m.so", folder=tmp_path)
        monkeypatch.setenv(FORCE, "sapphirerapids")
        error = reject("run", "m.so", folder=tmp_path)
        assert re.search(r"needs \S.* \(sapphirerapids\)\nhint: this machine lacks", error)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ("x86-64-v3,x86-64-v4,x86-64-v3", "it names the machine 'x86-64-v3' twice"),
        ("haswell,l2=256K,haswell", "it names the machine 'haswell' twice"),
        ("+avxvnni,x86-64-v3", "'+avxvnni' does not follow a machine"),
        ("x86-64-v3,znver55", "unknown target 'znver55'\nhint: did you mean 'znver5'?"),
        ("x86-64-v3,avxvnni,x86-64-v4", "hint: write '+avxvnni' to switch it on"),
        ("x86-64,", "got ''\nhint: leave out the comma, or name another machine behind it"),
        ("x86-64,l9=1M,x86-64-v3", "got 'l9=1M'\nhint: sizes are those of l1, l2 and l3"),
    ],
)
def test_lists_that_are_wrong(tmp_path: Path, targets: str, message: str) -> None:
    assert message in reject("compile", DIGITS, "--target", targets, "-o", "m.so", folder=tmp_path, code=2)


@pytest.mark.parametrize(
    "option",
    [
        ["--stop-after", "pack"],
        ["--override-phase", "tile:x.mlir"],
        ["--start-from", "plan"],
        ["--schedules", "x.schedules"],
    ],
    ids=" ".join,
)
def test_options_for_one_machine(tmp_path: Path, option: list[str]) -> None:
    output = [] if option[0] == "--stop-after" else ["-o", "m.so"]
    error = reject("compile", DIGITS, "--target", ",".join(TARGETS), *option, *output, folder=tmp_path)
    assert f"the option {option[0]} is for one machine, but --target names 3: " in error


def test_a_precision_that_one_lacks(tmp_path: Path) -> None:
    options = ["--precision", "f16", "-o", "m.so", "--target"]
    error = reject("compile", DIGITS, *options, "znver4,x86-64", folder=tmp_path)
    assert "precision (--precision): the machine 'x86-64' multiplies bf16, f32, int8, got 'f16'" in error
    assert "precision f16: " in succeed("compile", DIGITS, *options, "znver4,znver5", folder=tmp_path)


@pytest.mark.parametrize("option", [[], ["--schedules"], ["--stage", "asm"]], ids=" ".join)
def test_inspecting_a_source_is_for_one_machine(tmp_path: Path, option: list[str]) -> None:
    error = reject("inspect", DIGITS, *option, "--target", "x86-64-v3,x86-64-v4", folder=tmp_path)
    assert "target 'x86-64-v3,x86-64-v4': expected one machine here, got 2" in error


def test_phases_before_the_machines(tmp_path: Path) -> None:
    """What they have in common is the same for each."""
    layout = ["compile", DIGITS, "--stop-after", "layout", "--target"]
    texts = {succeed(*layout, target, folder=tmp_path) for target in [*TARGETS, ",".join(TARGETS)]}
    assert len(texts) == 1
    succeed("compile", DIGITS, "-o", "m.so", "--dump-phases", "phases", "--target", "haswell,znver5", folder=tmp_path)
    names = sorted(str(path.relative_to(tmp_path / "phases")) for path in (tmp_path / "phases").rglob("*.mlir"))
    assert names[:2] == ["1-simplify.mlir", "2-layout.mlir"] and names[2] == "haswell/3-pack.mlir"
    assert len(names) == 2 + 2 * 6
