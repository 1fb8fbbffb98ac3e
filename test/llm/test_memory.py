"""The memory of a language model is that of its texts: no token and no session leaves anything behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cli.tool import succeed
from llm.checkpoints import make_checkpoint

PROGRAM = """
import sys
import perpend.llm

llm = perpend.llm.load(sys.argv[1], threads=1)
prompt = llm.encode("The quick brown fox says")


def memory():  # in KB: what is used, and addresses
    lines = [line.split() for line in open("/proc/self/status")]
    return [int(line[1]) for line in lines if line[0] in ("RssAnon:", "VmSize:")]


def measure(times, work):
    \"""The growth behind the first tenth.\"""
    for _ in range(times // 10):
        work()
    before = memory()
    for _ in range(times - times // 10):
        work()
    print(*(now - then for now, then in zip(memory(), before, strict=True)))


def continue_text(text=llm.session(), count=100):
    \"""A text that is cut back to its prompt.\"""
    assert len(text.tokens) in (0, len(prompt) + count)
    text.generate(prompt, max_tokens=count, temperature=1.0, stop=["unheard of"], ignore_stop_tokens=True)


def begin_another():
    text = llm.session()
    text.generate(prompt, max_tokens=3)
    copy = text.fork()
    copy.generate(prompt[:2], max_tokens=2)
    text.load_session(copy.save_session())


measure(100, continue_text)
measure(1000, begin_another)
"""


@pytest.fixture(scope="module")
def growth(tmp_path_factory: pytest.TempPathFactory) -> list[list[int]]:
    folder: Path = tmp_path_factory.mktemp("memory")
    make_checkpoint(folder / "model")
    succeed("llm", "compile", "model", "-o", "chat", folder=folder)
    done = subprocess.run([sys.executable, "-c", PROGRAM, folder / "chat"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return [[int(number) for number in line.split()] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("number", [0, 1], ids=["ten-thousand-tokens", "a-thousand-sessions"])
def test_memory_stays(growth: list[list[int]], number: int) -> None:
    used, addresses = growth[number]
    assert used < 64 and addresses < 256, f"{used} KB more are used, {addresses} KB of addresses"
