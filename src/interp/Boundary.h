//===- Boundary.h - converts inputs and results -----------------*- C++ -*-===//
//
// In the C interface (perpend.h), strings and lists are structures; in the interpreter, they are identities of the
// context and handles of a list table. This file converts between them. Numbers are the same on both sides.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_INTERP_BOUNDARY_H
#define PERPEND_INTERP_BOUNDARY_H

#include "interp/Tensor.h"

#include "perpend.h"

#include "host/Host.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Allocator.h"

namespace perpend::library {
class ListTable;
} // namespace perpend::library

namespace perpend::interp {

/// The type by which the C interface represents elements of a type; nullopt if there is none.
std::optional<perpend_type> interfaceType(mlir::Type elementType);

class Boundary {
public:
  explicit Boundary(mlir::func::FuncOp main);
  explicit Boundary(host::EntryOp entry);

  /// Main's declarations of its inputs: name, type and elements of lists, without extents (rank -1).
  llvm::ArrayRef<perpend_tensor_info> inputs() const { return infos; }
  /// Converts an input of main. Numbers are borrowed: `given` must outlive the tensor. Errors (at main): the type
  /// differs from the declared one, also for elements of a list.
  llvm::FailureOr<Tensor> take(unsigned input, const perpend_tensor &given);
  /// Converts a result to the user's form; valid while this object and the tensor live.
  perpend_tensor give(const Tensor &tensor);
  /// To be passed in InterpreterOptions.
  const std::shared_ptr<library::ListTable> &listTable() const { return lists; }

private:
  void declare(mlir::Type type, mlir::StringAttr name);
  perpend_tensor_info describe(mlir::Type type);
  llvm::FailureOr<Tensor> takeTensor(const perpend_tensor &given, mlir::Type type);
  llvm::FailureOr<int64_t> takeList(const perpend_sequence &given, mlir::Type type);
  llvm::LogicalResult checkElement(const perpend_tensor &element, mlir::Type declared);
  void *giveData(const perpend_tensor &inner);
  mlir::InFlightDiagnostic fail();

  mlir::Operation *main;
  llvm::SmallVector<mlir::Type> types; ///< of inputs
  unsigned current = 0;                ///< index of the input being converted
  std::shared_ptr<library::ListTable> lists;
  llvm::SmallVector<perpend_tensor_info> infos;
  llvm::BumpPtrAllocator memory;
};
} // namespace perpend::interp

#endif
