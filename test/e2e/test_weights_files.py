"""Weights that lie in files: beside the artifact, or where the user has them (docs/decisions/0048)."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import perpend
import pytest
from e2e.models import run_tool
from onnx import TensorProto, helper, numpy_helper

ROWS, COLUMNS = 512, 96  # of the table; the product has COLUMNS x COLUMNS


def write_model(path: Path, external: bool) -> None:
    """y = table[ids] @ w. At -O2 w is packed, and the table is read as it is."""
    generator = np.random.default_rng(0)
    table = numpy_helper.from_array(generator.standard_normal((ROWS, COLUMNS)).astype(np.float32), "table")
    w = numpy_helper.from_array(generator.standard_normal((COLUMNS, COLUMNS)).astype(np.float32), "w")
    nodes = [helper.make_node("Gather", ["table", "ids"], ["x"]), helper.make_node("MatMul", ["x", "w"], ["y"])]
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["n"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", COLUMNS])
    graph = helper.make_graph(nodes, "g", [ids], [y], [table, w])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    onnx.save_model(model, path, save_as_external_data=external, location=f"{path.name}.data", size_threshold=0)


IDS = np.arange(0, ROWS, 37, dtype=np.int64)
PLACES = ["embed", "beside", "as-is"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with embed.so, beside.so and as-is.so."""
    folder = tmp_path_factory.mktemp("weights")
    write_model(folder / "net.onnx", external=True)
    for weights in PLACES:
        run_tool("compile", "net.onnx", "-o", f"{weights}.so", "--weights", weights, folder=folder)
    return folder


@pytest.fixture
def expected(models: Path) -> np.ndarray:
    return np.asarray(perpend.load(models / "embed.so")(IDS))


@pytest.mark.parametrize("weights", PLACES)
def test_same_results(models: Path, expected: np.ndarray, weights: str) -> None:
    np.testing.assert_array_equal(perpend.load(models / f"{weights}.so")(IDS), expected)
    text = run_tool("check", "net.onnx", "--against", "interpreter,plan", "--weights", weights, folder=models)
    assert text.count("the outputs agree") == 2


def test_python_saves_links_to_files_of_the_user(models: Path, expected: np.ndarray, tmp_path: Path) -> None:
    model, own = perpend.compile(models / "net.onnx", weights="as-is"), models / "net.onnx.data"
    (tmp_path / "other").mkdir()
    path = tmp_path / "other" / "m.so"
    for _ in range(2):
        model.save(path)
        np.testing.assert_array_equal(perpend.load(path)(IDS), expected)
    assert (path.parent / own.name).is_symlink() and (path.parent / own.name).samefile(own)
    perpend.load(path).save(tmp_path / "again.so")  # from where it was saved
    np.testing.assert_array_equal(perpend.load(tmp_path / "again.so")(IDS), expected)
    model.save(models / "saved.so")
    assert not (models / own.name).is_symlink()
    (tmp_path / "third").mkdir()
    (tmp_path / "third" / own.name).write_text("something else")
    with pytest.raises(FileExistsError, match=r"is not '.*net\.onnx\.data', from which the model reads"):
        model.save(tmp_path / "third" / "m.so")
    assert not (tmp_path / "third" / "m.so").exists()


def test_where_bytes_lie(models: Path) -> None:
    weights = 4 * COLUMNS * (ROWS + COLUMNS)
    embedded, beside = (models / "embed.so").stat().st_size, (models / "beside.so").stat().st_size
    assert not (models / "embed.weights").exists()
    assert embedded - beside > 0.9 * weights
    assert (models / "beside.weights").stat().st_size >= weights
    # The table stays where it is.
    assert 4 * COLUMNS * COLUMNS <= (models / "as-is.weights").stat().st_size < weights / 2


def test_reports(models: Path, tmp_path: Path) -> None:
    text = run_tool("compile", "net.onnx", "-o", tmp_path / "m.so", "--weights", "beside", folder=models)
    assert f"needs {tmp_path / 'm.weights'}: " in text and "to be shipped with it" in text
    text = run_tool("inspect", "as-is.so", folder=models)
    assert "file     as-is.weights: " in text and "file     net.onnx.data: " in text
    plan = run_tool(
        "compile", "net.onnx", "--weights", "as-is", "--stop-after", "plan", "-o", tmp_path / "p.mlir", folder=models
    )
    plan = (tmp_path / "p.mlir").read_text()
    assert f'file "{(models / "net.onnx.data").resolve()}" at ' in plan
    # A plan with parts of files is compiled, too.
    run_tool("compile", tmp_path / "p.mlir", "-o", tmp_path / "p.so", folder=models)
    np.testing.assert_array_equal(
        perpend.load(tmp_path / "p.so", weights=models)(IDS), perpend.load(models / "embed.so")(IDS)
    )


def test_a_missing_file(models: Path, tmp_path: Path, expected: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(models / "beside.so", tmp_path / "m.so")
    places = f"looked for as '{tmp_path}/beside.weights', '{tmp_path}/m.weights'"
    with pytest.raises(FileNotFoundError, match=f"the file 'beside.weights' is missing, {places}; hint: "):
        perpend.load(tmp_path / "m.so")
    np.testing.assert_array_equal(perpend.load(tmp_path / "m.so", weights=models)(IDS), expected)
    monkeypatch.setenv("PERPEND_WEIGHTS", f"/nonexistent:{models}")
    np.testing.assert_array_equal(perpend.load(tmp_path / "m.so")(IDS), expected)
    monkeypatch.delenv("PERPEND_WEIGHTS")
    shutil.copy(models / "beside.weights", tmp_path / "m.weights")  # by the name of the library
    np.testing.assert_array_equal(perpend.load(tmp_path / "m.so")(IDS), expected)


def test_a_model_can_be_described_without_its_weights(models: Path, tmp_path: Path) -> None:
    shutil.copy(models / "beside.so", tmp_path / "m.so")
    text = run_tool("inspect", "m.so", folder=tmp_path)
    assert "runs     not here: " in text and "input    ids: i64 [n]" in text


@pytest.fixture
def copied(models: Path, tmp_path: Path) -> Iterator[Path]:
    for name in ["beside.so", "beside.weights"]:
        shutil.copy(models / name, tmp_path / name)
    yield tmp_path / "beside.weights"


def test_another_file_of_weights(models: Path, copied: Path) -> None:
    shutil.copy(models / "as-is.weights", copied)
    with pytest.raises(RuntimeError, match=r"weights: '.*beside.weights': expected \d+ bytes, got \d+; hint: copy"):
        perpend.load(copied.with_suffix(".so"))


def test_a_damaged_file_of_weights(copied: Path) -> None:
    damaged = bytearray(copied.read_bytes())
    damaged[10_000] ^= 1
    copied.write_bytes(damaged)
    with pytest.raises(RuntimeError, match=r"weights: the file 'beside\.weights': checksum: expected"):
        perpend.load(copied.with_suffix(".so"))


def test_a_file_that_is_cut_short_after_loading(copied: Path, expected: np.ndarray) -> None:
    model = perpend.load(copied.with_suffix(".so"))
    whole = copied.read_bytes()
    os.truncate(copied, 5000)
    with pytest.raises(
        RuntimeError, match=r"weights: the file 'beside\.weights' was cut short after it had been mapped"
    ):
        model(IDS)
    copied.write_bytes(whole)
    np.testing.assert_array_equal(model(IDS), expected)


CUT_WHILE_IT_RUNS = """
import os, sys, threading, time
import numpy as np
import perpend
path = sys.argv[1]
model = perpend.load(path + ".so")
ids = np.arange(500_000, dtype=np.int64) % 500
started = threading.Event()
def cut():
    started.wait()
    time.sleep(0.01)
    os.truncate(path + ".weights", 4096)
thread = threading.Thread(target=cut)
thread.start()
started.set()
try:
    for _ in range(100):
        model(ids)
except RuntimeError as error:
    print(error)
thread.join()
"""


def test_a_file_that_is_cut_short_while_models_run(copied: Path) -> None:
    """In a process of its own, which a signal would end."""
    command = [sys.executable, "-c", CUT_WHILE_IT_RUNS, str(copied.with_suffix(""))]
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done
    assert "weights: the file 'beside.weights' was cut short" in done.stdout


def test_programs_and_static_libraries(models: Path, tmp_path: Path, expected: np.ndarray) -> None:
    np.save(tmp_path / "ids.npy", IDS)
    run_tool("compile", "net.onnx", "-o", tmp_path / "program", "--exe", "--weights", "beside", folder=models)
    for place in [tmp_path, tmp_path / "other"]:
        place.mkdir(exist_ok=True)
        if place != tmp_path:
            shutil.move(tmp_path / "program", place)
            shutil.move(tmp_path / "program.weights", place)
        command = [str(place / "program"), "--input", "ids=ids.npy", "--output-dir", "out"]
        subprocess.run(command, cwd=tmp_path, check=True)
        np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.npy"), expected)
    (tmp_path / "other" / "program.weights").unlink()
    done = subprocess.run([tmp_path / "other" / "program"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "the file 'program.weights' is missing" in done.stderr + done.stdout


def test_several_machines(models: Path, tmp_path: Path, expected: np.ndarray) -> None:
    target = ["--target", "x86-64,x86-64-v3"]
    run_tool("compile", "net.onnx", "-o", tmp_path / "m.so", *target, "--weights", "beside", folder=models)
    assert (tmp_path / "m.weights").exists()
    np.testing.assert_allclose(perpend.load(tmp_path / "m.so")(IDS), expected, rtol=1e-4, atol=1e-4)
    with pytest.raises(AssertionError, match="--weights as-is is for one machine"):
        run_tool("compile", "net.onnx", "-o", tmp_path / "a.so", *target, "--weights", "as-is", folder=models)


def test_python(models: Path, tmp_path: Path, expected: np.ndarray) -> None:
    model = perpend.compile(models / "net.onnx", weights="beside")
    model.save(tmp_path / "saved.so")
    (tmp_path / "model.weights").write_bytes(b"of another model")
    np.testing.assert_array_equal(perpend.load(tmp_path / "saved.so")(IDS), expected)
    assert (tmp_path / "saved.weights").exists()
    with pytest.raises(perpend.CompileError, match="expected one of auto, embed, beside, as-is, got 'here'"):
        perpend.compile(models / "net.onnx", weights="here")


def test_small_weights_are_embedded_by_default(models: Path, tmp_path: Path) -> None:
    run_tool("compile", "net.onnx", "-o", tmp_path / "m.so", folder=models)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.h", "m.so"]
