"""Scheduling a kernel from Python: the primitives of the table as methods, refusals, what is built."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import onnx
import perpend
import pytest
from onnx import TensorProto, helper, numpy_helper
from perpend import _perpend

DATA = np.random.default_rng(0)


def value(name: str, shape: list[int | str]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def model_of(
    nodes: list[onnx.NodeProto], inputs: list[onnx.ValueInfoProto], weights: dict[str, np.ndarray]
) -> onnx.ModelProto:
    initializers = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "small", inputs, [y], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def product() -> onnx.ModelProto:
    return model_of([helper.make_node("MatMul", ["a", "b"], ["y"])], [value("a", ["n", 5]), value("b", [5, 13])], {})


def two_kernels() -> onnx.ModelProto:
    """softmax(x w + b)"""
    weights = {"w": DATA.standard_normal((5, 7), np.float32), "b": DATA.standard_normal(7, np.float32)}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("Add", ["p", "b"], ["s"]),
        helper.make_node("Softmax", ["s"], ["y"]),
    ]
    return model_of(nodes, [value("x", ["n", 5])], weights)


def tiled(schedule: perpend.Schedule) -> perpend.Schedule:
    block = schedule.get_block("contract")
    i, j, k = schedule.get_loops(block)
    i0, i1 = schedule.split(i, [None, 4])
    j0, j1 = schedule.split(loop=j, factors=(None, 8))
    schedule.reorder(i0, j0, k, i1, j1)
    schedule.annotate(k, "note", [1, "two", True])
    schedule.parallel(i0)
    return schedule


def test_a_kernel_is_scheduled_and_runs() -> None:
    schedule = tiled(perpend.Schedule(product()))
    assert schedule.trace.splitlines()[:3] == [
        '%contract = get_block "contract"',
        "%i0, %i1, %k0 = get_loops %contract",
        "%i0_0, %i0_1 = split %i0, [_, 4]",
    ]
    assert 'annotate %k0, "note", [1, "two", true]' in schedule.trace
    assert " parallel {" in schedule.mod
    run = schedule.build(threads=1, opt_level=1)
    assert [info.name for info in run.inputs] == ["a", "b"]
    for n in (0, 1, 11):
        a, b = DATA.standard_normal((n, 5), np.float32), DATA.standard_normal((5, 13), np.float32)
        np.testing.assert_allclose(run(a, b), a @ b, rtol=1e-4, atol=1e-5)


def test_a_trace_is_done_again() -> None:
    schedule, again = tiled(perpend.Schedule(product())), perpend.Schedule(product())
    again.replay(schedule.trace)
    assert (again.mod, again.trace, str(again)) == (schedule.mod, schedule.trace, str(schedule))
    assert str(schedule).startswith(f"schedule @{schedule.kernel} structure ")


def test_schedules_of_python_are_those_of_the_compiler(tmp_path: Path) -> None:
    model = two_kernels()
    with pytest.raises(
        perpend.CompileError, match=r"the model has 2 kernels: (.*), (.*)\nhint: Schedule\(model, "
    ) as e:
        perpend.Schedule(model)
    name = next(word for word in str(e.value).replace(",", " ").split() if word.startswith("contract"))
    schedule = perpend.Schedule(model, name)
    assert len(schedule.build().inputs) == 1  # weights stay constants
    (tmp_path / "s").write_text(str(tiled(schedule)))
    options = {"unpacked": True, "schedules": str(tmp_path / "s"), "dump_phases": str(tmp_path)}
    x = DATA.standard_normal((6, 5), np.float32)
    np.testing.assert_allclose(perpend.compile(model, **options)(x), perpend.compile(model)(x), rtol=1e-5)
    assert "note" in next(tmp_path.glob("*-tile.mlir")).read_text()


def test_a_module_of_text(tmp_path: Path) -> None:
    path = tmp_path / "product.mlir"
    path.write_text(str(perpend.import_model(product())))
    assert "tile.block" in perpend.Schedule(path).mod
    perpend.compile(product(), unpacked=True, dump_phases=str(tmp_path))
    fused = next(tmp_path.glob("*-fuse.mlir"))
    assert perpend.Schedule(str(fused)).mod == perpend.Schedule(product()).mod


def test_methods_are_the_table() -> None:
    for primitive in _perpend.primitives():
        method = getattr(perpend.Schedule, primitive.name)
        assert method.__doc__ == primitive.sentence
        assert list(inspect.signature(method).parameters)[1:] == [operand.name for operand in primitive.operands]


REFUSALS = {
    "split: missing a required argument: 'factors'\nhint: split(self, loop, factors)": lambda s, i, b: s.split(i),
    "parallel: expected a loop, got the block %contract": lambda s, i, b: s.parallel(b),
    "parallel: expected a value such as %i0, got 3": lambda s, i, b: s.parallel(3),
    "split: expected a list such as [_, 8], got 8\nhint: [_, 8], in Python [None, 8]": lambda s, i, b: s.split(i, 8),
    "get_loops: expected a value such as %i0, got contract\nhint: get_block": lambda s, i, b: s.get_loops("contract"),
    "parallel: expected a value such as %i0, got i0\nhint: did you mean %i0?": lambda s, i, b: s.parallel("i0"),
    "split %i0: expected a factor of at least 1, got -1": lambda s, i, b: s.split(i, [None, -1]),
    "cache_write %contract: expected one of the target's scopes local, got 'shared'": lambda s, i, b: s.cache_write(
        b, "shared"
    ),
    "cache_write: expected a text in quotes, got 7": lambda s, i, b: s.cache_write(b, 7),
    "get_block: expected one of the blocks contract, got 'reduce'": lambda s, i, b: s.get_block("reduce"),
    "line 1, column 1: get_block: expected one of the blocks contract, got '": lambda s, i, b: s.replay(
        'get_block "\\ed"'
    ),
    "line 2, column 1: there is no primitive 'tile'": lambda s, i, b: s.replay("// nothing\ntile %i0"),
}


@pytest.mark.parametrize("message", REFUSALS)
def test_refusals(message: str) -> None:
    schedule = perpend.Schedule(product())
    block = schedule.get_block("contract")
    loop = schedule.get_loops(block)[0]
    before = schedule.mod, schedule.trace
    with pytest.raises(perpend.ScheduleError) as error:
        REFUSALS[message](schedule, loop, block)
    assert str(error.value).startswith(message)
    assert (schedule.mod, schedule.trace) == before


def test_an_argument_that_there_is_not() -> None:
    hint = r"\nhint: did you mean 'packed'\? the arguments are target packed intrinsics dims "
    with pytest.raises(TypeError, match=r"^Schedule: there is no argument 'unpacked'" + hint):
        perpend.Schedule(product(), unpacked=True)


def test_a_loop_that_an_earlier_step_consumed() -> None:
    schedule = perpend.Schedule(product())
    loop = schedule.get_loops(schedule.get_block("contract"))[0]
    schedule.split(loop, [None, 2])
    with pytest.raises(perpend.ScheduleError, match="%i0: an earlier step has consumed this loop\nhint: use the loops"):
        schedule.unroll(loop)


def test_values_belong_to_their_schedule() -> None:
    schedule, other = perpend.Schedule(product()), perpend.Schedule(product())
    loop = other.get_loops(other.get_block("contract"))[0]
    schedule.get_loops(schedule.get_block("contract"))
    with pytest.raises(perpend.ScheduleError, match="parallel: %i0 is a loop of another Schedule, of the kernel 'con"):
        schedule.parallel(loop)
    with pytest.raises(perpend.ScheduleError, match="reorder: %i0 is a loop of another Schedule"):
        schedule.reorder([loop, loop])
    assert "parallel" not in schedule.trace


def test_a_section_is_no_trace() -> None:
    schedule = perpend.Schedule(product())
    with pytest.raises(perpend.ScheduleError, match="expected a trace, got a section of a file of schedules"):
        schedule.replay(str(schedule))
    with pytest.raises(TypeError, match="replay: expected the text of a trace, got NoneType\nhint: "):
        schedule.replay(None)
    with pytest.raises(
        perpend.CompileError,
        match="option 'schedules': expected str, got list\nhint: schedules: use the",
    ):
        perpend.compile(product(), schedules=[str(schedule)])


def test_kernels_that_cannot_be_opened() -> None:
    with pytest.raises(
        perpend.CompileError,
        match=r"no kernel 'contrct'\nhint: .*its kernels are contract_.*; inspect and bench name those of packed=True",
    ):
        perpend.Schedule(product(), "contrct")
    with pytest.raises(perpend.CompileError, match="'z16'"):
        perpend.Schedule(product(), target="z16")


def test_elements_that_depend_on_one_another() -> None:
    node = helper.make_node("CumSum", ["a", "axis"], ["y"])
    schedule = perpend.Schedule(model_of([node], [value("a", [5, 100])], {"axis": np.array(0)}))
    (lanes,) = schedule.get_loops(schedule.get_block("scan"))
    schedule.parallel(lanes)
    a = DATA.standard_normal((5, 100), np.float32)
    np.testing.assert_allclose(schedule.build()(a), np.cumsum(a, 0), rtol=1e-5, atol=1e-6)


def test_local_memory_of_any_size() -> None:
    schedule = perpend.Schedule(product())
    schedule.cache_write(schedule.get_block("contract"), "local")
    a, b = DATA.standard_normal((70000, 5), np.float32), DATA.standard_normal((5, 13), np.float32)
    np.testing.assert_allclose(schedule.build()(a, b), a @ b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("bias", "extent"), [("b", "t"), ("t", "t_")])
def test_an_extent_that_no_dimension_gives_is_an_input(bias: str, extent: str) -> None:
    """softmax(x[::2] w + b): the second kernel sees floordiv(t + 1, 2) rows."""
    bounds = {"start": np.array([0]), "end": np.array([2**31]), "axis": np.array([0]), "step": np.array([2])}
    nodes = [
        helper.make_node("Slice", ["x", *bounds], ["half"]),
        helper.make_node("MatMul", ["half", "w"], ["p"]),
        helper.make_node("Add", ["p", bias], ["s"]),
        helper.make_node("Softmax", ["s"], ["y"]),
    ]
    weights = {"w": DATA.standard_normal((5, 7), np.float32), **bounds}
    model = model_of(nodes, [value("x", ["t", 5]), value(bias, [7])], weights)
    with pytest.raises(perpend.CompileError, match="the model has 2 kernels") as error:
        perpend.Schedule(model)
    name = next(word for word in str(error.value).replace(",", " ").split() if "reduce" in word)
    run = perpend.Schedule(model, name).build()
    assert [info.name for info in run.inputs] == ["input0", bias, extent]
    for t in (0, 1, 32, 33):
        p, b = DATA.standard_normal(((t + 1) // 2, 7), np.float32), DATA.standard_normal(7, np.float32)
        expected = np.exp(p + b) / np.exp(p + b).sum(1, keepdims=True)
        np.testing.assert_allclose(run(p, b, **{extent: t}), expected, rtol=1e-4)
        assert run.profile(p, b, **{extent: t})
    with pytest.raises(ValueError, match="input 'input0', dimension 0: expected 4, got 5"):
        run(np.zeros((5, 7), np.float32), b, **{extent: 8})
    with pytest.raises(TypeError, match=f"input '{extent}' is missing"):
        run(p, b)


def test_what_cannot_be_built() -> None:
    schedule = perpend.Schedule(product())
    schedule.split(schedule.get_loops(schedule.get_block("contract"))[0], [None, 2**62])
    with pytest.raises(perpend.CompileError, match=r"too large or too long an expression\nhint: smaller factors"):
        schedule.build()
    with pytest.raises(perpend.CompileError, match="there is no option 'level'"):
        schedule.build(level=3)
