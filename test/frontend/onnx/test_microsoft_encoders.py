"""BeamSearch and WhisperBeamSearch of decoders behind an encoder, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnx
import perpend
import pytest
from onnx import TensorProto, helper, numpy_helper
from test_microsoft_beams import check, feeds_with, one, session_of
from test_microsoft_generation import END, HEADS, PADDING, SIZE, WIDTH, WORDS

START, FEATURES, LAYERS = 2, 5, 2


class Graph:
    """Nodes and weights of a graph, with names that are numbered."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: list[onnx.TensorProto] = []

    def add(self, operator: str, *inputs: str, **attributes: object) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def constant(self, value: object, dtype: type = np.int64) -> str:
        name = f"c{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def weights(self, *shape: int, scale: float = 0.5) -> str:
        return self.constant(scale * self.generator.standard_normal(shape), np.float32)

    def heads(self, x: str) -> str:
        """[batch, length, width] -> [batch, heads, length, size]"""
        x = self.add("MatMul", x, self.weights(WIDTH, WIDTH))
        x = self.add("Reshape", x, self.constant([0, 0, HEADS, SIZE]))
        return self.add("Transpose", x, perm=[0, 2, 1, 3])

    def attend(self, query: str, keys: str, values: str, mask: str | None) -> str:
        scores = self.add("MatMul", query, self.add("Transpose", keys, perm=[0, 1, 3, 2]))
        scores = self.add("Add", scores, mask) if mask else scores
        mixed = self.add("MatMul", self.add("Softmax", scores, axis=-1), values)
        return self.add("Reshape", self.add("Transpose", mixed, perm=[0, 2, 1, 3]), self.constant([0, 0, WIDTH]))

    def masked(self, seen: str) -> str:
        """0 where a mask [batch, length] is 1, and little enough elsewhere: [batch, 1, 1, length]"""
        hidden = self.add("Sub", self.constant(1, np.float32), self.add("Cast", seen, to=TensorProto.FLOAT))
        hidden = self.add("Mul", hidden, self.constant(-1e4, np.float32))
        return self.add("Unsqueeze", hidden, self.constant([1, 2]))

    def decoder(self, ids: str, past: list[str], cross: list[str], seen: str | None, hidden: str | None) -> list[str]:
        """Logits and caches of tokens behind those of the past."""
        x = self.add("Gather", self.weights(WORDS, WIDTH, scale=1), ids)
        count = self.add("Gather", self.add("Shape", past[0]), self.constant(2)) if past else self.constant(0)
        x = self.add("Add", x, self.add("Gather", self.weights(32, WIDTH, scale=1), count))
        mask = self.masked(seen) if seen else None
        caches = []
        for i in range(LAYERS):
            keys, values = self.heads(x), self.heads(x)
            if past:
                keys = self.add("Concat", past[2 * i], keys, axis=2)
                values = self.add("Concat", past[2 * i + 1], values, axis=2)
            caches += [keys, values]
            x = self.add("Add", x, self.attend(self.heads(x), keys, values, None))
            x = self.add("Add", x, self.attend(self.heads(x), *cross[2 * i : 2 * i + 2], mask))
        if hidden:
            x = self.add("Add", x, self.add("ReduceMean", hidden, axes=[1]))
        bias = np.where(np.arange(WORDS) == PADDING, -1e3, 0).astype(np.float32)
        bias[END] = 0.2
        logits = self.add("MatMul", x, self.weights(WIDTH, WORDS, scale=0.4))
        return [self.add("Add", logits, self.constant(bias, np.float32)), *caches]

    def finish(
        self, inputs: list[onnx.ValueInfoProto], made: dict[str, str], shapes: dict[str, list]
    ) -> onnx.GraphProto:
        for name, value in made.items():
            self.nodes.append(helper.make_node("Identity", [value], [name]))
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shapes[name]) for name in made]
        return helper.make_graph(self.nodes, "graph", inputs, outputs, self.tensors)


def named(kind: str, which: str) -> list[str]:
    return [f"{kind}_{part}_{which}_{i}" for i in range(LAYERS) for part in ("key", "value")]


def shapes_of(length: str | int) -> dict[str, list]:
    shapes: dict[str, list] = {"logits": ["batch", "n", WORDS], "encoder_hidden_states": ["batch", "frames", WIDTH]}
    for kind in ("past", "present"):
        shapes |= {key: ["batch", HEADS, length, SIZE] for key in named(kind, "self")}
        shapes |= {key: ["batch", HEADS, "frames", SIZE] for key in named(kind, "cross")}
    return shapes


INTEGERS = TensorProto.INT32
IDS = helper.make_tensor_value_info("encoder_input_ids", INTEGERS, ["batch", "frames"])
SPEECH = helper.make_tensor_value_info("encoder_input_ids", TensorProto.FLOAT, ["batch", FEATURES, "frames"])
SEEN = helper.make_tensor_value_info("encoder_attention_mask", INTEGERS, ["batch", "frames"])
STARTS = helper.make_tensor_value_info("decoder_input_ids", INTEGERS, ["batch", "n"])


def encoder_graph(seed: int, is_speech: bool, is_whole: bool, takes_hidden: bool) -> onnx.GraphProto:
    graph = Graph(seed)
    if is_speech:
        hidden = graph.add("Transpose", "encoder_input_ids", perm=[0, 2, 1])
        hidden = graph.add("MatMul", hidden, graph.weights(FEATURES, WIDTH))
    else:
        hidden = graph.add("Gather", graph.weights(WORDS, WIDTH, scale=1), "encoder_input_ids")
    cross = [graph.heads(hidden) for _ in named("present", "cross")]
    made = dict(zip(named("present", "cross"), cross, strict=True))
    inputs = [SPEECH if is_speech else IDS] + ([] if is_speech else [SEEN])
    if is_whole:
        graph.generator = np.random.default_rng(seed + 1000)  # the decoder's weights
        seen = None if is_speech else "encoder_attention_mask"
        results = graph.decoder("decoder_input_ids", [], cross, seen, hidden if takes_hidden else None)
        made = (
            {"logits": results[0], "encoder_hidden_states": hidden}
            | dict(zip(named("present", "self"), results[1:], strict=True))
            | made
        )
        inputs.append(STARTS)
    return graph.finish(inputs, made, shapes_of("n"))


def decoder_graph(seed: int, is_speech: bool, takes_hidden: bool, takes_all: bool) -> onnx.GraphProto:
    graph = Graph(seed + 1000)
    shapes = shapes_of("past")
    caches = [*named("past", "self"), *named("past", "cross")]
    inputs = [helper.make_tensor_value_info("input_ids", INTEGERS, ["batch", "all" if takes_all else 1])]
    inputs += [] if is_speech else [SEEN]
    names = (["encoder_hidden_states"] if takes_hidden else []) + caches
    inputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, shapes[name]) for name in names]
    ids = "input_ids"
    if takes_all:
        ids = graph.add("Slice", ids, graph.constant([-1]), graph.constant([100]), graph.constant([1]))
    seen = None if is_speech else "encoder_attention_mask"
    hidden = "encoder_hidden_states" if takes_hidden else None
    results = graph.decoder(ids, named("past", "self"), named("past", "cross"), seen, hidden)
    made = dict(zip(["logits", *named("present", "self")], results, strict=True))
    return graph.finish(inputs, made, shapes_of("now") | {"logits": ["batch", 1, WORDS]})


NAMES = ["ids", "max_length", "min_length", "num_beams", "num_return_sequences", "length_penalty", "repetition_penalty"]
NAMES += ["vocab_mask", "prefix_vocab_mask", "attention_mask", "decoder_input_ids", "logits_processor"]
NAMES += ["cross_qk_layer_head", "extra_decoding_ids", "temperature"]
FLOATS = {"length_penalty", "repetition_penalty", "temperature"}
SHAPES: dict[str, list] = {
    "vocab_mask": [WORDS],
    "prefix_vocab_mask": ["batch", WORDS],
    "attention_mask": ["batch", "frames"],
    "decoder_input_ids": ["batch", "n"],
    "cross_qk_layer_head": ["pairs", 2],
}


def search(
    is_speech: bool = False,
    operator: str = "BeamSearch",
    given: set[str] | None = None,
    seed: int = 1,
    is_whole: bool = True,
    takes_hidden: bool = False,
    takes_all: bool = False,
    **attributes: object,
) -> onnx.ModelProto:
    always = {*NAMES[:6]}
    names = [name if name in always | (given or set()) else "" for name in NAMES]
    inputs = [helper.make_tensor_value_info("ids", SPEECH.type.tensor_type.elem_type, ["batch", FEATURES, "frames"])]
    if not is_speech:
        inputs = [helper.make_tensor_value_info("ids", INTEGERS, ["batch", "frames"])]
    for name in filter(None, names[1:]):
        kind = TensorProto.FLOAT if name in FLOATS else INTEGERS
        inputs.append(helper.make_tensor_value_info(name, kind, SHAPES.get(name, [1])))
    form = {"eos_token_id": END, "pad_token_id": PADDING, "decoder_start_token_id": START, "model_type": 1 + is_speech}
    form |= {"encoder": encoder_graph(seed, is_speech, is_whole, takes_hidden)}
    form |= {"decoder": decoder_graph(seed, is_speech, takes_hidden, takes_all)}
    while names[-1] == "":
        names.pop()
    made = ["sequences", "sequences_scores", "scores"]
    node = helper.make_node(operator, names, made, "node", domain="com.microsoft", **form | attributes)
    results = [helper.make_tensor_value_info(made[0], INTEGERS, None)]
    results += [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in made[1:]]
    graph = helper.make_graph([node], "search", inputs, results)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8)


def feeds_of(is_speech: bool, seed: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    batch, frames, longest, beams = (int(generator.integers(*range)) for range in ((1, 4), (1, 7), (4, 13), (1, 5)))
    feeds = feeds_with(batch, frames, longest, beams, int(generator.integers(1, beams + 1)), seed)
    if is_speech:
        feeds["ids"] = generator.standard_normal((batch, FEATURES, frames)).astype(np.float32)
    return feeds


FORMS = [
    {},
    {"early_stopping": 1, "takes_all": True},
    {"takes_hidden": True},
    {"is_speech": True},
    {"is_speech": True, "takes_all": True, "early_stopping": 1},
    {"is_speech": True, "operator": "WhisperBeamSearch", "model_type": None},  # 2 is the default
]


@pytest.mark.parametrize("form", FORMS, ids=["text", "all", "hidden", "speech", "all-speech", "whisper"])
@pytest.mark.parametrize("seed", [1, 2])
def test_decoders_behind_an_encoder(form: dict, seed: int) -> None:
    model = search(seed=seed, **form)
    compiled, session = perpend.compile(model), session_of(model)
    lengths = set()
    for number in range(12):
        feeds = feeds_of(form.get("is_speech", False), number)
        expected = session.run(None, feeds)
        check(compiled(**feeds), expected)
        lengths |= set((expected[0] != PADDING).sum(-1).ravel())
    assert len(lengths) > 4


def test_encoders_of_caches_alone() -> None:
    """The decoder gets the first token, too."""
    for seed in (1, 2, 3):
        feeds = feeds_of(False, seed)
        model = search(seed=seed, is_whole=False)
        check(perpend.compile(model)(**feeds), session_of(model).run(None, feeds))


def test_the_interpreter() -> None:
    model, feeds = search(seed=5), feeds_of(False, 5)
    inputs = [feeds[value.name] for value in model.graph.input]
    check(perpend.import_model(model).evaluate(*inputs), session_of(model).run(None, feeds))


GENERATOR = np.random.default_rng(8)
TEXT = {
    "attention_mask": (GENERATOR.random((3, 6)) < 0.6).astype(np.int32),
    "vocab_mask": (GENERATOR.random(WORDS) < 0.7).astype(np.int32),
}
SPOKEN = {
    "decoder_input_ids": GENERATOR.integers(1, WORDS, (3, 3)).astype(np.int32),
    "prefix_vocab_mask": (GENERATOR.random((3, WORDS)) < 0.5).astype(np.int32),
    "repetition_penalty": np.array([1.7], np.float32),
}
COOLED = {"temperature": np.array([2.5], np.float32)}


@pytest.mark.parametrize(
    ("given", "form"),
    [
        (TEXT, {"no_repeat_ngram_size": 2}),
        (SPOKEN, {"is_speech": True}),
        (SPOKEN | COOLED, {"is_speech": True, "operator": "WhisperBeamSearch", "no_repeat_ngram_size": 3}),
    ],
    ids=["text", "speech", "whisper"],
)
def test_what_changes_scores(given: dict[str, np.ndarray], form: dict) -> None:
    model = search(given=set(given), **form)
    compiled, session = perpend.compile(model), session_of(model)
    for seed in range(4):
        feeds = feeds_with(3, 6, 12, 3, 2, seed) | {"min_length": one(6)} | given
        if form.get("is_speech"):
            feeds["ids"] = np.random.default_rng(seed).standard_normal((3, FEATURES, 6)).astype(np.float32)
        check(compiled(**feeds), session.run(None, feeds))


def test_the_temperature_divides() -> None:
    form = {"is_speech": True, "operator": "WhisperBeamSearch"}
    feeds = feeds_of(True, 3)
    plain = perpend.compile(search(**form))(**feeds)
    cooled = perpend.compile(search(given={"temperature"}, **form))(**feeds | COOLED)
    np.testing.assert_allclose(cooled[2][0, :, 0], plain[2][0, :, 0] / 2.5, rtol=1e-5)


def test_one_step() -> None:
    """ONNX Runtime needs two."""
    sequences, scores, steps = perpend.compile(search())(**feeds_with(2, 4, 2, 3, 2, 1))
    assert (sequences[..., 0] == START).all() and steps.shape == (1, 2, 3, WORDS)
    for words, found in zip(steps[:, :, 0][0], scores, strict=True):
        order = np.argsort(-words)
        finished = [words[END]] if END in order[:3] else []
        both = sorted([*(words[order[order != END][:3]] / 2), *finished], reverse=True)
        np.testing.assert_allclose(both[:2], found, rtol=1e-5)


def without_its_last_cache() -> onnx.GraphProto:
    graph = encoder_graph(1, is_speech=False, is_whole=True, takes_hidden=False)
    del graph.output[-1]
    return graph


def with_flat(name: str, graph: onnx.GraphProto | None = None) -> onnx.GraphProto:
    graph = graph or encoder_graph(1, is_speech=False, is_whole=True, takes_hidden=False)
    node = next(node for node in graph.node if node.output[0] == name)
    node.op_type = "Flatten"
    output = next(value for value in graph.output if value.name == name)
    output.type.tensor_type.ClearField("shape")
    return graph


def with_shared_buffers() -> onnx.GraphProto:
    graph = decoder_graph(1, is_speech=False, takes_hidden=False, takes_all=False)
    graph.input.append(helper.make_tensor_value_info("past_sequence_length", INTEGERS, [1]))
    return graph


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"model_type": 3}, "expected a model_type from 0 to 2, got 3"),
        ({"given": {"decoder_input_ids"}}, "no decoder_input_ids with the model_type 1"),
        ({"given": {"logits_processor"}}, "no logits_processor but the constant 0"),
        ({"decoder_start_token_id": -1}, "decoder_start_token_id that is not negative, got -1"),
        ({"encoder": without_its_last_cache()}, r"caches \[batch, .*\] for each of the decoder's, which are 4, got 9"),
        ({"encoder": with_flat("present_value_cross_0")}, "which are 4, got 10"),
        ({"encoder": with_flat("logits")}, "which are 4, got 10"),
        ({"decoder": with_flat("logits", decoder_graph(1, False, False, False))}, "expected logits .*of 4 dimensions"),
        ({"decoder": with_shared_buffers()}, "of 10 inputs, got 11"),
        ({"decoder": helper.make_graph([], "empty", [], [])}, "'decoder' to have inputs and outputs"),
        ({"is_speech": True, "operator": "WhisperBeamSearch", "model_type": 1}, "expected the model_type 2"),
        ({"is_speech": True, "operator": "WhisperBeamSearch", "given": {"extra_decoding_ids"}}, "extra_decoding_ids"),
    ],
)
def test_searches_that_are_refused(form: dict, message: str) -> None:
    with pytest.raises(perpend.CompileError, match=f"(?s)node 'node' .*{message}.*\nhint: "):
        perpend.compile(search(**form))
