// Calls of macros, methods and functions.
#include "template/Evaluator.h"

namespace perpend::templates {

Value Evaluator::call(const NodeRecord &node, Frame frame, Value caller) {
  if (kindOf(node) != NodeKind::Call)
    return failTable();
  const Value callee = evaluate(table.child(node, 0), frame);
  Value *values = machine.allocate<Value>(node.count);
  auto *keywords = machine.allocate<Keyword>(node.count);
  Arguments arguments = {values, 0, keywords, 0};
  for (uint32_t i = 1; i < node.count && machine.ok(); ++i) {
    const NodeRecord &child = table.child(node, i);
    if (kindOf(child) == NodeKind::Keyword)
      keywords[arguments.keywordCount++] = {table.text(child), evaluate(table.child(child, 0), frame)};
    else if (arguments.keywordCount)
      failTable();
    else
      values[arguments.count++] = evaluate(child, frame);
  }
  if (!machine.ok())
    return none();
  if (isGiven(caller))
    keywords[arguments.keywordCount++] = {span("caller"), caller};
  machine.line = node.line;
  return callValue(callee, arguments);
}

Value Evaluator::callValue(Value callee, const Arguments &arguments) {
  switch (callee.kind) {
  case Macro:
    return callMacro(*static_cast<const MacroData *>(callee.as.object), arguments);
  case Method:
    return callMethod(machine, callee, arguments);
  case Function:
    return callFunction(machine, static_cast<FunctionKind>(callee.detail), arguments);
  case Undefined:
    return machine.failUndefined(callee);
  default:
    return machine.fail("a %s cannot be called", kindName(callee));
  }
}

// Puts the arguments into the slots of the parameters; the rest of the slots stay without a value.
bool Evaluator::fill(const NodeRecord &function, const Arguments &arguments, Value *slots) {
  const uint32_t parameterCount = function.count - 2;
  const bool hasCaller = function.detail & usesCaller;
  const uint32_t positional = parameterCount - (hasCaller && parameterCount ? 1 : 0);
  size_t used = 0;
  for (uint32_t i = 0; i < parameterCount && machine.ok(); ++i) {
    const NodeRecord &parameter = table.child(function, i + 2);
    if (kindOf(parameter) != NodeKind::Parameter || parameter.value >= function.value) {
      failTable();
      return false;
    }
    Value value = absent();
    if (i < positional && i < arguments.count)
      value = arguments.values[i];
    for (size_t k = 0; k < arguments.keywordCount && !isGiven(value); ++k)
      if (arguments.keywords[k].name == table.text(parameter)) {
        value = arguments.keywords[k].value;
        ++used;
      }
    slots[parameter.value] = value;
  }
  const Span name = table.text(function);
  if (machine.ok() && arguments.count > positional)
    machine.fail("the macro '%.*s' takes %u arguments, got %zu", static_cast<int>(name.size % 200), name.data,
                 positional, arguments.count);
  if (machine.ok() && used < arguments.keywordCount)
    machine.fail("the macro '%.*s' got a named argument that it does not take, or twice",
                 static_cast<int>(name.size % 200), name.data);
  return machine.ok();
}

Value Evaluator::defaultOf(const NodeRecord &parameter, Frame frame) {
  if (parameter.count)
    return evaluate(table.child(parameter, 0), frame);
  return machine.undefined(table.text(parameter), Absence::Name);
}

Value Evaluator::callMacro(const MacroData &macro, const Arguments &arguments) {
  const NodeRecord &function = *macro.function;
  Nested nested(machine);
  if (!nested || kindOf(function) != NodeKind::Function)
    return nested ? failTable() : none();
  Value *slots = machine.allocate<Value>(function.value);
  if (!slots || !machine.charge(function.value / 8 + 1))
    return none();
  for (uint32_t i = 0; i < function.value; ++i)
    slots[i] = absent();
  if (!fill(function, arguments, slots))
    return none();
  Activation activation = {macro.outer, slots, function.value};
  // A macro inside this one may outlive it.
  auto *kept = machine.allocate<Activation>(1);
  Builder out(machine);
  if (!kept)
    return none();
  *kept = activation;
  const Frame frame = {kept, &out};
  execute(table.child(function, 0), frame);
  for (uint32_t i = 2; i < function.count && machine.ok(); ++i) {
    const NodeRecord &parameter = table.child(function, i);
    if (!isGiven(slots[parameter.value]))
      slots[parameter.value] = defaultOf(parameter, frame);
  }
  const uint32_t line = machine.line;
  const Value captured = machine.captured;
  execute(table.child(function, 1), frame);
  machine.captured = captured;
  if (!machine.ok())
    return none();
  machine.line = line;
  return out.value();
}

} // namespace perpend::templates
