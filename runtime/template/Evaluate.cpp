// Expressions.
#include "template/Evaluator.h"

namespace perpend::templates {

Value *Evaluator::slot(const NodeRecord &node, Frame frame) {
  Activation *activation = frame.activation;
  for (uint32_t i = 0; i < node.detail && activation; ++i)
    activation = activation->outer;
  if (activation && node.value < activation->count)
    return &activation->slots[node.value];
  failTable();
  return nullptr;
}

Value Evaluator::name(const NodeRecord &node, Frame frame) {
  const Value *found = slot(node, frame);
  return found && isGiven(*found) ? *found : machine.undefined(table.text(node), Absence::Name);
}

const Value *Evaluator::evaluateArguments(const NodeRecord &node, Frame frame, uint32_t first) {
  Value *values = machine.allocate<Value>(node.count - first + 1);
  for (uint32_t i = first; i < node.count && values && machine.ok(); ++i) {
    const NodeRecord &child = table.child(node, i);
    values[i - first] = kindOf(child) == NodeKind::Empty ? absent() : evaluate(child, frame);
  }
  return values;
}

Value Evaluator::evaluateList(const NodeRecord &node, Frame frame, uint32_t kind) {
  const Value *values = evaluateArguments(node, frame, 0);
  return machine.ok() ? items(kind, values, node.count) : none();
}

Value Evaluator::evaluateDict(const NodeRecord &node, Frame frame) {
  const Value *pairs = evaluateArguments(node, frame, 0);
  if (node.count % 2)
    return failTable();
  return machine.ok() ? dictOf(machine, pairs, node.count / 2) : none();
}

Value Evaluator::evaluateCompare(const NodeRecord &node, Frame frame) {
  Value left = evaluate(table.child(node, 0), frame);
  for (uint32_t i = 1; i < node.count && machine.ok(); ++i) {
    const NodeRecord &operand = table.child(node, i);
    if (kindOf(operand) != NodeKind::Operand)
      return failTable();
    const Value right = evaluate(table.child(operand, 0), frame);
    if (!machine.ok() || !compare(machine, static_cast<Comparison>(operand.detail), left, right))
      return boolean(false);
    left = right;
  }
  return boolean(true);
}

Value Evaluator::evaluateConcat(const NodeRecord &node, Frame frame) {
  Builder out(machine);
  for (uint32_t i = 0; i < node.count && machine.ok(); ++i)
    addText(machine, out, evaluate(table.child(node, i), frame));
  return out.value();
}

Value Evaluator::evaluateItem(const NodeRecord &node, Frame frame) {
  const Value value = evaluate(table.child(node, 0), frame);
  const NodeRecord &index = table.child(node, 1);
  if (kindOf(index) != NodeKind::Slice) {
    const Value at = evaluate(index, frame);
    return machine.ok() ? itemOf(machine, value, at) : none();
  }
  const Value *bounds = evaluateArguments(index, frame, 0);
  return machine.ok() ? sliceOf(machine, value, bounds[0], bounds[1], bounds[2]) : none();
}

/// A filter or test of an operand; or a reference to one with its arguments, as map and select take them.
Value Evaluator::evaluateApplied(const NodeRecord &node, Frame frame) {
  const NodeKind kind = kindOf(node);
  const bool isReference = kind == NodeKind::FilterReference || kind == NodeKind::TestReference;
  const Value operand = isReference ? none() : evaluate(table.child(node, 0), frame);
  const Value *arguments = evaluateArguments(node, frame, 1);
  if (!machine.ok())
    return none();
  if (isReference)
    return items(Reference, arguments, node.count - 1, node.value);
  if (kind == NodeKind::Test)
    return boolean(applyTest(machine, static_cast<TestKind>(node.value), operand, arguments, node.count - 1));
  machine.line = node.line;
  return applyFilter(machine, static_cast<FilterKind>(node.value), operand, arguments, node.count - 1);
}

Value Evaluator::evaluate(const NodeRecord &node, Frame frame) {
  Nested nested(machine);
  machine.line = machine.ok() ? node.line : machine.line;
  if (!nested || !machine.charge(1))
    return none();
  const Value value = evaluateExpression(node, frame);
  return machine.ok() ? value : none();
}

Value Evaluator::evaluateExpression(const NodeRecord &node, Frame frame) {
  auto child = [&](uint32_t i) { return evaluate(table.child(node, i), frame); };
  const NodeKind kind = kindOf(node);
  switch (kind) {
  case NodeKind::NoneValue:
    return none();
  case NodeKind::TrueValue:
  case NodeKind::FalseValue:
    return boolean(kind == NodeKind::TrueValue);
  case NodeKind::Integer:
    return integer(table.number(node));
  case NodeKind::Float: {
    const int64_t bits = table.number(node);
    double value;
    memcpy(&value, &bits, sizeof value);
    return number(value);
  }
  case NodeKind::String:
    return text(table.text(node));
  case NodeKind::Name:
    return name(node, frame);
  case NodeKind::List:
    return evaluateList(node, frame, List);
  case NodeKind::Tuple:
    return evaluateList(node, frame, Tuple);
  case NodeKind::Dict:
    return evaluateDict(node, frame);
  case NodeKind::Not:
    return boolean(!isTrue(machine, child(0)));
  case NodeKind::Negate:
  case NodeKind::Plus: {
    const Value value = child(0);
    return machine.ok() ? negate(machine, value, kind == NodeKind::Plus) : none();
  }
  case NodeKind::And:
  case NodeKind::Or: {
    const Value left = child(0);
    return !machine.ok() || isTrue(machine, left) == (kind == NodeKind::Or) ? left : child(1);
  }
  case NodeKind::Add:
  case NodeKind::Subtract:
  case NodeKind::Multiply:
  case NodeKind::Divide:
  case NodeKind::FloorDivide:
  case NodeKind::Modulo:
  case NodeKind::Power: {
    const Value left = child(0), right = child(1);
    return machine.ok() ? operate(machine, kind, left, right) : none();
  }
  case NodeKind::Concat:
    return evaluateConcat(node, frame);
  case NodeKind::Compare:
    return evaluateCompare(node, frame);
  case NodeKind::Conditional: {
    const NodeRecord &chosen = table.child(node, isTrue(machine, child(0)) ? 1 : 2);
    if (kindOf(chosen) == NodeKind::Empty)
      return machine.undefined(span("the condition of an inline if is false, and it has no else"), Absence::Message);
    return evaluate(chosen, frame);
  }
  case NodeKind::Attribute: {
    const Value value = child(0);
    machine.line = machine.ok() ? node.line : machine.line;
    return machine.ok() ? attributeOf(machine, value, table.text(node)) : none();
  }
  case NodeKind::Item:
    return evaluateItem(node, frame);
  case NodeKind::Call:
    return call(node, frame, absent());
  case NodeKind::Filter:
  case NodeKind::FilterReference:
  case NodeKind::Test:
  case NodeKind::TestReference:
    return evaluateApplied(node, frame);
  case NodeKind::Captured:
    return machine.captured;
  default:
    return failTable();
  }
}

} // namespace perpend::templates
