"""Several entries of one artifact, which share weights and kernels (docs/decisions/0048)."""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import perpend
import pytest
from e2e.models import run_tool
from onnx import TensorProto, helper, numpy_helper

WIDTH = 256


def write_model(path: Path, rows: int | str, last: bool) -> None:
    """y = relu(x @ w) @ v, or its last row; the weights are the same in all of these models."""
    generator = np.random.default_rng(1)
    weights = [
        numpy_helper.from_array(generator.standard_normal((WIDTH, WIDTH)).astype(np.float32) / 16, name)
        for name in "wv"
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "v"], ["c"]),
    ]
    if last:
        for name, value in [("start", -1), ("end", np.iinfo(np.int64).max), ("axis", 0)]:
            weights.append(numpy_helper.from_array(np.array([value], np.int64), name))
        nodes.append(helper.make_node("Slice", ["c", "start", "end", "axis"], ["y"]))
    else:
        nodes.append(helper.make_node("Identity", ["c"], ["y"]))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, WIDTH])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    onnx.save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("entries")
    write_model(folder / "prefill.onnx", "n", last=True)
    write_model(folder / "decode.onnx", "m", last=False)
    for name in ["prefill", "decode"]:
        run_tool("compile", f"{name}.onnx", "-o", f"{name}.so", folder=folder)
    run_tool("compile", "prefill=prefill.onnx", "decode=decode.onnx", "-o", "both.so", folder=folder)
    return folder


X = np.linspace(-1, 1, 5 * WIDTH, dtype=np.float32).reshape(5, WIDTH)


def test_weights_and_kernels_are_stored_once(folder: Path) -> None:
    prefill, both = (perpend.load(folder / f"{name}.so").description for name in ["prefill", "both"])
    assert prefill["weightsBytes"] >= 2 * 4 * WIDTH * WIDTH
    assert both["weightsBytes"] == prefill["weightsBytes"]
    # The kernels of decode are those of prefill, which has one more for the last row.
    assert len(both["kernels"]) <= len(prefill["kernels"]) + 1
    sizes = {name: (folder / f"{name}.so").stat().st_size for name in ["prefill", "decode", "both"]}
    assert sizes["both"] < sizes["prefill"] + 0.2 * sizes["decode"], sizes


def test_each_entry_is_what_its_model_is(folder: Path) -> None:
    both = perpend.load(folder / "both.so")
    assert both.entries == ["prefill", "decode"]
    for name in both.entries:
        alone = perpend.load(folder / f"{name}.so")
        np.testing.assert_array_equal(both[name](X), alone(X))
        assert both[name].inputs == alone.inputs
    np.testing.assert_array_equal(both(X), both["prefill"](X))  # the first
    assert np.asarray(both(X)).shape == (1, WIDTH)
    assert np.asarray(both["decode"](x=X[:1])).shape == (1, WIDTH)
    with pytest.raises(ValueError, match="entry: expected one of 'prefill', 'decode', got 'main'"):
        both["main"]


def test_command_line(folder: Path, tmp_path: Path) -> None:
    text = run_tool("inspect", "both.so", folder=folder)
    assert "entries  prefill, decode" in text and "symbols  n\n" in text
    assert "symbols  m\n" in run_tool("inspect", "both.so", "--entry", "decode", folder=folder)
    np.save(tmp_path / "x.npy", X)
    for name in ["prefill", "decode"]:
        out = tmp_path / name
        run_tool("run", "both.so", "--entry", name, "--input", tmp_path / "x.npy", "--output-dir", out, folder=folder)
        np.testing.assert_array_equal(np.load(out / "y.npy"), perpend.load(folder / f"{name}.so")(X))
    with pytest.raises(AssertionError, match="entry: expected one of 'prefill', 'decode', got 'main'"):
        run_tool("run", "both.so", "--entry", "main", folder=folder)
    with pytest.raises(AssertionError, match=r"several models: expected NAME=FILE for each, got 'decode\.onnx'"):
        run_tool("compile", "prefill=prefill.onnx", "decode.onnx", "-o", tmp_path / "m.so", folder=folder)
    with pytest.raises(AssertionError, match="two entries have the name 'a'"):
        run_tool("compile", "a=prefill.onnx", "a=decode.onnx", "-o", tmp_path / "m.so", folder=folder)


def test_graph_text(folder: Path, tmp_path: Path) -> None:
    """What the compiler prints of a module with entries is read again, at each phase, and checked entry by entry."""
    models = ["prefill=prefill.onnx", "decode=decode.onnx"]
    for phase in ["simplify", "fuse", "plan"]:
        text = tmp_path / f"{phase}.mlir"
        run_tool("compile", *models, "--stop-after", phase, "-o", text, folder=folder)
        start = ["--start-from", {"simplify": "layout", "fuse": "schedule", "plan": "lower"}[phase]]
        run_tool("compile", text, *start, "-o", tmp_path / f"{phase}.so", folder=folder)
        again = perpend.load(tmp_path / f"{phase}.so")
        for name in ["prefill", "decode"]:
            np.testing.assert_array_equal(again[name](X), perpend.load(folder / f"{name}.so")(X))
    plan = (tmp_path / "plan.mlir").read_text()
    assert "host.entry @prefill(" in plan and "host.entry @decode(" in plan
    for name in ["prefill", "decode"]:
        said = run_tool(
            "check", tmp_path / "simplify.mlir", "--entry", name, "--against", "interpreter,plan", folder=folder
        )
        assert said.count("the outputs agree") == 2
        assert "the outputs agree" in run_tool("check", tmp_path / "plan.mlir", "--entry", name, folder=folder)


def test_weights_beside_and_several_machines(folder: Path, tmp_path: Path) -> None:
    models = ["prefill=prefill.onnx", "decode=decode.onnx"]
    options = ["--weights", "beside", "--target", "x86-64,x86-64-v3"]
    run_tool("compile", *models, "-o", tmp_path / "m.so", *options, folder=folder)
    both = perpend.load(tmp_path / "m.so")
    for name in ["prefill", "decode"]:
        np.testing.assert_allclose(both[name](X), perpend.load(folder / f"{name}.so")(X), rtol=1e-4, atol=1e-4)


def test_python(folder: Path, tmp_path: Path) -> None:
    models = {name: str(folder / f"{name}.onnx") for name in ["prefill", "decode"]}
    both = perpend.compile(models)
    both.save(tmp_path / "m.so")
    for name in models:
        expected = perpend.load(folder / f"{name}.so")(X)
        np.testing.assert_array_equal(both[name](X), expected)
        np.testing.assert_array_equal(perpend.load(tmp_path / "m.so")[name](X), expected)
    assert both.description["weightsBytes"] == perpend.load(folder / "both.so").description["weightsBytes"]
    assert perpend.Model(both["decode"]).entry == "decode"
    assert perpend.Model(both["decode"]).interface == both["decode"].interface != both.interface
    with pytest.raises(perpend.CompileError, match="entry '2b': expected an identifier"):
        perpend.compile({"2b": models["prefill"]})


def test_states_of_one_entry(folder: Path, tmp_path: Path) -> None:
    """Of two entries one has a cache. An option that fits no entry is an error."""
    state, row = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [n, 4]) for name, n in [("past", "m"), ("x", 1)]
    )
    both = helper.make_tensor_value_info("present", TensorProto.FLOAT, ["m1", 4])
    graph = helper.make_graph(
        [helper.make_node("Concat", ["past", "x"], ["present"], axis=0)], "cache", [state, row], [both]
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "c.onnx")
    models = [f"a={folder / 'prefill.onnx'}", "b=c.onnx"]
    run_tool("compile", *models, "-o", "both.so", "--state", "past=present:8", folder=tmp_path)
    compiled = perpend.compile(
        {"a": str(folder / "prefill.onnx"), "b": str(tmp_path / "c.onnx")}, states={"past": "present:8"}
    )
    for model in [perpend.load(tmp_path / "both.so"), compiled]:
        np.testing.assert_array_equal(model["a"](X), perpend.load(folder / "prefill.so")(X))
        for value in range(3):
            model["b"](np.full((1, 4), value, np.float32))
        np.testing.assert_array_equal(model.states["past"][:, 0], [0, 1, 2])
    with pytest.raises(AssertionError, match="option 'old=present': no input is called 'old'"):
        run_tool("compile", *models, "-o", "both.so", "--state", "old=present", folder=tmp_path)


def test_an_entry_called_main_comes_first(folder: Path) -> None:
    both = perpend.compile({"other": str(folder / "decode.onnx"), "main": str(folder / "prefill.onnx")})
    assert both.entries == ["main", "other"]
    assert np.asarray(both(X)).shape == (1, WIDTH)


def rows(extent: str) -> str:
    return f'tensor<?x4xf32, #graph.shape<["{extent}", 4]>>'


# One entry appends rows to a cache, the other reads it, counts its calls, and names the states in another order.
STATES = f"""
func.func @fill(%x: {rows("n")} {{graph.name = "x"}},
                %k: {rows("length")} {{graph.state = "k", graph.capacity = 20 : i64}})
    -> (tensor<4xf32> {{graph.name = "sums"}}, {rows("length + n")} {{graph.state = "k"}}) {{
  %row = graph.map (%x) : ({rows("n")}) -> {rows("n")} {{
  ^bb0(%a: f32):
    %v = arith.mulf %a, %a : f32
    graph.yield %v : f32
  }}
  %k1 = graph.update %k, %row at <["length"]> axis 0 : ({rows("length")}, {rows("n")}) -> {rows("length + n")}
  %sums = graph.reduce sum %k1 dims [0] : {rows("length + n")} -> tensor<4xf32>
  return %sums, %k1 : tensor<4xf32>, {rows("length + n")}
}}
func.func @read(%w: tensor<4xf32> {{graph.name = "w"}}, %calls: tensor<1xf32> {{graph.state = "calls"}},
                %k: {rows("length")} {{graph.state = "k", graph.capacity = 20 : i64}})
    -> ({rows("length")} {{graph.name = "y"}}, tensor<1xf32> {{graph.state = "calls"}},
        {rows("length")} {{graph.state = "k"}}) {{
  %one = graph.constant dense<1.0> : tensor<1xf32> : tensor<1xf32>
  %next = graph.map (%calls, %one) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32> {{
  ^bb0(%a: f32, %b: f32):
    %v = arith.addf %a, %b : f32
    graph.yield %v : f32
  }}
  %wide = graph.broadcast %w dims [1] : tensor<4xf32> -> {rows("length")}
  %y = graph.map (%k, %wide) : ({rows("length")}, {rows("length")}) -> {rows("length")} {{
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    graph.yield %v : f32
  }}
  return %y, %next, %k : {rows("length")}, tensor<1xf32>, {rows("length")}
}}"""


def test_entries_share_states(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text(STATES)
    model = perpend.compile(tmp_path / "m.mlir")
    w, x = np.arange(4, dtype=np.float32), np.arange(8, dtype=np.float32).reshape(2, 4)
    fill, read = model["fill"], model["read"]
    cache = x * x
    np.testing.assert_array_equal(fill(x), cache.sum(0))
    np.testing.assert_array_equal(read(w), cache * w)
    np.testing.assert_array_equal(model(x + 1), (cache + 0).sum(0) + ((x + 1) ** 2).sum(0))  # the first entry
    cache = np.concatenate([cache, (x + 1) ** 2])
    np.testing.assert_array_equal(read(w), cache * w)
    assert [m.states["calls"].item() for m in (model, fill, read)] == [2] * 3
    # Forks take all states along, whichever entry they are made of, and part with them.
    for fork in (model.fork(), read.fork()):
        np.testing.assert_array_equal(fork["read"](w), cache * w)
        np.testing.assert_array_equal(fork["fill"](x), cache.sum(0) + (x * x).sum(0))
        assert fork["read"].states["calls"].item() == 3 and fork.states["k"].shape == (6, 4)
    fresh = fill.session()
    assert fresh["read"](w).shape == (0, 4)
    fresh.reset()
    np.testing.assert_array_equal(read(w), cache * w)
    assert model.states["calls"].item() == 3
    read.truncate(1)
    np.testing.assert_array_equal(fill(x[:0]), cache[0])
    model.reset()
    assert read(w).shape == (0, 4)
    # The states outlive the model that was first.
    entry = perpend.compile(tmp_path / "m.mlir")["fill"]["read"]
    assert entry(w).shape == (0, 4)
    del model, fill, read
    saved = fork["fill"].save_states()
    entry.load_states(saved)
    np.testing.assert_array_equal(entry(w), np.concatenate([cache, x * x]) * w)


def test_tune(folder: Path, tmp_path: Path) -> None:
    """The kernels of all entries, or of one."""
    models = {name: str(folder / f"{name}.onnx") for name in ["prefill", "decode"]}
    (tmp_path / "m.mlir").write_text(STATES)
    listed = run_tool("tune", tmp_path / "m.mlir", "--list", folder=folder)
    alone = run_tool("tune", tmp_path / "m.mlir", "--entry", "read", "--list", folder=folder)
    kernels = [{line.split()[-1] for line in text.splitlines()[1:]} for text in (listed, alone)]
    assert kernels[1] and kernels[1] < kernels[0], (listed, alone)
    assert {kernel.name for kernel in perpend.tune(tmp_path / "m.mlir", None).kernels} == kernels[0]
    with pytest.raises(perpend.CompileError, match="have no symbol 'k'"):
        perpend.tune(models, None, symbols={"k": 3})
    tuned = perpend.tune(models, tmp_path / "t.db", budget="2s", symbols={"n": 3, "m": 5}, search="random")
    assert {gain.entry for gain in tuned.model} <= {"prefill", "decode"}
    perpend.compile(models, database=str(tmp_path / "t.db"))


def test_exported_programs_of_one_module(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = torch.nn.Linear(WIDTH, WIDTH), torch.nn.Linear(WIDTH, WIDTH)

        def forward(self, x: Any) -> Any:
            y = self.b(torch.relu(self.a(x)))
            return {"rows": y} if x.dim() == 2 else y

    net = Net().eval()
    with torch.no_grad():
        rows = torch.export.export(
            net, (torch.randn(3, WIDTH),), dynamic_shapes=({0: torch.export.Dim("n", min=2, max=4096)},)
        )
        one = torch.export.export(net, (torch.randn(WIDTH),))
        both = perpend.compile({"rows": rows, "one": one})
        x = torch.randn(7, WIDTH)
        torch.testing.assert_close(both["rows"](x)["rows"], net(x)["rows"], rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(both["one"](x[0]), net(x[0]), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(both(x)["rows"], net(x)["rows"], rtol=1e-4, atol=1e-4)
    both.save(tmp_path / "m.so")
    loaded = perpend.load(tmp_path / "m.so")
    np.testing.assert_allclose(loaded["rows"](x.numpy())["rows"], both["rows"](x)["rows"], rtol=1e-6)
    np.testing.assert_allclose(loaded["one"](x[0].numpy()), both["one"](x[0]), rtol=1e-6)


def test_the_c_interface_lists_entries(folder: Path) -> None:
    """Of an artifact that a program links, with the runtime inside."""
    library = ctypes.CDLL(str(folder / "both.so"))
    module, model = ctypes.CFUNCTYPE(ctypes.c_void_p)(("perpend_module_main", library)), ctypes.c_void_p()
    assert library.perpend_model_from_module(ctypes.c_void_p(module()), ctypes.byref(model)) == 0
    library.perpend_model_entry_name.restype = ctypes.c_char_p
    names = [library.perpend_model_entry_name(model, i) for i in range(library.perpend_model_entry_count(model))]
    assert names == [b"prefill", b"decode"]
    library.perpend_model_free(model)
