"""GreedySearch of the domain com.microsoft against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import perpend
import pytest
from onnx import TensorProto, helper, numpy_helper

WORDS, HEADS, SIZE, PADDING, END = 11, 2, 4, 0, 3
WIDTH = HEADS * SIZE


def decoder(seed: int, layers: int = 2, words: int = WORDS) -> onnx.GraphProto:
    """A small GPT-2: ids, positions, a mask and caches to logits and caches."""
    generator = np.random.default_rng(seed)

    def weights(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array(generator.standard_normal(shape).astype(np.float32), name)

    tensors = [weights("words", WORDS, WIDTH), weights("places", 32, WIDTH), weights("head", WIDTH, words)]
    nodes = [
        helper.make_node("Gather", ["words", "input_ids"], ["word"]),
        helper.make_node("Gather", ["places", "position_ids"], ["place"]),
        helper.make_node("Add", ["word", "place"], ["x0"]),
    ]
    inputs = [("input_ids", "length"), ("position_ids", "length"), ("attention_mask", "total")]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT32, ["batch", axis]) for name, axis in inputs]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "length", words])]
    for i in range(layers):
        tensors += [weights(f"weight{i}", WIDTH, 3 * WIDTH), weights(f"bias{i}", 3 * WIDTH)]
        attention = ["weight", "bias"]
        names = [f"x{i}", *(f"{name}{i}" for name in attention), "attention_mask", f"past_{i}"]
        made = [f"y{i}", f"present_{i}"]
        form = {"domain": "com.microsoft", "num_heads": HEADS, "unidirectional": 1}
        nodes.append(helper.make_node("Attention", names, made, **form))
        nodes.append(helper.make_node("Add", [f"x{i}", f"y{i}"], [f"x{i + 1}"]))
        cache = [2, "batch", HEADS, "past", SIZE]
        inputs.append(helper.make_tensor_value_info(f"past_{i}", TensorProto.FLOAT, cache))
        outputs.append(helper.make_tensor_value_info(f"present_{i}", TensorProto.FLOAT, [*cache[:3], "total", SIZE]))
    # Padding is never the best word, so that it says where a sequence ends.
    tensors.append(numpy_helper.from_array(np.where(np.arange(words) == PADDING, -1e3, 0).astype(np.float32), "bias"))
    nodes.append(helper.make_node("MatMul", [f"x{layers}", "head"], ["scores"]))
    nodes.append(helper.make_node("Add", ["scores", "bias"], ["logits"]))
    return helper.make_graph(nodes, f"decoder{seed}", inputs, outputs, tensors)


OPTIONAL = {
    "min_length": (TensorProto.INT32, [1]),
    "repetition_penalty": (TensorProto.FLOAT, [1]),
    "vocab_mask": (TensorProto.INT32, [WORDS]),
    "prefix_vocab_mask": (TensorProto.INT32, ["batch", WORDS]),
    "attention_mask": (TensorProto.INT32, ["batch", "prompt"]),
}


def search(given: set[str], prompt: list[int | str] | None = None, **attributes: object) -> onnx.ModelProto:
    inputs = [
        helper.make_tensor_value_info("ids", TensorProto.INT32, prompt or ["batch", "prompt"]),
        helper.make_tensor_value_info("max_length", TensorProto.INT32, [1]),
    ]
    inputs += [helper.make_tensor_value_info(name, *OPTIONAL[name]) for name in OPTIONAL if name in given]
    names = ["ids", "max_length", *(name if name in given else "" for name in OPTIONAL)]
    form = {"decoder": decoder(1), "eos_token_id": END, "pad_token_id": PADDING, "model_type": 0} | attributes
    node = helper.make_node("GreedySearch", names, ["y"], "node", domain="com.microsoft", **form)
    y = helper.make_tensor_value_info("y", TensorProto.INT32, ["batch", "longest"])
    graph = helper.make_graph([node], "search", inputs, [y])
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8)


def expected_of(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> np.ndarray:
    """What ONNX Runtime writes behind the end of the last sequence is nobody's: padding here."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    result = session.run(None, feeds)[0].copy()
    prompt = feeds["ids"].shape[1]
    generated = result[:, prompt:]
    with_ends = (generated == PADDING).all(0)
    if with_ends.any():
        generated[:, with_ends.argmax() :] = PADDING
    return result


def feeds_of(batch: int, prompt: int, longest: int, seed: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    ids = generator.integers(1, WORDS, (batch, prompt)).astype(np.int32)
    ids[: batch // 2, : prompt // 3] = PADDING
    return {"ids": ids, "max_length": np.array([longest], np.int32)}


GENERATOR = np.random.default_rng(8)
MASKS = {
    "vocab_mask": (GENERATOR.random(WORDS) < 0.7).astype(np.int32),
    "prefix_vocab_mask": (GENERATOR.random((5, WORDS)) < 0.5).astype(np.int32),
}
SEEN = {"attention_mask": (GENERATOR.random((5, 6)) < 0.6).astype(np.int32)}
PENALTY = {"repetition_penalty": np.array([1.8], np.float32)}
LEAST = {"min_length": np.array([11], np.int32)}


@pytest.mark.parametrize(
    ("given", "attributes"),
    [
        ({}, {}),
        (PENALTY, {}),
        (LEAST, {}),
        (MASKS, {"no_repeat_ngram_size": 2}),
        (SEEN, {"vocab_size": WORDS}),
        (PENALTY | LEAST | MASKS | SEEN, {"init_decoder": decoder(5), "no_repeat_ngram_size": 3}),
    ],
    ids=["plain", "penalty", "least", "masks", "seen", "all"],
)
def test_greedy_search(given: dict[str, np.ndarray], attributes: dict) -> None:
    model = search(set(given), **attributes)
    feeds = feeds_of(5, 6, 17, 3) | given
    expected = expected_of(model, feeds)
    np.testing.assert_array_equal(perpend.compile(model)(**feeds), expected)
    inputs = [feeds[value.name] for value in model.graph.input]
    np.testing.assert_array_equal(perpend.import_model(model).evaluate(*inputs)[0], expected)
    assert (expected[:, 6:] != PADDING).any() and len(np.unique(expected[:, 6:])) > 3


def test_words_that_repeat_where_no_other_is_allowed() -> None:
    """They are as unlikely as those that the mask hides; they were less likely."""
    mask = np.zeros(WORDS, np.int32)
    mask[[0, 2, 5]] = 1
    model = search({"vocab_mask"}, no_repeat_ngram_size=1)
    feeds = feeds_of(3, 4, 12, 5) | {"vocab_mask": mask}
    np.testing.assert_array_equal(perpend.compile(model)(**feeds), expected_of(model, feeds))


@pytest.mark.parametrize("mask", ["vocab_mask", "prefix_vocab_mask", None])
def test_decoders_with_more_scores_than_words(mask: str | None) -> None:
    """Only the first vocab_size are words, and masks are of these: the others are as if a mask hid them."""
    words = WORDS - 3
    kept = (np.arange(WORDS) < words).astype(np.int32)
    model = search({mask} if mask else set(), vocab_size=words, no_repeat_ngram_size=2)
    feeds = feeds_of(5, 6, 17, 3)
    feeds["ids"] %= words
    hidden = feeds | {"vocab_mask": kept} | ({mask: MASKS[mask] * kept} if mask else {})
    expected = expected_of(search({"vocab_mask"} | ({mask} if mask else set()), no_repeat_ngram_size=2), hidden)
    for value in model.graph.input:
        if value.name == mask:
            value.type.tensor_type.shape.dim[-1].dim_value = words
            feeds[mask] = MASKS[mask][..., :words].copy()
    np.testing.assert_array_equal(perpend.compile(model)(**feeds), expected)
    if not mask:
        others = {name: feeds[name] for name in ("ids", "max_length")}
        assert (expected_of(search(set(), no_repeat_ngram_size=2), others)[:, 6:] >= words).any()


def test_one_token_and_more_scores_than_words() -> None:
    """ONNX Runtime reads scores as if there were none but those of words, which is the same for one token alone."""
    model = search(set(), vocab_size=WORDS - 3)
    for token in range(1, WORDS - 3):
        feeds = {"ids": np.array([[token]], np.int32), "max_length": np.array([9], np.int32)}
        np.testing.assert_array_equal(perpend.compile(model)(**feeds), expected_of(model, feeds))


@pytest.mark.parametrize(
    ("mask", "extents", "message"),
    [
        ("vocab_mask", [1], r"vocab_mask: expected shape \[11\], got \[1\]"),
        ("prefix_vocab_mask", [5, 1], r"prefix_vocab_mask: expected shape \[.*, 11\], got \[5, 1\]"),
        ("attention_mask", [5, 1], r"attention_mask: expected shape \[.*\], got \[5, 1\]"),
    ],
)
def test_masks_of_other_sizes(mask: str, extents: list[int], message: str) -> None:
    """They would repeat; ONNX Runtime refuses them, too."""
    model = search({mask}, prompt=[5, 6])
    declared = next(value for value in model.graph.input if value.name == mask)
    declared.CopyFrom(helper.make_tensor_value_info(mask, TensorProto.INT32, extents))
    feeds = feeds_of(5, 6, 12, 5) | {mask: np.ones(extents, np.int32)}
    with pytest.raises(Exception, match=mask):
        expected_of(model, feeds)
    with pytest.raises(perpend.CompileError, match=message):
        perpend.compile(model)


def test_searches_of_several_sizes() -> None:
    compiled = perpend.compile(search(set()))
    model = search(set())
    for batch, prompt, longest in [(1, 1, 2), (1, 5, 20), (3, 2, 3), (4, 7, 9)]:
        feeds = feeds_of(batch, prompt, longest, longest)
        np.testing.assert_array_equal(compiled(**feeds), expected_of(model, feeds))
    nothing = feeds_of(0, 3, 6, 1)
    assert compiled(**nothing).shape == (0, 6)
    for prompt, longest in [(3, 3), (3, 1), (0, 4)]:
        with pytest.raises(ValueError, match=r"max_length is not more than|at least one token"):
            compiled(**feeds_of(2, prompt, longest, 1))


def test_a_search_of_known_sizes() -> None:
    model = search(set(), prompt=[3, 4])
    length = model.graph.input.pop()
    model.graph.initializer.append(numpy_helper.from_array(np.array([9], np.int32), length.name))
    feeds = feeds_of(3, 4, 9, 2)
    ids = {"ids": feeds["ids"]}
    np.testing.assert_array_equal(perpend.compile(model)(**ids), expected_of(model, ids))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"model_type": 1}, "expected the model_type 0"),
        ({"vocab_size": 12}, r"vocab_size of at most the words of .* 11, got 12"),
        ({"decoder": helper.make_graph([], "empty", [], [])}, "got 0 inputs and 0 outputs"),
    ],
)
def test_searches_that_are_refused(attributes: dict, message: str) -> None:
    with pytest.raises(perpend.CompileError, match=f"(?s)node 'node' .*{message}.*\nhint: "):
        perpend.compile(search(set(), **attributes))
