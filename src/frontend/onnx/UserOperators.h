//===- UserOperators.h - operators supplied by users ------------*- C++ -*-===//
//
// A description (docs/howto/bring-an-operator.md) declares the inputs and
// outputs of an operator of some domain. The operator becomes a library call of
// the function in the object file that the description names.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_ONNX_USEROPERATORS_H
#define PERPEND_FRONTEND_ONNX_USEROPERATORS_H

#include "frontend/onnx/OperatorDescription.h"
#include "frontend/onnx/Operators.h"

namespace perpend::onnx {

class UserOperators {
public:
  /// Adds the operators of a file. False, with a message in `error` that names the file.
  bool read(mlir::MLIRContext *context, StringRef path, std::string &error);
  const UserOperator *find(StringRef domain, StringRef name, int64_t operatorSet) const;
  bool hasDomain(StringRef domain) const {
    return llvm::any_of(operators, [&](const UserOperator &entry) { return entry.domain == domain; });
  }
  /// Absolute paths of the object files and archives.
  llvm::ArrayRef<std::string> objects() const { return objectPaths; }

private:
  bool add(UserOperator description, std::string &error);
  bool addObject(const UserOperator &description, StringRef folder, std::string &error);
  std::vector<UserOperator> operators;
  std::vector<std::string> objectPaths;
};

Results importUserOperator(Node &node, const UserOperator &description);
} // namespace perpend::onnx

#endif
