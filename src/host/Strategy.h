//===- Strategy.h - how places in the arena are chosen ----------*- C++ -*-===//
//
// The strategies of memory planning by name, for `--plan`. Each is a function of
// sizes and lifetimes (runtime/Planner.h), because binding plans with the same
// one where sizes depend on symbols. What the verifier asks of a plan does not
// depend on the strategy.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_HOST_STRATEGY_H
#define PERPEND_HOST_STRATEGY_H

#include "host/Host.h"

#include "../runtime/Planner.h"

namespace perpend::host {
/// On an entry: the name of its plan's strategy; the default one if there is none.
inline constexpr llvm::StringLiteral strategyAttribute = "host.strategy";
inline constexpr llvm::StringLiteral defaultStrategy = "best";

std::optional<runtime::Strategy> strategyOf(llvm::StringRef name);
runtime::Strategy strategyOf(EntryOp entry);

llvm::ArrayRef<llvm::StringLiteral> strategyNames();
} // namespace perpend::host

#endif
