//===- Flags.h - the flags that a section needs -----------------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_FLAGS_H
#define PERPEND_TARGET_QUOIN_COMPILE_FLAGS_H

#include "target/quoin/compile/Order.h"

namespace perpend::quoin {

struct SectionFlag {
  Unit source = Unit::LD, destination = Unit::LD;
  unsigned credit = 0; ///< tokens that the source adds when the section begins, and the destination takes when it ends
  bool isOnce = false; ///< the source adds a token when the section begins, and one item takes it
  uint8_t id = 0;
};

struct FlagPlan {
  std::vector<SectionFlag> flags;
  /// Numbers of flags that the destination takes before an item, or the source sets behind it: in each iteration; of
  /// the first or last item of a loop, once before or behind all iterations.
  std::vector<llvm::SmallVector<unsigned, 2>> before, after;
};

/// The least flags with which no two accesses of a room race, and the knowledge that units have at the end. nullopt:
/// flags between whole statements of turns cannot order the section, or there are too many; `order` stays as it is.
std::optional<FlagPlan> planFlags(const Section &section, Order &order);

} // namespace perpend::quoin

#endif
