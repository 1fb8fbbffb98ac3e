// Strategies of memory planning: enumerator, name for --plan, order (a function of Planner.cpp that says which buffer is
// placed first), what it does. A new one is a line at the end, since tables contain their numbers, and its order; help
// texts and tests read this list.
#ifndef PERPEND_RUNTIME_STRATEGIES_H
#define PERPEND_RUNTIME_STRATEGIES_H

// clang-format off
#define PERPEND_STRATEGIES(STRATEGY) \
  STRATEGY(Best, "best", nullptr, "the smallest arena of all strategies that have an order") \
  STRATEGY(ByBreadth, "greedy-by-breadth", broadestFirst, "first the values that live when most bytes are alive") \
  STRATEGY(BySize, "greedy-by-size", largestFirst, "the largest value first") \
  STRATEGY(ByUse, "greedy-by-use", earliestFirst, "in the order of their first use") \
  STRATEGY(Apart, "apart", nullptr, "no two values share memory")
// clang-format on

#endif
