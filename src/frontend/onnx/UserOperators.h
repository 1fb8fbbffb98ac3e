//===- UserOperators.h - operators that users bring -------------*- C++ -*-===//
//
// A description (docs/howto/bring-an-operator.md) says what an operator of some
// domain takes and gives; the operator becomes a library call of the function
// in the object file that the description names.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_ONNX_USEROPERATORS_H
#define PERPEND_FRONTEND_ONNX_USEROPERATORS_H

#include "frontend/onnx/Operators.h"

#include "llvm/Support/JSON.h"

namespace perpend::onnx {

/// One tensor of a description. An element type of one capital letter stands for the same type wherever it occurs.
struct TensorPattern {
  std::string elementType;
  Shape shape;
};

struct UserOperator {
  std::string domain, name, function;
  int64_t since = 1;
  bool isPure = true; ///< the outputs follow from the inputs and attributes, and nothing else happens
  std::vector<TensorPattern> inputs, outputs;
  llvm::json::Object attributes; ///< with their defaults
};

class UserOperators {
public:
  /// Adds the operators of a file. False: what is wrong, with the file's name, is in `error`.
  bool read(StringRef path, std::string &error);
  const UserOperator *find(StringRef domain, StringRef name, int64_t operatorSet) const;
  /// Absolute paths of the object files and archives.
  llvm::ArrayRef<std::string> objects() const { return objectPaths; }

private:
  bool add(const llvm::json::Value &description, StringRef folder, std::string &error);
  std::vector<UserOperator> operators;
  std::vector<std::string> objectPaths;
};

Results importUserOperator(Node &node, const UserOperator &description);
} // namespace perpend::onnx

#endif
