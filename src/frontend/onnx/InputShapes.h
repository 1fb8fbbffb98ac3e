//===- InputShapes.h - symbols of a model's inputs --------------*- C++ -*-===//
//
// A named dimension is the same symbol wherever it occurs; an unnamed one gets
// its own symbol. The user's options rename, fix or free dimensions.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_ONNX_INPUTSHAPES_H
#define PERPEND_FRONTEND_ONNX_INPUTSHAPES_H

#include "frontend/onnx/Import.h"
#include "frontend/onnx/Model.h"
#include "graph/Shapes.h"

#include "llvm/ADT/StringSet.h"

namespace perpend::onnx {
using graph::SymbolicInt;

class InputShapes {
public:
  explicit InputShapes(const ImportOptions &options) : options(options.dimensions) {}

  /// For an input without a shape, the option NAME:rank gives the number of dimensions. Errors: nullopt, and a message
  /// without the input's name.
  /// without the input's name.
  std::optional<graph::Shape> resolve(const ValueInfo &input, std::string &error);
  /// The type of a list; the option NAME:rank gives the rank of its elements. Errors: null.
  mlir::Type resolveList(StringRef name, mlir::RankedTensorType declared, std::string &error);
  /// An error message if an option matches no dimension of any input; otherwise empty.
  std::string unusedOptions() const { return options.unused(); }
  /// Symbols that options have put in place of numbers, with these numbers.
  const llvm::StringMap<SymbolicInt> &freedDimensions() const { return freed; }

private:
  /// The value of the option NAME:rank; nullopt without an error if there is none.
  std::optional<int64_t> rankOption(StringRef name, std::string &error);
  std::optional<SymbolicInt> resolveDimension(const ValueInfo &input, size_t index, std::string &error);

  support::DimensionOptions options;
  llvm::StringMap<SymbolicInt> freed;
  /// The parameter that each symbol stands for, or input:dimension of an unnamed one, so that no two share a symbol.
  llvm::StringMap<std::string> parameterOf;
  std::string symbolFor(StringRef input, size_t index, StringRef parameter);
};
} // namespace perpend::onnx

#endif
