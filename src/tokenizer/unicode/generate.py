"""Writes Categories.def, Sets.def, Mappings.def and Decompositions.def: what `tokenizers` says of each code point.

Tokenizer files name properties ("\\p{L}", "Lowercase", "NFC") whose contents depend on the version of Unicode in the
library that reads them, and `tokenizers` has a different version for each of them. So each table is what that library
(0.23.3) answers.
Run it with a Python that has `tokenizers`: python generate.py [NAME.def...]
"""

import sys
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path

from tokenizers import Regex, normalizers, pre_tokenizers

CODES = [code for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000]
CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co".split()  # noqa: SIM905
SCRIPTS = (  # noqa: SIM905
    "Arabic Armenian Bengali Bopomofo Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Han Hangul Hebrew "
    "Hiragana Kannada Katakana Khmer Lao Latin Malayalam Mongolian Myanmar Oriya Sinhala Tamil Telugu Thai Tibetan"
).split()
CHUNK = 4096


def chunks() -> Iterable[list[int]]:
    return (CODES[start : start + CHUNK] for start in range(0, len(CODES), CHUNK))


def matching(pattern: str) -> list[int]:
    """The code points that a regular expression of one character does not match."""
    drop = normalizers.Replace(Regex(pattern), "")
    return [ord(c) for codes in chunks() for c in drop.normalize_str("".join(map(chr, codes)))]


def kept(normalizer: normalizers.Normalizer) -> set[int]:
    """The code points that a normalizer of single characters leaves in a text."""
    return {ord(c) for codes in chunks() for c in normalizer.normalize_str("".join(map(chr, codes)))}


def split_off(pre_tokenizer: pre_tokenizers.PreTokenizer, context: str) -> list[int]:
    """The code points that are not one piece with the character before them."""
    found = []
    for codes in chunks():
        text = "".join(context + chr(code) for code in codes)
        whole = {start for _, (start, end) in pre_tokenizer.pre_tokenize_str(text) for start in range(start, end - 1)}
        found += [code for i, code in enumerate(codes) if i * 2 not in whole]
    return found


def ranges(codes: Iterable[int]) -> list[tuple[int, int, int]]:
    """(first, last, step): the codes in order, in few pieces with steps of 1 or 2."""
    rest, found = sorted(codes), []
    i = 0
    while i < len(rest):
        best = (1, 1)
        for step in (1, 2):
            n = 1
            while i + n < len(rest) and rest[i + n] == rest[i] + n * step:
                n += 1
            best = max(best, (n, -step))
        length, step = best[0], abs(best[1])
        found.append((rest[i], rest[i + length - 1], step))
        i += length
    return found


def packed(entries: list[str]) -> str:
    """Entries in lines of at most 120 columns."""
    lines, line = [], ""
    for entry in entries:
        if line and len(line) + 1 + len(entry) > 120:
            lines.append(line)
            line = ""
        line += (" " if line else "") + entry
    return "\n".join([*lines, line]) + "\n"


def categories() -> str:
    entries = []
    for name in CATEGORIES:
        entries += [
            f"R({name},{first:#x},{last:#x},{step})" for first, last, step in ranges(matching(rf"\P{{{name}}}"))
        ]
    return "// General categories: R(category, first, last, step). What is in none is Cn.\n" + packed(entries)


def charsmap(key: str) -> normalizers.Normalizer:
    """Replaces `key` by "b", as SentencePiece's map does: a double array of the bytes, then the texts."""
    units, node, step = {0: 0x100 << 10}, 0x100, 0x200
    encoded = key.encode()
    for i, byte in enumerate(encoded):
        node ^= byte
        units[node] = step << 10 | (i + 1 == len(encoded)) << 8 | byte
        node ^= step
        step *= 2
    units[node] = 0x80000000
    array = b"".join(units.get(i, 0).to_bytes(4, "little") for i in range(0x2000))
    return normalizers.Precompiled(len(array).to_bytes(4, "little") + array + b"b\0")


def graphemes() -> dict[str, set[int]]:
    """Characters that belong to the one before them, to the one behind them, or to neither.

    The normaliser Precompiled drops what follows a key in a grapheme of less than 6 bytes.
    """
    replace_letter = charsmap("a").normalize_str
    extend = set()
    for codes in chunks():
        codes = [code for code in codes if code not in (10, 13, 0x61)]
        lines = replace_letter("".join(f"a{chr(code)}\n" for code in codes)).split("\n")
        extend |= {code for code, line in zip(codes, lines, strict=False) if line == "b"}
    formats = {code for code in CODES if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zl", "Zp")} - extend
    rare = {0xD4E, 0x111C2, 0x111C3, 0x113D1, 0x1193F, 0x11941, 0x11A3A, *range(0x11A84, 0x11A8A), 0x11D46, 0x11F02}
    prepend = {code for code in formats | rare if charsmap(chr(code)).normalize_str(chr(code) + "a") == "b"}
    ignorable = {0x2065, *range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000)}
    return {
        "GraphemeExtend": extend,
        "GraphemePrepend": prepend,
        "GraphemeControl": (formats | ignorable) - extend - prepend - {10, 13},
    }


def sets() -> str:
    word = pre_tokenizers.Whitespace()
    every = set(CODES)
    bert = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    accents = normalizers.BertNormalizer(
        clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False
    )
    spaces = set(matching(r"\S"))
    found: dict[str, Iterable[int]] = {
        "Space": spaces,
        "Word": every - set(split_off(word, "a")),
        "PatternWord": matching(r"\W"),
        "Numeric": split_off(pre_tokenizers.Digits(individual_digits=True), "a"),
        "Punctuation": split_off(pre_tokenizers.Punctuation(), "a"),
        "Control": every - kept(bert) - {c for c in spaces if bert.normalize_str(chr(c)) == " "} - {0xFFFD},
        "Accent": {c for c in every - kept(accents) if normalizers.NFD().normalize_str(chr(c)) == chr(c)},
        "Combining": every - kept(normalizers.StripAccents()),
    }
    found |= graphemes()
    for script in SCRIPTS:
        found[script] = matching(rf"\P{{{script}}}")
    entries = []
    for name, codes in found.items():
        entries += [f"R({name},{first:#x},{last:#x},{step})" for first, last, step in ranges(codes)]
    title = "// Sets of characters that components name, parts of graphemes, scripts: R(name, first, last, step).\n"
    return title + packed(entries)


def images(normalizer: normalizers.Normalizer) -> dict[int, tuple[int, ...]]:
    found = {}
    for code in CODES:
        text = normalizer.normalize_str(chr(code))
        if text != chr(code):
            found[code] = tuple(map(ord, text))
    return found


def mappings() -> str:
    lower = images(normalizers.Lowercase())
    single = {code: to[0] - code for code, to in lower.items() if len(to) == 1}
    entries = []
    for distance in sorted(set(single.values())):
        same = [code for code in single if single[code] == distance]
        entries += [f"M({first:#x},{last:#x},{step},{distance})" for first, last, step in ranges(same)]
    entries += [f"L({code:#x},{', '.join(f'{c:#x}' for c in to)})" for code, to in lower.items() if len(to) > 1]
    return "// Lower case: M(first, last, step, distance); L(code, letters...).\n" + packed(entries)


def is_hangul(code: int) -> bool:
    return 0xAC00 <= code < 0xD7A4


def combining_class(code: int) -> int:
    """0 unless the library reorders the character, which it does by its own version of Unicode."""
    order = normalizers.NFD().normalize_str
    mark, kind = chr(code), unicodedata.combining(chr(code))
    before, after = "\u0334", "\u0345"  # the classes 1 and 240
    moves = order(mark + before) != mark + before if kind > 1 else order(after + mark) != after + mark
    return kind if kind and moves else 0


def decompositions() -> str:
    canonical, compatible = images(normalizers.NFD()), images(normalizers.NFKD())
    compose = normalizers.NFC().normalize_str
    entries = []
    for letter, table in (("C", canonical), ("K", compatible)):
        for code, to in table.items():
            if not is_hangul(code) and (letter == "C" or canonical.get(code) != to):
                entries.append(f"{letter}({code:#x},{','.join(f'{c:#x}' for c in to)})")
    for code, to in canonical.items():
        if not is_hangul(code) and len(to) > 1 and compose(chr(code)) == chr(code):
            first = compose("".join(map(chr, to[:-1])))
            assert len(first) == 1
            entries.append(f"P({ord(first):#x},{to[-1]:#x},{code:#x})")
    classes: dict[int, list[int]] = {}
    for code in CODES:
        if kind := combining_class(code):
            classes.setdefault(kind, []).append(code)
    for kind in sorted(classes):
        entries += [f"O({kind},{first:#x},{last:#x},{step})" for first, last, step in ranges(classes[kind])]
    title = (
        "// C(code, canonical decomposition...), K(code, compatible one...), P(first, second, composite),\n"
        "// O(combining class, first, last, step). Hangul syllables are computed.\n"
    )
    return title + packed(entries)


FILES: dict[str, Callable[[], str]] = {
    "Categories.def": categories,
    "Sets.def": sets,
    "Mappings.def": mappings,
    "Decompositions.def": decompositions,
}


def main() -> None:
    for name in sys.argv[1:] or FILES:
        (Path(__file__).parent / name).write_text(FILES[name]())


if __name__ == "__main__":
    main()
