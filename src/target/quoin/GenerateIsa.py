"""Turns QuoinISA.td, as `llvm-tblgen --dump-json` prints it, into what the library and the documentation include.

usage: GenerateIsa.py TABLE.json OUTPUT-FOLDER

Writes Opcodes.inc (one QUOIN_OPCODE line for each instruction), InstructionTable.inc (the table of InstructionInfo) and
instructions.md.
"""

import json
import sys
from pathlib import Path
from typing import Any

Record = dict[str, Any]

DTYPES = ["None", "i8", "u8", "i16", "i32", "f16", "bf16", "f32", "pred8"]
SPACES = ["Imm", "DDR", "LLB", "L1", "L0A", "L0B", "L0C", "SReg"]
EQUALITIES = ["Independent", "AllEqual", "SourceEqual"]
MODES = ["mm", "mv", "mc", "mf"]
OPERANDS = ["Dst", "Src0", "Src1", "Src2"]
FAMILIES = {
    "A": "Loads",
    "B": "Stores",
    "C": "Moves between DDR and LLB",
    "D": "Feeds of the matrix unit",
    "E": "Matrix products",
    "F": "Vectors: one operand",
    "G": "Vectors: two and three operands",
    "H": "Conversions",
    "I": "Reductions and scans",
    "J": "Layout",
    "K": "Windows",
    "L": "Control",
    "M": "Scalar core",
}


def bit_set(names: str, of: list[str]) -> int:
    return sum(1 << of.index(name) for name in names.split())


def extents(record: Record) -> list[tuple[str, int]]:
    pairs = [pair.split(":") for pair in record["Extents"].split()]
    return [(name, int(maximum)) for name, maximum in pairs]


def operand(table: Record, record: Record, index: int) -> Record:
    found: Record = table[record[OPERANDS[index]]["def"]]
    return found


def operand_text(table: Record, record: Record, index: int) -> str:
    op = operand(table, record, index)
    written = op["Written"] or (index == 0 and op["Spaces"] != "")
    fields = [
        str(bit_set(op["Spaces"], SPACES)),
        f"Shape::{op['Shape']}",
        str(op["Alignment"]),
        "true" if op["Optional"] else "false",
        "true" if written else "false",
    ]
    return "{" + ", ".join(fields) + "}"


def rule_text(rule: Record) -> str:
    sets = ", ".join(str(bit_set(rule[part], DTYPES)) for part in ("Dst", "Src0", "Src1"))
    return f"{{{sets}, TypeRule::{EQUALITIES[rule['Same']]}}}"


def quoted(texts: list[str], count: int) -> str:
    return "{" + ", ".join(f'"{text}"' for text in (texts + [""] * count)[:count]) + "}"


def table_row(table: Record, record: Record) -> str:
    fields = " | ".join(f"Field{field}" for field in record["Fields"].split()) or "0"
    bounds = extents(record)
    maxima = ", ".join(str(bound) for _, bound in (bounds + [("", 0)] * 3)[:3])
    rules = f"rules_{record['!name']}" if record["Rules"] else "{}"
    values = [
        f'"{record["Mnemonic"]}"',
        f"Opcode::{record['!name']}",
        f"'{record['Family']}'",
        f"Unit::{record['Unit']}",
        "{{" + ", ".join(operand_text(table, record, index) for index in range(4)) + "}}",
        rules,
        str(bit_set(record["Modes"], MODES)),
        f"OperandIndex({record['ModeOperand']})",
        fields,
        str(record["AxisMax"]),
        f"{{{maxima}}}",
        quoted([name for name, _ in bounds], 3),
        f"CycleKind::{record['Cycles']}",
        str(record["Rate"]),
        quoted(record["Variants"].split(), 2),
        f'"{record["Description"]}"',
    ]
    return "    {" + ", ".join(values) + "},\n"


def table_file(table: Record, records: list[Record]) -> str:
    text = ""
    for record in records:
        if record["Rules"]:
            rules = ", ".join(rule_text(table[rule["def"]]) for rule in record["Rules"])
            text += f"constexpr TypeRule rules_{record['!name']}[] = {{{rules}}};\n"
    rows = "".join(table_row(table, record) for record in records)
    return text + f"const InstructionInfo instructionTable[] = {{\n{rows}}};\n"


def types_text(rule: Record) -> str:
    parts = [rule[part] for part in ("Src0", "Src1") if rule[part]]
    text = " x ".join(parts) + (" → " if parts else "") + rule["Dst"]
    return text + (["", " (equal)", " (src0 equal)"][rule["Same"]] if parts else "")


def page_row(table: Record, record: Record) -> str:
    operands = []
    for index, name in enumerate(OPERANDS):
        op = operand(table, record, index)
        if op["Spaces"]:
            shape = "" if op["Shape"] in ("Full", "Nothing") else f" ({op['Shape']})"
            optional = "?" if op["Optional"] else ""
            operands.append(f"{name.lower()}{optional}: {op['Spaces'].replace(' ', '/')}{shape}")
    types = "; ".join(types_text(table[rule["def"]]) for rule in record["Rules"])
    limits = ", ".join(f"{name} ≤ {maximum}" for name, maximum in extents(record))
    modes = " ".join(record["Modes"].split() + record["Variants"].split())
    cycles = record["Cycles"] + (f" x{record['Rate']}" if record["Cycles"] in ("Vector", "Feed") else "")
    meaning = record["Description"].replace("|", "\\|")
    cells = [f"`{record['Mnemonic']}`", f"0x{record['Opcode']:03X}", meaning, ", ".join(operands)]
    return "| " + " | ".join([*cells, types, limits, modes, cycles]) + " |\n"


def page(table: Record, records: list[Record]) -> str:
    text = "# Instructions of Quoin\n\nGenerated from `src/target/quoin/QuoinISA.td`.\n"
    for letter, title in FAMILIES.items():
        members = [record for record in records if record["Family"] == letter]
        text += f"\n## {letter}. {title}: {len(members)} instructions, unit {members[0]['Unit']}\n\n"
        text += "| Instruction | Opcode | Meaning | Operands | Types | Limits | Modes and flags | Cycles |\n"
        text += "|---|---|---|---|---|---|---|---|\n"
        text += "".join(page_row(table, record) for record in members)
    return text


def check(records: list[Record]) -> None:
    for key in ("Opcode", "Mnemonic"):
        values = [record[key] for record in records]
        if doubled := {value for value in values if values.count(value) > 1}:
            sys.exit(f"QuoinISA.td: two instructions have the {key} {sorted(doubled)}")


def main() -> None:
    table = json.loads(Path(sys.argv[1]).read_text())
    output = Path(sys.argv[2])
    records = sorted((table[name] for name in table["!instanceof"]["Inst"]), key=lambda record: record["Opcode"])
    check(records)
    opcodes = "".join(f"QUOIN_OPCODE({record['!name']}, 0x{record['Opcode']:03X})\n" for record in records)
    (output / "Opcodes.inc").write_text(opcodes)
    (output / "InstructionTable.inc").write_text(table_file(table, records))
    (output / "instructions.md").write_text(page(table, records))


if __name__ == "__main__":
    main()
