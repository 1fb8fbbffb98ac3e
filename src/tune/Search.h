//===- Search.h - which points of a space are tried --------------*- C++ -*-===//

#ifndef PERPEND_TUNE_SEARCH_H
#define PERPEND_TUNE_SEARCH_H

#include "tune/Space.h"

#include <memory>
#include <optional>
#include <random>

namespace perpend::tune {
class CostModel;

/// Proposes points, each once, and none that it was told of. What it proposes depends on the seed and on what it was
/// told, on nothing else.
class Search {
public:
  virtual ~Search() = default;
  /// nullopt: all points that it can find have been proposed.
  virtual std::optional<Point> propose() = 0;
  /// How long a point takes, as a part of the given trace's time; infinite: it was refused, or is wrong.
  virtual void tell(const Point &point, double time) = 0;
  /// Lets it compare points by the model, which outlives it, before it proposes one. False: it does not.
  virtual bool ask(CostModel &) { return false; }
};

struct SearchInfo {
  llvm::StringLiteral name, sentence;
  std::unique_ptr<Search> (*make)(const Space &space, uint64_t seed);
};
llvm::ArrayRef<SearchInfo> searches();
} // namespace perpend::tune

#endif
