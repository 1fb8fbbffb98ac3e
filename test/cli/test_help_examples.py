"""The examples at the end of every help text run, one after the other."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from cli.tool import COMMANDS, F32, GOOD, PERPEND, ROOT, perpend, succeed
from llm.checkpoints import make_checkpoint, make_gguf
from onnx import helper, numpy_helper

ACTIONS = ["list", "merge", "export", "prune", "salvage"]
LLM_ACTIONS = ["compile", "run", "chat", "bench"]
TEXTS = [[], *([command] for command in COMMANDS), *(["db", action] for action in ACTIONS)]
TEXTS += [["llm", action] for action in LLM_ACTIONS]
SHORTER = {"--budget 10m": "--budget 1s", "--repeat 100": "--repeat 2"}


def save_model(folder: Path) -> None:
    """Two inputs, an image and a mask, with a symbolic batch; what the examples call their files."""
    weight = np.random.default_rng(0).standard_normal((8, 4), np.float32)
    infos = [helper.make_tensor_value_info(name, F32, ["batch", 8]) for name in ("image", "mask")]
    result = helper.make_tensor_value_info("y", F32, ["batch", 4])
    nodes = [helper.make_node("Mul", ["image", "mask"], ["m"]), helper.make_node("MatMul", ["m", "w"], ["y"])]
    graph = helper.make_graph(nodes, "model", infos, [result], [numpy_helper.from_array(weight, "w")])
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), folder / "model.onnx"
    )
    for name in ("prefill", "decode"):
        shutil.copy(folder / "model.onnx", folder / f"{name}.onnx")
    for name in ("x", "m"):
        np.save(folder / f"{name}.npy", np.ones((3, 8), np.float32))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that examples of one text take from others."""
    folder = tmp_path_factory.mktemp("examples")
    save_model(folder)
    succeed("compile", "model.onnx", "-o", "model.so", folder=folder)
    done = perpend("tune", "model.onnx", "-o", "tuned.db", "--budget", "1s", folder=folder)
    assert done.returncode == GOOD, done.stderr
    for name in ("mine.db", "yours.db"):
        shutil.copy(folder / "tuned.db", folder / name)
    return folder


def save_tokenizers(folder: Path) -> None:
    """A folder of a model, and a file with the tokenizer in it."""
    fixtures = ROOT / "test" / "tokenizer" / "fixtures"
    (folder / "model").mkdir()
    shutil.copy(fixtures / "byte-level.json", folder / "model" / "tokenizer.json")
    shutil.copy(fixtures / "pairs.gguf", folder / "model.gguf")
    (folder / "book.txt").write_text("Hello world")


def save_language_models(folder: Path) -> None:
    """A small one as a folder, as a file and compiled."""
    make_checkpoint(folder / "model", max_position_embeddings=4096)
    make_gguf(folder / "model.gguf", max_position_embeddings=4096)
    succeed("llm", "compile", "model.gguf", "-o", "chat", folder=folder)
    (folder / "question.txt").write_text("Why is the sky blue?")


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "examples"))


def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs an example; `< FILE` and `> FILE` mean what they mean in a shell."""
    text, target = None, None
    while len(words) > 2 and words[-2] in ("<", ">"):
        *words, sign, name = words
        if sign == "<":
            text = (folder / name).read_text()
        else:
            target = folder / name
    command = [str(PERPEND), *words]
    done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=folder, timeout=300)
    if target:
        target.write_text(done.stdout)
    return done


def examples(words: list[str], folder: Path) -> Iterator[list[str]]:
    text = succeed(*words, "--help", folder=folder)
    for line in re.findall(r"^(?:example:|  )\s*perpend ((?:" + "|".join(COMMANDS) + r")\b.*)$", text, re.M):
        if re.match(r"\w+   ", line):  # the list of commands
            continue
        for option, other in SHORTER.items():
            line = line.replace(option, other)
        yield shlex.split(line)


@pytest.mark.parametrize("words", TEXTS, ids=lambda words: " ".join(words) or "perpend")
def test_examples(words: list[str], folder: Path) -> None:
    found = list(examples(words, folder))
    assert found
    if words == ["tokenize"]:  # others write a program called model
        save_tokenizers(folder)
    if words[:1] == ["llm"]:
        save_language_models(folder)
    for example in found:
        done = run(example, folder)
        assert done.returncode == GOOD, f"perpend {' '.join(example)}\n{done.stdout}{done.stderr}"
