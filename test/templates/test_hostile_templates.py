"""Changed templates and changed tables: an error or a text, and soon. No crash, no hang."""

from __future__ import annotations

import json
import random
import struct
from typing import Any

import conversations
import expressions
import perpend
import pytest
from perpend import _perpend

LIMITS = {"steps": 20_000, "memory_bytes": 1 << 22, "output_bytes": 1 << 20, "depth": 200}
VARIABLES: dict[str, Any] = {
    **expressions.VARIABLES,
    "messages": conversations.DIALOGUES["a call and an answer"],
    "tools": conversations.TOOLS,
    **conversations.TOKENS,
}
PIECES = ("{%", "%}", "{{", "}}", "{#", "#}", "'", '"', "(", ")", "[", "]", "{", "}", "|", ".", ":", "-", "if", "else", "endif",
          "endfor", "for x in y", "set", "is", "not", "in", "\\", "\0", "é", "\n", "9" * 30, "raw", "endraw", "~", "=", ",")  # fmt: skip


def changed_text(text: str, chance: random.Random) -> str:
    for _ in range(chance.randrange(1, 4)):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice((0, 1, 1, 2, 8, 40)))
        piece = chance.choice(("", chance.choice(PIECES), text[start : start + 20]))
        text = text[:start] + piece + text[end:]
    return text


def render(make: Any) -> bool:
    """Whether there was a text; else there was an error with a line or a reason."""
    try:
        make()
    except perpend.TemplateError as error:
        assert str(error)
        return False
    return True


def test_changed_templates() -> None:
    chance = random.Random(1)
    texts = list(conversations.STYLES.values())
    rendered = 0
    for _ in range(3000):
        text = changed_text(chance.choice(texts), chance)
        rendered += render(lambda text=text: _perpend.ChatTemplate(text).render(VARIABLES, **LIMITS))
    assert 100 < rendered < 2900


def changed_table(table: bytes, chance: random.Random) -> bytes:
    changed = bytearray(table)
    for _ in range(chance.choice((1, 1, 2, 5))):
        place = chance.randrange(len(changed) // 4) * 4
        kind = chance.randrange(4)
        if kind == 0:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        elif kind == 1:
            struct.pack_into(
                "<I", changed, place, chance.choice((0, 1, 2, 0xFFFFFFFF, 0x80000000, len(table), len(table) // 24))
            )
        elif kind == 2:  # a small change, as of a kind, a child or a slot
            value = struct.unpack_from("<I", changed, place)[0]
            struct.pack_into("<I", changed, place, (value + chance.choice((-1, 1, -2, 2, 256))) % 2**32)
        else:
            other = chance.randrange(len(changed) // 4) * 4
            changed[place : place + 4] = table[other : other + 4]
    return bytes(changed)


def test_changed_tables() -> None:
    chance = random.Random(2)
    tables = [_perpend.ChatTemplate(text).table for text in conversations.STYLES.values()]
    rendered = 0
    for _ in range(6000):
        table = changed_table(chance.choice(tables), chance)
        rendered += render(lambda table=table: _perpend.ChatTemplate.of_table(table).render(VARIABLES, **LIMITS))
    assert 100 < rendered < 5900
    for table in tables[:3]:
        for size in range(0, len(table), 97):
            assert not render(
                lambda table=table, size=size: _perpend.ChatTemplate.of_table(table[:size]).render(VARIABLES)
            )


def test_changed_json() -> None:
    chance = random.Random(3)
    template = _perpend.ChatTemplate("{{ messages | tojson }}")
    text = json.dumps(
        {"messages": [conversations.CALLED_TWICE, {"a": [1.5e3, -7, None, True, 'é\n"\\u00e9']}]}, ensure_ascii=False
    )
    for _ in range(2000):
        changed = changed_text(text, chance)
        try:
            expected = json.loads(changed)
        except ValueError:
            assert not render(lambda changed=changed: template.render_json(changed))
            continue
        if isinstance(expected, dict) and "messages" in expected and "ud8" not in changed and "9" * 20 not in changed:
            assert template.render_json(changed) == json.dumps(expected["messages"], ensure_ascii=False)


@pytest.mark.parametrize(
    "text",
    [
        "{{ " + "x." * 300 + "y }}",
        "{% if x %}" * 300,
        "{% if a %}" + "{% elif b %}" * 150 + "{% endif %}",
        "{{ '" + "a" * 100_000 + "' | replace('a', 'b' * 1000) }}",
        "{% set ns = namespace(x=[]) %}{% for i in range(100000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x='a') %}{% for i in range(1000) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
        "{% for i in range(100000) %}{{ 'a' * 100000 in 'b' * 100000 }}{% endfor %}",
        "{% set a = range(100000) | list %}{% for i in a %}{{ a.index(99999) }}{% endfor %}",
        "{{ range(100000) | list | unique | list | length }}",
        "{{ ['%' ~ '9' * 9 ~ 'd'] | first % 1 }}{{ 'a'.ljust(10 ** 15) }}",
        "{{ dict(range(3)) }}{{ {}[[]] }}{{ {[]: 1} }}",
        "{% for i in range(9) %}{% set f = loop %}{{ f.index }}{% endfor %}{{ f.index }}",
        "{{ (1, 2)[::0] }}",
        "{{ -9223372036854775807 - 1 }}{{ (-9223372036854775807 - 1) // -1 }}",
        "{{ 'a'[9223372036854775807:] }}{{ 'abc'[::-9223372036854775807] }}",
    ],
)
def test_hostile_templates(text: str) -> None:
    render(lambda: _perpend.ChatTemplate(text).render({"x": {}, "a": 0, "b": 0}))
