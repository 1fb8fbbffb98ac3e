"""Assets: bytes that an artifact carries for programs that use it."""

from __future__ import annotations

import ctypes
import json
import subprocess
from pathlib import Path

import perpend
import pytest
from cli.tool import BUILD, reject, succeed

MODEL = """
module attributes {{graph.assets = {assets}}} {{
  func.func @main(%x: tensor<2xf32> {{graph.name = "x"}}) -> tensor<2xf32> {{
    return %x : tensor<2xf32>
  }}
}}
"""
WORDS = (
    '{"one.word" = dense<[104, 105, 33]> : tensor<3xi8>, empty = dense<> : tensor<0xi8>, '
    "text = dense<[97]> : tensor<1xi8>}"
)


def asset(path: Path, name: str) -> bytes | None:
    library = ctypes.CDLL(str(BUILD / "lib" / "libperpend.so"))
    library.perpend_model_asset.restype = ctypes.c_void_p
    library.perpend_error_message.restype = ctypes.c_char_p
    model, size = ctypes.c_void_p(), ctypes.c_int64()
    assert library.perpend_model_load(str(path).encode(), ctypes.byref(model)) == 0, library.perpend_error_message()
    found = library.perpend_model_asset(model, name.encode(), ctypes.byref(size))
    assert found is None or found % 8 == 0
    result = None if found is None else ctypes.string_at(found, size.value)
    library.perpend_model_free(model)
    return result


@pytest.mark.parametrize("targets", ["host", "x86-64,x86-64-v3"])
def test_assets_come_back(tmp_path: Path, targets: str) -> None:
    (tmp_path / "model.mlir").write_text(MODEL.format(assets=WORDS))
    succeed("compile", "model.mlir", "-o", "model.so", "--target", targets, folder=tmp_path)
    assert asset(tmp_path / "model.so", "one.word") == b"hi!"
    assert asset(tmp_path / "model.so", "empty") == b""
    assert asset(tmp_path / "model.so", "text") == b"a"
    assert asset(tmp_path / "model.so", "texts") is None
    facts = json.loads(perpend.load(tmp_path / "model.so").descriptor)
    assert facts["assets"] == [
        {"name": "empty", "bytes": 0},
        {"name": "one.word", "bytes": 3},
        {"name": "text", "bytes": 1},
    ]


def test_they_survive_phases_in_files(tmp_path: Path) -> None:
    (tmp_path / "model.mlir").write_text(MODEL.format(assets=WORDS))
    succeed("compile", "model.mlir", "-o", "a.so", "--dump-phases", "phases", folder=tmp_path)
    fused = next((tmp_path / "phases").glob("*-fuse.mlir"))
    succeed("compile", fused, "-o", "b.so", "--start-from", "schedule", folder=tmp_path)
    assert asset(tmp_path / "b.so", "one.word") == b"hi!"


def test_their_damage_is_found(tmp_path: Path) -> None:
    (tmp_path / "model.mlir").write_text(
        MODEL.format(assets="{mark = dense<[81, 90, 81, 90, 81, 90, 81]> : tensor<7xi8>}")
    )
    succeed("compile", "model.mlir", "-o", "model.so", folder=tmp_path)
    data = (tmp_path / "model.so").read_bytes()
    assert data.count(b"QZQZQZQ") == 1
    (tmp_path / "model.so").write_bytes(data.replace(b"QZQZQZQ", b"QZQZQZZ"))
    with pytest.raises(RuntimeError, match="checksum"):
        perpend.load(tmp_path / "model.so")


@pytest.mark.parametrize(
    ("assets", "message"),
    [
        ('"x"', "graph.assets: expected a dictionary"),
        ('{a = "x"}', "asset 'a': expected elements of i8"),
        ("{a = dense<[1, 2]> : tensor<2xi32>}", "asset 'a': expected elements of i8"),
        ("{a = dense<7> : tensor<9xi8>}", "asset 'a': expected elements of i8, each written out"),
    ],
)
def test_what_is_no_asset(tmp_path: Path, assets: str, message: str) -> None:
    (tmp_path / "model.mlir").write_text(MODEL.format(assets=assets))
    assert message in reject("compile", "model.mlir", "-o", "model.so", folder=tmp_path)


def test_an_artifact_without_assets_has_no_word_of_them(tmp_path: Path) -> None:
    (tmp_path / "model.mlir").write_text(MODEL.format(assets="{}"))
    succeed("compile", "model.mlir", "-o", "model.so", folder=tmp_path)
    assert "assets" not in json.loads(perpend.load(tmp_path / "model.so").descriptor)
    strings = subprocess.run(["strings", tmp_path / "model.so"], capture_output=True, text=True, check=True).stdout
    assert "graph.assets" not in strings
