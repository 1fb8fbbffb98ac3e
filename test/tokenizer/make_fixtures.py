"""Makes the files in fixtures/: small tokenizers, and what `tokenizers` and `sentencepiece` say of some texts.

Run it with a Python that has tokenizers 0.23.3, sentencepiece 0.2.3 and gguf: python make_fixtures.py
"""

import base64
import json
from pathlib import Path
from typing import Any

import gguf
import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

FOLDER = Path(__file__).parent / "fixtures"
ROOT = Path(__file__).resolve().parents[2]
SUFFIXES = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = SUFFIXES + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
TEXTS = [
    "",
    " ",
    "   ",
    "\n",
    "Hello world",
    " Hello  world  ",
    "don't, DON'T, 'stuff' we'll I'\u017f",
    "12345 678,901.5 \u0663\u0664\u0665 \u2167\u00bd",
    "na\u00efve caf\u00e9 \u00c9T\u00c9 e\u0301 A\u030a \u1e9e \u0130",
    "\ufb01\u2460\u3392 \u2126 \uff21",
    "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd \u043f\u0440\u0438\u0432\u0435\u0442",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35",
    "\u65e5\u672c\u8a9e\u306e\u6587\u3002\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f",
    "def f(x):\n    return x\t# ok\r\n\r\n",
    "a\u00a0b\u3000c\u200bd\u0085e\ufeff\x00\x1c",
    "<s> text </s><|end|> <|end|>x hello hellos",
    "a" * 60 + " " + "the " * 40,
    "\u2581\u2581x \u2581 y\ufffd",
]
BROKEN = [b"\xff\xfea", b"a\xe4\xbd", b"\xed\xa0\x80 \xc0\xaf", bytes(range(256))]


def corpus() -> list[str]:
    """Texts of the project, and the texts above, so that their letters are in the vocabularies."""
    lines = (ROOT / "README.md").read_text().splitlines() + (ROOT / "CONTRIBUTING.md").read_text().splitlines()
    return [line for line in lines if line.strip()] + [text for text in TEXTS[4:14] for _ in range(4)]


def finish(name: str, tokenizer: Tokenizer, trainer: Any) -> None:
    tokenizer.train_from_iterator(corpus(), trainer)
    tokenizer.add_tokens([AddedToken("hello", single_word=True), AddedToken("\u00c9T\u00c9", normalized=True)])
    tokenizer.add_special_tokens([AddedToken("<|end|>", special=True, lstrip=True, normalized=False)])
    first, last = (tokenizer.token_to_id(text) for text in ("<s>", "</s>"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A $B", special_tokens=[("<s>", first), ("</s>", last)]
    )
    (FOLDER / f"{name}.json").write_text(json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False))


def byte_level() -> None:
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    finish(
        "byte-level",
        tokenizer,
        trainers.BpeTrainer(vocab_size=600, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet),
    )


def byte_fallback() -> None:
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    finish("byte-fallback", tokenizer, trainers.BpeTrainer(vocab_size=600, special_tokens=special, limit_alphabet=60))


def word_suffix() -> None:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase(), normalizers.Strip()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Whitespace(), pre_tokenizers.Digits(True), pre_tokenizers.Punctuation("contiguous")]
    )
    tokenizer.decoder = decoders.BPEDecoder()
    trainer = trainers.BpeTrainer(
        vocab_size=500, special_tokens=["<unk>", "<s>", "</s>"], end_of_word_suffix="</w>", limit_alphabet=80
    )
    finish("word-suffix", tokenizer, trainer)


def word_piece() -> None:
    tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>", max_input_chars_per_word=50))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    finish(
        "word-piece",
        tokenizer,
        trainers.WordPieceTrainer(vocab_size=500, special_tokens=["<unk>", "<s>", "</s>"], limit_alphabet=80),
    )


def sentence_pieces() -> None:
    """Models of SentencePiece, the same in tokenizer.json and in GGUF."""
    (FOLDER / "rules.tsv").write_text("FB01\t66 69\n41\t61\n2460\t31\n65 301\tE9\n3000\t20\nA0\t20\n200B\t\n")
    (FOLDER / "corpus.txt").write_text("\n".join(line for line in corpus() if line.isascii() or line in TEXTS))
    for name, options in {
        "unigram": {"model_type": "unigram", "normalization_rule_tsv": FOLDER / "rules.tsv"},
        "pairs": {
            "model_type": "bpe",
            "normalization_rule_name": "identity",
            "remove_extra_whitespaces": False,
            "byte_fallback": True,
            "user_defined_symbols": ["<sep>", "\u2581\u2581", "hello"],
        },
    }.items():
        sentencepiece.SentencePieceTrainer.train(
            input=FOLDER / "corpus.txt", model_prefix=str(FOLDER / name), vocab_size=500, character_coverage=0.98,
            hard_vocab_limit=False, minloglevel=2, **options,
        )  # fmt: skip
        (FOLDER / f"{name}.vocab").unlink()
    for name in ("rules.tsv", "corpus.txt"):
        (FOLDER / name).unlink()


def fields(message: bytes) -> list[tuple[int, bytes]]:
    """The fields of bytes in a protocol buffer."""
    found, position = [], 0

    def varint() -> int:
        nonlocal position
        value = shift = 0
        while True:
            byte = message[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while position < len(message):
        tag = varint()
        if tag & 7 == 2:
            size = varint()
            found.append((tag >> 3, message[position : position + size]))
            position += size
        elif tag & 7 == 0:
            varint()
        else:
            position += 4 if tag & 7 == 5 else 8
    return found


def unigram_json() -> None:
    model = sentencepiece.SentencePieceProcessor(str(FOLDER / "unigram.model"))
    normalizer = next(text for number, text in fields((FOLDER / "unigram.model").read_bytes()) if number == 3)
    charsmap = next(text for number, text in fields(normalizer) if number == 2)
    mark = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": True}
    file = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()},
        "pre_tokenizer": mark,
        "decoder": mark,
        "model": {
            "type": "Unigram",
            "unk_id": 0,
            "vocab": [[model.id_to_piece(i), model.get_score(i)] for i in range(len(model))],
        },
    }
    (FOLDER / "unigram.json").write_text(json.dumps(file, ensure_ascii=False))


def gguf_files() -> None:
    model = sentencepiece.SentencePieceProcessor(str(FOLDER / "pairs.model"))
    writer = gguf.GGUFWriter(FOLDER / "pairs.gguf", "llama")
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    ids = range(len(model))
    writer.add_token_list([model.id_to_piece(i).encode() for i in ids])
    writer.add_token_scores([model.get_score(i) for i in ids])
    kinds = [2 if model.is_unknown(i) else 3 if model.is_control(i) else 6 if model.is_byte(i) else 1 for i in ids]
    writer.add_token_types([4 if model.id_to_piece(i) in ("<sep>", "\u2581\u2581", "hello") else kinds[i] for i in ids])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def golden() -> None:
    """For each file: what a text becomes, with special tokens parsed and added, and what the ids decode to."""
    results: dict[str, list[Any]] = {}
    for path in sorted(FOLDER.glob("*.json")):
        if path.stem == "golden":
            continue
        tokenizer = Tokenizer.from_file(str(path))
        results[path.name] = [
            [base64.b64encode(text.encode()).decode(), ids, tokenizer.decode(ids), tokenizer.decode(ids, False)]
            for text in TEXTS
            if (ids := tokenizer.encode(text).ids) is not None
        ]
    for path in sorted(FOLDER.glob("*.model")):
        model = sentencepiece.SentencePieceProcessor(str(path))
        texts = [text.encode() for text in TEXTS] + BROKEN
        results[path.name] = [
            [base64.b64encode(text).decode(), ids, model.decode(ids), model.decode(ids)]
            for text in texts
            if (ids := model.encode(text)) is not None
        ]
    lines = [
        f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]"
        for name, rows in results.items()
    ]
    (FOLDER / "golden.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for make in (byte_level, byte_fallback, word_suffix, word_piece, sentence_pieces, unigram_json, gguf_files, golden):
        make()


if __name__ == "__main__":
    main()
