"""Chat templates against jinja2, with the settings of transformers: the same texts, and errors where it has errors."""

from __future__ import annotations

import json
import re
from typing import Any

import conversations
import expressions
import jinja_reference
import perpend
import pytest
from perpend import _perpend

CONVERSATIONS = conversations.conversations()


def reference(text: str, variables: dict[str, Any]) -> tuple[str | None, str]:
    """What jinja2 renders, or None and the message of its error."""
    try:
        return jinja_reference.render(text, variables), ""
    except Exception as error:
        return None, str(error)


@pytest.mark.parametrize("style", conversations.STYLES)
def test_styles(style: str) -> None:
    template = _perpend.ChatTemplate(conversations.STYLES[style])
    rendered = 0
    for name, variables in CONVERSATIONS.items():
        expected, error = reference(conversations.STYLES[style], variables)
        if expected is not None:
            assert template.render(variables) == expected, name
            assert template.render_json(json.dumps(variables)) == expected, f"{name}, from JSON"
            rendered += 1
            continue
        with pytest.raises(perpend.TemplateError, match=r"^line \d+: ") as caught:
            template.render(variables)
        said = re.findall(r"raise_exception\([\"']([^\"']*)", conversations.STYLES[style])
        if any(text and text in error for text in said):
            assert str(caught.value).split(": ", 1)[1] == error, name
    assert rendered >= 3


ERRORS = re.compile(  # where there is an error only here, it says what is not known here
    "not known|64 bits|has no text|there is no (filter|test|method|function)|not in a loop|has no slices|item '__|'_' is "
    "|takes [01] arguments|known of ASCII only|expected '"
)


def differences(text: str) -> str:
    expected, error = reference(text, dict(expressions.VARIABLES))
    try:
        got = _perpend.ChatTemplate(text).render(dict(expressions.VARIABLES))
    except perpend.TemplateError as other:
        return "" if expected is None or ERRORS.search(str(other)) else f"{text!r}: {other}"
    return "" if got == expected else f"{text!r}: expected {expected!r} {error}, got {got!r}"


@pytest.mark.filterwarnings("ignore")
def test_random_expressions() -> None:
    texts = (f"{{{{ {expressions.Grammar(seed).expression()} }}}}" for seed in range(1200))
    assert not [found for text in texts if (found := differences(text))]


@pytest.mark.filterwarnings("ignore")
def test_random_statements() -> None:
    texts = (expressions.Grammar(seed).statements() for seed in range(250))
    assert not [found for text in texts if (found := differences(text))]


@pytest.mark.parametrize(
    "text",
    [
        # A name that is set later is not the caller's before, in a scope within.
        "{% for i in [1] %}{{ n }}{% endfor %}{% set n = 1 %}{{ n }}",
        "{{ n }}{% set n = 1 %}{% for i in l %}{{ n }}{% set n = n + i %}{{ n }}{% endfor %}{{ n }}",
        "{% for i in l %}{% if i == 1 %}{% set n = 'one' %}{% endif %}{{ n }}{% endfor %}",
        "{% macro f() %}{{ n }}{% endmacro %}{{ f() }}{% set n = 1 %}{{ f() }}",
        "{% macro f(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ f(1) }}{{ f(b=2, a=3) }}",
        "{% macro f(k) %}{{ k }}{{ f(k - 1) if k else '' }}{% endmacro %}{{ f(5) }}",
        "{% for i in l %}{% macro g() %}{{ i }}{{ loop.index }}{% endmacro %}{{ g() }}{% endfor %}",
        "{% set ns = namespace(a=1) %}{% for i in l %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}{{ ns }}",
        "{% set g = m | selectattr('k') %}{{ g | list | length }}{{ g | list | length }}",
        "{% for a in m | map(attribute='role') %}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ a }}{% endfor %}",
        "{% for i in l %}{% break %}{% else %}E{% endfor %}{% for i in l %}{% continue %}{% else %}F{% endfor %}",
        "{% set x %}a{% set n = 8 %}{{ n }}{% endset %}{{ x }}{{ n }}",
        "{{ ('<b>' | safe) + '<i>' }}{{ '<b>' | safe ~ '<i>' }}{{ '<' | e }}",
        "{{ 'Straße ΣΊΣΥΦΟΣ ǆ İ ﬁn' | upper }}{{ 'ΣΊΣΥΦΟΣ ΑΣ. ǅ İ' | lower }}{{ 'ǆa ßb ﬁc' | title }}{{ 'ßa' | capitalize }}",
        "{{ ['é\\u200b\\x00\\U0001f600', 'a\\'b', \"a\\\"'\"] }}{{ {'k': (1,)} }}{{ 1e16 }} {{ 1e-5 }} {{ 0.1 + 0.2 }} {{ 1e300 * 1e300 }}",
        "{{ {'a': 1, 'b': {'c': [1, 2.0, none, true, 'é\\n\\u2028\\x7f']}} | tojson(indent=2) }}{{ '😀é' | tojson(ensure_ascii=true) }}",
        "{%- raw -%} {{ x }} {%- endraw -%} {%+ if b +%}\n {%- endif %}\n{#- c +#}\n x",
    ],
)
def test_rules(text: str) -> None:
    expected, error = reference(text, dict(expressions.VARIABLES))
    assert not error
    assert _perpend.ChatTemplate(text).render(dict(expressions.VARIABLES)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\n{{ x | shout }}", "line 2: there is no filter 'shout'\nhint: known are abs, "),
        ("{{ x is shiny }}", "line 1: there is no test 'shiny'\nhint: known are "),
        ("{{ x.shout() }}", "line 1: there is no method 'shout'\nhint: known are those of texts"),
        ("{{ shout(1) }}", "line 1: there is no function 'shout'\nhint: known are macros of the template and range"),
        ("\n\n{% do x %}", "line 3: the statement 'do' is not known\nhint: known are if, for"),
        ("{% shout %}", "line 1: there is no statement 'shout'\nhint: known are if, for"),
        ("{% for x in y recursive %}{% endfor %}", "line 1: recursive loops are not known\nhint: use a macro"),
        ("{{ f(*x) }}", "line 1: arguments with '*' are not known\nhint: "),
        ("{% if x %}", "line 1: the template ends within a block\nhint: expected {% endif %}"),
        ("{{ (1, }}", "line 1: unexpected '}'\nhint: expected ')'"),
        ("{{ 'a }}", "line 1: a text does not end\nhint: close it with '"),
        ("{{ x", "line 1: an expression does not end\nhint: close it with }}"),
        ("{# x", "line 1: a comment does not end\nhint: close it with #}"),
        ("{{ 99999999999999999999 }}", "line 1: an integer needs more than 64 bits: '99999999999999999999'"),
        ("{{ '\\ud800' }}", "line 1: an escape is not known in the text '\\ud800'\nhint: "),
        (
            "{{ x | replace('a') }}",
            "line 1: the filter 'replace' lacks the argument 'new'\nhint: its arguments are old, new",
        ),
        (
            "{{ x | trim(a=1) }}",
            "line 1: the filter 'trim' does not take an argument 'a' here\nhint: its arguments are chars",
        ),
        ("{{ x | map(y) }}", "line 1: the filter of map is no text\nhint: write its name in quotes"),
        ("{% break %}", "line 1: 'break' is not in a loop"),
        ("{% set loop = 1 %}", "line 1: 'loop' cannot be set"),
        ("{{ " + "(" * 200 + "1" + ")" * 200 + " }}", "line 1: nested deeper than 120"),
        ("{{ " + "1 + " * 500 + "1 }}", "line 1: nested deeper than 400"),
    ],
)
def test_errors_of_templates(text: str, message: str) -> None:
    with pytest.raises(perpend.TemplateError) as caught:
        perpend.ChatTemplate(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n{{ messages[0].name.first }}", "line 2: the value has no attribute or item 'name'"),
        ("{{ who + 'x' }}", "line 1: 'who' is undefined"),
        ("{{ raise_exception('No – “such” role: ' ~ messages[0].role) }}", "line 1: No – “such” role: user"),
        ("{{ 'a' + 1 }}", "line 1: a str + a int is not defined, or not known here"),
        ("{{ messages | map('length') }}", "line 1: a generator has no text; hint: call it, or make a list of it"),
        ("{{ 'é'.isalpha() }}", "line 1: isalpha, isdigit and their relatives are known of ASCII only, got U+00E9"),
        ("{{ messages[0].content.encode }}", "line 1: 'encode' of a str is not known here; hint: "),
        ("{{ 'é' * 2 ** 62 }}", "line 1: more than 10000000 steps; hint: "),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "line 1: nested deeper than 1000; hint: "),
        (
            "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
            "line 1: more than 10000000 steps",
        ),
    ],
)
def test_errors_of_renderings(text: str, message: str) -> None:
    template = perpend.ChatTemplate(text)
    with pytest.raises(perpend.TemplateError) as caught:
        template.render([{"role": "user", "content": "a"}])
    assert str(caught.value).startswith(message)


def test_limits() -> None:
    template = _perpend.ChatTemplate("{% for i in range(1000) %}{{ 'abcdefgh' * 100 }}{% endfor %}")
    assert len(template.render({})) == 800_000
    for limits, what in (
        ({"steps": 100}, "more than 100 steps"),
        ({"memory_bytes": 100_000}, "values of more than 100000 bytes"),
        ({"output_bytes": 1000}, "an output of more than 1000 bytes"),
        ({"depth": 3}, "nested deeper than 3"),
    ):
        with pytest.raises(perpend.TemplateError, match=what):
            template.render({}, **limits)


def test_python() -> None:
    template = perpend.ChatTemplate(
        "{{ bos_token }}{{ messages[0].content }}{{ tools is none }}{{ x }}", bos_token="<s>"
    )
    assert template.render([{"role": "user", "content": "a"}], x=1) == "<s>aTrue1"
    assert template.render(({"content": "b"},), tools=[], bos_token="") == "bFalse"
    with pytest.raises(
        TypeError, match=r"variables\['messages'\]\[0\]\['content'\]: expected None, a bool, .* got bytes"
    ):
        template.render([{"content": b""}])
    with pytest.raises(ValueError, match=r"variables\['x'\]: an integer needs more than 64 bits"):
        template.render([], x=2**64)
    with pytest.raises(ValueError, match="halves of surrogate pairs"):
        template.render([], x="\ud800")
    nested: list[Any] = []
    nested.append(nested)
    with pytest.raises(ValueError, match="nested deeper than 500"):
        template.render([], x=nested)
