//===- Disassemble.cpp - programs as text ----------------------------------===//

#include "target/quoin/Program.h"
#include "target/quoin/assembly/Defaults.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <bit>
#include <cmath>
#include <set>

namespace perpend::quoin {
namespace {
constexpr const char *roundings[] = {"floor", "ceil", "down", "up"};

std::string number(uint64_t value) { return std::to_string(value); }
/// An immediate of 41 bits.
std::string signedNumber(uint64_t value) { return std::to_string(int64_t(value << 23) >> 23); }

/// As f32 if the bits are those of a number of usual size that its text gives back.
std::string immediateText(uint32_t bits) {
  float value = std::bit_cast<float>(bits);
  if (bits < 1u << 16 || !std::isnormal(value) || bits > 0xffff0000)
    return bits > 0xffff0000 || bits < 1u << 16 ? std::to_string(int32_t(bits)) : "0x" + llvm::utohexstr(bits);
  char text[32];
  snprintf(text, sizeof(text), "%.9g", double(value));
  bool hasPoint = llvm::StringRef(text).find_first_of(".e") != llvm::StringRef::npos;
  return std::string(text) + (hasPoint ? "" : ".0");
}

class Printer {
public:
  Printer(const Instruction &instruction, llvm::raw_ostream &out) : instruction(instruction), info(instruction.info()), out(out) {}

  void print() {
    out << info.name;
    if (instruction.mode != Operands::Tensor)
      out << "." << nameOf(instruction.mode);
    if (instruction.unit() == Unit::SEQ)
      return printControl();
    if (instruction.opcode == Opcode::sc_call)
      out << " " << instruction.axis;
    printTypes();
    printOperands();
    printExtents();
    printStrides("s1", instruction.stride1, contiguousStrides(instruction).stride1);
    printStrides("s2", instruction.stride2, contiguousStrides(instruction).stride2);
    printStrides("inner", instruction.inner, {1, 1, 1, 1});
    printFields();
    printWindow();
    printTokens("wait", instruction.wait, true);
    printTokens("set", instruction.set, false);
  }

private:
  void printControl();
  void printTypes();
  void printOperands();
  void printOperand(const Operand &operand);
  void printExtents();
  void printStrides(const char *key, const std::array<uint32_t, numOperands> &strides, const std::array<uint32_t, numOperands> &defaults);
  void printFields();
  void printWindow();
  void printTokens(const char *key, llvm::ArrayRef<Token> tokens, bool isWait);
  void attribute(llvm::StringRef text) { out << ", " << text; }

  const Instruction &instruction;
  const InstructionInfo &info;
  llvm::raw_ostream &out;
};

std::string sourceText(unsigned source) { return source < numLoops ? "l" + number(source) : "S" + number(source - 16); }

void Printer::printControl() {
  unsigned axis = instruction.axis;
  switch (instruction.opcode) {
  case Opcode::loop:
  case Opcode::setl:
  case Opcode::addl:
    out << " l" << axis << ", ";
    printOperand(instruction.src(0));
    return;
  case Opcode::setag:
    out << " @" << axis << ", " << sourceText(instruction.extent[0]);
    if (instruction.extent[2])
      out << "/" << instruction.extent[2];
    if (instruction.extent[1])
      out << "%" << instruction.extent[1];
    out << "*" << signedNumber(instruction.src(0).byte);
    return;
  case Opcode::brz:
  case Opcode::brnz:
    out << " ";
    printOperand(instruction.src(0));
    out << ", .L" << instruction.dst().byte;
    return;
  case Opcode::setf:
  case Opcode::waitf:
    out << " " << FlagName::ofAxis(axis).text() << ", " << instruction.extent[0];
    return;
  case Opcode::bar:
    out << " " << axis << ", " << instruction.mask;
    return;
  case Opcode::semp:
  case Opcode::semw:
    out << " " << axis << ", " << instruction.extent[0];
    return;
  case Opcode::mark:
    out << " ";
    printOperand(instruction.dst());
    out << ", " << instruction.src(0).byte << (instruction.variant0 ? ", end" : "");
    return;
  case Opcode::trap:
    out << " " << axis;
    return;
  default:
    return;
  }
}

void Printer::printTypes() {
  if (instruction.dstType == DType::None)
    return;
  bool src0Same = instruction.src0Type == DType::None || instruction.src0Type == instruction.dstType;
  bool src1Same = instruction.src1Type == DType::None || instruction.src1Type == instruction.dstType;
  out << " ";
  if (!src0Same || !src1Same) {
    out << nameOf(instruction.src0Type);
    if (instruction.src1Type != DType::None)
      out << "," << nameOf(instruction.src1Type);
    out << "->";
  }
  out << nameOf(instruction.dstType);
}

void Printer::printOperand(const Operand &operand) {
  if (operand.space == Space::None) {
    out << signedNumber(operand.byte);
    return;
  }
  out << nameOf(operand.space);
  if (operand.core != ownCore)
    out << "@" << unsigned(operand.core);
  out << "[" << operand.byte;
  if (operand.generator)
    out << "+@" << unsigned(operand.generator);
  out << "]";
}

void Printer::printOperands() {
  unsigned count = numOperands;
  while (count && instruction.operands[count - 1] == Operand())
    --count;
  bool isFirst = instruction.opcode != Opcode::sc_call;
  for (unsigned index = 0; index < count; ++index) {
    bool isImmediate = info.modes && index == info.modeOperand && index > Src0 && instruction.mode == Operands::Scalar;
    if (!info.operands[index].exists() || isImmediate)
      continue;
    out << (isFirst ? " " : ", ");
    isFirst = false;
    if (instruction.operands[index] == Operand())
      out << "_";
    else
      printOperand(instruction.operands[index]);
  }
}

void Printer::printExtents() {
  for (unsigned index = 0; index < 3; ++index)
    if (info.maxExtent[index])
      attribute((info.extentNames[index] + "=" + number(instruction.extent[index])).str());
}

void Printer::printStrides(const char *key, const std::array<uint32_t, numOperands> &strides, const std::array<uint32_t, numOperands> &defaults) {
  if (strides == defaults)
    return;
  out << ", " << key << "=(";
  for (unsigned index = 0; index < numOperands; ++index)
    out << (index ? "," : "") << strides[index];
  out << ")";
}

void Printer::printFields() {
  if (info.has(FieldAxis) && instruction.axis && instruction.opcode != Opcode::sc_call)
    attribute("axis=" + number(instruction.axis));
  unsigned last = 4;
  while (last && !instruction.imm[last - 1])
    --last;
  for (unsigned index = 0; index < last; ++index)
    out << (index ? "," : ", imm=(") << immediateText(instruction.imm[index]) << (index + 1 == last ? ")" : "");
  if (instruction.activation != Activation::None)
    attribute(("act=" + nameOf(instruction.activation)).str());
  if (instruction.rounding)
    attribute(std::string("rnd=") + roundings[instruction.rounding]);
  if (instruction.loopMask)
    attribute("loops=" + number(instruction.loopMask));
  if (instruction.mask)
    attribute("mask=" + number(instruction.mask));
  if (instruction.saturate)
    attribute("sat");
  if (instruction.zero)
    attribute("zero");
  if (instruction.variant0)
    attribute(info.variants[0]);
  if (instruction.variant1)
    attribute(info.variants[1]);
}

void Printer::printWindow() {
  const Window &window = instruction.window;
  auto pair = [&](const char *key, unsigned height, unsigned width, unsigned usual) {
    if (height != usual || width != usual)
      out << ", " << key << "=(" << height << "," << width << ")";
  };
  pair("kernel", window.kernelHeight, window.kernelWidth, 1);
  pair("stride", window.strideHeight, window.strideWidth, 1);
  pair("dilation", window.dilationHeight, window.dilationWidth, 1);
  if (window.padTop || window.padLeft || window.padBottom || window.padRight)
    out << ", pad=(" << unsigned(window.padTop) << "," << unsigned(window.padLeft) << "," << unsigned(window.padBottom) << ","
        << unsigned(window.padRight) << ")";
  pair("in", window.inputHeight, window.inputWidth, 0);
  if (window.start)
    attribute("start=" + number(window.start));
  if (window.channels)
    attribute("channels=" + number(window.channels));
}

void Printer::printTokens(const char *key, llvm::ArrayRef<Token> tokens, bool isWait) {
  for (size_t index = 0; index < tokens.size(); ++index) {
    const Token &token = tokens[index];
    Unit source = isWait ? token.peer : instruction.unit(), destination = isWait ? instruction.unit() : token.peer;
    out << (index ? ", " : std::string(" ") + key + " ") << FlagName{source, destination, token.id}.text();
    if (token.isConditional)
      out << (isWait ? "@first" : "@last");
  }
}

std::string quoted(llvm::StringRef text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + "\"";
}

void printSymbols(const Program &program, llvm::raw_ostream &out) {
  constexpr const char *directives[] = {".input", ".output", ".constant", ".scratch"};
  for (const Symbol &symbol : program.symbols)
    out << directives[unsigned(symbol.kind)] << " " << symbol.name << ", " << nameOf(symbol.space) << ", " << symbol.sizeBytes << ", "
        << symbol.byte << ", " << unsigned(symbol.unit) << "\n";
  for (const Data &datum : program.data)
    out << ".bytes " << unsigned(datum.cluster) << ", " << datum.byte << ", \"" << llvm::toHex(datum.bytes) << "\"\n";
  constexpr size_t bytesOfLine = 64;
  llvm::ArrayRef<uint8_t> image(program.scalar.image);
  for (size_t at = 0; at < image.size(); at += bytesOfLine)
    out << ".code \"" << llvm::toHex(image.slice(at, std::min(bytesOfLine, image.size() - at))) << "\"\n";
  for (const ScalarCode::Entry &entry : program.scalar.entries)
    out << ".entry " << quoted(entry.name) << ", " << entry.byte << "\n";
}

void printCore(const Program &program, unsigned core, llvm::raw_ostream &out) {
  std::set<uint64_t> labels;
  for (const Instruction &instruction : program.cores[core])
    if (instruction.opcode == Opcode::brz || instruction.opcode == Opcode::brnz)
      labels.insert(instruction.dst().byte);
  uint32_t location = noLocation;
  unsigned depth = 1;
  for (size_t index = 0; index < program.cores[core].size(); ++index) {
    const Instruction &instruction = program.cores[core][index];
    if (labels.count(index))
      out << ".L" << index << ":\n";
    if (instruction.location != location) {
      location = instruction.location;
      out << ".loc" << (location == noLocation ? "" : " " + quoted(program.locations[location])) << "\n";
    }
    if (instruction.opcode == Opcode::endl)
      --depth;
    out.indent(2 * depth);
    if (instruction.opcode == Opcode::endl) {
      out << "}\n";
      continue;
    }
    out << toString(instruction) << (instruction.opcode == Opcode::loop ? " {\n" : "\n");
    depth += instruction.opcode == Opcode::loop;
  }
}
} // namespace

std::string toString(const Instruction &instruction) {
  std::string text;
  llvm::raw_string_ostream out(text);
  Printer(instruction, out).print();
  return text;
}

std::string disassemble(const Program &program) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << ".config " << program.config.name << "\n";
  printSymbols(program, out);
  for (unsigned core = 0; core < program.cores.size(); ++core) {
    if (program.cores[core].empty())
      continue;
    out << ".core " << core << "\n";
    printCore(program, core, out);
  }
  return text;
}

} // namespace perpend::quoin
