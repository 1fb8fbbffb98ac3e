"""Texts, lists and optional values through the whole compiler, and through the interpreter where that is asked for."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import perpend
import pytest
from onnx import TensorProto, helper


def text_model(
    nodes: list[onnx.NodeProto],
    inputs: dict[str, tuple[int, list[Any]]],
    outputs: list[str],
    initializers: list[onnx.TensorProto] | None = None,
    opset: int = 20,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "texts",
        [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()],
        [helper.make_value_info(name, onnx.TypeProto()) for name in outputs],
        initializers or [],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def strings(values: Any) -> np.ndarray:
    return np.array(values, dtype=object)


def test_movement_and_comparison_of_texts() -> None:
    words = helper.make_tensor("words", TensorProto.STRING, [3], [b"red", b"", "grün".encode()])
    model = text_model(
        [
            helper.make_node("Gather", ["words", "i"], ["g"]),
            helper.make_node("Concat", ["g", "x"], ["c"], axis=0),
            helper.make_node("Equal", ["c", "red"], ["e"]),
            helper.make_node("Where", ["e", "blue", "c"], ["w"]),
        ],
        {"x": (TensorProto.STRING, ["n"]), "i": (TensorProto.INT64, [2])},
        ["w", "e"],
        [
            words,
            helper.make_tensor("red", TensorProto.STRING, [], [b"red"]),
            helper.make_tensor("blue", TensorProto.STRING, [1], [b"blue"]),
        ],
    )
    compiled = perpend.compile(model)
    for given in (["red", "x"], [], ["grün"]):
        w, e = compiled(strings(given), np.array([0, 2]))
        texts = ["red", "grün", *given]
        assert w.tolist() == ["blue" if text == "red" else text for text in texts]
        assert e.tolist() == [text == "red" for text in texts]


def test_new_texts_have_sizes_from_data() -> None:
    model = text_model(
        [
            helper.make_node("StringSplit", ["x"], ["parts", "counts"], delimiter=","),
            helper.make_node("StringConcat", ["parts", "mark"], ["marked"]),
            helper.make_node("Cast", ["counts"], ["text"], to=TensorProto.STRING),
        ],
        {"x": (TensorProto.STRING, ["n"])},
        ["marked", "counts", "text"],
        [helper.make_tensor("mark", TensorProto.STRING, [], [b"!"])],
    )
    compiled = perpend.compile(model)
    marked, counts, text = compiled(strings(["a,b", "c"]))
    assert marked.tolist() == [["a!", "b!"], ["c!", "!"]]
    assert counts.tolist() == [2, 1] and text.tolist() == ["2", "1"]
    assert compiled(strings(["a,b,c,d"]))[0].shape == (1, 4)
    assert compiled(strings([]))[0].shape == (0, 0)


def test_results_are_inputs_of_the_next_call() -> None:
    model = text_model(
        [
            helper.make_node("StringConcat", ["x", "x"], ["y"]),
            helper.make_node("SequenceConstruct", ["x", "y"], ["list"]),
            helper.make_node("SequenceAt", ["list", "one"], ["second"]),
        ],
        {"x": (TensorProto.STRING, ["n"])},
        ["second", "list"],
        [helper.make_tensor("one", TensorProto.INT64, [], [1])],
    )
    compiled = perpend.compile(model)
    x = strings(["a", "b"])
    for _ in range(12):
        x, texts = compiled(x)
    assert x.tolist() == ["a" * 4096, "b" * 4096]
    assert [len(text) for text in texts[0]] == [2048, 2048]


def test_texts_of_several_threads() -> None:
    node = helper.make_node("StringConcat", ["x", "x"], ["y"])
    compiled = perpend.compile(text_model([node], {"x": (TensorProto.STRING, ["n"])}, ["y"]))
    wrong: list[str] = []

    def work(name: str) -> None:
        for count in range(300):
            words = [f"{name} {number}" for number in range(count % 7)]
            if compiled(strings(words)).tolist() != [word * 2 for word in words]:
                wrong.append(name)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "bb", "ccc")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not wrong


def test_wrong_values_are_errors() -> None:
    model = text_model(
        [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.INT32, name="parse")],
        {"x": (TensorProto.STRING, ["n"])},
        ["y"],
    )
    compiled = perpend.compile(model)
    assert compiled(strings(["12", "-3"])).tolist() == [12, -3]
    with pytest.raises(ValueError, match="node 'parse': element 1: expected a number of type i64, got 'three'"):
        compiled(strings(["1", "three"]))
    assert compiled(strings(["7"])).tolist() == [7]
    with pytest.raises(TypeError, match="x: expected an array of str"):
        compiled(np.array([1.5]))
    with pytest.raises(TypeError, match="x: expected elements of type str, got float"):
        compiled(strings(["a", 1.5]))


def test_artifacts_without_texts_do_not_grow(tmp_path: Path) -> None:
    def size(node: onnx.NodeProto, kind: int) -> int:
        path = tmp_path / "model.so"
        perpend.compile(text_model([node], {"x": (kind, ["n"])}, ["y"])).save(path)
        return path.stat().st_size

    plain = size(helper.make_node("Neg", ["x"], ["y"]), TensorProto.FLOAT)
    moved = size(helper.make_node("Identity", ["x"], ["y"]), TensorProto.STRING)
    matched = size(helper.make_node("RegexFullMatch", ["x"], ["y"], pattern="a+"), TensorProto.STRING)
    assert plain < 64 << 10
    assert plain < moved < matched


def test_wrong_pattern_is_refused() -> None:
    node = helper.make_node("RegexFullMatch", ["x"], ["y"], pattern="a(", name="match")
    with pytest.raises(perpend.CompileError, match=r"node 'match' .*: the pattern 'a\(' is not valid: a '\(' has no"):
        perpend.compile(text_model([node], {"x": (TensorProto.STRING, ["n"])}, ["y"]))


def list_type(shape: list[Any] | None) -> onnx.TypeProto:
    return helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, shape))


def list_model(nodes: list[onnx.NodeProto], inputs: dict[str, onnx.TypeProto], outputs: list[str]) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "lists",
        [helper.make_value_info(name, kind) for name, kind in inputs.items()],
        [helper.make_value_info(name, onnx.TypeProto()) for name in outputs],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def test_lists_at_the_boundary() -> None:
    model = list_model(
        [
            helper.make_node("SequenceInsert", ["s", "x"], ["longer"]),
            helper.make_node("SequenceLength", ["longer"], ["count"]),
            helper.make_node("SequenceAt", ["longer", "i"], ["one"]),
        ],
        {
            "s": list_type([None]),
            "x": helper.make_tensor_type_proto(TensorProto.FLOAT, ["n"]),
            "i": helper.make_tensor_type_proto(TensorProto.INT64, []),
        },
        ["longer", "count", "one"],
    )
    compiled = perpend.compile(model)
    a, b = np.array([1, 2], np.float32), np.array([3], np.float32)
    longer, count, one = compiled([a, b], a + 1, np.array(-1))
    assert [array.tolist() for array in longer] == [[1, 2], [3], [2, 3]]
    assert count == 3 and one.tolist() == [2, 3]
    assert compiled([], b, np.array(0))[2].tolist() == [3]
    with pytest.raises(ValueError, match="position 2 of a list of 1 elements"):
        compiled([], b, np.array(2))
    with pytest.raises(TypeError, match="expected a list"):
        compiled(a, b, np.array(0))


def test_unknown_rank_is_refused_with_advice() -> None:
    model = list_model(
        [helper.make_node("SequenceAt", ["s", "i"], ["y"])],
        {"s": list_type(None), "i": helper.make_tensor_type_proto(TensorProto.INT64, [])},
        ["y"],
    )
    with pytest.raises(perpend.CompileError, match=r"no known number of dimensions\ninputs: .*\nhint: .*NAME:rank"):
        perpend.compile(model)
    compiled = perpend.compile(model, dims={"s:rank": 2})
    assert compiled([np.ones((2, 3), np.float32)], np.array(0)).shape == (2, 3)


def test_known_lists_leave_nothing_behind() -> None:
    model = list_model(
        [
            helper.make_node("SequenceConstruct", ["x", "y"], ["s"]),
            helper.make_node("SequenceErase", ["s", "first"], ["t"]),
            helper.make_node("ConcatFromSequence", ["t"], ["z"], axis=0),
            helper.make_node("Constant", [], ["first"], value_int=0),
        ],
        {name: helper.make_tensor_type_proto(TensorProto.FLOAT, ["n"]) for name in "xy"},
        ["z"],
    )
    assert "call_library" not in str(perpend.import_model(model))
    assert perpend.compile(model)(np.zeros(3, np.float32), np.ones(3, np.float32)).tolist() == [1, 1, 1]


def evaluated(model: onnx.ModelProto, *inputs: Any) -> list[Any]:
    """What the interpreter says."""
    return list(perpend.import_model(model).evaluate(*inputs))


def test_the_interpreter_takes_and_gives_texts() -> None:
    model = text_model(
        [helper.make_node("StringConcat", ["x", "y"], ["z"])],
        {"x": (TensorProto.STRING, ["n", 1]), "y": (TensorProto.STRING, [2])},
        ["z"],
    )
    (z,) = evaluated(model, np.array([["grün"], [""]]), strings(["a", ""]))
    assert z.tolist() == [["grüna", "grün"], ["a", ""]]
    (z,) = evaluated(model, np.empty((0, 1), dtype=object), strings(["a", ""]))
    assert z.shape == (0, 2)
    with pytest.raises(TypeError, match="expected an array of str, got"):
        evaluated(model, np.zeros((2, 1)), strings(["a", ""]))
    with pytest.raises(perpend.CompileError, match="expected 2 inputs, got 1"):
        evaluated(model, strings([["a"]]))


VECTOR = helper.make_tensor_type_proto(TensorProto.FLOAT, [None])


def test_the_interpreter_takes_and_gives_lists() -> None:
    inputs = {"list": helper.make_sequence_type_proto(VECTOR), "x": VECTOR}
    model = list_model([helper.make_node("SequenceInsert", ["list", "x"], ["longer"])], inputs, ["longer"])
    arrays = [np.arange(count, dtype=np.float32) for count in (3, 0, 2)]
    (longer,) = evaluated(model, arrays[:2], arrays[2])
    assert [array.tolist() for array in longer] == [array.tolist() for array in arrays]
    (longer,) = evaluated(model, [], arrays[0])
    assert [array.tolist() for array in longer] == [[0, 1, 2]]
    with pytest.raises(perpend.CompileError, match=r"input 0 .*elements of type 'f32', got f64"):
        evaluated(model, [np.zeros(2)], arrays[0])
    with pytest.raises(perpend.CompileError, match=r"input 0 .*elements of type .*, got the shape \[2, 2\]"):
        evaluated(model, [np.zeros((2, 2), dtype=np.float32)], arrays[0])


def test_the_interpreter_takes_optional_values() -> None:
    inputs = {"given": helper.make_optional_type_proto(VECTOR)}
    model = list_model([helper.make_node("OptionalHasElement", ["given"], ["has"])], inputs, ["has"])
    x = np.ones(2, dtype=np.float32)
    assert evaluated(model, x)[0].item() is True
    assert evaluated(model, None)[0].item() is False


@pytest.mark.parametrize("rank", [1, 2])
def test_stop_words_in_any_case_leave_the_case(rank: int) -> None:
    shape = ["n"] if rank == 1 else [1, "n"]
    node = helper.make_node("StringNormalizer", ["x"], ["y"], stopwords=["Monday", "ÄRGER", ""], is_case_sensitive=0)
    compiled = perpend.compile(text_model([node], {"x": (TensorProto.STRING, shape)}, ["y"]))

    def normalized(*words: str) -> list[str]:
        x = strings(list(words)) if rank == 1 else strings([list(words)])
        y = compiled(x)
        assert y.ndim == rank
        return y.ravel().tolist()

    assert normalized("MONDAY", "Tuesday", "monday", "", " ", "Ärger", "ärger!") == ["Tuesday", " ", "ärger!"]
    assert normalized("mOnDaY", "") == [""]
    assert normalized() == [""]
    assert normalized("WEDNESDAY") == ["WEDNESDAY"]
