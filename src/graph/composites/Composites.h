//===- Composites.h - model operators composed of primitives ----*- C++ -*-===//
//
// The registry of operators that front ends use by name, such as softmax, gelu and layer_norm. Each is a function on
// the builder that expands to primitives; Composites.def lists them with their formulas.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_COMPOSITES_COMPOSITES_H
#define PERPEND_GRAPH_COMPOSITES_COMPOSITES_H

#include "graph/builder/Builder.h"

namespace perpend::graph {

/// The attributes of an operator, read with defaults.
class Attributes {
public:
  Attributes(mlir::DictionaryAttr dictionary = {}) : dictionary(dictionary) {}
  Attributes(mlir::MLIRContext *context, llvm::ArrayRef<mlir::NamedAttribute> attributes)
      : dictionary(mlir::DictionaryAttr::get(context, attributes)) {}

  mlir::DictionaryAttr all() const { return dictionary; }
  bool has(llvm::StringRef name) const { return get(name) != nullptr; }
  mlir::Attribute get(llvm::StringRef name) const { return dictionary ? dictionary.get(name) : mlir::Attribute(); }
  int64_t getInt(llvm::StringRef name, int64_t otherwise = 0) const;
  llvm::SmallVector<int64_t> getInts(llvm::StringRef name, llvm::ArrayRef<int64_t> otherwise = {}) const;
  /// The default is a float, as in ONNX, so that giving the default explicitly yields the same number.
  double getFloat(llvm::StringRef name, float otherwise = 0) const;
  llvm::SmallVector<double> getFloats(llvm::StringRef name) const;
  llvm::StringRef getString(llvm::StringRef name, llvm::StringRef otherwise = "") const;
  llvm::SmallVector<llvm::StringRef> getStrings(llvm::StringRef name) const;
  mlir::Type getType(llvm::StringRef name, mlir::Type otherwise = {}) const;
  /// Symbolic integers: a #graph.shape, a list of integers, or an array of integers and expressions as text.
  std::optional<Shape> getDims(llvm::StringRef name) const;

private:
  mlir::DictionaryAttr dictionary;
};

using Values = Builder::Values;
using Results = llvm::SmallVector<mlir::Value>;
/// An absent optional input is null. An empty or null result means that an error has been emitted.
using Composite = Results (*)(Builder &, Values inputs, const Attributes &);

/// Null when there is no composite of that name.
Composite lookupComposite(llvm::StringRef name);

/// Checks the number of inputs and expands a composite, which must exist. Returns at least one result; null after an
/// error.
Results applyComposite(Builder &builder, llvm::StringRef name, Values inputs, const Attributes &attributes = {});
/// The first result; null if an input is null.
mlir::Value call(Builder &builder, llvm::StringRef name, Values inputs, const Attributes &attributes = {});

namespace composites {
#define COMPOSITE(NAME, LEAST, MOST, FORMULA) Results NAME(Builder &builder, Values in, const Attributes &attributes);
#include "graph/composites/Composites.def"
} // namespace composites
} // namespace perpend::graph

#endif
