"""A model has one text: what replaces a generation ends the earlier one with an error, never with other tokens."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import perpend.llm
import pytest
from llm.checkpoints import make_checkpoint

OPTIONS = {"temperature": 0, "ignore_stop_tokens": True, "raw": True}


@pytest.fixture(scope="module")
def llm(tmp_path_factory: pytest.TempPathFactory) -> perpend.llm.LanguageModel:
    folder: Path = tmp_path_factory.mktemp("streams") / "model"
    make_checkpoint(folder)
    return perpend.llm.compile(folder)


def test_a_stream_that_was_replaced_is_an_error(llm: perpend.llm.LanguageModel) -> None:
    first = llm.generate("The quick fox", stream=True, max_tokens=20, **OPTIONS)
    next(first)
    second = llm.generate("Other people", stream=True, max_tokens=20, **OPTIONS)
    next(second)
    with pytest.raises(RuntimeError, match=r"another generation of this text\nhint: session\(\)"):
        next(first)
    rest = "".join(second)
    assert second.text == llm.session().generate("Other people", max_tokens=20, **OPTIONS) and rest
    tokens = llm.generate_tokens([5, 6], max_tokens=5, temperature=0)
    llm.generate("Once", max_tokens=2, **OPTIONS)
    with pytest.raises(RuntimeError, match="another generation of this text"):
        list(tokens)
    assert list(second) == [], "it had ended before"


def test_threads_with_one_text_get_their_own_answer_or_an_error(llm: perpend.llm.LanguageModel) -> None:
    prompts = ["Other people", "Once upon a time", "12345", "The quick fox"]
    expected = [llm.session().generate(prompt, max_tokens=100, **OPTIONS) for prompt in prompts]

    def answer(prompt: str) -> str:
        try:
            return llm.generate(prompt, max_tokens=100, **OPTIONS)
        except RuntimeError as error:
            assert "another generation of this text" in str(error)
            return ""

    with ThreadPoolExecutor(4) as threads:
        for _ in range(5):
            said = list(threads.map(answer, prompts))
            assert any(said) and all(text in ("", whole) for text, whole in zip(said, expected, strict=True))
