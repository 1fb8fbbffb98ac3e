"""Modules of text by mutation of valid ones: numbers, names, types, operands, attributes, operators and lines."""

import random
import re

NUMBERS = [0, 1, -1, 2, 3, 5, 7, 8, 64, 255, 4096, 2**31 - 1, 2**31, 2**32, 2**40, 2**62, 2**63 - 1, -(2**63)]
TYPES = ["f32", "f64", "f16", "bf16", "i1", "i4", "i8", "ui8", "i16", "i32", "i64", "index", "i128", "complex<f32>"]
TYPES += ["!graph.string", "!graph.minifloat<f8e4m3fn>", "tensor<2xf32>", "none"]
SHAPES = ["", "0x", "1x", "2x", "7x", "4096x", "1x1x1x", "2305843009213693952x", "?x", "*x"]
EXPRESSIONS = ["q", "n - 9", "-n", "n*n*n*n", "floordiv(n, 0)", "mod(n, n - n)", "max(n, 3)", "9223372036854775807*n"]

VALUES = ["unit", "[]", "3 : i32", '"x"', "f32", "dense<1> : tensor<2xi64>"]


def replace_one(draw: random.Random, text: str, pattern: str, new) -> str:
    """One of the places where the pattern is found, with something else in it."""
    places = list(re.finditer(pattern, text))
    if not places:
        return text
    place = draw.choice(places)
    return text[: place.start()] + new(place) + text[place.end() :]


def mutate_number(draw: random.Random, text: str) -> str:
    return replace_one(draw, text, r"(?<![\w%@#.\"])-?\d+(?![\w.\"])", lambda _: str(draw.choice(NUMBERS)))


def mutate_extent(draw: random.Random, text: str) -> str:
    return replace_one(draw, text, r"(?<=[<x])(\d+|\?)x(?=\w|!)", lambda _: draw.choice(SHAPES))


def mutate_expression(draw: random.Random, text: str) -> str:
    known = re.findall(r'shape<\["([^"]+)"', text) + EXPRESSIONS
    return replace_one(draw, text, r'(?<=[\[ ])"[^"]+"(?=[\],])', lambda _: f'"{draw.choice(known)}"')


def mutate_element(draw: random.Random, text: str) -> str:
    return replace_one(draw, text, r"\b(f32|i64|i32|i1|ui8|i8|index)\b", lambda _: draw.choice(TYPES))


def mutate_operand(draw: random.Random, text: str) -> str:
    names = re.findall(r"%\w+", text)
    return replace_one(draw, text, r"%\w+", lambda _: draw.choice(names))


def mutate_operator(draw: random.Random, text: str) -> str:
    names = [*re.findall(r"\b(?:graph|tile|arith|math|scf|memref)\.\w+", text), "llvm.unreachable", "func.call"]
    return replace_one(draw, text, r"\b(?:graph|tile|arith|math|scf|memref)\.\w+", lambda _: draw.choice(names))


def mutate_name(draw: random.Random, text: str) -> str:
    names = [*re.findall(r"@\w+", text), "@malloc", "@perpend_run", "@main"]
    return replace_one(draw, text, r"@\w+", lambda _: draw.choice(names))


def drop_attribute(draw: random.Random, text: str) -> str:
    return replace_one(
        draw, text, r"[\w.]+ = [^,{}]+, |, [\w.]+ = [^,{}]+(?=})|\b(?:tile|graph)\.\w+(?=[,}]),?", lambda _: ""
    )


def mutate_attribute(draw: random.Random, text: str) -> str:
    """Another value of an attribute, from elsewhere, or of another kind."""
    values = [*re.findall(r"[\w.]+ = ([^,{}]+)(?=[,}])", text), *VALUES]
    return replace_one(draw, text, r"(?<= = )(?![%{\"])[^,{}%\n]+(?=[,}])", lambda _: draw.choice(values))


def mutate_list(draw: random.Random, text: str) -> str:
    """One entry more or less in brackets."""
    change = draw.choice(
        [
            lambda found: "[]",
            lambda found: found[0][:-1] + ", 1]",
            lambda found: f"[{found[0][1:-1].rpartition(',')[0]}]",
        ]
    )
    return replace_one(draw, text, r"\[[^\[\]\n]*\]", change)


def mutate_line(draw: random.Random, text: str) -> str:
    lines = text.split("\n")
    a, b = draw.randrange(len(lines)), draw.randrange(len(lines))
    kind = draw.randrange(3)
    if kind == 0:
        del lines[a]
    elif kind == 1:
        lines.insert(b, lines[a])
    else:
        lines[a], lines[b] = lines[b], lines[a]
    return "\n".join(lines)


MUTATIONS = [
    mutate_number,
    mutate_number,
    mutate_extent,
    mutate_expression,
    mutate_element,
    mutate_operand,
    mutate_operator,
    mutate_name,
    drop_attribute,
    mutate_attribute,
    mutate_list,
    mutate_line,
]


def consistently(draw: random.Random, text: str) -> str:
    """An extent or a symbol, wherever it is found: types agree afterwards."""
    found = draw.choice(re.findall(r'(?<=[<x])\d+(?=x\w)|(?<=[\[ ])"\w+"(?=[\],])', text) or ["1"])
    if found.startswith('"'):
        return text.replace(found, f'"{draw.choice([*EXPRESSIONS, "m"])}"')
    return re.sub(rf"(?<=[<x]){found}(?=x\w)", str(draw.choice([0, 1, 2, 3, 9, 500])), text)


def without_locations(text: str) -> str:
    return re.sub(r" loc\([^()]*(\([^()]*\)[^()]*)*\)|^#loc.*\n", "", text, flags=re.MULTILINE)


def mutated(text: str, seed: str) -> str:
    draw = random.Random(seed)
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        text = consistently(draw, text) if draw.random() < 0.1 else draw.choice(MUTATIONS)(draw, text)
    return text
