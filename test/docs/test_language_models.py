"""What the pages about language models show runs with a small random model: Python, C, `generate` of transformers."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import perpend.llm
import pytest
import torch
from llm.checkpoints import make_checkpoint
from torch._dynamo.utils import counters

ROOT = Path(__file__).resolve().parents[2]
LANGUAGE_MODELS, PYTHON = ROOT / "docs/howto/run-a-language-model.md", ROOT / "docs/howto/use-from-python.md"
BUILD = Path(os.environ.get("PERPEND_BUILD", ROOT / "build"))
COMPILER = shutil.which("clang-19") or shutil.which("cc")


def parts(page: Path, language: str, word: str) -> list[str]:
    """The blocks that contain a word."""
    found = re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)
    return [text for text in found if word in text]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model")
    make_checkpoint(path / "model", max_position_embeddings=512)
    perpend.llm.compile(path / "model", path / "chat")
    return path


def test_python(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    first, conversation, streamed = parts(LANGUAGE_MODELS, "python", "model.generate(")[:3]
    chat = str(folder / "chat")
    for text in (re.sub(r"load\(.*\)  #", f"load({chat!r})  #", first), conversation, streamed):
        exec(compile(text, str(LANGUAGE_MODELS), "exec"), names)
    messages, said = names["messages"], capsys.readouterr().out
    assert [each["role"] for each in messages] == ["system", *["user", "assistant"] * 2]
    assert said.startswith("<LanguageModel model: 640 tokens in the vocabulary; context 512; 0 tokens of text>\n")
    assert all(each["content"] in said for each in messages if each["role"] == "assistant")
    assert said.endswith(f"{names['stream'].text}{names['stream'].finish_reason}\n")
    text = names["model"].session()
    answers = [text.generate(messages[: 2 + 2 * turn], max_tokens=100) for turn in range(2)]
    assert answers == [messages[2]["content"], messages[4]["content"]]


def test_c(folder: Path) -> None:
    """The program links with the line that is shown, and says what Python says."""
    assert COMPILER
    (program,) = parts(LANGUAGE_MODELS, "c", "int main")
    (folder / "main.c").write_text(program)
    (line,) = re.findall(r"^(clang-19 .*)$", LANGUAGE_MODELS.read_text(), re.MULTILINE)
    command, run = line.split("&&")
    words = [word.replace("build/lib", str(BUILD / "lib")) for word in shlex.split(command)]
    words[0] = COMPILER
    words[words.index("runtime/include")] = str(ROOT / "runtime/include")
    subprocess.run([*words, "-std=c99", "-Wall", "-Wextra", "-Werror"], cwd=folder, check=True, timeout=120)
    done = subprocess.run(shlex.split(run), cwd=folder, capture_output=True, check=True, timeout=60)
    model = perpend.llm.load(folder / "chat")
    draw = {"temperature": 0.8, "top_k": 0, "top_p": 1, "min_p": 0}
    answer = model.generate("Why is the sky blue?", max_tokens=100, **draw)
    last = f"\n{len(model.tokens)} tokens, the last one is {model.tokens[-1]}\n"
    assert done.stdout.decode() == answer + last
    failed = subprocess.run(["./ask", "./none"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert failed.returncode == 1 and "none" in failed.stderr


def test_generate_of_transformers(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("transformers")
    (shown,) = parts(PYTHON, "python", "net.compile(")
    other = 'net.forward = torch.compile(net.forward, backend="perpend")'
    assert other in shown
    lines = shown.splitlines()
    (at,) = [number for number, line in enumerate(lines) if line.startswith("net.compile(")]
    for way, graphs in ((lines[at], (2, 3)), (other, (2, 3)), ("net = torch.compile(net, backend='perpend')", (0,))):
        torch._dynamo.reset()
        counters.clear()
        lines[at] = way
        exec(compile("\n".join(lines), str(PYTHON), "exec"), {})
        assert capsys.readouterr().out == "True\n"
        assert counters["stats"]["unique_graphs"] in graphs
