"""Random expressions and statements of the language of chat templates."""

from __future__ import annotations

import random
from typing import Any

NAMES = ("n", "t", "u", "b", "f", "l", "d", "e", "m", "x", "s", "w", "missing")
VARIABLES: dict[str, Any] = {
    "n": 7,
    "t": "Hello, World",
    "u": "  grüße, Ωmega straße\n\tναι ",
    "b": True,
    "f": 2.5,
    "l": [3, 1, 2],
    "d": {"role": "user", "content": "hi", "n": 1},
    "e": [],
    "m": [
        {"role": "system", "content": "Be brief.", "k": None},
        {"role": "user", "content": "a <b> & 'c'", "k": 2},
        {"role": "assistant", "content": None, "k": 1.5, "items": [1, "two"]},
    ],
    "x": None,
    "s": "a,b,,c",
    "w": ("p", 0),
}
FILTERS = (
    "trim", "tojson", "length", "join", "upper", "lower", "title", "capitalize", "first", "last", "list", "string", "int",
    "float", "items", "safe", "e", "unique", "unique|list", "reverse", "reverse|list", "sort", "sum", "min", "max", "abs",
    "round", "count", "dictsort", "indent", "default('z')", "default('z', true)", "d", "replace('a', 'bb')",
    "replace('l', '', 1)", "replace('', '-')", "join(', ')", "join('-', 'role')", "map('upper')|list", "map('string')|join",
    "map(attribute='role')|list", "map(attribute='k', default=0)|list", "map(attribute='items.1')|list", "select|list",
    "select('string')|list", "reject('none')|list", "select('gt', 1)|list", "selectattr('k')|list",
    "selectattr('role', 'equalto', 'user')|list", "rejectattr('k', 'none')|list", "selectattr('content', 'string')|first",
    "tojson(indent=2)", "tojson(ensure_ascii=True)", "tojson(separators=(',', ':'), sort_keys=true)", "trim('H d')",
    "int(3)", "int(base=16)", "round(1)", "indent(2, true)", "indent('> ', blank=true)", "sort(reverse=true)",
    "sort(attribute='role')", "sort(case_sensitive=true)", "map('int')|sum", "center(20)", "max(attribute='k')", "map('trim')",
    "selectattr('k')", "sum(attribute='n')", "map('replace', 'e', 'E')|list", "map('default', 5)|list", "unique(true)|list",
    "dictsort(by='value')", "dictsort(reverse=true)", "float(1)", "format(1)", "batch(2)|list",
)  # fmt: skip
TESTS = (
    "defined", "undefined", "none", "string", "mapping", "iterable", "sequence", "number", "integer", "float", "boolean",
    "true", "false", "odd", "even", "lower", "upper", "callable", "divisibleby(2)", "divisibleby 3", "equalto('hi')", "eq(7)",
    "in([1, 7])", "in 'hi there'", "ne none", "gt 1", "le(2)", "sameas none", "sameas true", "escaped",
)  # fmt: skip
METHODS = (
    "strip()", "lstrip()", "rstrip('\\n ')", "split()", "split(',')", "split(',', 1)", "rsplit(',', 1)", "split(' ')[0]",
    "upper()", "lower()", "title()", "capitalize()", "startswith('H')", "endswith(('d', 'c'))", "find('l')", "rfind('l')",
    "replace('l', 'L')", "replace('l', 'L', 1)", "count('l')", "index('o')", "splitlines()", "splitlines(true)", "items()",
    "keys()", "values()", "get('role')", "get('zz', 'q')", "items()|list", "keys()|list", "isdigit()", "isalpha()",
    "isspace()", "join(['a', 'b'])", "removeprefix('H')", "removesuffix('d')", "partition(',')", "rpartition(',')",
    "zfill(8)", "ljust(15, '.')", "rjust(15)", "center(16)", "format(1, 2)", "copy()", "append(1)", "split(maxsplit=1)",
    "startswith('e', 1)", "find('l', 4, -1)", "islower()", "isupper()", "isalnum()", "update({'a': 1})", "nosuch()",
)  # fmt: skip
ATTRIBUTES = ("role", "content", "k", "n", "items", "zz", "keys", "upper", "__class__", "0")
LITERALS = (
    "0", "1", "-1", "2", "3.0", "0.1", "1e20", "''", "'a'", "\"it's\"", "'é\\n'", "true", "false", "none", "[]", "[1, 'a']",
    "(1,)", "()", "{}", "{'a': 1, 'b': [none]}", "{1: 2}", "10", "1_000", "0x1f", "'%s-%s'", "'{}:{}'", "'%d'",
)  # fmt: skip
# Those that seldom fail, for statements.
CALM = (
    "n", "t", "u|trim", "b", "l", "d", "x", "missing", "missing is defined", "n > 3", "m[0].role", "m[-1]['role']", "i", "v",
    "loop.index0", "n ~ t", "t|upper", "l|length", "d.role == 'user'", "'a' in t", "m|map(attribute='role')|join(' ')", "s.split(',')",
    "d.get('zz')", "t[:3]", "l[::-1]", "(l|sum) % 2", "not b", "x is none", "v is defined", "{'a': l}|tojson", "k", "q", "p",
)  # fmt: skip
BINARY = ("+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or")


class Grammar:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, options: Any) -> str:
        return str(self.random.choice(options))

    def expression(self, depth: int = 3) -> str:
        kind = self.random.randrange(14) if depth else self.random.randrange(4)
        if kind < 3:
            return self.pick(NAMES)
        if kind == 3:
            return self.pick(LITERALS)
        inner = self.expression(depth - 1)
        if kind in (4, 5):
            return f"{self.grouped(inner)}|{self.pick(FILTERS)}"
        if kind == 6:
            return f"{self.grouped(inner)} is {self.pick(('', 'not '))}{self.pick(TESTS)}"
        if kind in (7, 8):
            return f"{self.grouped(inner)}.{self.pick(METHODS)}"
        if kind == 9:
            return f"{self.grouped(inner)}.{self.pick(ATTRIBUTES)}"
        if kind == 10:
            return f"{self.grouped(inner)}[{self.index(depth)}]"
        if kind == 11:
            return f"{inner} if {self.expression(depth - 1)}" + self.pick(("", f" else {self.expression(depth - 1)}"))
        if kind == 12:
            return self.pick(
                (f"not {inner}", f"-{self.grouped(inner)}", f"[{inner}, 1]", f"({inner}, 2)", f"({inner})")
            )
        return f"{self.grouped(inner)} {self.pick(BINARY)} {self.grouped(self.expression(depth - 1))}"

    def grouped(self, text: str) -> str:
        return text if text.isidentifier() or self.random.random() < 0.15 else f"({text})"

    def index(self, depth: int) -> str:
        bound = ("", "0", "1", "-1", "2", "-2", "100", "-100")
        return self.pick(
            (
                "0",
                "-1",
                "'role'",
                "'items'",
                self.expression(depth - 1),
                f"{self.pick(bound)}:{self.pick(bound)}",
                f"{self.pick(bound)}:{self.pick(bound)}:{self.pick(('', '-1', '2', '-2', '0', '1'))}",
            )
        )

    def tag(self, inner: str) -> str:
        return "{%" + self.pick(("", "-", "+", "")) + f" {inner} " + self.pick(("", "-", "")) + "%}"

    def output(self, inner: str) -> str:
        return "{{" + self.pick(("", "-", "")) + f" {inner} " + self.pick(("", "-", "")) + "}}"

    def space(self) -> str:
        return self.pick(("", " ", "\n", "  \n  ", "x", " y\n", "\n\n", "{# c #}", "{#- c -#}\n", "{# c #}\n"))

    def simple(self, depth: int) -> str:
        return self.pick(CALM) if self.random.random() < 0.93 else self.expression(depth)

    def statements(self, depth: int = 3, in_loop: bool = False) -> str:
        count = self.random.randrange(1, 4)
        return self.space().join(self.statement(depth, in_loop) for _ in range(count)) + self.space()

    def statement(self, depth: int, in_loop: bool) -> str:
        kind = self.random.randrange(13) if depth else self.random.randrange(3)
        if kind < 3:
            return self.space() + self.output(self.simple(2)) + self.space()
        if kind == 3:
            return self.tag(f"set {self.pick(('n', 't', 'v', 'x', 'l'))} = {self.simple(2)}")
        body = self.space() + self.statements(depth - 1, in_loop or kind in (6, 7, 8))
        if kind in (4, 5):
            rest = self.pick(
                ("", self.tag(f"elif {self.simple(2)}") + body, self.tag("else") + self.statements(depth - 1))
            )
            return self.tag(f"if {self.simple(2)}") + body + rest + self.tag("endif")
        if kind in (6, 7, 8):
            condition = self.pick(("", "", f" if {self.simple(1)}"))
            target = self.pick(("i", "i", "v", "n", "k, v"))
            over = self.pick(("l", "m", "d", "s", "e", "d.items()", "range(3)", "m[1:]", "w", self.simple(1)))
            loop = self.pick(("loop.index", "loop.last", "loop.first", "loop.length", "loop.previtem", "loop.nextitem",
                              "loop.index0", "loop.revindex", "loop.cycle('a', 'b')", "loop.changed(v)", "i", "v"))  # fmt: skip
            rest = self.pick(("", "", self.tag("else") + self.statements(depth - 1)))
            return self.tag(f"for {target} in {over}{condition}") + self.output(loop) + body + rest + self.tag("endfor")
        if kind == 9:
            name = self.pick(("f1", "f2"))
            call = self.output(f"{name}({self.pick(('', '1', 't, 2', 'q=3', 'p=1, q=2', '1, 2, 3'))})")
            return (
                self.tag(f"macro {name}(p, q={self.simple(1)})") + body + self.output("p") + self.tag("endmacro") + call
            )
        if kind == 10:
            return (
                self.tag(f"set v{self.pick(('', ' | upper', ' | trim'))}")
                + body
                + self.tag("endset")
                + self.output("v")
            )
        if kind == 11:
            space = self.tag("set ns = namespace(a=1, s='')")
            change = self.tag(f"set ns.a = {self.pick(('ns.a + 1', 'ns.s', self.simple(1)))}")
            return space + self.tag("for i in l") + change + self.tag("endfor") + self.output("ns.a")
        if in_loop and self.random.random() < 0.5:
            return self.tag(f"if {self.simple(1)}") + self.tag(self.pick(("break", "continue"))) + self.tag("endif")
        return (
            self.tag("generation")
            + body.replace("break", "set k = 1").replace("continue", "set k = 2")
            + self.tag("endgeneration")
        )
