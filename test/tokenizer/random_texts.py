"""Compares tokenizers with `tokenizers` (tokenizer.json) and `sentencepiece` (.model) on random texts.

usage: random_texts.py FILE ... [--megabytes 10] [--seed 0] [--texts FOLDER]

Texts are lines: words in ten scripts with spaces, digits and marks between them; code, which is this project's Python;
emoji with their joiners; any characters of Unicode; and lines of the files in FOLDER. Ids must be the same, and their
texts. Then bytes: random ones, and texts with damaged bytes. They must survive if the vocabulary has all bytes, or
what they became must, if they are normalised; otherwise they must give what the text gives that has U+FFFD in place of
each byte that is not UTF-8, as `sentencepiece` does.
`sentencepiece` must be installed for .model files. Exit status 1 with the first differences.
"""

import argparse
import codecs
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = {
    "Latin": "a-z A-Z \u00c0-\u00ff \u0100-\u017f a-z a-z a-z",
    "Greek": "\u0391-\u03a1 \u03a3-\u03ce",
    "Cyrillic": "\u0410-\u044f \u0400-\u045f",
    "Hebrew": "\u05d0-\u05ea \u05b0-\u05bc",
    "Arabic": "\u0621-\u064a \u064b-\u0652 \u0660-\u0669",
    "Devanagari": "\u0905-\u0939 \u093e-\u094d \u0966-\u096f",
    "Thai": "\u0e01-\u0e3a \u0e40-\u0e4e",
    "Hangul": "\uac00-\ud7a3 \u1100-\u1112 \u1161-\u1175",
    "Kana": "\u3041-\u3096 \u30a1-\u30fa \u3099-\u309a",
    "Han": "\u4e00-\u9fff \u3400-\u4dbf \U00020000-\U000200ff",
}
EMOJI = "\U0001f600-\U0001f64f \U0001f300-\U0001f5ff \u2600-\u27bf \U0001f1e6-\U0001f1ff \U0001f3fb-\U0001f3ff"
BETWEEN = (
    [" "] * 30 + list("  \t\u00a0\u3000\u200b.,;:!?'\"()[]-_/@#$%&*+=<>|~^`\\") + [", ", ". ", "'s ", "\r\n", "\n\n"]
)


def characters(ranges: str) -> list[str]:
    parts = (part.partition("-")[::2] for part in ranges.split())
    return [chr(code) for first, last in parts for code in range(ord(first), ord(last) + 1)]


def words(draw: random.Random, alphabet: list[str]) -> str:
    text = ""
    for _ in range(draw.randrange(1, 30)):
        kind = draw.random()
        length = min(int(draw.expovariate(0.2)) + 1, 40)
        text += (
            str(draw.randrange(10 ** draw.randrange(1, 9)))
            if kind < 0.05
            else "".join(draw.choices(alphabet, k=length))
        )
        text += draw.choice(BETWEEN)
    return text


def emoji(draw: random.Random, alphabet: list[str]) -> str:
    return "".join(
        draw.choice(alphabet) + draw.choice(["", "", "\ufe0f", "\u200d", " "]) for _ in range(draw.randrange(1, 40))
    )


def anything(draw: random.Random) -> str:
    codes = (draw.randrange(draw.choice([0x80, 0x800, 0x10000, 0x110000])) for _ in range(draw.randrange(1, 60)))
    return "".join(chr(code) for code in codes if not 0xD800 <= code < 0xE000)


def lines_of(folder: Path) -> list[str]:
    texts = (path.read_bytes().decode(errors="replace") for path in sorted(folder.rglob("*")) if path.is_file())
    return [line for text in texts for line in text.splitlines() if line.strip()]


def texts(draw: random.Random, size: int, given: list[str]) -> Iterator[str]:
    """Texts of `size` bytes together."""
    alphabets = [characters(ranges) for ranges in SCRIPTS.values()]
    faces = characters(EMOJI)
    code = [line for path in sorted((ROOT / "python").rglob("*.py")) for line in path.read_text().splitlines()]
    kinds: list[Callable[[], str]] = [lambda alphabet=alphabet: words(draw, alphabet) for alphabet in alphabets]  # type: ignore[misc]
    kinds += [lambda: words(draw, [c for a in draw.sample(alphabets, 2) for c in draw.sample(a, 9)])] * 2
    kinds += [lambda: emoji(draw, faces), lambda: anything(draw)]
    kinds += [lambda: "\n".join(draw.choices(code, k=draw.randrange(1, 8)))] * 3
    kinds += [lambda: draw.choice(given)] * (10 if given else 0)
    while size > 0:
        text = draw.choice(kinds)()
        size -= len(text.encode())
        yield text


def damaged(draw: random.Random, text: str) -> bytes:
    data = bytearray(text.encode())
    for _ in range(draw.randrange(1, 6)):
        if data and draw.random() < 0.5:
            data[draw.randrange(len(data))] = draw.randrange(256)
        elif data:
            del data[draw.randrange(len(data))]
    return bytes(data) if draw.random() < 0.7 else draw.randbytes(draw.randrange(1, 80))


def replace_each_byte(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\ufffd" * (error.end - error.start), error.end


codecs.register_error("each-byte", replace_each_byte)


class Peer:
    """`tokenizers` or `sentencepiece`, by the file's name."""

    def __init__(self, path: Path) -> None:
        self.is_pieces = path.suffix == ".model"
        self.model: Any
        if self.is_pieces:
            import sentencepiece

            self.model = sentencepiece.SentencePieceProcessor(model_file=str(path))
        else:
            import tokenizers

            self.model = tokenizers.Tokenizer.from_file(str(path))

    def encode(self, text: str) -> list[int]:
        ids: list[int] = (
            self.model.encode(text) if self.is_pieces else self.model.encode(text, add_special_tokens=False).ids
        )
        return ids

    def decode(self, ids: list[int]) -> str:
        text: str = self.model.decode(ids) if self.is_pieces else self.model.decode(ids, skip_special_tokens=True)
        return text


class Differences:
    def __init__(self, name: str) -> None:
        self.name, self.count = name, 0

    def check(self, what: str, found: object, wanted: object, given: object) -> None:
        if found == wanted:
            return
        self.count += 1
        if self.count <= 5:
            print(f"{self.name}: {what} of {given!r}:\n  got      {found!r}\n  expected {wanted!r}")


def compare(path: Path, options: argparse.Namespace) -> int:
    import perpend

    tokenizer, peer, differences = perpend.tokenizer.load(path), Peer(path), Differences(path.name)
    has_special = not peer.is_pieces
    draw, size, count, start = random.Random(options.seed), 0, 0, time.monotonic()
    given = lines_of(options.texts) if options.texts else []

    def through(data: bytes) -> bytes:
        ids = tokenizer.encode(data, add_special_tokens=False)
        decoded: bytes = tokenizer.decode_bytes(ids, skip_special_tokens=False)
        return decoded

    has_bytes = all(through(bytes([i])) == bytes([i]) for i in range(256))
    is_normalised = through("e\u0301 \u2126".encode()) != "e\u0301 \u2126".encode()
    for text in texts(draw, int(options.megabytes * 1e6), given):
        ids = tokenizer.encode(text, add_special_tokens=False, parse_special_tokens=has_special)
        differences.check("ids", ids, peer.encode(text), text)
        differences.check("text", tokenizer.decode(ids), peer.decode(ids), ids)
        broken = damaged(draw, text)
        ids = tokenizer.encode(broken, add_special_tokens=False)
        if has_bytes:
            wanted = through(broken) if is_normalised else broken
            differences.check("bytes", through(wanted), wanted, broken)
        else:
            repaired = tokenizer.encode(broken.decode(errors="each-byte"), add_special_tokens=False)
            differences.check("ids of bytes", ids, repaired, broken)
        size, count = size + len(text.encode()), count + 1
        if differences.count > 100:
            break
    seconds = time.monotonic() - start
    print(
        f"{path.name}: {count} texts, {size / 1e6:.1f} MB, {differences.count} differences, {seconds:.0f} s", flush=True
    )
    return differences.count


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--texts", type=Path, metavar="FOLDER")
    return parser.parse_args(arguments)


def main() -> int:
    options = parse_arguments()
    return int(sum(compare(path, options) for path in options.files) > 0)


if __name__ == "__main__":
    sys.exit(main())
