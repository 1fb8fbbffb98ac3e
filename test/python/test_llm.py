"""perpend.llm: what Python generates is what transformers generates."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import perpend
import perpend.llm
import pytest
import torch
from cli.tool import perpend as execute
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


@pytest.mark.parametrize(
    "said", [{}, {"temperature": 1.7, "top_k": 9, "repetition_penalty": 1.3}, {"do_sample": False}]
)
def test_what_is_not_given_is_what_the_checkpoint_says(said: dict[str, Any], tmp_path: Path) -> None:
    """Otherwise what the command line takes; each option that is given replaces its own."""
    make_checkpoint(tmp_path / "model")
    config = {"eos_token_id": [1, END]} | said
    (tmp_path / "model" / "generation_config.json").write_text(json.dumps(config))
    llm = perpend.llm.compile(tmp_path / "model", tmp_path / "chat")
    meant = {**perpend.llm.DEFAULTS, **({"temperature": 0} if "do_sample" in said else said)}
    assert llm.sampling == meant
    text = llm.generate(PROMPT, raw=True, max_tokens=30, ignore_stop_tokens=True)
    assert text == llm.generate(PROMPT, raw=True, max_tokens=30, ignore_stop_tokens=True, **meant)
    words = ["llm", "run", "chat", "--verbose", "--raw", "--prompt", PROMPT, "--max-tokens", 30]
    done = execute(*words, folder=tmp_path)
    shown = dict(re.findall(r"(temperature|top-k|top-p|min-p|repeat-penalty) ([-+.e0-9]+)", done.stderr))
    shown["repetition_penalty"] = shown.pop("repeat-penalty")
    assert {name.replace("-", "_"): float(value) for name, value in shown.items()} == meant
    assert done.stdout.removesuffix("\n") == llm.generate(PROMPT, raw=True, max_tokens=30).removesuffix("\n")
    for option, value in {"temperature": 3.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 5.0}.items():
        given = llm.generate(PROMPT, raw=True, max_tokens=30, **{option: value})
        assert given == llm.generate(PROMPT, raw=True, max_tokens=30, **{**meant, option: value})
    tokens = list(llm.generate_tokens(PROMPT, max_tokens=30, seed=3))
    assert tokens == list(llm.generate_tokens(PROMPT, max_tokens=30, seed=3, **meant))


def test_what_print_says(made: Made) -> None:
    folder, _, llm = made
    text = llm.session()
    assert repr(text) == "<LanguageModel model: 640 tokens in the vocabulary; context 128; 0 tokens of text>"
    text.generate([5, 6, 7], max_tokens=0)
    assert repr(text).endswith("; 3 tokens of text>")
    several = perpend.llm.compile(folder, entries=["embed", "verify"])
    assert several.entries == ["embed", "verify"] and "; entries embed, verify; " in repr(several)
    assert llm.entries == []
    assert several.embed("Hello").shape == (several.embedding_size,)


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
    for name, suggested in (("max_token", "max_tokens"), ("temprature", "temperature"), ("chioce", "choice")):
        wrong: dict[str, Any] = {name: 10}
        for call in (llm.generate, llm.generate_tokens):
            told = rf"{call.__name__}\(\) has no argument '{name}'\nhint: did you mean '{suggested}'"
            with pytest.raises(TypeError, match=told):
                call("x", **wrong)
    for nothing in (None, 5, b"x", {"role": "user", "content": "x"}):
        with pytest.raises(TypeError, match=f"prompt: expected a text, messages .* got {type(nothing).__name__}"):
            llm.generate(nothing)
    for entries in (3, [3], None):
        with pytest.raises(TypeError, match=r"entries: expected names, such as \['embed', 'verify'\]"):
            perpend.llm.load(folder, entries=entries)
    for path in (folder, tmp_path / "model.gguf"):
        with pytest.raises(ValueError, match=r"tokenizer: only for a torch.nn.Module; (the tokenizer|a .gguf file)"):
            perpend.llm.compile(path, tokenizer=folder)
    with pytest.raises(FileNotFoundError):
        perpend.llm.load(tmp_path / "none")
    with pytest.raises(perpend.CompileError, match=r": context: expected at most 128"):
        perpend.llm.compile(folder, context=CONTEXT + 1)
    with pytest.raises(perpend.CompileError, match="no option 'contexts'"):
        perpend.llm.compile(folder, contexts=1)


def test_errors_have_the_names_of_python(made: Made) -> None:
    """The runtime's name functions of C and options of the command line."""
    text = made[2].session()
    calls: list[tuple[str, Callable[[], object]]] = [
        ("truncate: expected 0 to 0 tokens, got 9", lambda: text.truncate(9)),
        (r"hint: perpend.llm.compile\(..., entries=\['embed'\]\)$", lambda: text.embed("Hello")),
        (r"perpend.llm.compile\(..., context=N\)$", lambda: text.logits([5] * (CONTEXT + 1))),
        (r"an empty text; hint: .* \(add_special_tokens=True\)", lambda: text.logits([])),
        ("expected max_tokens of at least 0", lambda: text.generate("x", max_tokens=-5)),
        ("that save_session wrote", lambda: text.load_session(b"x")),
    ]
    for expected, call in calls:
        with pytest.raises((ValueError, RuntimeError), match=expected) as raised:
            call()
        assert not re.search("perpend_|PERPEND_|--|perpend llm", str(raised.value))


def test_arguments_of_a_wrong_type_are_named(made: Made) -> None:
    text: Any = made[2].session()
    calls: list[tuple[str, Callable[[], object]]] = [
        ("choice: expected a number from 0", lambda: text.generate("x", choice=-1)),
        ("max_tokens: expected a number from", lambda: text.generate("x", max_tokens=2**70)),
        ("length_penalty: expected a number, got None", lambda: text.generate("x", length_penalty=None)),
        ("stop: expected a list of texts, got 3", lambda: text.generate("x", stop=3)),
        ("stop: expected a text, got 3", lambda: text.generate("x", stop=[3])),
        ("tokens: expected a number from", lambda: text.generate([2**40])),
        ("expected the numbers of tokens", lambda: text.decode([None])),
        ("text: expected a text, got None", lambda: text.encode(None)),
        ("messages: expected a list of dicts with role and content, got NoneType", lambda: text.render(None)),
        ("messages: expected dicts with role and content, got 'x'", lambda: text.render(["x"])),
        ("data: expected bytes of save_session", lambda: text.load_session(None)),
        ("count: expected a whole number, got None", lambda: text.truncate(None)),
        ("rows: expected a whole number, got 'x'", lambda: text.logits([5], rows="x")),
    ]
    for expected, call in calls:
        with pytest.raises((TypeError, ValueError), match=expected):
            call()


def test_what_an_error_quotes_stays_as_it_is(tmp_path: Path) -> None:
    """Names of C become those of Python, but not in the name of a user's file."""
    path = tmp_path / "maxTokens.so"
    path.write_text("junk")
    with pytest.raises(RuntimeError, match=r"maxTokens\.so': expected an ELF shared object"):
        perpend.llm.load(path)
