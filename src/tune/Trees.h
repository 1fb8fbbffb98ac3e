//===- Trees.h - gradient-boosted trees that rank ---------------*- C++ -*-===//
//
// Uses XGBoost, which is loaded on demand: a compiler that does not tune with it does not need it
// (docs/decisions/0034-trees-that-rank.md). Training is single-threaded, so that a tuner can fork.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TUNE_TREES_H
#define PERPEND_TUNE_TREES_H

#include "tune/Features.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace perpend::tune {

/// A measured schedule. Infinite: refused or wrong.
struct MeasuredRow {
  Features features;
  double time;
};

class Trees {
public:
  virtual ~Trees() = default;
  /// Trains anew. Only times within a group are compared. Equal rows give equal trees. False: training failed.
  virtual bool train(llvm::ArrayRef<std::vector<MeasuredRow>> groups) = 0;
  /// Lower is faster; only the order matters. Call after train().
  virtual double predict(const Features &features) const = 0;

  /// Errors: the library is missing.
  static llvm::Expected<std::unique_ptr<Trees>> load();
};
} // namespace perpend::tune

#endif
