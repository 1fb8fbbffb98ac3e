//===- Description.h - the descriptor of an artifact ------------*- C++ -*-===//

#ifndef PERPEND_COMPILER_DESCRIPTION_H
#define PERPEND_COMPILER_DESCRIPTION_H

#include "target/TargetInfo.h"
#include "target/WeightsObject.h"
#include "target/cpu/ModuleTable.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"

namespace perpend {

struct TensorDescription {
  std::string name, type;                   ///< type: f32, u8, bool ... as in perpend_type_name
  std::vector<std::string> shape;           ///< numbers or expressions
  std::vector<TensorDescription> element{}; ///< of a list, if anything is known; without a name, "?" is any extent
  bool isRanked = true;
  std::vector<int64_t> repeats{}; ///< dimensions of an input that may be 1 instead of their symbol's value
  std::string map{};              ///< "keys" or "values" for inputs that are one half of a map; otherwise empty
  mlir::ArrayAttr labels{};       ///< column labels of an output that is a list of maps; otherwise null
};

/// Weights in a file that runs map: a part of it, at a distance from the start of all weights.
struct WeightsPart {
  std::string path; ///< in the file system of the compiler
  std::string name; ///< for the runtime
  uint64_t offset = 0, bytes = 0, position = 0;
  uint64_t fileBytes = 0;
  uint32_t checksum = 0;
  bool hasHeader = false; ///< the compiler has written the file
};

/// A value that a session keeps from run to run.
struct StateDescription {
  TensorDescription tensor;       ///< its shape is the largest one
  std::optional<int64_t> growing; ///< the dimension whose extent is the length
  std::optional<int64_t> reads;   ///< the last rows that runs read of it; nullopt: all
  int64_t initialOffset = 0, initialBytes = 0;
};

/// What callers run, and its plan.
struct EntryDescription {
  std::string name = "main";
  std::vector<TensorDescription> inputs, outputs;    ///< without states
  std::vector<std::pair<uint32_t, uint32_t>> states; ///< numbers among the model's, and their perpend_update
  std::vector<std::string> symbols, dataSymbols, requirements;
  std::string results;            ///< nesting of the outputs, as JSON; empty: flat
  std::vector<int64_t> lifetimes; ///< first, last for each arena buffer
  std::optional<std::vector<int64_t>> staticOffsets;
  int64_t staticArenaBytes = 0;
  uint32_t growingCount = 0;
  uint32_t strategy = 0; ///< with which the runtime plans (runtime/Planner.h)
};

/// Facts read from the host programs of a module.
struct ModelDescription {
  target::ModuleTable table;
  std::vector<EntryDescription> entries{1}; ///< at least one
  std::vector<StateDescription> states;
  std::vector<std::string> kernels;
  std::vector<std::pair<std::string, std::string>> assets;     ///< names and bytes
  std::vector<std::pair<int64_t, mlir::ElementsAttr>> weights; ///< offset, value
  std::vector<std::string> texts; ///< constant strings by identity; empty if the model has no strings
  bool needsHandles = false;      ///< the model uses strings, lists or library calls
  bool isChecked = false;         ///< an out-of-bounds access in a kernel ends the run
  std::string precision = "f32";  ///< precision of the operands of products
  std::string checksum;           ///< of weights in the artifact
  std::vector<WeightsPart> parts; ///< of weights in files, in the order of their positions
  /// Converted bytes of constants whose representation in the artifact differs from that in memory.
  std::vector<std::vector<char>> converted;

  /// Of a model without an operating system: what a run takes of the stack, but for functions of the C library.
  std::optional<uint64_t> stackBytes;

  std::vector<target::WeightBlob> blobs();
  /// Of the entry with the largest arena; -1: one depends on symbols or threads.
  int64_t arenaBytes() const;
  /// Of the file that the compiler has written for the artifact.
  void addPackedWeights(llvm::StringRef path, const target::WeightsSummary &written);
  /// The files that the artifact needs, with their sizes.
  std::vector<std::pair<std::string, uint64_t>> filePaths() const;
  /// Frees the memory of all weights except `kept`; of those, drops the pages that can be read again from their file.
  /// The object file has them all by now, and linking needs memory for two more copies.
  void releaseWeights(const llvm::DenseSet<mlir::AsmResourceBlob *> &kept);
};

/// Turns `name` into a valid C identifier.
std::string identifier(llvm::StringRef name);
/// Errors: an element type that the C interface cannot name.
mlir::LogicalResult describeModel(mlir::ModuleOp module, llvm::StringRef name, const target::Machine &machine,
                                  ModelDescription &description);
/// One machine's entry in the descriptor of an artifact for several machines.
struct MachineDescription {
  target::TargetInfo target;
  uint64_t codeBytes = 0, weightsBytes = 0;
};

/// The JSON of perpend_module.h.
std::string descriptorOf(const ModelDescription &description, const target::TargetInfo &target,
                         llvm::ArrayRef<MachineDescription> machines = {});
/// Writes description.table.tables (perpend_tables.h), with all that the description says. Errors: too much text.
llvm::Error writeTables(ModelDescription &description, const target::TargetInfo &target);
/// The C header of a model that is a function with its memory (cpu/BareEntry.h). `needed`: functions that it calls.
void printBareHeader(const ModelDescription &description, const target::TargetInfo &target,
                     llvm::ArrayRef<std::string> needed, llvm::raw_ostream &stream);
/// The C header of a model.
void printHeader(const ModelDescription &description, llvm::raw_ostream &stream);
} // namespace perpend

#endif
