"""Searches with beams: the text is that of transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import perpend.llm
import pytest
import torch
from cli.tool import reject, succeed
from llm.checkpoints import END, make_checkpoint

Made = tuple[Any, perpend.llm.LanguageModel, Path]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("beams")
    net = make_checkpoint(folder / "model")
    succeed("llm", "compile", "model", "-o", "chat", folder=folder)
    return net, perpend.llm.load(folder / "chat"), folder


def of_transformers(net: Any, tokens: list[int], **options: Any) -> list[int]:
    prompt = torch.tensor([tokens])
    with torch.no_grad():
        found = net.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            do_sample=False,
            eos_token_id=[1, END],
            pad_token_id=0,
            **options,
        )
    said: list[int] = found[0, len(tokens) :].tolist()
    return said


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "options",
    [
        {"beams": 2},
        {"beams": 5},
        {"beams": 4, "length_penalty": -1.5},
        {"beams": 3, "repetition_penalty": 1.3},
    ],
    ids=["two", "five", "short", "penalty"],
)
def test_texts_are_those_of_transformers(made: Made, options: dict[str, Any], seed: int) -> None:
    net, llm, _ = made
    tokens = torch.randint(2, 600, (20,), generator=torch.Generator().manual_seed(seed)).tolist()
    theirs = {"num_beams" if name == "beams" else name: value for name, value in options.items()}
    expected = of_transformers(net, tokens, max_new_tokens=24, **theirs)
    text = llm.session()
    said = list(text.generate_tokens(tokens, max_tokens=24, **options))
    assert said == expected
    penalty = {name: value for name, value in options.items() if name == "repetition_penalty"}
    greedy = list(text.generate_tokens(tokens, max_tokens=24, temperature=0, **penalty))
    assert said != greedy, "greedy decoding finds it, too"


def test_stop_tokens_end_beams(made: Made) -> None:
    _, llm, _ = made
    tokens = llm.encode("The quick brown fox")
    said = list(llm.session().generate_tokens(tokens, max_tokens=30, beams=4))
    stop = said[3]
    ended = list(llm.session().generate_tokens(tokens, max_tokens=30, beams=4, stop_tokens=[stop]))
    assert ended[-1] == stop and stop not in ended[:-1]
    assert said == list(
        llm.session().generate_tokens(tokens, max_tokens=30, beams=4, stop_tokens=[stop], ignore_stop_tokens=True)
    )


def test_a_text_goes_on_behind_a_search(made: Made) -> None:
    _, llm, _ = made
    tokens = llm.encode("One two three")
    text = llm.session()
    said = list(text.generate_tokens(tokens, max_tokens=10, beams=3))
    assert text.tokens == tokens + said and text.cached == len(tokens)
    assert list(text.logits(text.tokens)) == list(llm.session().logits(tokens + said))
    full = list(text.generate_tokens(tokens, beams=2))
    assert len(text.tokens) <= llm.context and text.tokens == tokens + full


def test_stop_strings_end_what_was_found(made: Made) -> None:
    _, llm, _ = made
    whole = llm.generate("One two three", max_tokens=20, beams=3)
    stop = whole[len(whole) // 2 :][:2]
    assert llm.generate("One two three", max_tokens=20, beams=3, stop=[stop]) == whole[: whole.index(stop)]


def test_programs_search(made: Made) -> None:
    _, llm, folder = made
    expected = llm.generate("One two three", raw=True, max_tokens=20, beams=3, length_penalty=2)
    options = ("--prompt", "One two three", "--raw", "--max-tokens", "20", "--beams", "3", "--length-penalty", "2")
    assert succeed("llm", "run", "chat", *options, folder=folder) == expected
    error = reject("llm", "run", "chat", "--prompt", "x", "--beams", "33", folder=folder)
    assert "expected 0 to 32 beams, got 33" in error


def test_what_cannot_be_is_refused(made: Made) -> None:
    _, llm, _ = made
    with pytest.raises(ValueError, match="expected beams or log-probabilities of tokens, got both"):
        llm.generate("x", beams=2, top_logprobs=1)
    with pytest.raises(ValueError, match="length penalty: expected a number from -16 to 16, got 17"):
        llm.generate_tokens("x", beams=2, length_penalty=17.0)
