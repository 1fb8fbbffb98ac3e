// The variable `loop`.
#ifndef PERPEND_RUNTIME_TEMPLATE_LOOPS_H
#define PERPEND_RUNTIME_TEMPLATE_LOOPS_H
#include "template/Operations.h"

namespace perpend::templates {

// What a loop goes over, with the values before and after the current one. It looks ahead only if it is asked to.
struct LoopData {
  IteratorData *values;
  Value before, current, after; // Absent: there is none, or it was not looked at
  Value changed;                // the arguments of the last call of `changed`
  int64_t index, length;        // length -1: not counted yet
  // A condition on the values: only those for which it holds count.
  bool (*next)(void *context, IteratorData &values, Value &value);
  void *context;
};

bool advance(Machine &machine, LoopData &loop);
// false: a loop has no such attribute.
bool loopAttribute(Machine &machine, Value loop, Span name, Value &result);
Value callOfLoop(Machine &machine, Value loop, bool isCycle, const Arguments &arguments);

} // namespace perpend::templates
#endif
