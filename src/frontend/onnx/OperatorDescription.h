//===- OperatorDescription.h - parses descriptions of operators -*- C++ -*-===//
//
// A JSON file with one operator or a list (docs/howto/bring-an-operator.md).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_ONNX_OPERATORDESCRIPTION_H
#define PERPEND_FRONTEND_ONNX_OPERATORDESCRIPTION_H

#include "graph/Shapes.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

namespace perpend::onnx {

/// A tensor in a description. A capital letter as element type stands for the same type wherever it occurs.
struct TensorPattern {
  std::string elementType;
  graph::Shape shape;
};

struct UserOperator {
  std::string domain, name, function;
  std::string object; ///< path of the object file, as given; empty: none
  int64_t since = 1;
  bool isPure = true; ///< no effects besides outputs that depend on inputs and attributes
  std::vector<TensorPattern> inputs, outputs;
  llvm::json::Object attributes;      ///< with their defaults
  llvm::StringMap<std::string> kinds; ///< kind by attribute: number, text, numbers or texts; without an entry any kind
};

/// The kind of an attribute's value; empty if it is ambiguous, as for an empty list.
std::string kindOf(const llvm::json::Value &value);

/// Errors: nullopt, and a message in `error` that names the operator, the key and what is expected.
std::optional<UserOperator> readOperator(mlir::MLIRContext *context, const llvm::json::Value &value,
                                         std::string &error);
} // namespace perpend::onnx

#endif
