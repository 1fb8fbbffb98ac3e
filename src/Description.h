//===- Description.h - what an artifact says of itself -----------*- C++ -*-===//

#ifndef PERPEND_DESCRIPTION_H
#define PERPEND_DESCRIPTION_H

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
  std::vector<int64_t> repeats{}; ///< dimensions of an input that may be 1 in the place of their symbol's value
  std::string map{};              ///< of inputs that are the keys or the values of a map; empty for others
  mlir::ArrayAttr labels{};       ///< of the columns of an output that is a list of maps; null for others
};

/// Read from main when memory is planned.
struct ModelDescription {
  target::ModuleTable table;
  std::vector<TensorDescription> inputs, outputs;
  std::vector<std::string> symbols, dataSymbols, requirements, kernels;
  std::vector<std::pair<int64_t, mlir::ElementsAttr>> weights; ///< offset, value
  std::vector<std::string> texts; ///< constants, by identity; empty for models without texts
  bool needsHandles = false;      ///< there are texts or lists, or library calls
  bool isChecked = false;         ///< kernels that leave their memory end a run
  std::string precision = "f32";  ///< of the operands of products
  std::string checksum;
  std::string results; ///< how the outputs are nested, in JSON; empty: they are not
  /// Element bytes of constants that do not lie in memory as they must in the artifact.
  std::vector<std::vector<char>> converted;

  std::vector<target::WeightBlob> blobs();
  /// Frees the memory of all weights but those `kept`, of which it forgets the pages that can be read from their file
  /// again: they are in the object file, and linking needs room for two more copies.
  void releaseWeights(const llvm::DenseSet<mlir::AsmResourceBlob *> &kept);
};

/// `name` as a name in C.
std::string identifier(llvm::StringRef name);
/// Errors: an element type that the C interface has no name for.
mlir::LogicalResult describeModel(mlir::ModuleOp module, llvm::StringRef name, ModelDescription &description);
/// What the descriptor says of each machine where there are several.
struct MachineDescription {
  target::TargetInfo target;
  uint64_t codeBytes = 0, weightsBytes = 0;
};

/// The JSON of perpend_module.h.
std::string descriptorOf(const ModelDescription &description, const target::TargetInfo &target,
                         llvm::ArrayRef<MachineDescription> machines = {});
/// The C header of a model.
void printHeader(const ModelDescription &description, llvm::raw_ostream &stream);
} // namespace perpend

#endif
