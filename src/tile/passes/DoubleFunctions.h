//===- DoubleFunctions.h - elementary functions of f64 ----------*- C++ -*-===//
//
// Like MathFunctions.h, for an f64 argument, scalar or vector. Errors are below 2 units in the last place (3 for log2,
// log10 and tanh).
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

} // namespace perpend::tile::doubles

#endif
