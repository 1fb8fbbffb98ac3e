"""Templates: what a function that schedules a kernel may choose, as sketches for a tuner."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper
from perpend import ScheduleError
from perpend.templates import Choices, sketches


def product() -> onnx.ModelProto:
    a, b, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("a", [12, 5]), ("b", [5, 8]), ("y", [12, 8]))
    )
    graph = helper.make_graph([helper.make_node("MatMul", ["a", "b"], ["y"])], "small", [a, b], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def tiled(choices: Choices) -> None:
    s = choices.schedule
    i, j, k = s.get_loops(s.get_block("contract"))
    i0, i1 = choices.define_split(i, 2, 6)
    choices.define_reorder(i0, i1, j, k, candidates=[[i0, j, i1, k], [j, i0, k, i1]])
    choices.define_annotate(i1, ("unroll", None))


def test_a_sketch_for_each_combination() -> None:
    texts = sketches(tiled, product()).split("\n\n")
    assert len(texts) == 4 and len(set(texts)) == 4
    for text in texts:
        assert text.startswith("schedule @") and "sample_perfect_tile %i0, 2, 6, decision = [" in text
    assert sum("unroll" in text for text in texts) == 2
    assert len({text.split("reorder", 1)[1].split("\n")[0] for text in texts}) == 2


def test_every_order() -> None:
    def orders(choices: Choices) -> None:
        s = choices.schedule
        choices.define_reorder(*s.get_loops(s.get_block("contract")))

    assert sketches(orders, product()).count("reorder") == 6


def test_knobs_that_depend_on_knobs() -> None:
    def knobs(choices: Choices) -> None:
        s = choices.schedule
        i, j, _ = s.get_loops(s.get_block("contract"))
        if choices.define_knob([True, False]):
            s.split(i, [None, choices.define_knob([2, 3, 4])])
        else:
            s.parallel(j)

    text = sketches(knobs, product())
    assert text.count("schedule @") == 4 and text.count("split") == 3 and text.count("parallel") == 1


def test_what_is_refused_is_left_out() -> None:
    def some(choices: Choices) -> None:
        s = choices.schedule
        choices.define_knob([lambda: s.get_block("nothing"), lambda: s.get_block("contract")])()

    assert sketches(some, product()).count("schedule @") == 1
    with pytest.raises(ScheduleError, match="nothing"):
        sketches(lambda choices: choices.schedule.get_block("nothing"), product())


def test_too_many() -> None:
    with pytest.raises(ValueError, match=r"more than 5 combinations of knobs\nhint: most=N"):
        sketches(lambda choices: choices.define_knob(range(6)), product(), most=5)
    with pytest.raises(ValueError, match="expected candidates"):
        sketches(lambda choices: choices.define_knob([]), product())
