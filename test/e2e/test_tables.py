"""The tables of an artifact: they say what the descriptor says, need no relocations, and are covered by checksums."""

import json
import re
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import perpend
import pytest
from e2e.models import DIGITS, run_tool
from onnx import TensorProto, ValueInfoProto, helper, numpy_helper, save_model

MAGIC = struct.pack("<Q", 0x444E505250455250)  # PERPEND_MODULE_MAGIC


def save(
    path: Path, nodes: list[Any], inputs: list[ValueInfoProto], outputs: list[ValueInfoProto], *weights: Any
) -> Path:
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(weights))
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path


def sums(path: Path, count: int, extent: int | str = "n") -> Path:
    """`count` inputs x0, x1, … and as many outputs, y = x + w."""
    inputs = [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, [extent, 3]) for i in range(count)]
    outputs = [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, [extent, 3]) for i in range(count)]
    nodes = [helper.make_node("Add", [f"x{i}", "w"], [f"y{i}"]) for i in range(count)]
    return save(path, nodes, inputs, outputs, numpy_helper.from_array(np.array([1, 2, 3], np.float32), "w"))


def texts(path: Path) -> Path:
    """Identities of texts, and the number of each in a list of 1000 constants."""
    keys = [f"key number {i}" for i in range(1000)]
    nodes = [
        helper.make_node(
            "LabelEncoder", ["t"], ["i"], domain="ai.onnx.ml", keys_strings=keys, values_int64s=list(range(1000))
        ),
        helper.make_node("Identity", ["t"], ["u"]),
    ]
    inputs = [helper.make_tensor_value_info("t", TensorProto.STRING, ["n"])]
    outputs = [
        helper.make_tensor_value_info("i", TensorProto.INT64, ["n"]),
        helper.make_tensor_value_info("u", TensorProto.STRING, ["n"]),
    ]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 4)]
    save_model(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


def relocations(path: Path) -> int:
    text = subprocess.run(["readelf", "-rW", path], capture_output=True, text=True, check=True).stdout
    return len(re.findall(r"R_X86_64_RELATIVE", text))


def test_they_need_no_relocations(tmp_path: Path) -> None:
    """One for each kernel would be one too many: a model with many of everything has as many as a small one."""
    counts = {}
    for name, model in [("one", sums(tmp_path / "one.onnx", 1)), ("many", sums(tmp_path / "many.onnx", 40))]:
        run_tool("compile", model, "-o", f"{name}.so", folder=tmp_path)
        counts[name] = relocations(tmp_path / f"{name}.so")
    assert counts["one"] == counts["many"]
    run_tool("compile", texts(tmp_path / "texts.onnx"), "-o", "texts.so", folder=tmp_path)
    assert relocations(tmp_path / "texts.so") < counts["one"] + 40  # functions of the library


def test_constant_texts(tmp_path: Path) -> None:
    model = perpend.compile(str(texts(tmp_path / "texts.onnx")))
    numbers, same = model(np.array(["key number 7", "", "key number 999", "key number 0"]))
    assert numbers.tolist() == [7, -1, 999, 0]
    assert same.tolist() == ["key number 7", "", "key number 999", "key number 0"]


def test_they_lie_in_read_only_memory(tmp_path: Path) -> None:
    run_tool("compile", DIGITS, "-o", "digits.so", folder=tmp_path)
    text = subprocess.run(
        ["readelf", "-SsW", tmp_path / "digits.so"], capture_output=True, text=True, check=True
    ).stdout
    section = re.search(
        r"^ *\d+: \S+ +\d+ OBJECT +GLOBAL +PROTECTED +(\d+) perpend_module\.tables$", text, re.MULTILINE
    )
    assert section
    found = re.search(rf"^ *\[ *{section[1]}\] +(\S+) +PROGBITS.*? ([A-Z]+) +\d+ +\d+ +\d+$", text, re.MULTILINE)
    assert found and found[1].startswith(".rodata") and "W" not in found[2]


@pytest.mark.parametrize("extent", ["n", 4])
def test_they_say_what_the_descriptor_says(tmp_path: Path, extent: int | str) -> None:
    model = perpend.compile(str(sums(tmp_path / "sums.onnx", 3, extent)))
    facts = json.loads(model.descriptor)
    assert facts["abi"] == 10 and facts["symbols"] == (["n"] if extent == "n" else [])
    for listed, key in [(model.input_list, "inputs"), (model.output_list, "outputs")]:
        assert [(name, kind, list(shape)) for name, kind, shape in listed] == [
            (tensor["name"], tensor["type"], tensor["shape"]) for tensor in facts[key]
        ]
    x = [np.full((4, 3), i, np.float32) for i in range(3)]
    assert [kernel[0] for kernel in model.profile(*x)] == facts["kernels"]
    for i, y in enumerate(model(*x)):
        np.testing.assert_array_equal(y, np.tile(np.array([1, 2, 3], np.float32) + i, (4, 1)))


NAMES = ["a" * 5000, 'quote " and \\ backslash', "Größe 尺寸 😀", "line\nbreak", " ", "%s%n"]


def test_any_name(tmp_path: Path) -> None:
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in NAMES]
    outputs = [helper.make_tensor_value_info(f"{name} out", TensorProto.FLOAT, ["n"]) for name in NAMES]
    nodes = [helper.make_node("Neg", [name], [f"{name} out"]) for name in NAMES]
    model = perpend.compile(str(save(tmp_path / "names.onnx", nodes, inputs, outputs)))
    assert [name for name, _, _ in model.input_list] == NAMES
    assert [name for name, _, _ in model.output_list] == [f"{name} out" for name in NAMES]


@pytest.mark.parametrize("abi", [0, 8, 9, 0xFFFFFFFF])
def test_an_artifact_of_another_abi(tmp_path: Path, abi: int) -> None:
    """As one of another version is: whole, and with tables of another layout."""
    run_tool("compile", DIGITS, "-o", "digits.so", folder=tmp_path)
    data = bytearray((tmp_path / "digits.so").read_bytes())
    start = MAGIC + struct.pack("<I", 10)
    assert data.count(start) == 1
    at = data.index(start) + len(MAGIC)
    data[at : at + 4] = struct.pack("<I", abi)
    (tmp_path / "other.so").write_bytes(data)
    subprocess.run(["objcopy", tmp_path / "other.so"], check=True)  # which drops the checksum of the file
    with pytest.raises(RuntimeError, match=rf"ABI version: expected 10, got {abi}(?s:.)*hint: compile the model"):
        perpend.load(str(tmp_path / "other.so"))


@pytest.mark.parametrize("part", [b"image\0", b'"weightsChecksum":', b"probabilities\0"])
def test_damage_in_a_program(tmp_path: Path, part: bytes) -> None:
    """It compares its own memory with the checksum, before it reads the tables."""
    run_tool("compile", DIGITS, "-o", "digits", "--exe", folder=tmp_path)
    data = bytearray((tmp_path / "digits").read_bytes())
    data[data.index(part)] ^= 1
    program = tmp_path / "damaged"
    program.write_bytes(data)
    program.chmod(0o755)
    done = subprocess.run([program, "--help"], capture_output=True, text=True)
    assert done.returncode != 0 and "code: checksum: expected" in done.stdout + done.stderr
