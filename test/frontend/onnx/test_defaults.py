"""An attribute that is left out means the same as its default in the operator's schema, in every operator set.

The schemas are those of the onnx package and of ONNX Runtime's own operators; the models are the official suite's,
those of test_operators.py and test_microsoft_operators.py, and a few of forms that these lack.
"""

import warnings
from collections import defaultdict
from collections.abc import Iterator

import onnx
import onnx.backend.test.case.node as node_cases
import perpend
import pytest
from default_cases import other_models
from microsoft_token_cases import CASES as MICROSOFT_CASES
from onnx import AttributeProto, ModelProto, NodeProto
from onnxruntime.capi import onnxruntime_pybind11_state as runtime
from operator_cases import CASES
from test_microsoft_operators import build as build_microsoft
from test_microsoft_registry import imported as operators
from test_operators import build

# Attributes that no model here has in a form that is imported.
NEED_OTHER_INPUTS = {"ConcatFromSequence", "CastMap"}  # lists, maps
REFUSED = {("com.microsoft", "WhisperBeamSearch", 1, "decoder_start_token_id")}  # -1: none is known
NOT_SUPPORTED = {("MeanVarianceNormalization", 1), ("Upsample", 1)}
WITHDRAWN = {
    *[(op, 10) for op in ("Affine", "ImageScaler", "Scale", "Upsample")],
    *[(op, 5) for op in ("TreeEnsembleClassifier", "TreeEnsembleRegressor")],
}


def models() -> Iterator[ModelProto]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from (case.model for case in node_cases.collect_testcases(None) if case.model)
    yield from (build(case, dynamic=False)[0] for case in CASES)
    yield from (build_microsoft(case, dynamic=False)[0] for case in MICROSOFT_CASES)
    yield from other_models()


def defaults() -> dict[tuple[str, str], dict[int, dict[str, AttributeProto]]]:
    """Per operator and version: the attributes that have one."""
    rows: dict[tuple[str, str], dict[int, dict[str, AttributeProto]]] = defaultdict(dict)
    for schema in onnx.defs.get_all_schemas_with_history():
        row = {name: attribute.default_value for name, attribute in schema.attributes.items()}
        rows[schema.domain, schema.name][schema.since_version] = row
    for schema in runtime.get_all_operator_schema():
        row = {name: AttributeProto.FromString(a._default_value) for name, a in schema.attributes.items()}
        rows["" if schema.domain == "ai.onnx" else schema.domain, schema.name].setdefault(schema.since_version, row)
    for versions in rows.values():
        for version, row in versions.items():
            versions[version] = {name: value for name, value in row.items() if value.type}
    return rows


def with_attribute(model: ModelProto, index: int, name: str, value: AttributeProto | None) -> ModelProto:
    changed = ModelProto.FromString(model.SerializeToString())
    node = changed.graph.node[index]
    kept = [attribute for attribute in node.attribute if attribute.name != name]
    if value:
        kept.append(AttributeProto.FromString(value.SerializeToString()))
        kept[-1].name = name
    rest = NodeProto(attribute=kept)
    node.ClearField("attribute")
    node.attribute.extend(rest.attribute)
    return changed


def at_version(model: ModelProto, domain: str, version: int) -> ModelProto:
    changed = ModelProto.FromString(model.SerializeToString())
    for used in changed.opset_import:
        if used.domain in (domain, domain or "ai.onnx"):
            used.version = version
    return changed


def imported(model: ModelProto) -> str:
    """The module; empty where the form is one of a later operator set."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of shapes that are declared otherwise
        try:
            return str(perpend.import_model(model))
        except perpend.CompileError:
            return ""


@pytest.fixture(scope="module")
def compared() -> dict[tuple[str, str, int, str], bool]:
    """Per operator, version and attribute with a default: whether every model imports the same with and without it."""
    known, same, seen = defaults(), {}, set()
    for model in models():
        sets = {used.domain if used.domain != "ai.onnx" else "": used.version for used in model.opset_import}
        for index, node in enumerate(model.graph.node):
            key = node.domain, node.op_type
            versions = sorted(version for version in known.get(key, ()) if version <= sets.get(node.domain, 0))
            for since, following in zip(versions, [*versions[1:], sets.get(node.domain, 0) + 1], strict=True):
                form = (*map(bool, node.input), len(node.output), *sorted(a.name for a in node.attribute))
                for name, default in known[key][since].items():
                    if (*key, since, name, form) in seen:
                        continue
                    older = at_version(model, node.domain, following - 1)
                    absent = imported(with_attribute(older, index, name, None))
                    given = imported(with_attribute(older, index, name, default))
                    if absent or given:
                        seen.add((*key, since, name, form))
                        same[*key, since, name] = same.get((*key, since, name), True) and absent == given
    return same


def test_attributes_that_are_left_out(compared):
    assert [key for key, value in compared.items() if not value] == []


def test_all_are_reached(compared):
    domains = "", "ai.onnx.ml", "ai.onnx.preview.training"
    microsoft = {("com.microsoft", name) for name in operators("com.microsoft")}
    missed = {
        (*key, since, name)
        for key, versions in defaults().items()
        for since, row in versions.items()
        for name in row
        if (key[0] in domains or key in microsoft)
        and key[1] not in NEED_OTHER_INPUTS
        and (key[1], since) not in NOT_SUPPORTED | WITHDRAWN
    }
    assert sorted(missed - set(compared) - REFUSED) == []
