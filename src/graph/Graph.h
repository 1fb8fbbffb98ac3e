//===- Graph.h - the graph dialect ------------------------------*- C++ -*-===//
//
// Operators on tensors with symbolic shapes: dialect, attributes, interfaces
// and primitives (generated from Graph.td and Ops.td).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_GRAPH_H
#define PERPEND_GRAPH_GRAPH_H

#include "support/SymbolicInt.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Mutex.h"

namespace mlir {
class PatternRewriter;
} // namespace mlir

namespace perpend::graph {
class Builder;
class Requirements;
using support::SymbolicInt;
/// The extents of a tensor.
using Shape = llvm::SmallVector<SymbolicInt>;

enum class ElementKind { View, Pointwise, Reduction };

/// A sum of products as a matrix product: [batch..., free..., summed...] times [batch..., summed..., free...], given as
/// dimensions of the operands. The result's dimensions are those of the batch, then the free ones, with the right
/// operand's from `columnDim` on; any further dimensions have extent 1.
struct MatrixProduct {
  /// For each dimension of the left operand, how many positions are read, from 0 on, and their stride.
  Shape read;
  llvm::SmallVector<int64_t> steps;
  struct Operand {
    llvm::SmallVector<int64_t> batch, free, summed;
  };
  Operand left, right;
  int64_t columnDim;
};

/// Documented in Graph.td.
template <typename Op> class DimensionWise : public mlir::OpTrait::TraitBase<Op, DimensionWise> {};

/// A library call's parameters in the form that its function gets: a JSON object.
std::string parametersText(mlir::DictionaryAttr parameters);

/// Services for an operator that emits one of its elements: elements of its operands, and run-time values of symbolic
/// expressions.
class ElementEmitter {
public:
  virtual ~ElementEmitter() = default;
  virtual mlir::Value element(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tensor,
                              mlir::ValueRange index) = 0;
  virtual mlir::Value extent(mlir::OpBuilder &builder, mlir::Location loc, const SymbolicInt &value) = 0;
  /// A for loop over [0, count) with one carried value, for reductions; `body` returns the next value.
  using LoopBody = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value index, mlir::Value carried)>;
  virtual mlir::Value loop(mlir::OpBuilder &builder, mlir::Location loc, const SymbolicInt &count, mlir::Value initial,
                           LoopBody body) = 0;
};

/// Services for an operator whose elements depend on one another: in addition, access to the result's memory for a
/// block of lanes.
class SequenceEmitter {
public:
  explicit SequenceEmitter(ElementEmitter &elements) : elements(elements) {}
  virtual ~SequenceEmitter() = default;
  ElementEmitter &elements;
  /// Loops over the lanes after the sequential dimensions; the body gets their index.
  using LaneBody = llvm::function_ref<void(mlir::OpBuilder &, mlir::ValueRange lane)>;
  virtual void forEachLane(mlir::OpBuilder &builder, mlir::Location loc, LaneBody body) = 0;
  /// The index in the dimensions before the sequential ones.
  virtual mlir::ValueRange outerIndex() = 0;
  /// Load from and store to the result.
  virtual mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange index) = 0;
  virtual void store(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange index, mlir::Value scalar) = 0;
};
} // namespace perpend::graph

#include "graph/GraphDialect.h.inc"
#include "graph/GraphEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "graph/GraphTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "graph/GraphAttributes.h.inc"
#include "graph/GraphInterfaces.h.inc"
#define GET_OP_CLASSES
#include "graph/GraphOps.h.inc"

#endif
