"""Further entries of a language model, which share weights and cache: embeddings, and the logits of several tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import perpend
import perpend.llm
import pytest
import torch
from cli.tool import reject, succeed
from llm.checkpoints import make_checkpoint, make_gguf

Made = tuple[Any, perpend.llm.LanguageModel]


@pytest.fixture(scope="module", params=["folder", "gguf", "module"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    path = tmp_path_factory.mktemp("llm") / "model"
    if request.param == "gguf":
        path = path.with_suffix(".gguf")
        return make_gguf(path), perpend.llm.compile(path, entries="embed,verify")
    net = make_checkpoint(path)
    options = {"tokenizer": path} if request.param == "module" else {}
    return net, perpend.llm.compile(net if options else path, entries="embed, verify", **options)


def hidden_of(net: Any, tokens: list[int]) -> Any:
    with torch.no_grad():
        return net.model(torch.tensor([tokens])).last_hidden_state[0].numpy()


def test_embeddings_are_the_hidden_states(made: Made) -> None:
    net, llm = made
    tokens = np.random.default_rng(0).integers(2, 600, 60).tolist()
    expected = hidden_of(net, tokens)
    assert llm.embedding_size == expected.shape[1]
    text = llm.session()
    rows = text.embed(tokens, pooling=None)
    np.testing.assert_allclose(rows, expected, rtol=0, atol=1e-5)
    np.testing.assert_allclose(text.embed(tokens), expected.mean(0), rtol=0, atol=1e-5)
    text.logits(tokens[:50])
    np.testing.assert_array_equal(text.embed(tokens, pooling="last"), rows[-1])
    assert text.cached == 60
    words = llm.encode("Hello there")
    np.testing.assert_allclose(text.embed("Hello there"), hidden_of(net, words).mean(0), rtol=0, atol=1e-5)


def test_all_entries_have_one_cache(made: Made) -> None:
    _, llm = made
    tokens = np.random.default_rng(1).integers(2, 600, 40).tolist()
    fresh = llm.session().logits(tokens)
    text = llm.session()
    text.embed(tokens[:30])
    assert text.cached == 30
    np.testing.assert_array_equal(text.logits(tokens), fresh)
    rows = text.logits(tokens, rows=7)
    assert rows.shape == (7, llm.vocabulary) and text.cached == 40
    for count in range(34, 41):
        np.testing.assert_array_equal(rows[count - 34], llm.logits(tokens[:count]))
    np.testing.assert_array_equal(text.logits(tokens, rows=40)[-7:], rows)
    guess = [*tokens[:36], 5, 6, 7]
    np.testing.assert_array_equal(text.logits(guess, rows=3)[0], llm.logits(guess[:37]))
    np.testing.assert_array_equal(text.logits(tokens), fresh)
    said = text.generate(tokens, max_tokens=8, temperature=0)
    text.embed("Hello")
    assert text.generate(tokens, max_tokens=8, temperature=0) == said


def test_mistakes(tmp_path: Path) -> None:
    net = make_checkpoint(tmp_path / "model")
    succeed("llm", "compile", "model", "-o", "chat", folder=tmp_path)
    llm = perpend.llm.load(tmp_path / "chat")
    assert llm.embedding_size == 0
    with pytest.raises(ValueError, match="expected a model with the entry 'embed'"):
        llm.embed("Hello")
    with pytest.raises(ValueError, match="expected a model with the entry 'verify'"):
        llm.logits([5, 6], rows=1)
    assert "expected embed, verify or both, got 'walk'" in reject(
        "llm", "compile", "model", "-o", "chat", "--entries", "walk", folder=tmp_path
    )
    with pytest.raises(perpend.CompileError, match="entries: expected embed, verify or both, got 'walk'"):
        perpend.llm.compile(net, entries="walk")
    succeed("llm", "compile", "model", "-o", "both", "--entries", "verify,embed", folder=tmp_path)
    llm = perpend.llm.load(tmp_path / "both")
    with pytest.raises(ValueError, match="pooling: expected 'mean', 'last' or None, got 'max'"):
        llm.embed("Hello", pooling="max")  # type: ignore[arg-type]
    for rows in (0, 3):
        with pytest.raises(ValueError, match=f"expected 1 to 2 rows, the number of tokens, got {rows}"):
            llm.logits([5, 6], rows=rows)
    with pytest.raises(ValueError, match="expected at least one token, got an empty text"):
        llm.embed([])
