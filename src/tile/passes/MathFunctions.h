//===- MathFunctions.h - elementary functions as arithmetic -----*- C++ -*-===//
//
// Each function emits straight-line code for an f32 argument, scalar or vector. Errors are in units in the last place
// against the correctly rounded result; special values are those of C99.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_PASSES_MATHFUNCTIONS_H
#define PERPEND_TILE_PASSES_MATHFUNCTIONS_H

#include "tile/passes/MathExpressions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::tile {

/// The function of this name; if missing, creates it with a body that defines its meaning. Targets with an instruction
/// for it replace it.
mlir::func::FuncOp numberFunction(mlir::ModuleOp module, llvm::StringRef name, mlir::TypeRange operands,
                                  mlir::Type result,
                                  llvm::function_ref<mlir::Value(mlir::ImplicitLocOpBuilder &, mlir::ValueRange)> emit);

Real emitExp(Real x);
Real emitExp2(Real x);
Real emitExpM1(Real x);
Real emitLog(Real x);
Real emitLog2(Real x);
Real emitLog10(Real x);
Real emitLog1p(Real x);
Real emitTanh(Real x);
Real emitErf(Real x);
/// In vectors, `usual` if no number is unusual, and `general` otherwise: what rare numbers need is skipped. Numbers by
/// themselves have the general code alone, since loops with branches would stay scalar.
Real unlessUnusual(Condition isUnusual, Real x, llvm::function_ref<Real(Real)> usual,
                   llvm::function_ref<Real(Real)> general);

Real emitSin(Real x);                      // where x is not far
Real emitCos(Real x);                      // likewise
Real emitTan(Real x);                      // likewise
Condition isNotClose(Real x);              // |x| >= 2^17, or not a number; for f32
Real emitSinClose(Real x);                 // of others, if multiply-adds are fused
Real emitCosClose(Real x);                 // likewise
Condition isFar(Real x);                   // |x| >= 2^28, or 2^20 for f64
Condition isLargeQuotient(Real x, Real y); // |x / y| >= 2^28, or 2^52 for f64, or not a number
Real emitRemainder(Real x, Real y);        // of those that are not
Real emitSinh(Real x);
Real emitCosh(Real x);
Real emitAsin(Real x);
Real emitAcos(Real x);
Real emitAtan(Real x);
Real emitAsinh(Real x);
Real emitAcosh(Real x);
Real emitAtanh(Real x);
Real emitAtan2(Real y, Real x);
Real emitRsqrt(Real x);
Real emitPow(Real x, Real y);

Real emitScale(Real x, Real n); // x * 2^n of an integer n, -151 <= n <= 129
Real emitOnePlusExp(Real x);    // 1 + exp(x)
/// 1 + erf(x * factor) and 1 + tanh(x * factor), factor > 0. Errors are in units of 1 if the sum is less.
Real emitOnePlusErf(Real x, double factor);
Real emitOnePlusTanh(Real x, double factor);

} // namespace perpend::tile

#endif
