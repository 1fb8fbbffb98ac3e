//===- OperatorDescription.h - what users say of their operators -*- C++ -*-===//
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

/// One tensor of a description. An element type of one capital letter stands for the same type wherever it occurs.
struct TensorPattern {
  std::string elementType;
  graph::Shape shape;
};

struct UserOperator {
  std::string domain, name, function;
  std::string object; ///< the path that the description gives; empty for none
  int64_t since = 1;
  bool isPure = true; ///< the outputs follow from the inputs and attributes, and nothing else happens
  std::vector<TensorPattern> inputs, outputs;
  llvm::json::Object attributes;      ///< with their defaults
  llvm::StringMap<std::string> kinds; ///< of attributes: number, text, numbers or texts; any kind without an entry
};

/// The kind of an attribute's value; empty for one that may be of several, such as an empty list.
std::string kindOf(const llvm::json::Value &value);

/// Errors: nullopt, and in `error` which key of which operator is wrong and what is expected.
std::optional<UserOperator> readOperator(mlir::MLIRContext *context, const llvm::json::Value &value,
                                         std::string &error);
} // namespace perpend::onnx

#endif
