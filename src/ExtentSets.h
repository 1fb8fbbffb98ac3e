//===- ExtentSets.h - the extents that a tuner measures with -----*- C++ -*-===//

#ifndef PERPEND_EXTENTSETS_H
#define PERPEND_EXTENTSETS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace perpend {

/// Values of the symbols of a model's inputs, and how much of its time the model spends with them, among other sets.
struct ExtentSet {
  llvm::StringMap<int64_t> symbols = {};
  double weight = 1;
  bool hasWeight = false; ///< somebody has said it

  /// "n=128,t=4", by name
  std::string str() const;
};

/// Of texts as "n=1:10,128" and "t=16": lists go together by position, and one value is in all sets; behind ":" is the
/// set's weight. No text: one empty set. Errors: what is no extent or weight, or lists of other lengths.
llvm::Expected<std::vector<ExtentSet>> parseExtentSets(llvm::ArrayRef<std::string> texts);
} // namespace perpend

#endif
