// Walks the syntax tree of a template.
#ifndef PERPEND_RUNTIME_TEMPLATE_EVALUATOR_H
#define PERPEND_RUNTIME_TEMPLATE_EVALUATOR_H
#include "template/Loops.h"
#include "template/Operations.h"

namespace perpend::templates {

class Evaluator {
public:
  Evaluator(Machine &machine, const Table &table, Value variables)
      : machine(machine), table(table), variables(variables) {}
  // The text of the whole template.
  Span run();

private:
  enum class Flow { Next, Break, Continue };
  // Where statements run: the slots of the function, and the text that they write.
  struct Frame {
    Activation *activation;
    Builder *out;
  };
  struct Condition {
    Evaluator *evaluator;
    const NodeRecord *node;
    Frame frame;
  };

  // Statements (Execute.cpp)
  Flow execute(const NodeRecord &node, Frame frame);
  Flow executeStatement(const NodeRecord &node, Frame frame);
  Flow executeBlock(const NodeRecord &node, Frame frame);
  Flow executeFor(const NodeRecord &node, Frame frame);
  Flow executeCaptured(const NodeRecord &node, Frame frame, bool isSet);
  void resolve(const NodeRecord &node, Frame frame);
  static bool nextSelected(void *context, IteratorData &values, Value &value);
  void store(const NodeRecord &target, Frame frame, Value value);
  void storeTuple(const NodeRecord &target, Frame frame, Value value);
  Value macroOf(const NodeRecord &function, Frame frame);
  // Calls (Calls.cpp)
  Value call(const NodeRecord &node, Frame frame, Value caller);
  Value callValue(Value callee, const Arguments &arguments);
  Value callMacro(const MacroData &macro, const Arguments &arguments);
  bool fill(const NodeRecord &function, const Arguments &arguments, Value *slots);
  Value defaultOf(const NodeRecord &parameter, Frame frame);
  // Expressions (Evaluate.cpp)
  Value evaluate(const NodeRecord &node, Frame frame);
  Value evaluateExpression(const NodeRecord &node, Frame frame);
  Value evaluateList(const NodeRecord &node, Frame frame, uint32_t kind);
  Value evaluateDict(const NodeRecord &node, Frame frame);
  Value evaluateCompare(const NodeRecord &node, Frame frame);
  Value evaluateConcat(const NodeRecord &node, Frame frame);
  Value evaluateItem(const NodeRecord &node, Frame frame);
  Value evaluateApplied(const NodeRecord &node, Frame frame);
  const Value *evaluateArguments(const NodeRecord &node, Frame frame, uint32_t first);
  Value *slot(const NodeRecord &name, Frame frame);
  Value name(const NodeRecord &node, Frame frame);
  Value failTable() { return machine.fail("the template's table is damaged"); }

  Machine &machine;
  const Table &table;
  Value variables;
};

} // namespace perpend::templates
#endif
