// Statements.
#include "template/Evaluator.h"

namespace perpend::templates {

Span Evaluator::run() {
  const NodeRecord &root = table.root();
  MacroData whole = {&root, nullptr};
  const Value text = callMacro(whole, {});
  return machine.ok() && text.size ? span(text) : Span{"", 0};
}

Evaluator::Flow Evaluator::execute(const NodeRecord &node, Frame frame) {
  Nested nested(machine);
  machine.line = machine.ok() && node.line ? node.line : machine.line;
  if (!nested || !machine.charge(1))
    return Flow::Break;
  const Flow flow = executeStatement(node, frame);
  if (frame.out->bytes() > machine.limits.outputBytes && machine.ok())
    machine.fail("an output of more than %llu bytes; hint: raise the limit",
                 static_cast<unsigned long long>(machine.limits.outputBytes));
  return machine.ok() ? flow : Flow::Break;
}

Evaluator::Flow Evaluator::executeBlock(const NodeRecord &node, Frame frame) {
  for (uint32_t i = 0; i < node.count && machine.ok(); ++i)
    if (const Flow flow = execute(table.child(node, i), frame); flow != Flow::Next)
      return flow;
  return Flow::Next;
}

Evaluator::Flow Evaluator::executeStatement(const NodeRecord &node, Frame frame) {
  auto child = [&](uint32_t i) -> const NodeRecord & { return table.child(node, i); };
  switch (kindOf(node)) {
  case NodeKind::Empty:
    return Flow::Next;
  case NodeKind::Block:
    return executeBlock(node, frame);
  case NodeKind::Text:
    frame.out->add(table.text(node));
    return Flow::Next;
  case NodeKind::Output:
    addText(machine, *frame.out, evaluate(child(0), frame));
    return Flow::Next;
  case NodeKind::If: {
    const bool holds = isTrue(machine, evaluate(child(0), frame));
    return machine.ok() ? execute(child(holds ? 1 : 2), frame) : Flow::Break;
  }
  case NodeKind::For:
    return executeFor(node, frame);
  case NodeKind::Set:
    store(child(0), frame, evaluate(child(1), frame));
    return Flow::Next;
  case NodeKind::SetBlock:
  case NodeKind::FilterBlock:
    return executeCaptured(node, frame, kindOf(node) == NodeKind::SetBlock);
  case NodeKind::Macro:
    store(child(0), frame, macroOf(child(1), frame));
    return Flow::Next;
  case NodeKind::CallBlock:
    addText(machine, *frame.out, call(child(0), frame, macroOf(child(1), frame)));
    return Flow::Next;
  case NodeKind::Generation:
    addText(machine, *frame.out, callValue(macroOf(child(0), frame), {}));
    return Flow::Next;
  case NodeKind::Break:
    return Flow::Break;
  case NodeKind::Continue:
    return Flow::Continue;
  case NodeKind::Alias:
    if (const Value *source = kindOf(child(1)) == NodeKind::Name ? slot(child(1), frame) : nullptr)
      store(child(0), frame, *source);
    else
      failTable();
    return Flow::Next;
  case NodeKind::Resolve:
    resolve(node, frame);
    return Flow::Next;
  case NodeKind::Missing:
    store(child(0), frame, absent());
    return Flow::Next;
  default:
    failTable();
    return Flow::Break;
  }
}

void Evaluator::resolve(const NodeRecord &node, Frame frame) {
  const Span name = table.text(node);
  Value value = absent();
  if (const Value *found = lookUp(machine, variables, text(name)))
    value = *found;
  else
    findFunction(name, value);
  store(table.child(node, 0), frame, value);
}

Value Evaluator::macroOf(const NodeRecord &function, Frame frame) {
  auto *macro = machine.allocate<MacroData>(1);
  if (!macro)
    return none();
  if (kindOf(function) != NodeKind::Function)
    return failTable();
  *macro = {&function, frame.activation};
  return object(Macro, macro);
}

void Evaluator::store(const NodeRecord &target, Frame frame, Value value) {
  if (!machine.ok())
    return;
  switch (kindOf(target)) {
  case NodeKind::Store:
    if (target.value < frame.activation->count)
      frame.activation->slots[target.value] = value;
    else
      failTable();
    return;
  case NodeKind::StoreTuple:
    return storeTuple(target, frame, value);
  case NodeKind::StoreAttribute: {
    const NodeRecord &name = table.child(target, 0);
    const Value space = kindOf(name) == NodeKind::Name ? this->name(name, frame) : failTable();
    if (machine.ok())
      setAttribute(machine, space, table.text(target), value);
    return;
  }
  default:
    failTable();
  }
}

void Evaluator::storeTuple(const NodeRecord &target, Frame frame, Value value) {
  IteratorData *iterator = iterate(machine, value);
  Value *parts = machine.allocate<Value>(target.count);
  uint32_t count = 0;
  for (Value part = none(); iterator && parts && next(machine, *iterator, part); ++count) {
    if (count == target.count) {
      machine.fail("expected %u values to unpack, got more", target.count);
      return;
    }
    parts[count] = part;
  }
  if (machine.ok() && count < target.count)
    machine.fail("expected %u values to unpack, got %u", target.count, count);
  for (uint32_t i = 0; i < target.count && machine.ok(); ++i) {
    Nested nested(machine);
    store(table.child(target, i), frame, parts[i]);
  }
}

Evaluator::Flow Evaluator::executeCaptured(const NodeRecord &node, Frame frame, bool isSet) {
  Builder out(machine);
  const Flow flow = execute(table.child(node, isSet), {frame.activation, &out});
  if (!machine.ok() || flow != Flow::Next)
    return flow;
  const Value outer = machine.captured;
  machine.captured = out.value();
  const Value text = evaluate(table.child(node, isSet ? 2 : 1), frame);
  machine.captured = outer;
  if (isSet)
    store(table.child(node, 0), frame, text);
  else
    addText(machine, *frame.out, text);
  return Flow::Next;
}

// The next value for which the condition of a loop holds.
bool Evaluator::nextSelected(void *context, IteratorData &values, Value &value) {
  const auto &condition = *static_cast<Condition *>(context);
  Evaluator &self = *condition.evaluator;
  while (self.machine.ok() && next(self.machine, values, value)) {
    self.store(self.table.child(*condition.node, 1), condition.frame, value);
    self.execute(self.table.child(*condition.node, 0), condition.frame);
    if (isTrue(self.machine, self.evaluate(self.table.child(*condition.node, 2), condition.frame)))
      return self.machine.ok();
  }
  return false;
}

Evaluator::Flow Evaluator::executeFor(const NodeRecord &node, Frame frame) {
  const Value over = evaluate(table.child(node, 1), frame);
  auto *loop = machine.allocate<LoopData>(1);
  Value *place = node.value < frame.activation->count ? &frame.activation->slots[node.value] : nullptr;
  if (!place)
    failTable();
  if (!machine.ok())
    return Flow::Break;
  const bool isFiltered = kindOf(table.child(node, 4)) == NodeKind::LoopFilter;
  Condition condition = {this, &table.child(node, 4), frame};
  const int64_t length = isFiltered ? -1 : lengthOfValue(over);
  *loop = {iterate(machine, over),
           absent(),
           absent(),
           absent(),
           absent(),
           -1,
           length,
           isFiltered ? nextSelected : nullptr,
           &condition};
  // Jinja takes the else branch unless the end of the body was reached once.
  bool reachedEnd = false;
  while (advance(machine, *loop)) {
    *place = object(Loop, loop);
    store(table.child(node, 0), frame, loop->current);
    const Flow flow = execute(table.child(node, 2), frame);
    reachedEnd |= flow == Flow::Next;
    if (flow == Flow::Break)
      break;
  }
  loop->next = nullptr; // a variable may keep the loop
  if (!machine.ok())
    return Flow::Break;
  return reachedEnd ? Flow::Next : execute(table.child(node, 3), frame);
}

} // namespace perpend::templates
