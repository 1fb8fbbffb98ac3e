//===- Trees.h - gradient-boosted trees that rank ----------------*- C++ -*-===//
//
// XGBoost, loaded when it is asked for: a compiler that does not tune with it
// needs none (docs/decisions/0034-trees-that-rank.md). One thread, so that a
// tuner can copy its process.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TUNE_TREES_H
#define PERPEND_TUNE_TREES_H

#include "tune/Features.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace perpend::tune {

/// A schedule that was measured. Infinite: it was refused, or is wrong.
struct MeasuredRow {
  Features features;
  double time;
};

class Trees {
public:
  virtual ~Trees() = default;
  /// Anew. Only times of one group are compared with one another. The same rows give the same trees. False: it failed.
  virtual bool train(llvm::ArrayRef<std::vector<MeasuredRow>> groups) = 0;
  /// Less is faster, and only the order counts; behind train().
  virtual double predict(const Features &features) const = 0;

  /// Errors: the library is not there.
  static llvm::Expected<std::unique_ptr<Trees>> load();
};
} // namespace perpend::tune

#endif
