//===- Search.h - chooses points of a space to try --------------*- C++ -*-===//

#ifndef PERPEND_TUNE_SEARCH_H
#define PERPEND_TUNE_SEARCH_H

#include "tune/Space.h"

#include <memory>
#include <optional>
#include <random>

namespace perpend::tune {
class CostModel;

/// Proposes points, each once, and none that was reported to it. Proposals depend only on the seed and on what was
/// reported.
class Search {
public:
  virtual ~Search() = default;
  /// nullopt: all points that it can find have been proposed.
  virtual std::optional<Point> propose() = 0;
  /// Reports a point's time, relative to the given trace's; infinite: refused or wrong.
  virtual void tell(const Point &point, double time) = 0;
  /// Lets the search rank points by the model, which must outlive it, before it proposes one. False: not supported.
  virtual bool ask(CostModel &) { return false; }
};

struct SearchInfo {
  llvm::StringLiteral name, sentence;
  std::unique_ptr<Search> (*make)(const Space &space, uint64_t seed);
};
llvm::ArrayRef<SearchInfo> searches();
} // namespace perpend::tune

#endif
