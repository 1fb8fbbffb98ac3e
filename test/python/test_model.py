"""Compiling ONNX models and running artifacts: arrays in and out, shapes, errors, threads."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import perpend
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from perpend import _perpend

DATA = np.random.default_rng(0)


def onnx_model(
    dtype: int = TensorProto.FLOAT, operators: tuple[str, ...] = ("Relu",), shape: tuple[object, ...] = ("n", 4)
) -> onnx.ModelProto:
    """x -> operators -> y"""
    names = ["x", *(f"t{i}" for i in range(len(operators) - 1)), "y"]
    nodes = [
        helper.make_node(operator, [names[i]] * (2 if operator in ("Add", "Mul") else 1), [names[i + 1]])
        for i, operator in enumerate(operators)
    ]
    x = helper.make_tensor_value_info("x", dtype, shape)
    y = helper.make_tensor_value_info("y", dtype, shape)
    graph = helper.make_graph(nodes, "small", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def two_outputs() -> onnx.ModelProto:
    """sum = a + b w, difference = a - b"""
    weight = numpy_helper.from_array(np.arange(3, dtype=np.float32), "w")
    nodes = [
        helper.make_node("Mul", ["b", "w"], ["scaled"]),
        helper.make_node("Add", ["a", "scaled"], ["sum"]),
        helper.make_node("Sub", ["a", "b"], ["difference"]),
    ]
    tensors = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ("n", 3)) for name in ("a", "b")}
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ("n", 3)) for name in ("sum", "difference")]
    graph = helper.make_graph(nodes, "two", list(tensors.values()), outputs, [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


KEPT = """
import mmap, sys
from pathlib import Path

import numpy as np
import perpend

def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE

relu = perpend.compile(sys.argv[1])
x = np.zeros((1 << 20, 4), np.float32)  # 16 MiB
results = [relu(x) for _ in range(8)]
print(resident_bytes())
del results
print(resident_bytes())
"""


@pytest.fixture(scope="module")
def relu() -> perpend.Model:
    return perpend.compile(onnx_model())


def test_proto_and_path_give_the_same(tmp_path: Path, relu: perpend.Model) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(onnx_model(), path)
    x = DATA.standard_normal((5, 4), np.float32)
    np.testing.assert_array_equal(perpend.compile(path)(x), relu(x))
    np.testing.assert_array_equal(relu(x), np.maximum(x, 0))


def test_a_file_that_is_written_anew(tmp_path: Path) -> None:
    """The model that was loaded from it before crashed, or was what a load gave again."""
    x = DATA.standard_normal((3, 4), np.float32)
    loaded = []
    for operator in ("Neg", "Abs", "Neg", "Relu"):
        perpend.compile(onnx_model(operators=(operator,))).save(tmp_path / "model.so")
        loaded.append(perpend.load(tmp_path / "model.so"))
    again = perpend.load(tmp_path / "model.so")
    for model, expected in zip([*loaded, again], [-x, abs(x), -x, np.maximum(x, 0), np.maximum(x, 0)], strict=True):
        np.testing.assert_array_equal(model(x), expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.h", "model.so"]


def test_save_and_load(tmp_path: Path, relu: perpend.Model) -> None:
    relu.save(tmp_path / "saved.so")
    loaded = perpend.load(tmp_path / "saved.so", threads=1)
    assert loaded.threads == 1
    assert loaded.inputs == [perpend.TensorInfo("x", "f32", ["n", 4])]
    x = DATA.standard_normal((3, 4), np.float32)
    np.testing.assert_array_equal(loaded(x), relu(x))
    with pytest.raises(ValueError, match=r"ends in \.so"):
        relu.save(tmp_path / "saved.a")


def test_inputs_by_name_and_outputs_as_tuple() -> None:
    model = perpend.compile(two_outputs())
    a, b = DATA.standard_normal((2, 7, 3), np.float32)
    for total, difference in (model(a, b), model(a, b=b), model(b=b, a=a)):
        np.testing.assert_allclose(total, a + b * np.arange(3, dtype=np.float32), rtol=1e-6)
        np.testing.assert_allclose(difference, a - b)


def test_arrays_of_every_layout(relu: perpend.Model) -> None:
    x = DATA.standard_normal((8, 8), np.float32)
    for view in (x[:, ::2], x.T[:, 4:], x[::-1, :4], np.asfortranarray(x[:, :4])):
        np.testing.assert_array_equal(relu(view), np.maximum(view, 0))
    np.testing.assert_array_equal(relu([[1, -2, 3, -4]]), [[1, 0, 3, 0]])
    read_only = x[:, :4].copy()
    read_only.flags.writeable = False
    np.testing.assert_array_equal(relu(read_only), np.maximum(read_only, 0))


def test_torch_tensors_in_give_torch_tensors_out(relu: perpend.Model) -> None:
    x = torch.randn(8, 8)
    for view in (x[:, :4].contiguous(), x[:, ::2], x.T[:, :4], x[:, :4].clone().requires_grad_()):
        result = relu(view)
        assert isinstance(result, torch.Tensor)
        torch.testing.assert_close(result, view.detach().relu())


@pytest.mark.parametrize(
    ("onnx_type", "dtype"),
    [
        (TensorProto.DOUBLE, np.float64),
        (TensorProto.FLOAT16, np.float16),
        (TensorProto.BFLOAT16, ml_dtypes.bfloat16),
        (TensorProto.INT32, np.int32),
        (TensorProto.INT64, np.int64),
        (TensorProto.UINT8, np.uint8),
    ],
)
def test_element_types(onnx_type: int, dtype: Any) -> None:
    model = perpend.compile(onnx_model(onnx_type, ("Add",)))
    x = np.arange(8).reshape(2, 4).astype(dtype)
    result = model(x)
    assert result.dtype == x.dtype
    np.testing.assert_array_equal(result, x + x)


def test_bfloat16_tensors() -> None:
    model = perpend.compile(onnx_model(TensorProto.BFLOAT16, ("Add",)))
    x = torch.arange(8).reshape(2, 4).bfloat16()
    torch.testing.assert_close(model(x), x + x)


def test_results_are_not_overwritten(relu: perpend.Model) -> None:
    first = relu(np.ones((2, 4), np.float32))
    relu(np.zeros((2, 4), np.float32))
    np.testing.assert_array_equal(first, np.ones((2, 4)))


def test_large_results_begin_with_a_line_of_the_cache(relu: perpend.Model) -> None:
    """A vector that crosses two lines is stored twice."""
    for rows in (1024, 1025, 5000, 400_000):
        results = [relu(np.full((rows, 4), number, np.float32)) for number in range(3)]
        assert [result.ctypes.data % 64 for result in results] == [0, 0, 0]
        assert [result.shape for result in results] == [(rows, 4)] * 3
        for number, result in enumerate(results):
            assert (result == number).all()
            result += 1  # it belongs to the caller


def test_the_memory_of_large_results_is_used_again(relu: perpend.Model) -> None:
    x = np.ones((300_000, 4), np.float32)
    address = relu(x).ctypes.data
    assert [relu(x).ctypes.data for _ in range(3)] == [address] * 3
    part = relu(x)[7:9]  # keeps all of its array
    others = [relu(2 * x) for _ in range(3)]
    assert address not in [other.ctypes.data for other in others]
    np.testing.assert_array_equal(part, np.ones((2, 4)))


def test_the_memory_that_is_kept_has_a_bound(tmp_path: Path) -> None:
    """In a process of its own: what the memory allocator gives back to the system depends on all that came before."""
    onnx.save(onnx_model(), tmp_path / "relu.onnx")
    done = subprocess.run(
        [sys.executable, "-c", KEPT, str(tmp_path / "relu.onnx")], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    held, left = (int(number) for number in done.stdout.split())
    assert held - left > (2 << 24)  # of 128 MiB, 64 are kept


def test_dims(relu: perpend.Model) -> None:
    fixed = perpend.compile(onnx_model(), dims={"n": 2})
    assert fixed.inputs[0].shape == [2, 4]
    with pytest.raises(ValueError, match="dimension 0: expected 2, got 3"):
        fixed(np.zeros((3, 4), np.float32))


def test_errors_of_calls(relu: perpend.Model) -> None:
    with pytest.raises(ValueError, match="input 'x', dimension 1: expected 4, got 5"):
        relu(np.zeros((1, 5), np.float32))
    with pytest.raises(ValueError, match="rank: expected 2, got 1"):
        relu(np.zeros(4, np.float32))
    with pytest.raises(TypeError, match="expected f32, got f64"):
        relu(np.zeros((1, 4)))
    with pytest.raises(TypeError, match=r"input 'x' is missing\nhint: the inputs are x$"):
        relu()
    with pytest.raises(TypeError, match=r"expected 1 input, got 2\nhint: the inputs are x$"):
        relu(np.zeros((1, 4), np.float32), np.zeros((1, 4), np.float32))
    with pytest.raises(TypeError, match="given twice"):
        relu(np.zeros((1, 4), np.float32), x=np.zeros((1, 4), np.float32))
    with pytest.raises(ValueError, match="wrong"):
        relu(wrong=np.zeros((1, 4), np.float32))
    for wrong in [object(), None, "text", [["1", "2", "3", "4"]], {"x": np.zeros((1, 4), np.float32)}]:
        with pytest.raises(TypeError, match="x: expected an array"):
            relu(wrong)
    with pytest.raises(TypeError, match=r"native byte order, got the format '>f'\nhint: .*astype"):
        relu(np.zeros((1, 4), ">f4"))
    np.testing.assert_array_equal(relu(np.ones((1, 4), np.float32)), np.ones((1, 4)))


def test_python_numbers_become_what_they_are(relu: perpend.Model) -> None:
    np.testing.assert_array_equal(relu([[1, -2, 3.5, True]]), np.float32([[1, 0, 3.5, 1]]))
    whole = perpend.compile(onnx_model(TensorProto.INT8, ("Abs",), (2,)))
    np.testing.assert_array_equal(whole([1.0, -3]), [1, 3])
    for wrong in [[1, 2.5], [1, 300], [1, float("nan")]]:
        with pytest.raises(TypeError, match="x: expected an array of i8, got list"):
            whole(wrong)
    truth = perpend.compile(onnx_model(TensorProto.BOOL, ("Not",), (2,)))
    np.testing.assert_array_equal(truth([1, 0]), [False, True])
    with pytest.raises(TypeError, match="x: expected an array of bool, got list of int64\nhint: convert"):
        truth([2, 0])


def test_a_dict_of_inputs_is_given_by_name() -> None:
    model, rows = perpend.compile(two_outputs()), np.ones((1, 3), np.float32)
    with pytest.raises(TypeError, match=r"input 'b' is missing\nhint: give a dict of inputs as model\(\*\*inputs\)"):
        model({"a": rows, "b": rows})
    with pytest.raises(TypeError, match=r"hint: the inputs are a, b$"):
        model(rows)


def test_errors_name_the_file(tmp_path: Path) -> None:
    text = tmp_path / "text.onnx"
    text.write_text("hello")
    archive = tmp_path / "model.a"
    archive.write_bytes(b"!<arch>\n")
    damaged = tmp_path / "damaged.onnx"
    damaged.write_bytes(onnx_model().SerializeToString()[:-20])
    wrong = tmp_path / "wrong.onnx"
    onnx.save(onnx_model(operators=("Relu", "NoSuchOperator")), wrong)
    good = tmp_path / "good.onnx"
    onnx.save(onnx_model(), good)
    for path in [text, archive, damaged, wrong, tmp_path / "missing.onnx"]:
        with pytest.raises((perpend.CompileError, FileNotFoundError), match=f"{path}.*\n(.*\n)*hint: "):
            perpend.compile(path)
    for options in [{"dims": {"m": 3}}, {"target": "nowhere"}, {"opt_level": 7}]:
        with pytest.raises(perpend.CompileError, match=str(good)):
            perpend.compile(good, **options)  # type: ignore[arg-type]


def test_what_load_says_of_other_files(tmp_path: Path) -> None:
    files = {
        "text.so": (b"hello", "hint: load what `perpend compile"),
        "model.a": (b"!<arch>\n", "got an archive; hint: link it into a program, or compile the model to a .so"),
    }
    for name, (content, message) in files.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(RuntimeError, match=f"'{tmp_path / name}': .*{message}"):
            perpend.load(tmp_path / name)
    library = next(Path(np.__file__).parent.rglob("*.so"))
    with pytest.raises(RuntimeError, match=f"'{library}': .*; hint: .*`perpend compile MODEL -o model.so`"):
        perpend.load(library)
    onnx.save(onnx_model(), tmp_path / "model.onnx")
    with pytest.raises(RuntimeError, match=r"model\.onnx': .*hint: .*perpend\.compile in Python"):
        perpend.load(tmp_path / "model.onnx")
    perpend.compile(onnx_model()).save(tmp_path / "model.so")
    assert perpend.load(str(tmp_path / "model.so").encode()).inputs[0].name == "x"  # type: ignore[arg-type]
    with pytest.raises(perpend.CompileError, match="is compiled already\nhint: load it"):
        perpend.compile(tmp_path / "model.so")


def test_wrong_arguments_in_words() -> None:
    with pytest.raises(TypeError, match=r"threads: expected a whole number or None .*, got '2'"):
        perpend.compile(onnx_model(), threads="2")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"threads: expected a whole number or None .*, got 1\.5"):
        perpend.load("model.so", threads=1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"threads: expected a number of threads, got 1000000000000\nhint: "):
        perpend.load("model.so", threads=10**12)
    with pytest.raises(perpend.CompileError, match=r"dims: 'n': expected a whole number or the name .*, got 3\.5"):
        perpend.compile(onnx_model(), dims={"n": 3.5})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match=r"got function\nhint: .*torch\.nn\.Module.*torch\.compile\(f, backend="):
        perpend.compile(lambda x: x)
    with pytest.raises(TypeError, match=r"\nhint: give an instance, such as Model\(\)"):
        perpend.compile(perpend.Model)
    with pytest.raises(TypeError, match=r"got bytes\nhint: .*onnx\.load_from_string"):
        perpend.compile(onnx_model().SerializeToString())
    with pytest.raises(perpend.CompileError, match=r"optimisation level \(-O, in Python opt_level\): .* got 7"):
        perpend.compile(onnx_model(), opt_level=7)


def test_saving_into_a_folder_that_is_not_there(tmp_path: Path, relu: perpend.Model) -> None:
    with pytest.raises(FileNotFoundError, match=f"'{tmp_path}/nowhere/model.so'$"):
        relu.save(tmp_path / "nowhere" / "model.so")


def test_errors_of_compilation(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        perpend.load(tmp_path / "missing.so")
    for path in [tmp_path / "missing.onnx", str(tmp_path / "nowhere" / "missing.onnx")]:
        with pytest.raises(FileNotFoundError, match=r"cannot read the model '.*missing\.onnx': .*\nhint: "):
            perpend.compile(path)
    with pytest.raises(perpend.CompileError, match=f"'{tmp_path}' is a folder without config.json\nhint: a model is"):
        perpend.compile(tmp_path)
    with pytest.raises(perpend.CompileError, match=r"there is no option 'fast_math'\n.* opt_level"):
        perpend.compile(onnx_model(), fast_math=True)
    with pytest.raises(perpend.CompileError, match=r"no option 'dynamic_shape'\nhint: did you mean 'dynamic_shapes'"):
        perpend.compile(path, dynamic_shape=({0: "n"},))
    with pytest.raises(perpend.CompileError, match="option 'opt_level': expected int, got str"):
        perpend.compile(onnx_model(), opt_level="3")
    with pytest.raises(perpend.CompileError, match="option 'opt_level': expected int, got float"):
        perpend.compile(onnx_model(), opt_level=2.5)
    with pytest.raises(perpend.CompileError, match=f"option 'opt_level': expected int, got {2**70}\nhint: opt_level"):
        perpend.compile(onnx_model(), opt_level=2**70)
    with pytest.raises(perpend.CompileError, match="the options are") as caught:
        perpend.check_options(["zzz"], ("threads", "target"))
    assert str(caught.value).count(" target") == 1
    with pytest.raises(perpend.CompileError, match=r"expected 0\.\.3, got 4"):
        perpend.compile(onnx_model(), opt_level=4)
    with pytest.raises(perpend.CompileError, match="nowhere"):
        perpend.compile(onnx_model(), target="nowhere")
    with pytest.raises(TypeError, match="expected the path"):
        perpend.compile(3)


def test_options_have_their_names_in_python() -> None:
    names = [option.name for option in _perpend.compile_options()]
    assert {"opt_level", "stop_after", "name"} <= set(names)
    assert all(name == name.lower() for name in names)


def test_names_that_are_no_utf8(tmp_path: Path) -> None:
    def model(kind: str = "Relu", name: str = "node") -> bytes:
        node = helper.make_node(kind, ["first"], ["last"], name=name)
        info = [helper.make_tensor_value_info(tensor, TensorProto.FLOAT, [2]) for tensor in ("first", "last")]
        graph = helper.make_graph([node], "graph", info[:1], info[1:])
        opsets = [helper.make_opsetid("", 17)]
        return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())

    def replaced(data: bytes, text: bytes) -> Path:
        path = tmp_path / "model.onnx"
        path.write_bytes(data.replace(text, b"\xff" * len(text)))
        return path

    with pytest.raises(perpend.CompileError, match=r"not supported:\n  \\xFF\\xFF\\xFF\\xFF-17.*'node'"):
        perpend.compile(replaced(model("Mist"), b"Mist"))
    with pytest.raises(perpend.CompileError, match=r"not supported:\n  Mist-17.*'\\xFF\\xFF\\xFF\\xFF'"):
        perpend.compile(replaced(model("Mist"), b"node"))
    for part, kind in [(b"first", "input"), (b"last", "output")]:
        with pytest.raises(perpend.CompileError, match=rf"{kind} '\\xFF.*': its name is not UTF-8\nhint: rename it"):
            perpend.compile(replaced(model(), part))
    assert perpend.compile(replaced(model(), b"node"))(np.ones(2, np.float32)).tolist() == [1, 1]
    assert perpend.compile(replaced(model(), b"graph")).name == "_____"


def test_report(relu: perpend.Model) -> None:
    assert relu.report is not None
    assert relu.report.artifact_bytes > 1000
    assert "emit" in dict(relu.report.times)
    assert relu.description["inputs"][0]["name"] == "x"


def test_every_phase_but_the_last_can_be_evaluated(tmp_path: Path) -> None:
    module = perpend.import_model(two_outputs())
    a, b = np.random.default_rng(3).standard_normal((2, 7, 3), np.float32)
    expected = module.evaluate(a, b)
    perpend.compile(module, dump_phases=str(tmp_path))
    for phase in sorted(tmp_path.glob("[1-7]*.mlir")):
        read = _perpend.Module.from_text(phase.read_text())
        assert read.input_names == module.input_names, phase.name
        for result, wanted in zip(read.evaluate(a, b), expected, strict=True):
            np.testing.assert_allclose(result, wanted, rtol=1e-6)
        with pytest.raises(perpend.CompileError, match="expected 2 inputs, got 1"):
            read.evaluate(a)


def test_reference_interpreter_agrees() -> None:
    module = perpend.import_model(two_outputs())
    assert "func.func @main" in str(module)
    a, b = DATA.standard_normal((2, 7, 3), np.float32)
    for expected, result in zip(module.evaluate(a, b), perpend.compile(module)(a, b), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-6)


def busy_model() -> perpend.Model:
    return perpend.compile(onnx_model(operators=("Sin", "Cos", "Sin", "Cos", "Tanh", "Exp") * 4), threads=1)


@pytest.mark.alone
def test_runs_without_the_interpreter_lock() -> None:
    """Another thread of Python goes on during a run; on a busy machine that takes more than one try."""
    model = busy_model()
    x = np.ones((200_000, 4), np.float32)
    model(x)

    def ticks_during_a_run() -> int:
        ticks: list[float] = []
        done = threading.Event()

        def tick() -> None:
            while not done.is_set():
                time.sleep(0.0005)
                ticks.append(time.perf_counter())

        thread = threading.Thread(target=tick)
        thread.start()
        begin = time.perf_counter()
        model(x)
        end = time.perf_counter()
        done.set()
        thread.join()
        return sum(begin < moment < end for moment in ticks)

    # With the lock held there may be one tick before the run takes it, and one at the end.
    assert any(ticks_during_a_run() > 3 for _ in range(10))


def test_calls_from_several_threads() -> None:
    model = busy_model()
    inputs = [np.full((100 + i, 4), i, np.float32) for i in range(6)]
    expected = [model(x) for x in inputs]
    failures: list[int] = []

    def work(i: int) -> None:
        for _ in range(20):
            if not np.array_equal(model(inputs[i]), expected[i]):
                failures.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_module_in_several_threads(tmp_path: Path) -> None:
    module = perpend.import_model(onnx_model(operators=("Sin", "Add", "Relu", "Mul") * 10))
    text, x = str(module), DATA.standard_normal((3, 4), np.float32)
    expected = module.evaluate(x)[0]
    failures: list[BaseException] = []

    def work(i: int) -> None:
        try:
            for j in range(4):
                module.compile(str(tmp_path / f"{i}.so"), {"opt_level": j})
                np.testing.assert_allclose(perpend.load(tmp_path / f"{i}.so")(x), expected, rtol=1e-5)
                assert str(module) == text and module.input_names == ["x"]
                np.testing.assert_array_equal(module.evaluate(x)[0], expected)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not failures and not any(thread.is_alive() for thread in threads)


def test_errors_that_are_cut_inside_a_character() -> None:
    info = [helper.make_tensor_value_info("s", TensorProto.INT64, [1])]
    result = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None])]
    for length in (300, 301):  # of two bytes each; one of the messages ends between them
        node = helper.make_node("ConstantOfShape", ["s"], ["y"], name="a" * (length - 300) + "é" * length)
        graph = helper.make_graph([node], "graph", info, result)
        opsets = [helper.make_opsetid("", 17)]
        model = perpend.compile(helper.make_model(graph, opset_imports=opsets, ir_version=8))
        with pytest.raises(ValueError, match=r"node 'a?éé") as raised:
            model(np.array([-1]))
        assert not isinstance(raised.value, UnicodeError)


@pytest.mark.alone
def test_calls_are_cheap(relu: perpend.Model) -> None:
    x = np.ones((1, 4), np.float32)
    best = float("inf")
    for _ in range(20):
        begin = time.perf_counter()
        for _ in range(1000):
            relu(x)
        best = min(best, (time.perf_counter() - begin) / 1000)
    assert best < 20e-6, f"{best * 1e6:.1f} us per call"


def test_the_version_is_the_one_of_the_header(relu: perpend.Model) -> None:
    header = (Path(__file__).parents[2] / "runtime" / "include" / "perpend.h").read_text()
    assert f'#define PERPEND_VERSION "{perpend.__version__}"' in header
    assert relu.description["perpend"] == perpend.__version__
    assert importlib.metadata.version("perpend") == perpend.__version__


def test_what_the_package_shows() -> None:
    assert dir(perpend) == sorted([*perpend.__all__, "__version__"])
    assert all(hasattr(perpend, name) for name in dir(perpend))
