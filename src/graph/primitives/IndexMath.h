//===- IndexMath.h - code for indices ---------------------------*- C++ -*-===//

#ifndef PERPEND_GRAPH_PRIMITIVES_INDEXMATH_H
#define PERPEND_GRAPH_PRIMITIVES_INDEXMATH_H

#include "graph/Graph.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace perpend::graph {

/// Short names for index arithmetic at one place.
struct IndexMath {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  ElementEmitter &emitter;

  mlir::Value constant(int64_t value) { return extent(SymbolicInt(value)); }
  mlir::Value extent(const SymbolicInt &value) { return emitter.extent(builder, loc, value); }
  mlir::Value add(mlir::Value a, mlir::Value b) { return builder.createOrFold<mlir::arith::AddIOp>(loc, a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return builder.createOrFold<mlir::arith::SubIOp>(loc, a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return builder.createOrFold<mlir::arith::MulIOp>(loc, a, b); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return builder.createOrFold<mlir::arith::DivUIOp>(loc, a, b); }
  mlir::Value rem(mlir::Value a, mlir::Value b) { return builder.createOrFold<mlir::arith::RemUIOp>(loc, a, b); }
  mlir::Value addConstant(mlir::Value a, int64_t b) { return b ? add(a, constant(b)) : a; }
  mlir::Value mulConstant(mlir::Value a, int64_t b) { return b != 1 ? mul(a, constant(b)) : a; }
  /// 0 <= a < bound, in one unsigned comparison.
  mlir::Value isInside(mlir::Value a, mlir::Value bound) {
    return builder.create<mlir::arith::CmpIOp>(loc, mlir::arith::CmpIPredicate::ult, a, bound);
  }
  mlir::Value conjunction(mlir::Value a, mlir::Value b) {
    return a ? builder.create<mlir::arith::AndIOp>(loc, a, b).getResult() : b;
  }

  /// `condition ? then() : otherwise()`, evaluating only one side.
  mlir::Value choose(mlir::Value condition, mlir::Type type, llvm::function_ref<mlir::Value(mlir::OpBuilder &)> then,
                     llvm::function_ref<mlir::Value(mlir::OpBuilder &)> otherwise) {
    auto choice = builder.create<mlir::scf::IfOp>(loc, mlir::TypeRange(type), condition, /*withElseRegion=*/true);
    mlir::OpBuilder thenBuilder = choice.getThenBodyBuilder();
    thenBuilder.create<mlir::scf::YieldOp>(loc, then(thenBuilder));
    mlir::OpBuilder elseBuilder = choice.getElseBodyBuilder();
    elseBuilder.create<mlir::scf::YieldOp>(loc, otherwise(elseBuilder));
    return choice.getResult(0);
  }
};

} // namespace perpend::graph

#endif
