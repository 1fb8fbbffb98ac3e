//===- ExtentSets.h - the extents that a tuner measures with ----*- C++ -*-===//

#ifndef PERPEND_TUNING_EXTENTSETS_H
#define PERPEND_TUNING_EXTENTSETS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace perpend {

/// Values of the symbols of a model's inputs, with the share of its time that the model spends with them.
struct ExtentSet {
  llvm::StringMap<int64_t> symbols = {};
  double weight = 1;
  bool hasWeight = false; ///< the user gave a weight

  /// For example "n=128,t=4", sorted by name.
  std::string str() const;
};

/// Parses texts such as "n=1:10,128" and "t=16". Lists are paired by position; a single value belongs to every set; the
/// number after ":" is the set's weight. No text gives one empty set. Errors: an invalid extent or weight, lists of
/// different lengths.
llvm::Expected<std::vector<ExtentSet>> parseExtentSets(llvm::ArrayRef<std::string> texts);
} // namespace perpend

#endif
