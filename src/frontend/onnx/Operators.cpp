//===- Operators.cpp - the table of ONNX operators ------------------------===//

#include "frontend/onnx/Operators.h"
#include "frontend/onnx/Domains.h"

using namespace mlir;

namespace perpend::onnx {

static const Operator operators[] = {
#define ONNX_COMPOSITE(DOMAIN, NAME, SINCE, COMPOSITE, VALUES, TYPES, ATTRIBUTES)                                      \
  {DOMAIN, NAME, SINCE, #COMPOSITE, nullptr, VALUES, TYPES, ATTRIBUTES},
#define ONNX_FUNCTION(DOMAIN, NAME, SINCE, FUNCTION, VALUES, TYPES, ATTRIBUTES)                                        \
  {DOMAIN, NAME, SINCE, "", FUNCTION, VALUES, TYPES, ATTRIBUTES},
#include "frontend/onnx/Operators.def"
};

const Operator *lookupOperator(StringRef domain, StringRef name, int64_t operatorSet) {
  if (domain == "ai.onnx")
    domain = "";
  const Operator *best = nullptr;
  for (const Operator &candidate : operators)
    if (candidate.name == name && candidate.domain == domain && candidate.since <= operatorSet &&
        (!best || candidate.since > best->since))
      best = &candidate;
  return best;
}

bool hasOperators(StringRef domain) {
  return llvm::any_of(operators, [&](const Operator &entry) { return entry.domain == domain; });
}

const Operator *findForm(const Operator &entry, llvm::function_ref<bool(const Operator &)> isWanted) {
  const Operator *best = nullptr;
  for (const Operator &form : operators)
    if (form.name == entry.name && form.domain == entry.domain && (!best || form.since > best->since) && isWanted(form))
      best = &form;
  return best;
}

NamedAttribute Node::attribute(StringRef name, Attribute value) const {
  return NamedAttribute(StringAttr::get(builder.context(), name), value);
}
NamedAttribute Node::attribute(StringRef name, ArrayRef<SymbolicInt> dims) const {
  return attribute(name, graph::ShapeAttr::get(builder.context(), dims));
}
NamedAttribute Node::attribute(StringRef name, ArrayRef<int64_t> integers) const {
  return attribute(name, DenseI64ArrayAttr::get(builder.context(), integers));
}

Results Node::composite(StringRef name, ArrayRef<Value> operands, ArrayRef<NamedAttribute> changes) const {
  NamedAttrList list(attributes.all());
  for (NamedAttribute change : changes)
    list.set(change.getName(), change.getValue());
  return graph::applyComposite(builder, name, operands, Attributes(list.getDictionary(builder.context())));
}

Results Node::fail(const Twine &message) const {
  builder.fail(message);
  return {};
}

bool Node::hasInputs(size_t count) const {
  for (size_t index = 0; index < count; ++index)
    if (!input(index)) {
      fail("the input " + Twine(index) + " is missing");
      return false;
    }
  return true;
}

const GraphProto *Node::graph(StringRef name) const {
  for (const AttributeProto &attribute : proto.attributes)
    if (attribute.name == name && !attribute.graphs.empty())
      return &attribute.graphs.back();
  builder.fail("the graph '" + name + "' is missing");
  return nullptr;
}

std::optional<int64_t> Node::declaredRank(size_t output) const {
  const ValueInfo *declared = output < proto.outputs.size() ? subgraphs.declared(proto.outputs[output]) : nullptr;
  return declared ? std::optional<int64_t>(declared->dims->size()) : std::nullopt;
}

bool Node::declaresSameExtent(size_t input, size_t output, size_t dim) const {
  if (input >= proto.inputs.size() || output >= proto.outputs.size())
    return false;
  const ValueInfo *before = subgraphs.declared(proto.inputs[input]);
  const ValueInfo *after = subgraphs.declared(proto.outputs[output]);
  if (!before || !after || dim >= before->dims->size() || dim >= after->dims->size())
    return false;
  const auto &from = (*before->dims)[dim], &to = (*after->dims)[dim];
  return from.value == to.value && from.parameter == to.parameter && (from.value || !from.parameter.empty());
}

void Node::assumeLength(size_t index, std::optional<int64_t> count) {
  Value vector = input(index);
  if (vector && graph::shapeOf(vector).size() == 1 && !builder.contents(vector))
    assumeLastExtent(index, count);
}

void Node::assumeLastExtent(size_t index, std::optional<int64_t> extent) {
  Value tensor = input(index);
  Shape shape = tensor ? graph::shapeOf(tensor) : Shape();
  if (shape.empty() || shape.back().isConstant() || !extent || *extent < 0)
    return;
  SymbolicInt wanted(*extent);
  if (shape.size() > 1) // what the reshape of a vector requires anyway
    for (const SymbolicInt &difference : {shape.back() - wanted, wanted - shape.back()})
      builder.require(difference, ("input " + llvm::Twine(index) + " ('" + proto.inputs[index] + "'): the node needs " +
                                   llvm::Twine(*extent) + " as the last extent")
                                      .str());
  shape.back() = wanted;
  inputs[index] = builder.reshape(tensor, shape);
}

std::optional<Shape> Node::sizes(size_t index, StringRef what) const {
  if (!input(index)) {
    builder.fail("the input " + Twine(index) + " (" + what + ") is missing");
    return std::nullopt;
  }
  return builder.sizes(input(index), what);
}

std::optional<Shape> Node::known(size_t index, StringRef what) const {
  Value value = input(index);
  std::optional<Shape> contents = builder.contents(value);
  if (!value)
    builder.fail("the input " + Twine(index) + " (" + what + ") is missing");
  else if (!contents)
    builder.fail("the " + what + " (input '" + proto.inputs[index] +
                 "') is computed from run-time data"
                 "\nhint: it must be a constant or follow from the shapes of the model's inputs");
  return contents;
}

std::optional<SmallVector<int64_t>> Node::knownNumbers(size_t index, StringRef what) const {
  std::optional<Shape> contents = known(index, what);
  if (!contents)
    return std::nullopt;
  SmallVector<int64_t> numbers;
  for (const SymbolicInt &value : *contents) {
    if (!value.constant()) {
      builder.fail("the " + what + " must be numbers, got " + graph::toString(*contents));
      return std::nullopt;
    }
    numbers.push_back(*value.constant());
  }
  return numbers;
}
} // namespace perpend::onnx
