"""Chat templates in the styles of public models, and conversations to render. All of them are made up for these tests."""

from __future__ import annotations

from typing import Any

STYLES: dict[str, str] = {}

STYLES["chatml"] = """\
{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}
{% endfor %}
{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
"""

STYLES["chatml with a default system"] = """\
{% for message in messages %}
    {% if loop.first and messages[0]['role'] != 'system' %}
{{ '<|im_start|>system\\nAnswer kindly.<|im_end|>\\n' }}
    {% endif %}
<|im_start|>{{ message.role }}
{{ message.content | default('', true) }}<|im_end|>
{% endfor %}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% endif %}"""

STYLES["two roles in turn"] = """\
{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set turns = messages[1:] %}{% set first = messages[0]['content'] %}\
{% else %}{% set turns = messages %}{% set first = false %}{% endif %}{% for message in turns %}\
{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}\
{{ raise_exception('Roles must take turns: user, assistant, user, ...') }}{% endif %}\
{% if loop.index0 == 0 and first != false %}{% set content = '<<SYS>>\\n' + first + '\\n<</SYS>>\\n\\n' + message['content'] %}\
{% else %}{% set content = message['content'] %}{% endif %}\
{% if message['role'] == 'user' %}{{ '[INST] ' + content.strip() + ' [/INST]' }}\
{% elif message['role'] == 'assistant' %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}"""

STYLES["headers and dates"] = """\
{{- bos_token }}
{%- if custom_tools is defined %}
    {%- set tools = custom_tools %}
{%- endif %}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "1 Jan 2025" %}
    {%- endif %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{#- The system's text comes first. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_text = messages[0]['content'] | trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_text = "" %}
{%- endif %}
{{- "<|header|>system<|end_header|>\\n\\n" }}
{%- if tools is not none %}
    {{- "Environment: shell\\n" }}
{%- endif %}
{{- "Today: " + date_string + "\\n\\n" }}
{%- if tools is not none and not tools_in_user_message %}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- system_text }}
{{- "<|eot|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|header|>' + message['role'] + '<|end_header|>\\n\\n'+ message['content'] | trim + '<|eot|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("One call at a time, please!") }}
        {%- endif %}
        {%- set call = message.tool_calls[0].function %}
        {{- '<|header|>assistant<|end_header|>\\n\\n' -}}
        {{- '{"name": "' + call.name + '", ' }}
        {{- '"parameters": ' }}
        {{- call.arguments | tojson }}
        {{- "}" }}
        {{- "<|eot|>" }}
    {%- elif message.role == "tool" %}
        {{- "<|header|>tool<|end_header|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|header|>assistant<|end_header|>\\n\\n' }}
{%- endif %}
"""

STYLES["thoughts"] = """\
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- "# Tools\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- else %}
    {%- if messages[0].role == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- set ns = namespace(open=true, last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.open and message.role == "user" and message.content is string and not(message.content.startswith('<answer>') and message.content.endswith('</answer>')) %}
        {%- set ns.open = false %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set thought = '' %}
        {%- if message.reasoning_content is string %}
            {%- set thought = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last %}
            {%- if loop.last or (not loop.last and thought) %}
                {{- '<|im_start|>' + message.role + '\\n<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
            {%- else %}
                {{- '<|im_start|>' + message.role + '\\n' + content }}
            {%- endif %}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {%- if (loop.first and content) or (not loop.first) %}
                    {{- '\\n' }}
                {%- endif %}
                {%- if tool_call.function %}
                    {%- set tool_call = tool_call.function %}
                {%- endif %}
                {{- '<tool_call>\\n{"name": "' }}
                {{- tool_call.name }}
                {{- '", "arguments": ' }}
                {%- if tool_call.arguments is string %}
                    {{- tool_call.arguments }}
                {%- else %}
                    {{- tool_call.arguments | tojson }}
                {%- endif %}
                {{- '}\\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<answer>\\n' }}
        {{- content }}
        {{- '\\n</answer>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}"""

STYLES["tools in the last turn"] = """\
{%- if messages[0]["role"] == "system" %}
    {%- set system_text = messages[0]["content"] %}
    {%- set turns = messages[1:] %}
{%- else %}
    {%- set turns = messages %}
{%- endif %}
{%- set user_turns = turns | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace() %}
{%- set ns.index = 0 %}
{%- for message in turns %}
    {%- if not (message.role == "tool" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("After the optional system message, roles must alternate") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in turns %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_turns[-1]) %}
            {{- "[TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}
                        {{- '"' + key + '": "' + val + '"' }}
                    {%- else %}
                        {{- '"' + key + '": ' + val|tojson }}
                    {%- endif %}
                    {%- if not loop.last %}
                        {{- ", " }}
                    {%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {%- if not loop.last %}
                    {{- ", " }}
                {%- else %}
                    {{- "]" }}
                {%- endif %}
            {%- endfor %}
            {{- "[/TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_text is defined %}
            {{- "[INST] " + system_text + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message.tool_calls is defined and message.tool_calls is not none %}
        {{- "[CALLS] [" }}
        {%- for tool_call in message.tool_calls %}
            {%- set out = tool_call.function|tojson %}
            {{- out[:-1] }}
            {%- if not tool_call.id is defined or tool_call.id|length != 9 %}
                {{- raise_exception("Identifiers of calls have nine characters") }}
            {%- endif %}
            {{- ', "id": "' + tool_call.id + '"}' }}
            {%- if not loop.last %}
                {{- ", " }}
            {%- else %}
                {{- "]" + eos_token }}
            {%- endif %}
        {%- endfor %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token}}
    {%- elif message["role"] == "tool" %}
        {%- if message.content is defined and message.content.content is defined %}
            {%- set content = message.content.content %}
        {%- else %}
            {%- set content = message.content %}
        {%- endif %}
        {{- '[RESULT] {"content": ' + content|string + ", " }}
        {{- '"id": "' + message.tool_call_id + '"}[/RESULT]' }}
    {%- else %}
        {{- raise_exception("Unknown role: " + message["role"]) }}
    {%- endif %}
{%- endfor %}
"""

STYLES["turns of parts"] = """\
{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set prefix = messages[0]['content'] + '\\n\\n' -%}
    {%- else -%}
        {%- set prefix = messages[0]['content'][0]['text'] + '\\n\\n' -%}
    {%- endif -%}
    {%- set turns = messages[1:] -%}
{%- else -%}
    {%- set prefix = "" -%}
    {%- set turns = messages -%}
{%- endif -%}
{%- for message in turns -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Conversation roles must alternate user/assistant/user/assistant/...") }}
    {%- endif -%}
    {%- if (message['role'] == 'assistant') -%}
        {%- set role = "model" -%}
    {%- else -%}
        {%- set role = message['role'] -%}
    {%- endif -%}
    {{ '<turn>' + role + '\\n' + (prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'image' -%}
                {{ '<image>' }}
            {%- elif item['type'] == 'text' -%}
                {{ item['text'] | trim }}
            {%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception("Invalid content type") }}
    {%- endif -%}
    {{ '</turn>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<turn>model\\n'}}
{%- endif -%}
"""

STYLES["compact with pipes"] = """\
{% for message in messages %}{% if message['role'] == 'system' and 'tools' in message and message['tools'] is not none %}\
{{ '<|' + message['role'] + '|>' + message['content'] + '<|tool|>' + message['tools'] + '<|/tool|>' + '<|end|>' }}\
{% else %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endif %}{% endfor %}\
{% if add_generation_prompt %}{{ '<|assistant|>' }}{% else %}{{ eos_token }}{% endif %}"""

STYLES["state in a namespace"] = """\
{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}\
{% set ns = namespace(is_first=false, is_tool=false, is_output_first=true, system='', is_first_system=true) %}\
{%- for message in messages %}{%- if message['role'] == 'system' %}{%- if ns.is_first_system %}\
{% set ns.system = ns.system + message['content'] %}{% set ns.is_first_system = false %}\
{%- else %}{% set ns.system = ns.system + '\\n\\n' + message['content'] %}{%- endif %}{%- endif %}{%- endfor %}\
{{ bos_token }}{{ ns.system }}\
{%- for message in messages %}{%- if message['role'] == 'user' %}{%- set ns.is_tool = false -%}{{ '<User>' + message['content'] }}\
{%- endif %}{%- if message['role'] == 'assistant' and 'tool_calls' in message %}{%- set ns.is_tool = false -%}\
{%- for tool in message['tool_calls'] %}{%- if not ns.is_first %}{%- if message['content'] is none %}\
{{ '<Assistant><calls><call>' + tool['type'] + '<sep>' + tool['function']['name'] + '\\n' + '```json' + '\\n' + tool['function']['arguments']|string + '\\n' + '```' + '</call>' }}\
{%- else %}{{ '<Assistant>' + message['content'] + '<calls><call>' + tool['type'] + '<sep>' + tool['function']['name'] + '</call>' }}{%- endif %}\
{%- set ns.is_first = true -%}{%- else %}{{ '\\n' + '<call>' + tool['type'] + '</call>' }}{%- endif %}{%- endfor %}{{ '</calls>' }}{%- endif %}\
{%- if message['role'] == 'assistant' and 'tool_calls' not in message %}{%- if ns.is_tool %}\
{{ '</outputs>' + message['content'] + eos_token }}{%- set ns.is_tool = false -%}\
{%- else %}{% set content = message['content'] %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}\
{{ '<Assistant>' + content + eos_token }}{%- endif %}{%- endif %}\
{%- if message['role'] == 'tool' %}{%- set ns.is_tool = true -%}{%- if ns.is_output_first %}\
{{ '<outputs><output>' + message['content'] + '</output>' }}{%- set ns.is_output_first = false %}\
{%- else %}{{ '<output>' + message['content'] + '</output>' }}{%- endif %}{%- endif %}{%- endfor -%}\
{% if ns.is_tool %}{{ '</outputs>' }}{% endif %}{% if add_generation_prompt and not ns.is_tool %}{{ '<Assistant>' }}{% endif %}"""

STYLES["macros for types"] = """\
{%- macro json_to_type(param) -%}
{%- set types = {
  "string": "str",
  "number": "float",
  "integer": "int",
  "boolean": "bool"
} %}
{%- if types[param.type] is defined -%}
{{- types[param.type] }}
{%- elif param.type == "array" -%}
{{- "list[" + json_to_type(param["items"]) + "]" }}
{%- elif param.type == "object" -%}
{%- if param.additionalProperties is defined -%}
{{- "dict[str, " + json_to_type(param.additionalProperties) + "]" }}
{%- else -%}
{{- "dict" }}
{%- endif %}
{%- elif param.type is iterable and param.type is not string -%}
{{- "Union[" }}
{%- for t in param.type -%}
{{- json_to_type({"type": t}) }}
{%- if not loop.last -%}{{- "," }}{%- endif %}
{%- endfor %}
{{- "]" }}
{%- else %}
{{- "Any" }}
{%- endif %}
{%- endmacro %}
{{- bos_token }}
{%- if tools %}
<|im_start|>system
<tools>
{% for tool in tools %}
{%- set fn = tool.function if tool.function is defined else tool %}
{{- '{"name": "' + fn.name + '", "description": "' + fn.name + '(' }}
{%- for name, fields in (fn.parameters.properties or {})|items %}
{{- name + ": " + json_to_type(fields) }}
{%- if not loop.last %}{{- ", " }}{%- endif %}
{%- endfor %}
{{- ")" }}
{%- if fn.return is defined %}{{- " -> " + json_to_type(fn.return) }}{%- endif %}
{{- " - " + fn.description|default("") + "\\n\\n" }}
{%- for name, fields in (fn.parameters.properties or {})|items if fields.description %}
{%- if loop.first %}{{- "    Args:\\n" }}{%- endif %}
{{- "        " + name + "(" + json_to_type(fields) + "): " + fields.description|trim + "\\n" }}
{%- endfor %}
{{- fn.parameters | tojson }}
{%- if not loop.last %}{{- '\\n' }}{%- endif %}
{% endfor %}
</tools><|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == "tool" %}
{%- if loop.previtem and loop.previtem.role != "tool" %}
{{- '<|im_start|>tool\\n' }}
{%- endif %}
{{- '<tool_response>\\n' }}
{{- message.content }}
{{- '\\n</tool_response>' if loop.last else '\\n</tool_response>\\n' }}
{%- if not loop.last and loop.nextitem.role != "tool" %}
{{- '<|im_end|>' }}
{%- elif loop.last %}
{{- '<|im_end|>' }}
{%- endif %}
{%- elif message.tool_calls is defined and message.tool_calls %}
{{- '<|im_start|>' + message.role }}
{%- for tool_call in message.tool_calls %}
{{- '\\n<tool_call>\\n' }}
{%- if tool_call.function is defined %}{%- set tool_call = tool_call.function %}{%- endif %}
{{- '{"name": ' }}{{ tool_call.name | tojson }}{{ ', "arguments": ' }}{{ tool_call.arguments|tojson }}{{ '}' }}
{{- '\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- else %}
{{- '<|im_start|>' + message.role + '\\n' + (message.content or '')|string + '<|im_end|>' + '\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""

STYLES["xml of arguments"] = """\
{% macro render_extra_keys(json_dict, handled_keys) %}
    {%- if json_dict is mapping %}
        {%- for json_key in json_dict if json_key not in handled_keys %}
            {%- if json_dict[json_key] is mapping or (json_dict[json_key] is sequence and json_dict[json_key] is not string) %}
                {{- '\\n<' ~ json_key ~ '>' ~ (json_dict[json_key] | tojson | safe) ~ '</' ~ json_key ~ '>' }}
            {%- else %}
                {{-'\\n<' ~ json_key ~ '>' ~ (json_dict[json_key] | string) ~ '</' ~ json_key ~ '>' }}
            {%- endif %}
        {%- endfor %}
    {%- endif %}
{% endmacro %}
{%- if tools is iterable and tools | length > 0 %}
    {{- "<tools>" }}
    {%- for tool in tools %}
        {%- if tool.function is defined %}
            {%- set tool = tool.function %}
        {%- endif %}
        {{- "\\n<function>\\n<name>" ~ tool.name ~ "</name>" }}
        {%- if tool.description is defined %}
            {{- '\\n<description>' ~ (tool.description | trim) ~ '</description>' }}
        {%- endif %}
        {%- if tool.parameters is defined and tool.parameters is mapping and tool.parameters.properties is defined %}
            {%- for param_name, param_fields in tool.parameters.properties|items %}
                {{- '\\n<name>' ~ param_name ~ '</name>' }}
                {%- if param_fields.type is defined %}
                    {{- '\\n<type>' ~ (param_fields.type | string) ~ '</type>' }}
                {%- endif %}
                {%- set handled_keys = ['name', 'type', 'description'] %}
                {{- render_extra_keys(param_fields, handled_keys) }}
            {%- endfor %}
        {%- endif %}
        {{- render_extra_keys(tool, ['type', 'name', 'description', 'parameters']) }}
        {{- "\\n</function>" }}
    {%- endfor %}
    {{- "\\n</tools>" }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == "assistant" and message.tool_calls is defined and message.tool_calls is iterable and message.tool_calls | length > 0 %}
        {{- '<|im_start|>' + message.role }}
        {%- if message.content is defined and message.content is string and message.content | trim | length > 0 %}
            {{- '\\n' + message.content | trim + '\\n' }}
        {%- endif %}
        {%- for tool_call in message.tool_calls %}
            {%- set tool_call = tool_call.function or tool_call %}
            {{- '\\n<tool_call>\\n<function=' + tool_call.name + '>\\n' }}
            {%- if tool_call.arguments is mapping %}
                {%- for args_name, args_value in tool_call.arguments|items %}
                    {{- '<parameter=' + args_name + '>\\n' }}
                    {%- set args_value = args_value | tojson | safe if args_value is mapping or (args_value is sequence and args_value is not string) else args_value | string %}
                    {{- args_value }}
                    {{- '\\n</parameter>\\n' }}
                {%- endfor %}
            {%- endif %}
            {{- '</function>\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role in ["user", "system", "assistant"] %}
        {{- '<|im_start|>' + message.role + '\\n' ~ message.content ~ '<|im_end|>' + '\\n' }}
    {%- elif message.role == "tool" %}
        {{- '<tool_response>\\n' ~ message.content ~ '\\n</tool_response>\\n' }}
    {%- else %}
        {{- raise_exception('Unexpected message role: ' ~ message.role ~ '.') }}
    {%- endif %}
{%- endfor %}
{{- '<|im_start|>assistant\\n' if add_generation_prompt }}
"""

STYLES["generation blocks"] = """\
{%- for message in messages %}
{%- if message.role == 'assistant' %}
<|assistant|>
{% generation %}{{ message.content }}{{ eos_token }}{% endgeneration %}

{% else %}
<|{{ message.role }}|>
{{ message.content }}
{% endif %}
{%- endfor %}
{% if add_generation_prompt %}<|assistant|>
{% endif %}"""

STYLES["typescript"] = """\
{%- macro ts(spec, required, nullable=false) -%}
    {%- if spec.type == "array" -%}
        {%- if spec['items'] -%}
            {%- set inner = ts(spec['items'], required) -%}
            {%- if inner == "object | object" or inner|length > 50 -%}
                {{- "any[]" }}
            {%- else -%}
                {{- inner + "[]" }}
            {%- endif -%}
        {%- else -%}
            {{- "any[]" }}
        {%- endif -%}
        {%- if spec.nullable -%}{{- " | null" }}{%- endif -%}
    {%- elif spec.type is defined and spec.type is iterable and spec.type is not string and spec.type is not mapping and spec.type[0] is defined -%}
        {%- if spec.type | length > 1 -%}
            {{- spec.type | join(" | ") }}
        {%- else -%}
            {{- spec.type[0] }}
        {%- endif -%}
    {%- elif spec.oneOf -%}
        {%- for variant in spec.oneOf -%}
            {{- ts(variant, required, nullable=true) -}}
            {%- if not loop.last %}{{- " | " }}{% endif -%}
        {%- endfor -%}
    {%- elif spec.type == "string" -%}
        {%- if spec.enum -%}
            {{- '"' + spec.enum|join('" | "') + '"' -}}
        {%- else -%}
            {{- "string" }}
        {%- endif -%}
    {%- elif spec.type == "object" and spec.properties -%}
        {{- "{\\n" }}
        {%- for name, prop in spec.properties.items() -%}
            {{- name -}}
            {%- if name not in (spec.required or []) -%}{{- "?" }}{%- endif -%}
            {{- ": " }}
            {{ ts(prop, spec.required or []) }}
            {%- if not loop.last -%}{{-", " }}{%- endif -%}
        {%- endfor -%}
        {{- "}" }}
    {%- else -%}
        {{- spec.type|default("any") -}}
    {%- endif -%}
{%- endmacro -%}
{%- macro tool_namespace(name, tools) -%}
    {{- "## " + name + "\\n\\n" }}
    {{- "namespace " + name + " {\\n\\n" }}
    {%- for tool in tools %}
        {%- set tool = tool.function %}
        {{- "// " + tool.description + "\\n" }}
        {{- "type "+ tool.name + " = " }}
        {%- if tool.parameters and tool.parameters.properties %}
            {{- "(_: {\\n" }}
            {%- for key, spec in tool.parameters.properties.items() %}
                {%- if spec.description %}{{- "// " + spec.description + "\\n" }}{%- endif %}
                {{- key }}
                {%- if key not in (tool.parameters.required or []) %}{{- "?" }}{%- endif %}
                {{- ": " }}
                {{- ts(spec, tool.parameters.required or []) }}
                {%- if spec.default is defined %}
                    {%- if spec.enum %}
                        {{- ", // default: " + spec.default }}
                    {%- elif spec.oneOf %}
                        {{- "// default: " + spec.default }}
                    {%- else %}
                        {{- ", // default: " + spec.default|tojson }}
                    {%- endif %}
                {%- endif %}
                {%- if not loop.last %}{{- ",\\n" }}{%- else %}{{- "\\n" }}{%- endif %}
            {%- endfor %}
            {{- "}) => any;\\n\\n" }}
        {%- else %}
            {{- "() => any;\\n\\n" }}
        {%- endif %}
    {%- endfor %}
    {{- "} // namespace " + name }}
{%- endmacro -%}
{%- if tools -%}{{- tool_namespace("functions", tools) }}{%- endif -%}
{%- set last_call = namespace(name=none) %}
{%- for message in messages -%}
    {%- if message.role == 'assistant' -%}
        {%- if "<|channel|>analysis" in (message.content or "") -%}
            {{- raise_exception("Channels do not belong into content.") }}
        {%- endif %}
        {%- if "tool_calls" in message %}
            {%- set tool_call = message.tool_calls[0] %}
            {%- if tool_call.function %}{%- set tool_call = tool_call.function %}{%- endif %}
            {{- "<|start|>assistant to=functions." + tool_call.name + "<|message|>" + tool_call.arguments|tojson + "<|call|>" }}
            {%- set last_call.name = tool_call.name %}
        {%- elif loop.last and not add_generation_prompt %}
            {{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|return|>" }}
        {%- else %}
            {{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|end|>" }}
            {%- set last_call.name = none %}
        {%- endif %}
    {%- elif message.role == 'tool' -%}
        {%- if last_call.name is none %}
            {{- raise_exception("A tool's message without a call before it!") }}
        {%- endif %}
        {{- "<|start|>functions." + last_call.name }}
        {{- " to=assistant<|message|>" + message.content|tojson + "<|end|>" }}
    {%- elif message.role == 'user' -%}
        {{- "<|start|>user<|message|>" + message.content + "<|end|>" }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|start|>assistant{%- endif -%}"""

STYLES["documents"] = """\
{{ bos_token }}{% if documents %}{{ '# Documents' }}
{% for document in documents %}
<document id="{{ loop.index0 }}">
{% for key, value in document|dictsort if value %}
{{ key | title }}: {{ value }}
{% endfor %}
</document>
{% endfor %}
{% endif %}
{% for group in ['system', 'user', 'assistant'] %}
{% set of_group = messages | selectattr('role', 'eq', group) | map(attribute='content') | select | list %}
{% if of_group %}
{{ group | upper }} ({{ of_group | count }}): {{ of_group | first }}{{ '' if of_group | length < 2 else ' ... ' ~ of_group | last }}
{% endif %}
{% endfor %}"""

STYLES["checks of types"] = """\
{% for message in messages %}
{{ loop.index }}/{{ loop.length }} {{ loop.revindex }} {{ loop.cycle('odd', 'even') }} {{ loop.changed(message.role) }}
{% set c = message.content %}
{% if c is none %}none{% elif c is string %}text {{ c | length }} {{ c[:5] }}|{{ c[-5:] }}|{{ c[::-1][:4] }}{% elif c is mapping %}dict{% elif c is sequence %}list of {{ c | map(attribute='type') | unique | join(', ') }}{% else %}other{% endif %}

{{ message }} {{ message.keys() | list }} {{ message | tojson(indent=2) }} {{ message.get('name', '-') }}
{% endfor %}"""

STYLES["breaks"] = """\
{% for message in messages %}
{% if message.role == 'tool' %}{% continue %}{% endif %}
{% if loop.index > 6 %}{% break %}{% endif %}
{{ message.role | capitalize }}: {{ (message.content or '') | string | replace('\\n', ' ') | trim | indent(2) }}
{% else %}
no message
{% endfor %}
{%- set text -%}
  {{ messages | length }} messages
{%- endset %}
[{{ text }}]"""

STYLES["white space"] = """\
  {#- a comment -#}
  {% for message in messages %}
    {% if message.role == 'user' +%}
    user
    {%+ elif message.role == 'assistant' %}
	assistant
    {% else -%}
      other

    {%- endif %}
    {{+ message.role -}}   x
    {{ '{{' }} {% raw %}{{ raw }} {% not %}{% endraw %}

  {% endfor %}


end
"""

STYLES["calls with a body"] = """\
{% macro turn(role, open='<', close='>') %}{{ open }}{{ role }}{{ close }}{{ caller(role | length) }}{{ open }}/{{ role }}{{ close }}
{% endmacro %}
{% for message in messages %}
{% call(size) turn(message.role, close='|>') %}{{ size }}:{{ message.content | default('nothing', true) }}{% endcall %}
{% endfor %}
{% filter upper %}{% for m in messages %}{{ m.role[0] }}{% endfor %}{% endfilter %}"""

STYLES["scopes"] = """\
{% set found = 'no' %}{% set ns = namespace(found='no', seen=[], count={}) %}
{% for message in messages %}
{% if message.role == 'user' %}{% set found = 'yes' %}{% set ns.found = 'yes' %}{% set ns.seen = ns.seen + [loop.index0] %}{% endif %}
{{ found }}{% if 'tools' is defined and tools %}{% set tools = none %}{% endif %}{{ tools is none }}
{% endfor %}
{{ found }} {{ ns.found }} {{ ns.seen }} {{ tools is none }} {{ undefined_name }}|{{ undefined_name is defined }}
{% for a, b in [(1, 2), (3, 4)] %}{{ a }}-{{ b }} {% endfor %}{{ a }}
{% set x, y = 1, [2, 3] %}{{ x + y[1] }} {{ x if x > 1 }} {{ 7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 10 }} {{ 'a' * 3 }} {{ 1 < 2 < 3 }}"""

STYLES["formats"] = """\
{% for message in messages %}
{{ "%s: %s" | format(message.role, message.content) }} {{ "%-10s|%5d" % (message.role, loop.index) }} {{ '{} {role}'.format(loop.index, role=message.role) }}
{% endfor %}
{{ messages | map(attribute='role') | join(', ') }} {{ messages | rejectattr('role', 'in', ['user', 'tool']) | list | length }}
{{ messages | map(attribute='content') | select('string') | map('trim') | map('length') | list | tojson }}
{{ (messages | selectattr('role', 'equalto', 'user') | list | last).content | default('no user') | truncate_not if false else '' }}"""
STYLES["formats"] = STYLES["formats"].replace(" | truncate_not", "")

STYLES["citations"] = """\
{% macro document_turn(documents) -%}
{# Documents come as results of a tool. #}
<results>
{% for doc in documents %}
    {
        "id": "{{ loop.index0 }}",
        "data": {{ (doc.text or doc.snippet or '') | tojson }}
    }{% if not loop.last %},
{% endif %}
{% endfor %}

</results>{% endmacro %}
{%- macro reformat(message, ids) -%}
{% for tool_id in ids %}{% if tool_id == message.tool_call_id %}{{ loop.index0 }}{% endif %}{% endfor %}
{%- endmacro -%}
{%- set ns = namespace(ids=[], count=0) -%}
{%- for message in messages -%}
{%- if message.tool_calls -%}{%- for call in message.tool_calls -%}{%- set ns.ids = ns.ids + [call.id] -%}{%- endfor -%}{%- endif -%}
{%- if message.role|lower == 'tool' -%}{{ 'tool ' ~ reformat(message, ns.ids) ~ '\\n' }}{%- set ns.count = ns.count + 1 -%}
{%- else -%}{{ message.role|lower ~ ' ' ~ (message.content if message.content is string else '') ~ '\\n' }}{%- endif -%}
{%- endfor -%}
{%- if documents %}{{ document_turn(documents) }}{% endif -%}
{{ ns.count }}"""

STYLES["neighbours"] = """\
{% for message in messages %}{% if loop.index > 1 and loop.previtem['role'] != 'assistant' %}{{ ' ' }}{% endif %}\
{% if message['role'] == 'system' %}{{ '[SYS] ' + message['content'].strip() }}\
{% elif message['role'] == 'user' %}{{ '[INST] ' + message['content'].strip() }}\
{% elif message['role'] == 'assistant' %}{{ '[RESP] ' + message['content'] + eos_token }}\
{% endif %}{{ loop.nextitem.role if loop.nextitem is defined }}{% endfor %}{% if add_generation_prompt %}{{ ' [RESP] ' }}{% endif %}"""

STYLES["query and document"] = """\
<query>{{ messages | selectattr("role", "eq", "user") | map(attribute="content") | first | default("none", true) }}</query>
<document>{{ (messages | selectattr("role", "eq", "assistant") | list | last).content }}</document>
{% for message in messages %}{% if message.role.startswith("t") %}
<{{ message.role | replace("_", " ") | title }}>: {{ message.content }}
{% endif %}{% endfor %}"""

STYLES["alpaca"] = """\
{%- set ns = namespace(found=false) -%}
{%- for message in messages -%}
    {%- if message['role'] == 'system' -%}
        {%- set ns.found = true -%}
    {%- endif -%}
{%- endfor -%}
{%- if not ns.found -%}
{{- '' + 'Below is an instruction.' + '\\n\\n' -}}
{%- endif %}
{%- for message in messages %}
    {%- if message['role'] == 'system' %}
{{- '' + message['content'] + '\\n\\n' -}}
    {%- else %}
        {%- if message['role'] == 'user' %}
{{-'### Instruction:\\n' + message['content'] + '\\n\\n'-}}
        {%- else %}
{{-'### Response:\\n' + message['content'] + '\\n\\n' -}}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{{-'### Response:\\n' -}}"""

STYLES["pictures"] = """\
{% set count = namespace(value=0) %}{% for message in messages %}<|im_start|>{{ message['role'] }}
{% if message['content'] is string %}{{ message['content'] }}<|im_end|>
{% else %}{% for content in message['content'] %}{% if content['type'] == 'image' or 'image' in content or 'image_url' in content %}\
{% set count.value = count.value + 1 %}{% if add_vision_id %}Picture {{ count.value }}: {% endif %}<|image|>\
{% elif 'text' in content %}{{ content['text'] }}{% endif %}{% endfor %}<|im_end|>
{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""

STYLES["controls"] = """\
{%- set reasoning = (reasoning_effort | default('medium')) if reasoning_effort is defined else 'medium' -%}
{%- set flags = {'think': enable_thinking if enable_thinking is defined else true, 'effort': reasoning} -%}
{%- if messages and messages[0].role in ('system', 'developer') -%}
  {%- set text = messages[0].content -%}
  {%- if '/no_think' in text -%}{%- set text = text.replace('/no_think', '').rstrip() -%}{%- endif -%}
{%- endif -%}
{{ flags | tojson }}{{ text | default('no system') }}
{%- for name, value in flags.items() %} {{ name }}={{ value }}{{ ',' if not loop.last }}{% endfor %}
{% for message in messages if message.role != 'system' %}
{{ loop.index }} {{ loop.first }} {{ loop.last }} {{ message.role }}
{%- endfor %}"""

STYLES["numbers"] = """\
{%- for tool in tools or [] -%}
{%- set function = tool.function | default(tool) -%}
{{ loop.index }}. {{ function.name }}({% for key in function.parameters.properties | default({}) | dictsort | map('first') %}{{ key }}{{ ", " if not loop.last }}{% endfor %})
{% for key, value in (function.parameters.properties or {}).items() | list | sort(attribute='0') %}
{{ "  - " ~ key ~ ": " ~ value.type ~ (" (" ~ value.enum | join("/") ~ ")" if value.enum) ~ (" = " ~ value.default if value.default is defined) }}
{% endfor %}
{% endfor %}
{{ messages | length // 2 }} {{ (messages | length / 2) | round | int }} {{ [1, 2.5, 3] | sum }} {{ [3, 1, 2] | sort | join }} {{ range(5, 0, -2) | list }}"""

STYLES["last words"] = """\
{{ messages[-1].content if messages[-1].content is string else messages[-1].content | tojson }}|{{ messages[:2] | length }}|{{ messages[100:] }}
{%- if messages[-1]['role'] == 'assistant' and continue_final_message is defined %}{{ eos_token }}{% endif %}
{%- if messages | length == 0 %}{{ raise_exception('Nothing was said – “' ~ bos_token ~ '”') }}{% endif %}"""

STYLES["system only"] = """\
{% if messages[0]['role'] == 'system' %}{{ messages[0]['content'].split('\\n') | map('trim') | join(' / ') }}{% else %}\
{{ raise_exception('The first message is of the ' ~ messages[0].role ~ ', not of the system') }}{% endif %}"""


def function(name: str, properties: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    described = {"name": name, "description": f"Does {name}. ", **more}
    if properties is not None:
        described["parameters"] = {"type": "object", "properties": properties, "required": list(properties)[:1]}
    return {"type": "function", "function": described}


WEATHER = function(
    "get_weather",
    {
        "city": {"type": "string", "description": "The city, e.g. Ürümqi "},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
        "days": {"type": ["integer", "null"], "default": 3},
        "hours": {"type": "array", "items": {"type": "number"}},
    },
)
NESTED = function(
    "book",
    {
        "trip": {"type": "object", "properties": {"from": {"type": "string"}, "legs": {"type": "array"}}, "required": ["from"]},
        "extra": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "either": {"oneOf": [{"type": "string"}, {"type": "integer", "default": 0}], "default": "a"},
    },
    **{"return": {"type": "string"}},
)
TOOLS = [WEATHER, NESTED, function("now")]


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def call(name: str, arguments: Any, id: str = "abc123def") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


SYSTEM = {"role": "system", "content": "You are helpful.\n  Be brief. /no_think"}
RESULT = {"role": "tool", "name": "get_weather", "content": '{"degrees": 21.5}', "tool_call_id": "abc123def"}
CALLED = assistant(None, tool_calls=[call("get_weather", {"city": "Zürich", "days": 3, "hours": [1, 2.0, None]})])
CALLED_TEXT = assistant("", tool_calls=[call("get_weather", '{"city": "Bern"}', "1")])
CALLED_TWICE = assistant(
    "Both.", tool_calls=[call("get_weather", {"city": "A & B <c>"}), call("book", {"trip": {"from": "'x'", "legs": []}}, "123456789")]
)
PARTS = [{"type": "text", "text": " What is this? "}, {"type": "image"}, {"type": "text", "text": "And this?"}]
DIALOGUES: dict[str, list[Any]] = {
    "hello": [user("Hello!")],
    "system": [SYSTEM, user("Hello!")],
    "two turns": [user("Hello!"), assistant("Hi. How are you?"), user("  Fine.\n\n")],
    "system, two turns": [SYSTEM, user("Hello!"), assistant("  Hi.  "), user("Fine.")],
    "ends with the assistant": [user("Hello!"), assistant("Hi.")],
    "empty content": [user("")],
    "empty assistant": [user("a"), assistant(""), user("b")],
    "no content": [user("a"), assistant(None), user("b")],
    "absent content": [user("a"), {"role": "assistant"}, user("b")],
    "no messages": [],
    "unicode": [user("Grüße, 世界! 👩‍👩‍👧 \u2028 \u00a0 é́ ΑΣ ǅ ß ﬁ"), assistant("שלום \t \u3000"), user("\u200b\x7f\x01")],
    "quotes and tags": [user("""<b>"it's" & {{ not }} {% code %} \\n</b>\r\n"""), assistant("`a` $1 %s {0}"), user("x")],
    "two users": [user("a"), user("b")],
    "assistant first": [assistant("a"), user("b")],
    "unknown role": [{"role": "critic", "content": "Hm."}, user("a")],
    "two systems": [SYSTEM, user("a"), {"role": "system", "content": "More."}, user("b")],
    "developer": [{"role": "developer", "content": "Rules."}, user("a")],
    "a call": [user("Weather?"), CALLED, RESULT],
    "a call and an answer": [SYSTEM, user("Weather?"), CALLED, RESULT, assistant("21.5 degrees."), user("Thanks.")],
    "a call with text": [user("Weather?"), CALLED_TEXT, RESULT, user("And?")],
    "two calls": [user("Weather?"), CALLED_TWICE, RESULT, {**RESULT, "tool_call_id": "123456789"}],
    "a result without a call": [user("a"), RESULT],
    "a result that is a dict": [user("a"), CALLED, {"role": "tool", "content": {"content": [1, {"b": None}]}, "tool_call_id": "x"}],
    "no calls": [user("a"), assistant("b", tool_calls=[]), user("c")],
    "calls that are none": [user("a"), assistant("b", tool_calls=None), user("c")],
    "thoughts": [user("a"), assistant("<think>\nhm\n</think>\n\nb"), user("c"), assistant("<think>\n\n</think>d")],
    "reasoning": [user("a"), assistant("b", reasoning_content="because\n"), user("c"), assistant("d", reasoning_content="")],
    "parts": [user(PARTS)],
    "system of parts": [{"role": "system", "content": [{"type": "text", "text": "Look."}]}, user(PARTS), assistant("A cat.")],
    "numbers as content": [user(5), assistant(1.5), user(True)],
    "a dict as content": [user({"type": "text", "text": "a"})],
    "many turns": [turn for i in range(8) for turn in (user(f"question {i}"), assistant(f"answer {i}"))],
    "names": [{"role": "user", "name": "Ann", "content": "a"}, {"role": "tool", "name": "t", "content": "b"}],
}  # fmt: skip
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}


def conversations() -> dict[str, dict[str, Any]]:
    """Variables of renderings."""
    base = {"tools": None, "documents": None, "add_generation_prompt": False, **TOKENS}
    made = {name: {**base, "messages": messages} for name, messages in DIALOGUES.items()}
    for name in ("hello", "system, two turns", "a call and an answer"):
        made[f"{name}, prompt"] = {**made[name], "add_generation_prompt": True}
        made[f"{name}, tools"] = {**made[name], "tools": TOOLS, "add_generation_prompt": True}
    made["one tool"] = {**made["hello"], "tools": [WEATHER]}
    made["bare tool"] = {**made["hello"], "tools": [NESTED["function"]]}
    made["no tools"] = {**made["hello"], "tools": []}
    documents = [{"title": "Tall", "text": "An emperor penguin."}, {"title": "x", "snippet": "<y>", "text": ""}]
    made["documents"] = {**made["system"], "documents": documents}
    made["flags"] = {**made["a call"], "enable_thinking": False, "date_string": "2 Feb 2025", "tools_in_user_message": False,
                     "reasoning_effort": "low", "add_vision_id": True, "custom_tools": TOOLS}  # fmt: skip
    made["no tokens"] = {"messages": DIALOGUES["system"], "add_generation_prompt": True}
    return made
