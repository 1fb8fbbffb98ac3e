//===- Boundary.h - inputs and results as users see them --------*- C++ -*-===//
//
// Users know texts and lists in the form of perpend.h; the interpreter knows
// them as identities of the context and handles of a list table. Numbers are
// the same on both sides.
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

/// The type of the C interface for elements of a type. nullopt: there is none.
std::optional<perpend_type> interfaceType(mlir::Type elementType);

class Boundary {
public:
  explicit Boundary(mlir::func::FuncOp main);
  explicit Boundary(host::EntryOp entry);

  /// What main declares about its inputs: name, type and the elements of lists; extents are left out (rank -1).
  llvm::ArrayRef<perpend_tensor_info> inputs() const { return infos; }
  /// An input of main. Numbers are borrowed: `given` must outlive the tensor. Errors (at main): another type than
  /// declared, also of an element of a list.
  llvm::FailureOr<Tensor> take(unsigned input, const perpend_tensor &given);
  /// What users see, as long as this and the tensor live.
  perpend_tensor give(const Tensor &tensor);
  /// For InterpreterOptions.
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
  unsigned current = 0; ///< the input in work
  std::shared_ptr<library::ListTable> lists;
  llvm::SmallVector<perpend_tensor_info> infos;
  llvm::BumpPtrAllocator memory;
};
} // namespace perpend::interp

#endif
