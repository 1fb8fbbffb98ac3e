//===- Report.h - facts about a model ---------------------------*- C++ -*-===//
//
// The facts that `perpend inspect` shows; collected once, written as text or as
// a page.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_CLI_REPORT_H
#define PERPEND_CLI_REPORT_H

#include "cli/Module.h"

namespace perpend::cli {

struct TensorReport {
  std::string name, type;
};

struct OperatorReport {
  std::string name;
  int64_t count;
};

struct KernelReport {
  std::string name, schedule;
  std::string nodes;             ///< nodes of the model, separated by commas
  std::string operations, bytes; ///< as expressions; empty: not counted
};

struct BufferReport {
  std::string size; ///< as an expression
  /// For scratch memory of a kernel: the size per thread and the most threads; otherwise empty.
  std::string parts;
  int64_t bytes = 0, offset = 0;
  int64_t first = 0, last = 0;
};

/// The part of a model for several machines that belongs to one of them.
struct VariantReport {
  std::string target;
  std::vector<std::string> isa;
  int64_t codeBytes = 0, weightsBytes = 0;
};

struct ModelReport {
  std::string name, path;
  std::string target;             ///< empty: for several machines, none of which is this one
  std::string refusal;            ///< why it does not run on this machine; empty: it does, or is uncompiled
  std::string runner;             ///< of one for another architecture: what runs it
  std::vector<std::string> needs; ///< likewise: extensions of its architecture
  bool isChecked = false;
  std::string precision; ///< precision of the operands of products; empty: f32
  std::vector<TensorReport> inputs, outputs, states;
  std::vector<std::string> symbols, dataSymbols; ///< dataSymbols: those whose values a run determines
  std::vector<std::string> requirements;         ///< requirements on extents of inputs
  std::vector<OperatorReport> operators;
  uint64_t weightsBytes = 0;
  std::vector<std::pair<std::string, int64_t>> weightsFiles; ///< that a library needs
  std::vector<std::string> entries;                          ///< if there are several
  std::vector<VariantReport> variants;                       ///< in order of preference; empty for one machine
  std::vector<KernelReport> kernels;
  /// Buffers between kernels, and scratch memory. With symbols, bytes and offsets are those for `symbolValue` as every
  /// symbol's value, and one thread.
  std::vector<BufferReport> buffers;
  int64_t arenaBytes = 0;
  bool hasParts() const {
    return llvm::any_of(buffers, [](const BufferReport &buffer) { return !buffer.parts.empty(); });
  }
  static constexpr int64_t symbolValue = 2;
};

struct StageText {
  std::string name, text;
};

/// The module at a stage: "graph", the name of a phase, "llvm" or "asm". Errors: nullopt, printed.
std::optional<std::string> printStage(const ModelSource &source, const CompileOptions &options, StringRef stage);
/// "graph", the phases, "llvm" and "asm".
std::vector<std::string> stageNames();

/// Errors: nullopt, printed.
std::optional<ModelReport> inspectModel(const ModelSource &source, const CompileOptions &options);
/// For a compiled library.
std::optional<ModelReport> inspectLibrary(StringRef path, StringRef entry);

void printText(const ModelReport &report, llvm::raw_ostream &out);
/// Prints a self-contained page.
void printHtml(const ModelReport &report, ArrayRef<StageText> stages, llvm::raw_ostream &out);
} // namespace perpend::cli

#endif
