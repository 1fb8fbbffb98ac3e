"""Tokenizers of every kind give the ids and texts of `tokenizers` and `sentencepiece` (fixtures/golden.json)."""

from __future__ import annotations

import base64
import json
import random
import shutil
import threading
from pathlib import Path
from typing import Any

import perpend
import pytest
import random_texts

FIXTURES = Path(__file__).parent / "fixtures"
GOLDEN: dict[str, list[Any]] = json.loads((FIXTURES / "golden.json").read_text())
BYTE_LEVEL = FIXTURES / "byte-level.json"


def load(name: str) -> perpend.tokenizer.Tokenizer:
    return perpend.tokenizer.load(FIXTURES / name)


@pytest.mark.parametrize("name", GOLDEN)
def test_ids_and_texts(name: str) -> None:
    tokenizer = load(name)
    assert len(GOLDEN[name]) >= 19
    for encoded, ids, text, whole in GOLDEN[name]:
        given = base64.b64decode(encoded)
        assert tokenizer.encode(given, parse_special_tokens=not name.endswith(".model")) == ids, given
        assert tokenizer.decode(ids) == text
        assert tokenizer.decode(ids, skip_special_tokens=False) == whole


@pytest.mark.parametrize("name", GOLDEN)
def test_a_stream_gives_the_whole_text(name: str) -> None:
    tokenizer, generator = load(name), random.Random(1)
    lists = [ids for _, ids, _, _ in GOLDEN[name]]
    lists += [[generator.randrange(len(tokenizer)) for _ in range(30)] for _ in range(50)]
    stream = tokenizer.stream()
    for ids in lists:
        assert "".join([*map(stream.add, ids), stream.finish()]) == tokenizer.decode(ids)


@pytest.mark.parametrize("name", [name for name in GOLDEN if name.endswith(".json")])
def test_random_texts(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = random_texts.parse_arguments([str(FIXTURES / name), "--megabytes", "0.05", "--seed", "7"])
    assert random_texts.compare(FIXTURES / name, options) == 0, capsys.readouterr().out


def test_a_stream_holds_back_half_a_character() -> None:
    tokenizer = load("byte-level.json")
    stream = tokenizer.stream()
    ids = tokenizer.encode("x\U0001f98a", add_special_tokens=False)
    assert [stream.add(id) for id in ids] == ["x", "", "", "\U0001f98a"]
    assert stream.finish() == ""
    assert [stream.add(ids[1]), stream.finish()] == ["", "\ufffd"]


def test_gguf_is_as_the_model_that_it_was_made_from() -> None:
    tokenizer = load("pairs.gguf")
    for encoded, ids, text, _ in GOLDEN["pairs.model"]:
        given = base64.b64decode(encoded)
        assert tokenizer.encode(given, add_special_tokens=False) == ids
        assert tokenizer.encode(given) == [1, *ids]
        assert tokenizer.decode(ids) == text


def test_bytes_survive() -> None:
    tokenizer, generator = load("byte-level.json"), random.Random(2)
    for _ in range(50):
        given = generator.randbytes(generator.randrange(100))
        assert tokenizer.decode_bytes(tokenizer.encode(given)) == given


def test_text_of_users_gives_no_special_tokens() -> None:
    tokenizer = load("byte-level.json")
    end = tokenizer.find("<|end|>")
    assert end is not None and tokenizer.token(end) == "<|end|>" and tokenizer.token(len(tokenizer)) is None
    assert end not in tokenizer.encode("a <|end|>")
    assert tokenizer.decode(tokenizer.encode("a <|end|>")) == "a <|end|>"
    assert end in tokenizer.encode("a <|end|>", parse_special_tokens=True)
    first, *middle, last = tokenizer.encode("a")
    assert [tokenizer.token(first), tokenizer.token(last)] == ["<s>", "</s>"]
    assert tokenizer.encode("a", add_special_tokens=False) == middle
    assert tokenizer.find("no such token") is None


def test_long_words_take_linear_time() -> None:
    """A quadratic algorithm would take hours here."""
    for name in ("byte-level.json", "byte-fallback.json", "pairs.model", "unigram.model", "word-piece.json"):
        tokenizer = load(name)
        for text in ("a" * 300_000, " " * 300_000, "\u00e9" * 100_000, "a\u0301\u0316" * 60_000, "ab" * 150_000):
            assert tokenizer.encode(text, add_special_tokens=False) is not None


def test_threads_share_a_tokenizer() -> None:
    tokenizer = load("byte-level.json")
    expected, found = tokenizer.encode("the tests " * 500), []
    threads = [threading.Thread(target=lambda: found.append(tokenizer.encode("the tests " * 500))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_files_in_a_folder(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "pairs.model", tmp_path / "tokenizer.model")
    assert len(perpend.tokenizer.load(tmp_path)) == len(load("pairs.model"))
    shutil.copy(BYTE_LEVEL, tmp_path / "tokenizer.json")
    assert len(perpend.tokenizer.load(tmp_path)) == len(load("byte-level.json"))


#
# Files that name no split
#


def test_ranks_and_merges_need_a_pattern(tmp_path: Path) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz '"
    tokens = [*letters, "he", "hel", "lo", " w", "'s"]
    ranks = tmp_path / "tokenizer.model"
    ranks.write_text("".join(f"{base64.b64encode(token.encode()).decode()} {i}\n" for i, token in enumerate(tokens)))
    with pytest.raises(ValueError, match="does not say how texts are split\nhint: name it: --pattern llama-bpe"):
        perpend.tokenizer.load(ranks)
    with pytest.raises(ValueError, match="no way to split texts is named 'llama-9'; expected one of llama3, "):
        perpend.tokenizer.load(ranks, pattern="llama-9")
    tokenizer = perpend.tokenizer.load(ranks, pattern="llama-bpe")
    pieces = [tokenizer.token(id) for id in tokenizer.encode("hello's world")]
    assert pieces == ["hel", "lo", "'s", "\u0120w", "o", "r", "l", "d"]
    folder = tmp_path / "gpt"
    folder.mkdir()
    spellings = [token.replace(" ", "\u0120") for token in tokens]
    (folder / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(spellings)}))
    (folder / "merges.txt").write_text("#version: 0.2\nh e\nhe l\nl o\n\u0120 w\n")
    with pytest.raises(ValueError, match="--pattern gpt-2"):
        perpend.tokenizer.load(folder)
    assert perpend.tokenizer.load(folder, pattern="gpt-2").encode("hello") == [29, 30]


def test_a_list_of_words(tmp_path: Path) -> None:
    file = tmp_path / "vocab.txt"
    file.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##able", "Un", "!", "\u65e5"]))
    with pytest.raises(ValueError, match="bert-cased or --pattern bert-uncased"):
        perpend.tokenizer.load(file)
    text = "Unable!\u65e5 unable Able"
    assert perpend.tokenizer.load(file, pattern="bert-uncased").encode(text) == [2, 4, 5, 7, 8, 4, 5, 1, 3]
    assert perpend.tokenizer.load(file, pattern="bert-cased").encode(text) == [2, 6, 5, 7, 8, 4, 5, 1, 3]


#
# Errors
#


def changed(tmp_path: Path, name: str, change: Any) -> Path:
    file = json.loads((FIXTURES / name).read_text())
    change(file)
    path = tmp_path / name
    path.write_text(json.dumps(file))
    return path


@pytest.mark.parametrize(
    ("key", "component", "message"),
    [
        ("normalizer", {"type": "Rot13"}, "no normalizer is named 'Rot13', expected NFC, NFD"),
        ("pre_tokenizer", {"type": "UnicodeScripts"}, "no pre-tokenizer is named 'UnicodeScripts', expected ByteLevel"),
        ("decoder", {"type": "Morse"}, "no decoder is named 'Morse', expected ByteLevel"),
        ("post_processor", {"type": "Nothing"}, "no post-processor is named 'Nothing', expected TemplateProcessing"),
        ("model", {"type": "Neural"}, "no model is named 'Neural', expected BPE, Unigram, WordPiece or WordLevel"),
        (
            "model",
            {"type": "BPE", "dropout": 0.1, "vocab": {}, "merges": []},
            "dropout: expected none, got random merges",
        ),
        (
            "model",
            {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]},
            "expected tokens of the vocabulary, got 'a b'",
        ),
        ("model", {"type": "BPE", "vocab": {"a": 4000000000}, "merges": []}, "expected an id, got 4000000000"),
        ("normalizer", {"type": "Replace", "pattern": {"Regex": "(a)\\1"}, "content": ""}, "the escape '\\1' is not"),
        (
            "normalizer",
            {"type": "Replace", "pattern": {"Regex": "\\p{Nope}"}, "content": ""},
            "property 'Nope' is unknown",
        ),
        ("normalizer", {"type": "Replace", "pattern": {"Regex": "(a*)*"}, "content": ""}, "may be empty is repeated"),
        (
            "normalizer",
            {"type": "Replace", "pattern": {"Regex": "(?i)ss"}, "content": ""},
            "a pair of letters may be one",
        ),
        (
            "normalizer",
            {"type": "Replace", "pattern": {"Regex": "(?<=a+)b"}, "content": ""},
            "fixed lengths in (?<=...)",
        ),
        (
            "normalizer",
            {"type": "Replace", "pattern": {"Regex": "((a{999}){999}){999}"}, "content": ""},
            "a longer one",
        ),
        ("normalizer", {"type": "Precompiled", "precompiled_charsmap": "AAAA"}, "expected a precompiled map"),
        ("pre_tokenizer", {"type": "Split", "pattern": {"String": "x"}, "behavior": "Odd", "invert": False}, "'Odd'"),
    ],
)
def test_unknown_components(tmp_path: Path, key: str, component: dict[str, Any], message: str) -> None:
    path = changed(tmp_path, "byte-level.json", lambda file: file.update({key: component}))
    with pytest.raises(ValueError) as error:
        perpend.tokenizer.load(path)
    assert message in str(error.value) and "\nhint: " in str(error.value) and str(path) in str(error.value)


def test_unknown_split_of_a_gguf_file(tmp_path: Path) -> None:
    def text(value: str) -> bytes:
        return len(value).to_bytes(8, "little") + value.encode()

    def gguf(pre: str) -> Path:
        pairs = [text("tokenizer.ggml.model") + b"\x08\0\0\0" + text("gpt2")]
        if pre:
            pairs.append(text("tokenizer.ggml.pre") + b"\x08\0\0\0" + text(pre))
        for key, values in {"tokens": ["a", "b", "ab"], "merges": ["a b"]}.items():
            items = b"".join(map(text, values))
            head = b"\x09\0\0\0\x08\0\0\0" + len(values).to_bytes(8, "little")
            pairs.append(text(f"tokenizer.ggml.{key}") + head + items)
        path = tmp_path / "x.gguf"
        path.write_bytes(b"GGUF\3\0\0\0" + bytes(8) + len(pairs).to_bytes(8, "little") + b"".join(pairs))
        return path

    assert perpend.tokenizer.load(gguf("gpt-2")).encode("abab") == [2, 2]
    with pytest.raises(ValueError, match="no way to split texts is named 'gpt-99'; expected one of"):
        perpend.tokenizer.load(gguf("gpt-99"))
    for pre in ("", "default"):
        with pytest.raises(ValueError, match=f"expected the name of a way to split texts, got '{pre}'"):
            perpend.tokenizer.load(gguf(pre))


def test_a_pattern_that_takes_too_long_is_an_error(tmp_path: Path) -> None:
    split = {"type": "Split", "pattern": {"Regex": "(?:a|aa)+$"}, "behavior": "Isolated", "invert": False}
    tokenizer = perpend.tokenizer.load(
        changed(tmp_path, "byte-level.json", lambda file: file.update({"pre_tokenizer": split}))
    )
    assert tokenizer.encode("aaaa")
    with pytest.raises(ValueError, match="expected a pattern that takes a number of steps in proportion to the text"):
        tokenizer.encode("a" * 100 + "b")


def test_missing_files_and_wrong_ids(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        perpend.tokenizer.load(tmp_path / "x.json")
    with pytest.raises(ValueError, match=r"has no tokenizer; expected tokenizer\.json"):
        perpend.tokenizer.load(tmp_path)
    tokenizer = load("byte-level.json")
    for id in (-1, len(tokenizer)):
        with pytest.raises(ValueError, match=f"expected ids of tokens, 0 to {len(tokenizer) - 1}, got {id}"):
            tokenizer.decode([id])
        with pytest.raises(ValueError, match="expected ids of tokens"):
            tokenizer.stream().add(id)


def test_characters_that_the_vocabulary_lacks(tmp_path: Path) -> None:
    def change(file: dict[str, Any]) -> None:
        file["model"] = {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "<none>"}
        file["added_tokens"], file["pre_tokenizer"], file["post_processor"] = [], None, None

    tokenizer = perpend.tokenizer.load(changed(tmp_path, "byte-level.json", change))
    assert tokenizer.encode("a") == [0]
    with pytest.raises(ValueError, match="expected characters of the vocabulary"):
        tokenizer.encode("b")


@pytest.mark.parametrize("name", ["byte-level.json", "unigram.json", "unigram.model", "pairs.model", "pairs.gguf"])
def test_damaged_files(tmp_path: Path, name: str) -> None:
    """A damaged file is one error, or a tokenizer that works."""
    whole, generator, path = (FIXTURES / name).read_bytes(), random.Random(3), tmp_path / name
    refused = 0
    for turn in range(60):
        damaged = bytearray(whole)
        if turn % 3 == 0:
            del damaged[generator.randrange(len(whole)) :]
        for _ in range(turn % 3):
            damaged[generator.randrange(len(damaged))] ^= 1 << generator.randrange(8)
        path.write_bytes(damaged)
        try:
            perpend.tokenizer.load(path).encode("Hello world \u00e9")
        except ValueError as error:
            refused += 1
            assert "hint: " in str(error)
    assert refused >= 15
    deep = tmp_path / "deep.json"
    deep.write_text('{"model": ' + "[" * 1_000_000)
    with pytest.raises(ValueError, match="expected JSON of at most 32 levels"):
        perpend.tokenizer.load(deep)
