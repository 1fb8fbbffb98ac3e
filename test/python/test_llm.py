"""perpend.llm: what Python generates is what transformers generates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import perpend
import perpend.llm
import pytest
import torch
from llm.checkpoints import CONTEXT, END, continuation, greedy, make_checkpoint, make_gguf

PROMPT = "The quick brown fox 🦊 says"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, perpend.llm.LanguageModel]:
    folder = tmp_path_factory.mktemp("llm") / "model"
    model = make_checkpoint(folder)
    return folder, model, perpend.llm.compile(folder)


Made = tuple[Path, Any, perpend.llm.LanguageModel]


def test_a_text_and_its_stream(made: Made) -> None:
    folder, model, llm = made
    assert (llm.context, llm.vocabulary, llm.stop_tokens, llm.has_template) == (CONTEXT, 640, [1, END], True)
    tokens = llm.encode(PROMPT)
    said = greedy(model, tokens, 30)
    expected = continuation(folder, tokens, said)
    assert llm.generate(PROMPT, raw=True, max_tokens=30, temperature=0) == expected
    assert llm.tokens == tokens + said
    stream = llm.generate(tokens, max_tokens=30, temperature=0, stream=True)
    pieces = list(stream)
    assert "".join(pieces) == stream.text == expected and len(pieces) > 10
    assert stream.tokens == said and stream.finish_reason == "length"


def test_logits_are_those_of_transformers(made: Made) -> None:
    _, model, llm = made
    tokens = np.random.default_rng(0).integers(2, 600, 70).tolist()
    for count in (1, 7, 70, 30, 31):
        with torch.no_grad():
            expected = model(torch.tensor([tokens[:count]])).logits[0, -1].numpy()
        np.testing.assert_allclose(llm.logits(tokens[:count]), expected, rtol=0, atol=1e-4)


def test_a_text_that_is_continued_is_as_a_new_one(made: Made) -> None:
    _, _, llm = made
    tokens = np.random.default_rng(1).integers(2, 600, 90).tolist()
    fresh = llm.session().logits(tokens)
    one_by_one = llm.session()
    for count in range(1, 91):
        last = one_by_one.logits(tokens[:count])
    np.testing.assert_array_equal(last, fresh)
    other = llm.session()
    other.logits([*tokens[:60], 5, 6, 7, 8])
    np.testing.assert_array_equal(other.logits(tokens), fresh)
    assert other.cached == 90
    other.logits(tokens[:40])
    assert other.cached == 40
    np.testing.assert_array_equal(other.logits(tokens), fresh)


def test_a_conversation_computes_new_tokens_only(made: Made) -> None:
    _, _, llm = made
    text = llm.session()
    first = [{"role": "user", "content": "Hello there"}]
    answer = text.generate(first, max_tokens=10, temperature=0, ignore_stop_tokens=True)
    before = text.tokens
    again = [*first, {"role": "assistant", "content": answer}, {"role": "user", "content": "And now?"}]
    assert text.render(again).startswith(text.render(first) + answer.strip())
    text.generate(again, max_tokens=0)
    common = next((i for i, (a, b) in enumerate(zip(text.tokens, before, strict=False)) if a != b), len(before))
    assert text.cached == min(common, len(before) - 1) > 10
    other = llm.session()
    assert text.generate(again, max_tokens=9, temperature=0) == other.generate(again, max_tokens=9, temperature=0)


def test_texts_are_forked_cut_back_and_saved(made: Made, tmp_path: Path) -> None:
    _, _, llm = made
    text = llm.session()
    text.generate(PROMPT, raw=True, max_tokens=10, temperature=0, ignore_stop_tokens=True)
    kept = text.save_session()
    copy = text.fork()
    count = len(text.tokens)
    assert copy.tokens == text.tokens and copy.cached == text.cached == count - 1
    tokens = text.tokens
    expected = text.logits(tokens)
    copy.truncate(count - 4)
    assert copy.tokens == tokens[:-4] and copy.cached == count - 4
    np.testing.assert_array_equal(copy.logits(tokens), expected)
    with pytest.raises(ValueError, match=f"expected 0 to {count} tokens, got {count + 1}"):
        copy.truncate(count + 1)
    loaded = llm.session()
    loaded.load_session(kept)
    assert loaded.tokens == tokens and loaded.cached == count - 1
    np.testing.assert_array_equal(loaded.logits(tokens), expected)
    with pytest.raises(RuntimeError, match="the checksum is wrong"):
        loaded.load_session(kept[:60] + bytes([kept[60] ^ 1]) + kept[61:])
    assert loaded.tokens == tokens
    other = make_checkpoint(tmp_path / "other")
    with torch.no_grad():
        other.lm_head.weight.mul_(1.5)
    other.save_pretrained(tmp_path / "other")
    with pytest.raises(RuntimeError, match="expected one of this model, got one of another"):
        perpend.llm.compile(tmp_path / "other").load_session(kept)


def test_logprobs(made: Made) -> None:
    _, model, llm = made
    tokens = llm.encode(PROMPT)
    stream = llm.generate(tokens, max_tokens=12, temperature=0, ignore_stop_tokens=True, top_logprobs=3, stream=True)
    text = "".join(stream)
    assert stream.logprobs is not None and stream.top_logprobs is not None
    with torch.no_grad():
        rows = model(torch.tensor([tokens + stream.tokens])).logits[0, len(tokens) - 1 : -1].log_softmax(-1)
    expected = [row[token].item() for row, token in zip(rows, stream.tokens, strict=True)]
    np.testing.assert_allclose(stream.logprobs, expected, rtol=0, atol=1e-4)
    for row, top, token in zip(rows, stream.top_logprobs, stream.tokens, strict=True):
        assert [number for number, _ in top] == row.topk(3).indices.tolist() and top[0][0] == token
        np.testing.assert_allclose([value for _, value in top], row.topk(3).values.numpy(), rtol=0, atol=1e-4)
    plain = llm.generate(tokens, max_tokens=12, temperature=0, ignore_stop_tokens=True, stream=True)
    assert "".join(plain) == text and plain.logprobs is plain.top_logprobs is None


def test_seeds_and_stops(made: Made) -> None:
    _, _, llm = made
    drawn = [llm.generate(PROMPT, max_tokens=20, temperature=2.0, seed=seed, choice=choice) for seed, choice in
             ((1, 0), (1, 0), (2, 0), (1, 1))]  # fmt: skip
    assert drawn[0] == drawn[1] and len(set(drawn)) == 3
    whole = llm.generate(PROMPT, max_tokens=30, temperature=0)
    stop = whole[len(whole) // 2 :][:2]
    stream = llm.generate(PROMPT, max_tokens=30, temperature=0, stop=["never", stop], stream=True)
    assert "".join(stream) == whole[: whole.index(stop)] and stream.finish_reason == "stop"
    token = llm.tokens[-3]
    stream = llm.generate(PROMPT, max_tokens=30, temperature=0, stop_tokens=[token], stream=True)
    list(stream)
    assert stream.tokens[-1] == token and stream.finish_reason == "stop"


def test_checkpoints_are_compiled_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = make_checkpoint(tmp_path / "model")
    folder = tmp_path / "kept" / "here"
    said: list[str] = []

    def loaded(**options: Any) -> str:
        said.clear()
        llm = perpend.llm.load(tmp_path / "model", folder=folder, progress=said.append, **options)
        return llm.generate(PROMPT, raw=True, max_tokens=6, temperature=0)

    text = loaded()
    tokens = perpend.tokenizer.load(tmp_path / "model").encode(PROMPT)
    assert text == continuation(tmp_path / "model", tokens, greedy(model, tokens, 6))
    assert said[0] == f"compiling {tmp_path / 'model'}" and said[1].startswith("compiled in ") and len(said) == 2
    kept = list(folder.iterdir())
    assert len(kept) == 1 and kept[0].name.startswith("model-")
    assert loaded() == text and said == [f"found {kept[0]}"]
    assert loaded(context=64, precision="int8") and said[0].startswith("compiling ")
    with torch.no_grad():
        model.lm_head.weight.neg_()
    model.save_pretrained(tmp_path / "model")
    assert loaded() != text and said[0].startswith("compiling ") and len(list(folder.iterdir())) == 3
    (tmp_path / "model" / "tokenizer.json").unlink()
    with pytest.raises(perpend.CompileError, match="has no tokenizer"):
        loaded()
    assert len(list(folder.iterdir())) == 3  # nothing that is half made
    make_gguf(tmp_path / "model.gguf")
    llm = perpend.llm.load(tmp_path / "model.gguf", progress=True, context=64)
    assert llm.context == 64 and llm.generate(PROMPT, max_tokens=3)
    assert f"compiling {tmp_path / 'model.gguf'}\ncompiled in " in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"context: expected a checkpoint, '.*model\.so' is compiled already"):
        perpend.llm.load(kept[0] / "model.so", context=32)


def test_mistakes(made: Made, tmp_path: Path) -> None:
    folder, _, llm = made
    with pytest.raises(ValueError, match="expected at most 128 tokens"):
        llm.generate([5] * (CONTEXT + 1))
    with pytest.raises(ValueError, match="expected token 1 to be in a vocabulary of 640, got 640"):
        llm.generate([5, 640])
    with pytest.raises(ValueError, match="keys"):
        llm.generate([{"role": "user", "text": "x"}])
    with pytest.raises(ValueError, match="temperature"):
        llm.generate("x", temperature=-1)
    with pytest.raises(FileNotFoundError):
        perpend.llm.load(tmp_path / "none")
    with pytest.raises(perpend.CompileError, match="--context: expected at most 128"):
        perpend.llm.compile(folder, context=CONTEXT + 1)
    with pytest.raises(perpend.CompileError, match="no option 'contexts'"):
        perpend.llm.compile(folder, contexts=1)
