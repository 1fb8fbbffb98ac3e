//===- InputShapes.h - the symbols of a model's inputs ----------*- C++ -*-===//
//
// A named dimension is one symbol wherever it occurs; an unnamed one gets a
// symbol of its own. The user's options rename, fix or free dimensions.
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
  explicit InputShapes(const ImportOptions &options) : options(options), used(options.dimensions.size(), false) {}

  /// An input without a shape has as many dimensions as the option NAME:rank says. Errors: nullopt, and a message
  /// without the input's name.
  std::optional<graph::Shape> resolve(const ValueInfo &input, std::string &error);
  /// The type of a list, whose elements get the number of dimensions that the option NAME:rank says. Errors: null.
  mlir::Type resolveList(StringRef name, mlir::RankedTensorType declared, std::string &error);
  /// An error message when an option names no dimension of the inputs seen; else empty.
  std::string unusedOptions() const;
  /// Symbols that options put in the place of numbers, with these numbers.
  const llvm::StringMap<SymbolicInt> &freedDimensions() const { return freed; }

private:
  std::optional<SymbolicInt> apply(StringRef subject, std::string &error);
  /// What the option NAME:rank says; nullopt without an error when there is none.
  std::optional<int64_t> rankOption(StringRef name, std::string &error);
  std::optional<SymbolicInt> resolveDimension(const ValueInfo &input, size_t index, std::string &error);

  const ImportOptions &options;
  std::vector<bool> used;
  llvm::StringMap<SymbolicInt> freed;
  /// What options may name: symbols and input:dimension.
  std::vector<std::string> subjects;
  /// The parameter that each symbol stands for, or input:dimension of one without, so that two never share one.
  llvm::StringMap<std::string> parameterOf;
  std::string symbolFor(StringRef input, size_t index, StringRef parameter);
};
} // namespace perpend::onnx

#endif
