//===- ParseInstruction.cpp - instructions of assembly ---------------------===//

#include "target/quoin/Trap.h"
#include "target/quoin/assembly/Defaults.h"
#include "target/quoin/assembly/Parser.h"

#include <bit>

namespace perpend::quoin {
namespace {
constexpr llvm::StringLiteral roundings[] = {"floor", "ceil", "down", "up"};
}

/// MNEMONIC or MNEMONIC.MODE
bool Parser::parseInstruction(llvm::StringRef mnemonic) {
  Instruction instruction;
  std::optional<Opcode> opcode = opcodeNamed(mnemonic);
  if (!opcode) {
    auto [base, suffix] = mnemonic.rsplit('.');
    std::optional<Operands> mode = operandsNamed(suffix);
    opcode = mode ? opcodeNamed(base) : std::nullopt;
    if (!opcode)
      return fail("there is no instruction '" + mnemonic + "'");
    instruction.mode = *mode;
  }
  instruction.opcode = *opcode;
  if (instruction.mode == Operands::Tensor && instruction.info().modes && !(instruction.info().modes & 1))
    return fail("'" + mnemonic + "' needs a mode; hint: " + mnemonic + ".mv for a row");
  instruction.location = location;
  bool isControl = instruction.unit() == Unit::SEQ;
  if (!(isControl ? parseControl(instruction) : parseTensor(instruction)))
    return false;
  return append(std::move(instruction));
}

bool Parser::append(Instruction instruction) {
  std::optional<Violation> found = findViolation(instruction, program.config);
  if (!found)
    found = findAddressViolation(instruction, program.config);
  if (found)
    return fail(found->text);
  lines.push_back(lexer.position());
  body.push_back(std::move(instruction));
  return true;
}

bool Parser::parseLoop(Instruction &instruction) {
  std::string level;
  if (!parseName(level))
    return false;
  std::optional<unsigned> source = sourceOf(level);
  if (!source || *source >= numLoops)
    return fail("'" + level + "' is no loop register");
  instruction.axis = *source;
  if (!expect(",") || !parseOperand(instruction.src(0)))
    return false;
  if (instruction.opcode != Opcode::loop)
    return true;
  openLoops.push_back(body.size());
  return expect("{");
}

/// @N, l0/2%4*64
bool Parser::parseGeneratorTerm(Instruction &instruction) {
  Sum sum;
  if (!expect("@") || !parseUnsigned(instruction.axis) || !expect(",") || !parseSum(sum))
    return false;
  if (sum.terms.size() != 1 || sum.constant || sum.generator)
    return fail("expected one term of a loop or a register");
  auto [source, term] = *sum.terms.begin();
  instruction.extent = {source, term.modulus, term.divisor};
  instruction.src(0).byte = uint64_t(term.coefficient) & ((1ull << 41) - 1);
  return true;
}

bool Parser::parseControl(Instruction &instruction) {
  switch (instruction.opcode) {
  case Opcode::loop:
  case Opcode::setl:
  case Opcode::addl:
    return parseLoop(instruction);
  case Opcode::endl:
    return fail("a loop ends with }");
  case Opcode::setag:
    return parseGeneratorTerm(instruction);
  case Opcode::brz:
  case Opcode::brnz: {
    std::string label;
    if (!parseOperand(instruction.src(0)) || !expect(",") || !parseName(label))
      return false;
    branches.emplace_back(body.size(), label);
    return true;
  }
  case Opcode::setf:
  case Opcode::waitf: {
    Unit source, destination;
    unsigned id;
    if (!parseFlag(source, destination, id) || !expect(","))
      return false;
    instruction.axis = FlagName{source, destination, uint8_t(id)}.axis();
    return parseUnsigned(instruction.extent[0]);
  }
  case Opcode::bar:
    return parseUnsigned(instruction.axis) && expect(",") && parseUnsigned(instruction.mask);
  case Opcode::semp:
  case Opcode::semw:
    return parseUnsigned(instruction.axis) && expect(",") && parseUnsigned(instruction.extent[0]);
  case Opcode::mark:
    if (!parseOperand(instruction.dst()) || !expect(",") || !parseOperand(instruction.src(0)))
      return false;
    instruction.variant0 = accept(",") && acceptName("end");
    return true;
  case Opcode::trap:
    return parseUnsigned(instruction.axis);
  default:
    return true;
  }
}

/// [types] [operands] {, attribute} [wait flags] [set flags]
bool Parser::parseTensor(Instruction &instruction) {
  hasStride1 = hasStride2 = {};
  hasExtent = {};
  if (instruction.opcode == Opcode::sc_call) {
    const Lexeme &entry = lexer.current();
    const ScalarCode::Entry *found = entry.kind == Lexeme::Kind::Name ? program.scalar.find(entry.text) : nullptr;
    if (found)
      lexer.advance();
    instruction.axis = found ? uint32_t(found->byte) : 0;
    if (!found && !parseUnsigned(instruction.axis))
      return false;
    accept(",");
  }
  if (!instruction.info().types.empty() && !parseTypes(instruction))
    return false;
  if (!parseOperands(instruction))
    return false;
  while (!atEndOfLine() && !lexer.current().is("}")) {
    accept(",");
    if (acceptName("wait")) {
      if (!parseTokens(instruction.wait, instruction.unit(), true))
        return false;
    } else if (acceptName("set")) {
      if (!parseTokens(instruction.set, instruction.unit(), false))
        return false;
    } else if (!parseAttribute(instruction)) {
      return false;
    }
  }
  auto isConditional = [](const Token &token) { return token.isConditional; };
  bool hasCondition = llvm::any_of(instruction.wait, isConditional) || llvm::any_of(instruction.set, isConditional);
  if (hasCondition && !instruction.loopMask && !openLoops.empty())
    instruction.loopMask = 1 << body[openLoops.back()].axis;
  for (unsigned index = 0; index < 3; ++index)
    if (instruction.info().maxExtent[index] && !hasExtent[index])
      instruction.extent[index] = 1;
  fillStrides(instruction);
  return true;
}

void Parser::setExtents(Instruction &instruction, llvm::ArrayRef<int64_t> values) {
  for (size_t index = 0; index < values.size(); ++index) {
    instruction.extent[index] = uint32_t(std::min<int64_t>(values[index], UINT32_MAX));
    hasExtent[index] = true;
  }
}

/// dst, or src0->dst, or src0,src1->dst; one type is that of all.
bool Parser::parseTypes(Instruction &instruction) {
  llvm::SmallVector<DType, 2> types;
  do {
    std::optional<DType> type = lexer.current().kind == Lexeme::Kind::Name ? dtypeNamed(lexer.current().text) : std::nullopt;
    if (!type)
      return fail("'" + lexer.current().text.trim() + "' is no type");
    types.push_back(*type);
    lexer.advance();
  } while (accept(","));
  const InstructionInfo &info = instruction.info();
  bool hasSrc0 = llvm::any_of(info.types, [](const TypeRule &rule) { return rule.src0 != 0; });
  bool immediate = info.modes && info.modeOperand == Src1 && instruction.mode == Operands::Scalar;
  bool hasSrc1 = !immediate && llvm::any_of(info.types, [](const TypeRule &rule) { return rule.src1 != 0; });
  if (!accept("->")) {
    if (types.size() != 1)
      return fail("expected '->' and the type of the result");
    instruction.dstType = types[0];
    instruction.src0Type = hasSrc0 ? types[0] : DType::None;
    instruction.src1Type = hasSrc1 ? types[0] : DType::None;
    return true;
  }
  std::optional<DType> result = dtypeNamed(lexer.current().text);
  if (!result || types.size() > 2)
    return fail("expected one type after '->' and at most two before it");
  lexer.advance();
  instruction.dstType = *result;
  instruction.src0Type = types[0];
  instruction.src1Type = types.size() > 1 ? types[1] : hasSrc1 ? types[0] : DType::None;
  return true;
}

bool Parser::parseOperands(Instruction &instruction) {
  const InstructionInfo &info = instruction.info();
  bool isFirst = true;
  for (unsigned index = 0; index < numOperands; ++index) {
    const OperandInfo &operand = info.operands[index];
    bool isImmediate = info.modes && index == info.modeOperand && index > Src0 && instruction.mode == Operands::Scalar;
    if (!operand.exists() || isImmediate)
      continue;
    const Lexeme &next = lexer.current();
    bool isAddress = next.is("_") || next.is(",") || (next.kind == Lexeme::Kind::Name && (next.text == "_" || spaceNamed(next.text)));
    if (operand.isOptional && !isAddress && !(isFirst && next.is(",")))
      break;
    if (!isFirst && !lexer.current().is(",")) {
      if (operand.isOptional)
        break;
      return fail("expected another operand");
    }
    Lexer before = lexer;
    if (!isFirst)
      lexer.advance();
    const Lexeme &word = lexer.current();
    bool isOperand = word.kind == Lexeme::Kind::Name && (word.text == "_" || spaceNamed(word.text));
    if (operand.isOptional && !isOperand) {
      lexer = before;
      break;
    }
    if (!(acceptName("_") || parseOperand(instruction.operands[index])))
      return false;
    isFirst = false;
  }
  return true;
}

/// 256x128x64 is m, n and k.
bool Parser::parseProductExtents(Instruction &instruction) {
  llvm::SmallVector<int64_t, 3> numbers;
  numbers.push_back(int64_t(lexer.current().integer));
  lexer.advance();
  llvm::StringRef rest = lexer.current().kind == Lexeme::Kind::Name ? lexer.current().text : "";
  if (!rest.starts_with("x"))
    return fail("expected m x n x k");
  lexer.advance();
  llvm::SmallVector<llvm::StringRef, 3> parts;
  rest.drop_front().split(parts, 'x');
  for (llvm::StringRef part : parts)
    if (part.getAsInteger(10, numbers.emplace_back()))
      return fail("'" + part + "' is no number");
  if (numbers.size() > 3)
    return fail("expected m x n x k");
  std::swap(numbers[0], numbers[1]);
  setExtents(instruction, numbers);
  return true;
}

bool Parser::parseAttribute(Instruction &instruction) {
  const InstructionInfo &info = instruction.info();
  if (lexer.current().kind == Lexeme::Kind::Integer)
    return parseProductExtents(instruction);
  std::string key;
  if (!parseName(key))
    return false;
  if (accept("="))
    return parseNamedAttribute(instruction, key);
  if (key == "zero") {
    instruction.zero = true;
    return parseCondition(instruction);
  }
  if (key == "sat")
    instruction.saturate = true;
  else if (key == info.variants[0])
    instruction.variant0 = true;
  else if (key == info.variants[1])
    instruction.variant1 = true;
  else
    return fail("'" + key + "' is no flag of " + info.name);
  return true;
}

/// zero@first: in the first iteration of the innermost loop, or of those of `loops`.
bool Parser::parseCondition(Instruction &instruction) {
  if (!accept("@"))
    return true;
  if (!acceptName("first"))
    return fail("expected 'first'");
  if (openLoops.empty())
    return fail("there is no loop around");
  if (!instruction.loopMask)
    instruction.loopMask = 1 << body[openLoops.back()].axis;
  return true;
}

bool Parser::parseNamedAttribute(Instruction &instruction, llvm::StringRef key) {
  llvm::SmallVector<int64_t, 4> values;
  for (unsigned index = 0; index < 3; ++index)
    if (!instruction.info().extentNames[index].empty() && key == instruction.info().extentNames[index])
      return hasExtent[index] = true, parseUnsigned(instruction.extent[index]);
  if (key == "e") {
    if (!parseList(values, 1, 3))
      return false;
    setExtents(instruction, values);
    return true;
  }
  if (key == "s1")
    return parseStrides(instruction.stride1, &hasStride1);
  if (key == "s2")
    return parseStrides(instruction.stride2, &hasStride2);
  if (key == "inner")
    return parseStrides(instruction.inner, nullptr);
  if (key == "axis")
    return parseUnsigned(instruction.axis);
  if (key == "mask")
    return parseUnsigned(instruction.mask);
  if (key == "loops") {
    uint32_t mask;
    if (!parseUnsigned(mask) || mask > 255)
      return fail("expected a set of 8 loops");
    instruction.loopMask = uint8_t(mask);
    return true;
  }
  if (key == "imm")
    return parseImmediates(instruction);
  if (key == "s") {
    unsigned far = instruction.dst().space == Space::DDR || instruction.dst().space == Space::LLB ? Dst : Src0;
    if (!parseList(values, 1, 2))
      return false;
    instruction.stride1[far] = uint32_t(values[0]);
    instruction.stride2[far] = values.size() > 1 ? uint32_t(values[1]) : 0;
    hasStride1[far] = true;
    hasStride2[far] = values.size() > 1;
    return true;
  }
  bool isKnown = true;
  if (!parseWindow(instruction, key, isKnown))
    return isKnown ? false : fail("'" + key + "' is nothing that " + instruction.info().name + " has");
  return true;
}

bool Parser::parseWindow(Instruction &instruction, llvm::StringRef key, bool &isKnown) {
  Window &window = instruction.window;
  llvm::SmallVector<int64_t, 4> values;
  auto pair = [&](uint8_t &height, uint8_t &width) {
    if (!parseList(values, 1, 2))
      return false;
    if (llvm::any_of(values, [](int64_t value) { return value < 0 || value > 255; }))
      return fail("a window's number is not in 0 to 255");
    height = uint8_t(values[0]);
    width = uint8_t(values.back());
    return true;
  };
  if (key == "kernel")
    return pair(window.kernelHeight, window.kernelWidth);
  if (key == "stride")
    return pair(window.strideHeight, window.strideWidth);
  if (key == "dilation")
    return pair(window.dilationHeight, window.dilationWidth);
  if (key == "pad") {
    if (!parseList(values, 1, 4))
      return false;
    if (llvm::any_of(values, [](int64_t value) { return value < 0 || value > 255; }))
      return fail("a pad is not in 0 to 255");
    uint8_t *pads[] = {&window.padTop, &window.padLeft, &window.padBottom, &window.padRight};
    for (size_t index = 0; index < 4; ++index)
      *pads[index] = uint8_t(values.size() == 4 ? values[index] : values[index % values.size()]);
    return true;
  }
  if (key == "in") {
    if (!parseList(values, 2, 2))
      return false;
    window.inputHeight = uint16_t(std::min<int64_t>(values[0], UINT16_MAX));
    window.inputWidth = uint16_t(std::min<int64_t>(values[1], UINT16_MAX));
    return true;
  }
  if (key == "start")
    return parseUnsigned(window.start);
  if (key == "channels") {
    uint32_t channels;
    if (!parseUnsigned(channels) || channels > UINT16_MAX)
      return fail("expected at most 65535 channels");
    window.channels = uint16_t(channels);
    return true;
  }
  std::string word;
  if ((key == "act" || key == "rnd") && !parseName(word))
    return false;
  if (key == "act") {
    std::optional<Activation> activation = activationNamed(word);
    instruction.activation = activation.value_or(Activation::None);
    return activation || fail("'" + word + "' is no activation");
  }
  if (key == "rnd") {
    auto found = llvm::find(roundings, word);
    instruction.rounding = uint8_t(found - std::begin(roundings)) & 3;
    return found != std::end(roundings) || fail("'" + word + "' is no rounding");
  }
  isKnown = false;
  return false;
}

/// Numbers with a point are of f32, the others are bits.
bool Parser::parseImmediates(Instruction &instruction) {
  bool isList = accept("(");
  unsigned index = 0;
  do {
    if (index == 4)
      return fail("an instruction has 4 immediates");
    Lexer before = lexer;
    bool isNegative = accept("-");
    const Lexeme &lexeme = lexer.current();
    bool isNamed = lexeme.kind == Lexeme::Kind::Name && (lexeme.text == "inf" || lexeme.text == "nan");
    if (lexeme.kind == Lexeme::Kind::Float || isNamed) {
      float value = isNamed ? std::bit_cast<float>(lexeme.text == "inf" ? 0x7f800000u : 0x7fc00000u) : lexeme.number;
      instruction.setImm(index++, isNegative ? -value : value);
      lexer.advance();
      continue;
    }
    lexer = before;
    int64_t value;
    if (!parseInteger(value))
      return false;
    instruction.imm[index++] = uint32_t(value);
  } while (isList && accept(","));
  return !isList || expect(")");
}

/// Of dst, src0, src1 and src2, in this order; _ is the default.
bool Parser::parseStrides(std::array<uint32_t, numOperands> &strides, std::array<bool, numOperands> *given) {
  bool isList = accept("(");
  unsigned index = 0;
  do {
    if (index == numOperands)
      return fail("an instruction has 4 operands");
    if (acceptName("_")) {
      ++index;
      continue;
    }
    if (!parseUnsigned(strides[index]))
      return false;
    if (given)
      (*given)[index] = true;
    ++index;
  } while (isList && accept(","));
  return !isList || expect(")");
}

bool Parser::parseTokens(llvm::SmallVectorImpl<Token> &tokens, Unit unit, bool isWait) {
  do {
    Lexer before = lexer;
    Unit source, destination;
    unsigned id;
    if (lexer.current().kind != Lexeme::Kind::Name || !unitNamed(lexer.current().text)) {
      lexer = before; // an attribute follows
      return !tokens.empty() || fail("expected a flag");
    }
    if (!parseFlag(source, destination, id))
      return false;
    if ((isWait ? destination : source) != unit)
      return fail("the flag " + nameOf(source) + ">" + nameOf(destination) + " is not one that " + nameOf(unit) + (isWait ? " waits for" : " sets"));
    Token token{isWait ? source : destination, uint8_t(id), false};
    if (accept("@")) {
      if (!acceptName(isWait ? "first" : "last"))
        return fail(llvm::Twine("expected '") + (isWait ? "first" : "last") + "'");
      token.isConditional = true;
    }
    tokens.push_back(token);
  } while (accept(","));
  return true;
}

void Parser::fillStrides(Instruction &instruction) {
  if (findViolation(instruction, program.config) && sizeOf(instruction.dstType) == 0)
    return;
  Strides strides = contiguousStrides(instruction);
  for (unsigned operand = 0; operand < numOperands; ++operand) {
    if (!hasStride1[operand])
      instruction.stride1[operand] = strides.stride1[operand];
    if (!hasStride2[operand])
      instruction.stride2[operand] = strides.stride2[operand];
  }
}

} // namespace perpend::quoin
