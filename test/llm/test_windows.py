"""Where all layers look back through a window, the cache forgets the rows that it has left behind."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import perpend.llm
import pytest
import torch
from frontend.checkpoint.tiny_models import Case, make, save
from llm.checkpoints import FIXTURES

WINDOW, COUNT = 700, 4000
TOKENS = np.random.default_rng(0).integers(2, 600, COUNT).tolist()
TOLERANCES = {"f32": 1e-4, "int8": 0.05}
Made = tuple[Any, perpend.llm.LanguageModel, float]


@pytest.fixture(scope="module", params=["f32", "int8"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder: Path = tmp_path_factory.mktemp("windows")
    sizes = {"vocab_size": 640, "max_position_embeddings": 1 << 16, "head_dim": 16, "pad_token_id": None}
    net = make(Case("mistral", {"sliding_window": WINDOW} | sizes))
    save(net, folder)
    shutil.copy(FIXTURES / "byte-level.json", folder / "tokenizer.json")
    return net, perpend.llm.compile(folder, cache_type=request.param, entries="verify"), TOLERANCES[request.param]


def fresh(llm: perpend.llm.LanguageModel, tokens: list[int]) -> Any:
    return llm.session().logits(tokens)


def test_logits_are_those_of_transformers(made: Made) -> None:
    net, llm, tolerance = made
    with torch.no_grad():
        expected = net(torch.tensor([TOKENS])).logits[0, -1].numpy()
    np.testing.assert_allclose(fresh(llm, TOKENS), expected, rtol=0, atol=tolerance)


def test_the_cache_is_that_of_the_window(made: Made) -> None:
    _, llm, _ = made

    def saved(count: int) -> int:
        text = llm.session()
        text.logits(TOKENS[:count])
        return len(text.save_session())

    row = (saved(300) - saved(200)) / 100
    assert saved(COUNT) < 0.7 * COUNT * row


def test_a_text_that_is_cut_back_far_is_computed_again(made: Made) -> None:
    _, llm, _ = made
    text = llm.session()
    text.logits(TOKENS)
    near, far = TOKENS[: COUNT - 50], TOKENS[:500]
    np.testing.assert_array_equal(text.logits(near), fresh(llm, near))
    text.logits(TOKENS)
    np.testing.assert_array_equal(text.logits(far), fresh(llm, far))
    np.testing.assert_array_equal(text.logits(TOKENS, rows=3)[2], fresh(llm, TOKENS))
    np.testing.assert_array_equal(text.logits(far, rows=2)[1], fresh(llm, far))


def test_copies_go_on(made: Made) -> None:
    _, llm, _ = made
    text = llm.session()
    text.logits(TOKENS)
    more = [*TOKENS, 7, 8, 9]
    loaded = llm.session()
    loaded.logits(TOKENS[:100])
    loaded.load_session(text.save_session())
    for copy in (text.fork(), loaded):
        assert copy.cached == COUNT
        np.testing.assert_array_equal(copy.logits(more), fresh(llm, more))
        np.testing.assert_array_equal(copy.logits(TOKENS[:500]), fresh(llm, TOKENS[:500]))
