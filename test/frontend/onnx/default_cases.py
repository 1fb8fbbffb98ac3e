"""Models of one operator each that other tables of cases lack: old versions, and forms with few attributes."""

from collections.abc import Iterator

import test_microsoft_beams
import test_microsoft_encoders
import test_microsoft_generation
from onnx import ModelProto, TensorProto, helper

FLOAT, FLOAT16, FLOAT8 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.FLOAT8E4M3FN
INT32, INT64 = TensorProto.INT32, TensorProto.INT64
UINT8, STRING = TensorProto.UINT8, TensorProto.STRING

TREE = {
    "nodes_treeids": [0] * 3,
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [1, 0, 0],
    "nodes_values": [0.5, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
    "nodes_missing_value_tracks_true": [0] * 3,
}
TARGETS = {"target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [1.0, 2.0]}
CLASSES = {"class_treeids": [0, 0], "class_nodeids": [1, 2], "class_ids": [0, 1], "class_weights": [1.0, 2.0]}
VECTORS = {"support_vectors": [1.0] * 6, "coefficients": [1.0, -1.0], "rho": [0.5], "kernel_params": [1.0, 0.0, 3.0]}
LABELS = {"classlabels_int64s": [0, 1]}
DELTA_NET = [*[(FLOAT, (2, 4, 3, 5))] * 3, None, *[(FLOAT, (2, 4, 3))] * 2]
NORMALISED, PACKED = [(FLOAT, (2, 3, 32)), None, (FLOAT, (32,))], [(UINT8, (5, 2, 8)), (FLOAT, (5, 2)), None]
QUANTISED = [(FLOAT, ()), (UINT8, ())]
ROWS, IMAGE, ML, MICROSOFT = (FLOAT, (2, 3)), (FLOAT, (2, 3, 4, 5)), "ai.onnx.ml", "com.microsoft"

# Per operator: operator set, element types and shapes of the inputs, attributes, and domain where there is one.
OTHER_FORMS = [
    ("Affine", 1, [ROWS], {}),
    ("BatchNormalization", 1, [(FLOAT, (2, 3, 4)), *[(FLOAT, (3,))] * 4], {"consumed_inputs": [0, 0, 0, 1, 1]}),
    ("GlobalLpPool", 22, [IMAGE], {}),
    ("GroupNormalization", 18, [(FLOAT, (2, 6, 4)), (FLOAT, (3,)), (FLOAT, (3,))], {"num_groups": 3}),
    ("ImageScaler", 1, [IMAGE], {"bias": [0.0, 1.0, 2.0]}),
    ("LpPool", 1, [(FLOAT, (2, 3, 9))], {"kernel_shape": [3]}),
    ("MaxRoiPool", 22, [IMAGE, (FLOAT, (1, 5))], {"pooled_shape": [2, 2]}),
    ("Multinomial", 22, [ROWS], {"seed": 1.0}),
    ("Pad", 1, [ROWS], {"paddings": [0, 1, 0, 1]}),
    ("RandomNormal", 22, [], {"shape": [2, 3], "seed": 1.0}),
    ("RandomNormalLike", 22, [ROWS], {"seed": 1.0}),
    ("RandomUniform", 22, [], {"shape": [2, 3], "seed": 1.0}),
    ("Resize", 11, [IMAGE, (FLOAT, (8,)), (FLOAT, (4,))], {}),
    ("Scale", 1, [ROWS], {}),
    ("Scatter", 11, [(FLOAT, (3, 4)), (INT64, (1, 2)), (FLOAT, (1, 2))], {}),
    ("TopK", 1, [(FLOAT, (3, 4))], {"k": 2}),
    ("Upsample", 7, [IMAGE], {"scales": [1.0, 1.0, 2.0, 2.0]}),
    *[(op, version, [ROWS] * 2, {}) for op in ("Add", "Div", "Mul", "Sub") for version in (1, 6)],
    *[(op, 1, [ROWS] * 2, {}) for op in ("Equal", "Greater", "Less", "Pow")],
    *[
        ("CategoryMapper", 1, [(kind, (4,))], {"cats_int64s": [1, 2], "cats_strings": ["a", "b"]}, ML)
        for kind in (INT64, STRING)
    ],
    ("Imputer", 1, [ROWS], {"imputed_value_floats": [1.0]}, ML),
    ("Imputer", 1, [(INT64, (2, 3))], {"imputed_value_int64s": [1]}, ML),
    *[("LabelEncoder", 1, [(kind, (4,))], {"classes_strings": ["a", "b"]}, ML) for kind in (INT64, STRING)],
    (
        "LinearClassifier",
        1,
        [ROWS],
        {"coefficients": [1.0] * 6, "intercepts": [0.0, 1.0], "classlabels_ints": [0, 1]},
        ML,
    ),
    ("LinearRegressor", 1, [ROWS], {"coefficients": [1.0, 2.0, 3.0]}, ML),
    ("Normalizer", 1, [ROWS], {}, ML),
    ("OneHotEncoder", 1, [(INT64, (4,))], {"cats_int64s": [1, 2]}, ML),
    ("SVMClassifier", 1, [ROWS], {**VECTORS, "vectors_per_class": [1, 1], "classlabels_ints": [0, 1]}, ML),
    ("SVMRegressor", 1, [ROWS], {**VECTORS, "n_supports": 2}, ML),
    ("SVMRegressor", 1, [ROWS], {**VECTORS, "coefficients": [1.0, 2.0, 3.0]}, ML),
    ("TreeEnsembleClassifier", 3, [ROWS], {**TREE, **CLASSES, **LABELS}, ML),
    ("TreeEnsembleRegressor", 3, [ROWS], {**TREE, **TARGETS, "n_targets": 1}, ML),
    ("BiasSoftmax", 1, [(FLOAT, (2, 3, 4, 5)), (FLOAT, (2, 1, 4, 5))], {"is_inner_broadcast": 1}, MICROSOFT),
    ("FusedMatMulActivation", 1, [(FLOAT, (3, 3))] * 2, {"activation": "Relu"}, MICROSOFT),
    ("GatherBlockQuantized", 1, [(UINT8, (4, 64)), (INT64, (2,)), (FLOAT, (4, 1))], {"quantize_axis": 1}, MICROSOFT),
    ("GatedDeltaNet", 1, [(FLOAT, (2, 4, 3, 5))] * 3, {"update_rule": "linear"}, MICROSOFT),
    ("GatedDeltaNet", 1, DELTA_NET, {}, MICROSOFT),
    ("GroupNorm", 1, [(FLOAT, (2, 4, 3, 6)), *[(FLOAT, (6,))] * 2], {"groups": 3, "activation": 0}, MICROSOFT),
    ("Irfft", 1, [(FLOAT, (3, 5, 2))], {"signal_ndim": 1}, MICROSOFT),
    ("IsAllFinite", 1, [ROWS], {}, MICROSOFT),
    (
        "MatMulBlockQuantizedFp8Weight",
        1,
        [(FLOAT16, (3, 256)), (FLOAT8, (5, 256)), (FLOAT, (5, 2))],
        {},
        MICROSOFT,
    ),
    (
        "MatMulNBitsMlp",
        1,
        [*NORMALISED, *PACKED * 2],
        {"K": 32, "N": 5, "block_size": 16, "activation": "silu"},
        MICROSOFT,
    ),
    ("MatMulNBitsQkv", 1, [*NORMALISED, *PACKED * 3], {"K": 32, "Nq": 5, "Nkv": 5, "block_size": 16}, MICROSOFT),
    ("NhwcConv", 1, [(FLOAT, (2, 5, 6, 3)), (FLOAT, (4, 3, 2, 2))], {}, MICROSOFT),
    ("NhwcFusedConv", 1, [(FLOAT, (2, 5, 6, 3)), (FLOAT, (4, 3, 2, 2))], {"activation": "Relu"}, MICROSOFT),
    ("QLinearConv", 1, [(UINT8, (2, 3, 5, 6)), *QUANTISED, (UINT8, (4, 3, 2, 2)), *QUANTISED * 2], {}, MICROSOFT),
    ("RelativePositionBias", 1, [(FLOAT, (32, 3)), *[(INT64, (1,))] * 2], {"max_distance": 40}, MICROSOFT),
    ("Rfft", 1, [(FLOAT, (3, 8))], {"signal_ndim": 1}, MICROSOFT),
    ("Rfft", 1, [(FLOAT, (3, 8))], {}, MICROSOFT),
    (
        "SkipGroupNorm",
        1,
        [(FLOAT, (2, 4, 3, 6)), *[(FLOAT, (6,))] * 2, (FLOAT, (2, 4, 3, 6))],
        {"groups": 3, "activation": 0},
        MICROSOFT,
    ),
    ("TransposeMatMul", 1, [(FLOAT, (3, 3))] * 2, {}, MICROSOFT),
    (
        "VarlenCausalConvWithState",
        1,
        [(FLOAT, (8, 3)), (FLOAT, (3, 1, 2)), (INT32, (5,)), None, (FLOAT, (4, 3, 1))],
        {},
        MICROSOFT,
    ),
]


OUTPUTS = {"TopK": 2, "GatedDeltaNet": 2, "MatMulNBitsQkv": 3, "VarlenCausalConvWithState": 2}


def other_models() -> Iterator[ModelProto]:
    for op, version, inputs, attributes, *domain in OTHER_FORMS:
        values = [declared and helper.make_tensor_value_info(f"i{at}", *declared) for at, declared in enumerate(inputs)]
        names = [value.name if value else "" for value in values]
        count = 2 if op.endswith("Classifier") else OUTPUTS.get(op, 1)
        outputs = [f"o{at}" for at in range(count)]
        node = helper.make_node(op, names, outputs, domain="".join(domain), **attributes)
        graph = helper.make_graph(
            [node], "form", filter(None, values), [helper.make_empty_tensor_value_info(name) for name in outputs]
        )
        sets = [helper.make_opsetid("".join(domain), version)] + [helper.make_opsetid("", 17)] * bool(domain)
        yield helper.make_model(graph, opset_imports=sets, ir_version=8)
    yield test_microsoft_beams.search()
    yield test_microsoft_generation.search(set())
    yield test_microsoft_encoders.search(is_speech=True, operator="WhisperBeamSearch")
