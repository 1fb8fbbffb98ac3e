// Attributes and methods of `loop`.
#include "template/Loops.h"

namespace perpend::templates {
namespace {

bool pull(Machine &machine, LoopData &loop, Value &value) {
  return loop.next ? loop.next(loop.context, *loop.values, value) : next(machine, *loop.values, value);
}

bool lookAhead(Machine &machine, LoopData &loop) {
  if (!isGiven(loop.after))
    if (Value value = none(); pull(machine, loop, value))
      loop.after = value;
  return isGiven(loop.after);
}

int64_t length(Machine &machine, LoopData &loop) {
  if (loop.length >= 0)
    return loop.length;
  ValueList rest(machine);
  for (Value value = none(); machine.ok() && pull(machine, loop, value);)
    rest.add(value);
  loop.next = nullptr;
  loop.length = static_cast<int64_t>(rest.count()) + loop.index + 1 + isGiven(loop.after);
  loop.values = iterate(machine, rest.value(List));
  return loop.length;
}

} // namespace

bool advance(Machine &machine, LoopData &loop) {
  Value value = loop.after;
  if (!isGiven(value) && !(loop.values && pull(machine, loop, value)))
    return false;
  loop.after = absent();
  ++loop.index;
  loop.before = loop.current;
  loop.current = value;
  return machine.ok();
}

bool loopAttribute(Machine &machine, Value value, Span name, Value &result) {
  auto &loop = *static_cast<LoopData *>(value.as.object);
  if (name == "index")
    result = integer(loop.index + 1);
  else if (name == "index0")
    result = integer(loop.index);
  else if (name == "first")
    result = boolean(loop.index == 0);
  else if (name == "last")
    result = boolean(!lookAhead(machine, loop));
  else if (name == "length")
    result = integer(length(machine, loop));
  else if (name == "revindex")
    result = integer(length(machine, loop) - loop.index);
  else if (name == "revindex0")
    result = integer(length(machine, loop) - loop.index - 1);
  else if (name == "depth")
    result = integer(1);
  else if (name == "depth0")
    result = integer(0);
  else if (name == "previtem")
    result = loop.index == 0 ? machine.undefined(span("there is no previous item"), Absence::Message) : loop.before;
  else if (name == "nextitem")
    result = lookAhead(machine, loop) ? loop.after : machine.undefined(span("there is no next item"), Absence::Message);
  else
    return false;
  return true;
}

Value callOfLoop(Machine &machine, Value value, bool isCycle, const Arguments &arguments) {
  auto &loop = *static_cast<LoopData *>(value.as.object);
  if (arguments.keywordCount)
    return machine.fail("%s takes no named arguments", isCycle ? "loop.cycle" : "loop.changed");
  if (isCycle)
    return arguments.count ? arguments.values[static_cast<size_t>(loop.index) % arguments.count]
                           : machine.fail("loop.cycle: expected values, got none");
  Value *kept = machine.allocate<Value>(arguments.count);
  for (size_t i = 0; kept && i < arguments.count; ++i)
    kept[i] = arguments.values[i];
  const Value now = items(Tuple, kept, arguments.count);
  if (isGiven(loop.changed) && equal(machine, loop.changed, now))
    return boolean(false);
  loop.changed = now;
  return boolean(true);
}

} // namespace perpend::templates
