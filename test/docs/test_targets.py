"""The summary of docs/targets.md is what docs/generate_targets.py makes of docs/targets.json, and the types of
micro-kernels in that are those of the texts of intrinsics."""

from __future__ import annotations

import json
from pathlib import Path

import generate_targets

ROOT = Path(__file__).resolve().parents[2]
HINT = "hint: run docs/generate_targets.py --measure and commit docs/targets.md and docs/targets.json"


def test_the_page_agrees_with_its_data() -> None:
    text, data = generate_targets.PAGE.read_text(), json.loads(generate_targets.DATA.read_text())
    assert generate_targets.page(text, data) == text, HINT
    data["targets"][0]["bytes"] += 1
    assert generate_targets.page(text, data) != text


def test_micro_kernels_are_those_of_the_texts() -> None:
    known, texts = generate_targets.machines(ROOT / "build/bin/perpend"), generate_targets.all_texts()
    sources = [path.read_text() for path in generate_targets.TEXTS.glob("*.mlir")]
    described = sum(source.count("!tile.buffer<[rows, cols]") > 0 for source in sources)
    assert len(texts) > described > 15, "each text is read"
    for row in json.loads(generate_targets.DATA.read_text())["targets"]:
        kernels = generate_targets.kernels_of(known[row["target"]], row["base"], texts)
        assert row["kernels"] == kernels, f"{row['target']}; {HINT}"


def test_features_decide_which_kernels_a_machine_has() -> None:
    texts = generate_targets.texts_of((generate_targets.TEXTS / "i8.block.mlir").read_text())
    machine = generate_targets.Machine({"vectors"}, {"avx512vl"})
    assert generate_targets.kernels_of(machine, "sse2", texts) == []
    machine.features.add("avx512vnni")
    assert generate_targets.kernels_of(machine, "sse2", texts) == ["u8 x i8"]
    assert generate_targets.kernels_of(machine._replace(units=set()), "sse2", texts) == []


def test_cases_that_ran_again_count_once(tmp_path: Path) -> None:
    def outcome(status: str, reason: str = "") -> dict[str, object]:
        return {"status": status, "reason": reason, "seconds": 1}

    first = {"a": outcome("pass"), "b": outcome("wrong", "hang: not done after 60 s"), "c": outcome("unsupported")}
    second = {"b": outcome("pass"), "d": outcome("wrong", "hang: not done after 60 s"), "e": outcome("wrong", "values")}
    paths = []
    for number, outcomes in enumerate((first, second)):
        paths.append(tmp_path / f"{number}.json")
        paths[-1].write_text(json.dumps({"columns": {"column": outcomes}}))
    counts = generate_targets.counts(paths)
    assert [counts[key] for key in ("cases", "pass", "refused", "late", "wrong")] == [5, 2, 1, 1, 1]
