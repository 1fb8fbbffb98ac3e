//===- Parser.h - the assembler ---------------------------------*- C++ -*-===//
//
// One pass over the text. An address that varies with loops gets an address generator, whose terms are set at the
// beginning of the core's program. Every parse function returns false after it has reported an error.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_QUOIN_ASSEMBLY_PARSER_H
#define PERPEND_TARGET_QUOIN_ASSEMBLY_PARSER_H

#include "target/quoin/Program.h"
#include "target/quoin/assembly/Lexer.h"

#include "llvm/ADT/StringMap.h"

#include <map>

namespace perpend::quoin {

/// A number, plus terms that vary: source (loop register, or 16 + register) to coefficient, divisor and modulus.
struct Sum {
  struct Term {
    int64_t coefficient = 0;
    uint32_t divisor = 0, modulus = 0;
    auto operator<=>(const Term &) const = default;
  };
  int64_t constant = 0;
  std::map<unsigned, Term> terms;
  unsigned generator = 0; ///< "@N"
};

class Parser {
public:
  Parser(llvm::MemoryBufferRef text, ScalarCode scalar) : name(text.getBufferIdentifier()), lexer(text.getBuffer()) {
    program.scalar = std::move(scalar);
  }
  llvm::Expected<Program> parse();

private:
  // Parser.cpp: lines and directives.
  bool parseLine();
  bool parseDirective(llvm::StringRef directive);
  bool parseConfig();
  bool parseCore();
  bool parseSymbol(Symbol::Kind kind);
  bool parseData();
  bool parseBytes(std::vector<uint8_t> &bytes);
  bool parseEntry();
  bool parseLocation();
  bool finishCore();
  bool finish();

  // ParseInstruction.cpp: control instructions and the generic form.
  bool parseInstruction(llvm::StringRef mnemonic);
  bool parseControl(Instruction &instruction);
  bool parseLoop(Instruction &instruction);
  bool parseGeneratorTerm(Instruction &instruction);
  bool parseTensor(Instruction &instruction);
  bool parseTypes(Instruction &instruction);
  bool parseOperands(Instruction &instruction);
  bool parseAttribute(Instruction &instruction);
  bool parseNamedAttribute(Instruction &instruction, llvm::StringRef key);
  bool parseWindow(Instruction &instruction, llvm::StringRef key, bool &isKnown);
  bool parseImmediates(Instruction &instruction);
  bool parseStrides(std::array<uint32_t, numOperands> &strides, std::array<bool, numOperands> *given);
  bool parseTokens(llvm::SmallVectorImpl<Token> &tokens, Unit unit, bool isWait);
  bool parseCondition(Instruction &instruction);
  bool parseProductExtents(Instruction &instruction);
  void setExtents(Instruction &instruction, llvm::ArrayRef<int64_t> values);
  void fillStrides(Instruction &instruction);
  bool append(Instruction instruction);

  // ParseOperand.cpp: addresses and numbers.
  bool parseOperand(Operand &operand);
  bool parseAddress(Operand &operand, Space space);
  bool parseSum(Sum &sum);
  bool parseTerm(Sum &sum, int64_t sign);
  bool parseLoopTerm(Sum &sum, int64_t sign, unsigned source);
  bool parseFactor(int64_t &value);
  bool parseInteger(int64_t &value); ///< a sum without terms
  bool parseUnsigned(uint32_t &value);
  bool parseList(llvm::SmallVectorImpl<int64_t> &values, size_t least, size_t most);
  std::optional<unsigned> sourceOf(llvm::StringRef name) const;
  bool generatorFor(const Sum &sum, uint8_t &generator);
  bool parseFlag(Unit &source, Unit &destination, unsigned &id);
  bool parseUnit(Unit &unit);

  bool fail(const llvm::Twine &text);
  bool expect(llvm::StringRef mark);
  bool accept(llvm::StringRef mark);
  bool acceptName(llvm::StringRef word);
  bool parseName(std::string &text);
  bool atEndOfLine() const;

  std::string name;
  Lexer lexer;
  std::string error;
  Program program;
  bool hasConfig = false;
  unsigned core = 0;
  llvm::StringMap<int64_t> constants;
  std::map<std::pair<Space, unsigned>, uint64_t> allocated; ///< next free byte
  uint32_t location = noLocation;

  // Of the current core.
  std::vector<Instruction> body;
  std::vector<uint32_t> openLoops; ///< indices in body
  std::map<std::string, uint32_t> labels;
  std::vector<std::pair<uint32_t, std::string>> branches; ///< index in body, label
  std::vector<std::map<unsigned, Sum::Term>> generators;  ///< the first is 63, the next 62, and so on
  std::vector<std::string> lines;                         ///< positions of the instructions of body

  // Of the current instruction.
  std::array<bool, numOperands> hasStride1 = {}, hasStride2 = {};
  std::array<bool, 3> hasExtent = {};
};

} // namespace perpend::quoin

#endif
