"""BeamSearch of the domain com.microsoft against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import onnx
import onnxruntime
import perpend
import pytest
from onnx import TensorProto, helper, numpy_helper
from test_microsoft_generation import END, GENERATOR, MASKS, PADDING, SEEN, WORDS, decoder, feeds_of

SIZES = {"num_beams": (TensorProto.INT32, [1]), "num_return_sequences": (TensorProto.INT32, [1])}
INPUTS = {
    "ids": (TensorProto.INT32, ["batch", "prompt"]),
    "max_length": (TensorProto.INT32, [1]),
    "min_length": (TensorProto.INT32, [1]),
    **SIZES,
    "length_penalty": (TensorProto.FLOAT, [1]),
    "repetition_penalty": (TensorProto.FLOAT, [1]),
    "vocab_mask": (TensorProto.INT32, [WORDS]),
    "prefix_vocab_mask": (TensorProto.INT32, ["batch", WORDS]),
    "attention_mask": (TensorProto.INT32, ["batch", "prompt"]),
    "decoder_input_ids": (TensorProto.INT32, ["batch", "prompt"]),
    "logits_processor": (TensorProto.INT32, [1]),
}
OUTPUTS = {"sequences": TensorProto.INT32, "sequences_scores": TensorProto.FLOAT, "scores": TensorProto.FLOAT}
# ONNX Runtime's node cannot do without min_length, which it takes for max_length there, and length_penalty.
ALWAYS = {"ids", "max_length", "min_length", *SIZES, "length_penalty"}


def softened(graph: onnx.GraphProto, factor: float = 0.25, end: float = 0.2) -> onnx.GraphProto:
    """With scores that are close to each other, and with an end that is likelier."""
    for tensor in graph.initializer:
        values = numpy_helper.to_array(tensor).copy()
        if tensor.name == "head":
            values *= np.float32(factor)
        elif tensor.name.startswith("weight"):
            values *= np.float32(0.3)
        elif tensor.name == "bias":
            values[END] += np.float32(end)
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    return graph


def search(given: Iterable[str] = (), outputs: int = 3, seed: int = 1, **attributes: object) -> onnx.ModelProto:
    names = [name if name in ALWAYS or name in given else "" for name in INPUTS]
    inputs = [helper.make_tensor_value_info(name, *INPUTS[name]) for name in names if name]
    form = {"decoder": softened(decoder(seed)), "eos_token_id": END, "pad_token_id": PADDING} | attributes
    made = list(OUTPUTS)[:outputs]
    node = helper.make_node("BeamSearch", names, made, "node", domain="com.microsoft", **form)
    results = [helper.make_tensor_value_info(name, OUTPUTS[name], None) for name in made]
    graph = helper.make_graph([node], "search", inputs, results)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8)


def one(value: int) -> np.ndarray:
    return np.array([value], np.int32)


def feeds_with(batch: int, prompt: int, longest: int, beams: int, returned: int, seed: int) -> dict[str, np.ndarray]:
    sizes = {"num_beams": one(beams), "num_return_sequences": one(returned), "min_length": one(0)}
    return feeds_of(batch, prompt, longest, seed) | sizes | {"length_penalty": np.ones(1, np.float32)}


def random_feeds(seed: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    batch, prompt, more, beams = (int(generator.integers(1, end)) for end in (4, 6, 9, 5))
    return feeds_with(batch, prompt, prompt + more, beams, int(generator.integers(1, beams + 1)), seed)


def session_of(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def check(got: list[np.ndarray], expected: list[np.ndarray]) -> int:
    """What ONNX Runtime gives as scores of steps that were not taken is nobody's: 0 here. Returns the steps taken."""
    assert [x.shape for x in got] == [x.shape for x in expected]
    np.testing.assert_array_equal(got[0], expected[0])
    np.testing.assert_allclose(got[1], expected[1], rtol=1e-5, atol=1e-5)
    taken = np.count_nonzero(np.any(got[2], (1, 2, 3)))
    assert not got[2][taken:].any()
    # A score is the difference of two numbers as large as the largest, each rounded.
    rounding = 2 * np.spacing(np.abs(expected[2][:taken]).max(initial=0))
    np.testing.assert_allclose(got[2][:taken], expected[2][:taken], rtol=1e-5, atol=max(1e-5, rounding))
    return taken


@pytest.mark.parametrize("early", [0, 1])
@pytest.mark.parametrize("exponent", [1.0, 0.4, 2.0, -0.7])
def test_beam_search(early: int, exponent: float) -> None:
    model = search(early_stopping=early, seed=3)
    compiled, session = perpend.compile(model), session_of(model)
    lengths, ended = set(), 0
    for seed in range(20):
        feeds = random_feeds(seed) | {"length_penalty": np.array([exponent], np.float32)}
        expected = session.run(None, feeds)
        steps = check(compiled(**feeds), expected)
        ended += steps < len(expected[2])
        lengths |= set((expected[0] != PADDING).sum(-1).ravel() - feeds["ids"].shape[1])
    assert len(lengths) > 4 and (ended or exponent == 2.0)


@pytest.mark.parametrize("seed", range(10, 16))
def test_the_interpreter(seed: int) -> None:
    model = search(seed=seed)
    feeds = feeds_with(3, 4, 14, 4, 3, seed)
    expected = session_of(model).run(None, feeds)
    check(perpend.compile(model)(**feeds), expected)
    inputs = [feeds[value.name] for value in model.graph.input]
    check(perpend.import_model(model).evaluate(*inputs), expected)


def test_without_optional_inputs() -> None:
    """The least length is 0 and the exponent of the length 1."""
    model = search()
    feeds = feeds_with(2, 3, 12, 3, 3, 2)
    expected = session_of(model).run(None, feeds)
    for name in ("min_length", "length_penalty"):
        model.graph.node[0].input[list(INPUTS).index(name)] = ""
        model.graph.input.remove(next(value for value in model.graph.input if value.name == name))
        del feeds[name]
    check(perpend.compile(model)(**feeds), expected)


PENALTY = {"repetition_penalty": np.array([1.8], np.float32)}
LEAST = {"min_length": one(9)}


@pytest.mark.parametrize(
    ("given", "attributes"),
    [
        (PENALTY, {}),
        (LEAST, {}),
        ({"vocab_mask": MASKS["vocab_mask"]}, {"no_repeat_ngram_size": 2}),
        ({"prefix_vocab_mask": MASKS["prefix_vocab_mask"]}, {"vocab_size": WORDS}),
        (SEEN, {"model_type": 0}),
        (PENALTY | LEAST | MASKS | SEEN, {"init_decoder": softened(decoder(5)), "no_repeat_ngram_size": 3}),
        ({"logits_processor": one(0)}, {}),
    ],
    ids=["penalty", "least", "masks", "first", "seen", "all", "none"],
)
def test_what_changes_scores(given: dict[str, np.ndarray], attributes: dict) -> None:
    plain, model = search(), search(set(given), **attributes)
    if "logits_processor" in given:
        model.graph.initializer.append(numpy_helper.from_array(given["logits_processor"], "logits_processor"))
        model.graph.input.pop()
        given = {}
    compiled, session = perpend.compile(model), session_of(model)
    changed = False
    for seed in range(4):
        feeds = feeds_with(5, 6, 16, 3, 2, seed)
        before = session_of(plain).run(None, feeds)
        expected = session.run(None, feeds | given)
        check(compiled(**feeds | given), expected)
        changed |= not np.array_equal(expected[0], before[0])
    assert changed or not (given or attributes)


def test_fewer_words_than_candidates() -> None:
    """What a mask hides goes on where there is nothing else."""
    for count in (1, 2, 3):
        mask = np.zeros(WORDS, np.int32)
        mask[GENERATOR.permutation(np.arange(1, WORDS))[:count]] = 1
        model = search({"vocab_mask"})
        feeds = feeds_with(2, 3, 9, 4, 4, count) | {"vocab_mask": mask}
        check(perpend.compile(model)(**feeds), session_of(model).run(None, feeds))


def test_known_sizes() -> None:
    """All as constants, and only the sequences as output."""
    model = search(outputs=1)
    feeds = feeds_with(2, 4, 11, 3, 2, 7)
    for value in list(model.graph.input)[1:]:
        model.graph.initializer.append(numpy_helper.from_array(feeds[value.name], value.name))
        model.graph.input.remove(value)
    model.graph.input[0].CopyFrom(helper.make_tensor_value_info("ids", TensorProto.INT32, [2, 4]))
    ids = {"ids": feeds["ids"]}
    np.testing.assert_array_equal(perpend.compile(model)(**ids), session_of(model).run(None, ids)[0])


def test_halves() -> None:
    """Scores are of the type of the penalties."""
    model = search(seed=4)
    feeds = feeds_with(2, 3, 9, 3, 3, 4) | {"length_penalty": np.array([0.5], np.float32)}
    expected = session_of(model).run(None, feeds)
    declared = next(value for value in model.graph.input if value.name == "length_penalty")
    for value in (declared, model.graph.output[1], model.graph.output[2]):
        value.type.tensor_type.elem_type = TensorProto.FLOAT16
    got = perpend.compile(model)(**feeds | {"length_penalty": np.array([0.5], np.float16)})
    np.testing.assert_array_equal(got[0], expected[0])
    assert got[1].dtype == got[2].dtype == np.float16
    np.testing.assert_allclose(got[1], expected[1], rtol=1e-3)


def test_more_scores_than_words() -> None:
    """Only the first vocab_size are words."""
    words = WORDS - 3
    model = search(vocab_size=words, outputs=2)
    feeds = feeds_with(3, 4, 12, 3, 2, 2)
    feeds["ids"] %= words
    graph = softened(decoder(1))
    graph.node.append(helper.make_node("Slice", ["logits", "zero", "count", "last"], ["kept"]))
    for name, value in {"zero": 0, "count": words, "last": 2}.items():
        graph.initializer.append(numpy_helper.from_array(np.array([value]), name))
    graph.output[0].CopyFrom(helper.make_tensor_value_info("kept", TensorProto.FLOAT, ["batch", "length", words]))
    graph.node[-1].output[0], graph.node[-2].output[0], graph.node[-1].input[0] = "logits", "all", "all"
    graph.output[0].name = "logits"
    expected = session_of(search(decoder=graph, outputs=2)).run(None, feeds)
    got = perpend.compile(model)(**feeds)
    np.testing.assert_array_equal(got[0], expected[0])
    np.testing.assert_allclose(got[1], expected[1], rtol=1e-5)


def test_no_sequences_and_sizes_that_contradict() -> None:
    compiled = perpend.compile(search())
    sequences, scores, steps = compiled(**feeds_with(0, 3, 6, 2, 2, 1))
    assert sequences.shape == (0, 2, 6) and scores.shape == (0, 2) and steps.shape == (3, 0, 2, WORDS)
    for beams, returned, message in [(2, 3, "at most num_beams"), (0, 0, "num_beams"), (2, 0, "num_return_sequences")]:
        with pytest.raises(ValueError, match=message):
            compiled(**feeds_with(2, 3, 6, beams, returned, 1))
    for prompt, longest in [(3, 3), (0, 4)]:
        with pytest.raises(ValueError, match=r"max_length is not more than|at least one token"):
            compiled(**feeds_with(2, prompt, longest, 2, 1, 1))


@pytest.mark.parametrize(
    ("given", "attributes", "message"),
    [
        (set(), {"vocab_size": 12}, r"vocab_size of at most the words of .* 11, got 12"),
        (set(), {"decoder": helper.make_graph([], "empty", [], [])}, "got 0 inputs and 0 outputs"),
        ({"decoder_input_ids"}, {}, "no decoder_input_ids with the model_type 0"),
        ({"logits_processor"}, {}, "no logits_processor but the constant 0"),
    ],
)
def test_searches_that_are_refused(given: set[str], attributes: dict, message: str) -> None:
    with pytest.raises(perpend.CompileError, match=f"(?s)node 'node' .*{message}.*\nhint: "):
        perpend.compile(search(given, **attributes))
