"""Texts to tokens (Tokenizer of com.microsoft), as scikit-learn's vectorizers are exported, against ONNX Runtime."""

import numpy as np
import onnxruntime
import perpend
import pytest
from onnx import TensorProto, helper

TEXTS = ["the quick  brown,fox;x", "", "aab abab", "dé à-la A_1", "éé", "a\nb c"]


def build(rank, **attributes):
    attributes = {"mark": 0, "mincharnum": 1, "pad_value": "#", **attributes}
    node = helper.make_node("Tokenizer", ["x"], ["y"], domain="com.microsoft", **attributes)
    x = helper.make_tensor_value_info("x", TensorProto.STRING, ["n", "c"][-rank:] if rank else [])
    y = helper.make_tensor_value_info("y", TensorProto.STRING, None)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(helper.make_graph([node], "g", [x], [y]), opset_imports=sets, ir_version=8)


def expected_of(model, texts):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": texts})[0]


@pytest.mark.parametrize("mark", [0, 1])
@pytest.mark.parametrize(
    "attributes",
    [
        {"tokenexp": "[a-zA-Z0-9_]+"},
        {"tokenexp": "[a-z]+", "mincharnum": 3},
        {"tokenexp": "a|ab"},
        {"tokenexp": "ab|bab|.c", "mincharnum": 3},
        {"tokenexp": "b*"},
        {"tokenexp": "\\bb|^a|c$|(?i)A_"},
        {"tokenexp": "."},
        {"separators": [" "]},
        {"separators": [",", ";", " "], "mincharnum": 2},
        {"separators": ["a|ab", "(?i)É"]},
        {"separators": ["a.b", "c"]},
        {"separators": [""]},
        {"separators": [" ", "zz"], "tokenexp": "ignored"},
    ],
    ids=str,
)
def test_tokens(attributes, mark):
    model = build(1, mark=mark, **attributes)
    compiled = perpend.compile(model)
    for texts in [TEXTS, TEXTS[3:4], ["", ""]]:
        texts = np.array(texts, dtype=object)
        result, expected = np.asarray(compiled(x=texts)), expected_of(model, texts)
        assert result.shape == expected.shape
        assert result.tolist() == expected.tolist()


def test_matrix_of_texts():
    model, texts = build(2, tokenexp="\\w+"), np.array(TEXTS, dtype=object).reshape(3, 2)
    assert np.asarray(perpend.compile(model)(x=texts)).tolist() == expected_of(model, texts).tolist()


def test_no_texts():
    """The dimension of tokens is there all the same; ONNX Runtime gives a result of another rank."""
    result = perpend.compile(build(2, tokenexp="\\w+", mark=1))(x=np.zeros((0, 2), dtype=object))
    assert np.asarray(result).shape == (0, 2, 0)


@pytest.mark.parametrize(
    ("rank", "attributes", "message"),
    [
        (1, {"tokenexp": "("}, r"the pattern '\(' is not valid: a '\(' has no '\)'"),
        (1, {}, "expected separators or tokenexp"),
        (1, {"tokenexp": "a", "mincharnum": 0}, "mincharnum of at least 1, got 0"),
        (1, {"separators": [""], "mincharnum": 2}, "a mincharnum of 1 with the separator ''"),
        (0, {"tokenexp": "a"}, r"expected a shape \[c\] or \[n, c\], got \[\]"),
    ],
)
def test_refusals(rank, attributes, message):
    with pytest.raises(perpend.CompileError, match=message):
        perpend.compile(build(rank, **attributes))
