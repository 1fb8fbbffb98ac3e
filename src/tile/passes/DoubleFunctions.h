//===- DoubleFunctions.h - elementary functions of f64 ----------*- C++ -*-===//
//
// Like MathFunctions.h, for an f64 argument, scalar or vector. Errors are below 2 units in the last place (3 for log2,
// log10, tan, arcs and hyperbolic functions).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_PASSES_DOUBLEFUNCTIONS_H
#define PERPEND_TILE_PASSES_DOUBLEFUNCTIONS_H

#include "tile/passes/MathExpressions.h"

namespace perpend::tile::doubles {

Real emitExp(Real x);
Real emitExp2(Real x);
Real emitExpM1(Real x);
Real emitLog(Real x);
Real emitLog2(Real x);
Real emitLog10(Real x);
Real emitLog1p(Real x);
Real emitTanh(Real x);
Real emitErf(Real x);
Real emitSin(Real x); // where |x| < leastFarDouble (FarFunctions.h)
Real emitCos(Real x); // likewise
Real emitTan(Real x); // likewise
Real emitSinh(Real x);
Real emitCosh(Real x);
Real emitAsin(Real x);
Real emitAcos(Real x);
Real emitAtan(Real x);
Real emitAsinh(Real x);
Real emitAcosh(Real x);
Real emitAtanh(Real x);
Real emitAtan2(Real y, Real x);
Real emitPow(Real x, Real y); // where multiply-adds are fused

} // namespace perpend::tile::doubles

#endif
