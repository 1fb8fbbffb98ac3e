//===- Composites.cpp - the registry of composites and their attributes ---===//

#include "graph/composites/Composites.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace perpend::graph {

int64_t Attributes::getInt(StringRef name, int64_t otherwise) const {
  if (auto integer = dyn_cast_or_null<IntegerAttr>(get(name)))
    return integer.getValue().getSExtValue();
  if (auto boolean = dyn_cast_or_null<BoolAttr>(get(name)))
    return boolean.getValue();
  return otherwise;
}

SmallVector<int64_t> Attributes::getInts(StringRef name, ArrayRef<int64_t> otherwise) const {
  Attribute attribute = get(name);
  if (auto list = dyn_cast_or_null<DenseI64ArrayAttr>(attribute))
    return SmallVector<int64_t>(list.asArrayRef());
  if (auto integer = dyn_cast_or_null<IntegerAttr>(attribute))
    return {integer.getValue().getSExtValue()};
  auto array = dyn_cast_or_null<ArrayAttr>(attribute);
  if (!array)
    return SmallVector<int64_t>(otherwise);
  SmallVector<int64_t> values;
  for (Attribute element : array)
    if (auto integer = dyn_cast<IntegerAttr>(element))
      values.push_back(integer.getValue().getSExtValue());
  return values;
}

double Attributes::getFloat(StringRef name, float otherwise) const {
  if (auto number = dyn_cast_or_null<FloatAttr>(get(name)))
    return number.getValueAsDouble();
  return has(name) ? static_cast<double>(getInt(name)) : otherwise;
}

SmallVector<double> Attributes::getFloats(StringRef name) const {
  SmallVector<double> values;
  if (auto array = dyn_cast_or_null<ArrayAttr>(get(name)))
    for (Attribute element : array)
      if (auto number = dyn_cast<FloatAttr>(element))
        values.push_back(number.getValueAsDouble());
  if (auto list = dyn_cast_or_null<DenseF32ArrayAttr>(get(name)))
    values.append(list.asArrayRef().begin(), list.asArrayRef().end());
  if (auto list = dyn_cast_or_null<DenseF64ArrayAttr>(get(name)))
    values.append(list.asArrayRef().begin(), list.asArrayRef().end());
  return values;
}

StringRef Attributes::getString(StringRef name, StringRef otherwise) const {
  auto text = dyn_cast_or_null<StringAttr>(get(name));
  return text ? text.getValue() : otherwise;
}

SmallVector<StringRef> Attributes::getStrings(StringRef name) const {
  if (has(name) && !isa<ArrayAttr>(get(name)))
    return {getString(name)};
  auto list = dyn_cast_or_null<ArrayAttr>(get(name));
  if (!list)
    return {};
  return llvm::map_to_vector(list.getAsRange<StringAttr>(), [](StringAttr text) { return text.getValue(); });
}

Type Attributes::getType(StringRef name, Type otherwise) const {
  auto type = dyn_cast_or_null<TypeAttr>(get(name));
  return type ? type.getValue() : otherwise;
}

std::optional<Shape> Attributes::getDims(StringRef name) const {
  Attribute attribute = get(name);
  if (!attribute)
    return std::nullopt;
  if (auto shape = dyn_cast<ShapeAttr>(attribute))
    return shape.values();
  auto array = dyn_cast<ArrayAttr>(attribute);
  if (!array)
    return llvm::to_vector(llvm::map_range(getInts(name), [](int64_t value) { return SymbolicInt(value); }));
  Shape values;
  for (Attribute element : array) {
    if (auto text = dyn_cast<StringAttr>(element))
      values.push_back(SymbolicInt::parse(text.getValue()).value_or(SymbolicInt::poison()));
    else if (auto integer = dyn_cast<IntegerAttr>(element))
      values.emplace_back(integer.getValue().getSExtValue());
    else
      return std::nullopt;
  }
  return values;
}

namespace {
struct Entry {
  StringRef name;
  unsigned leastInputs;
  /// -1: any number.
  int mostInputs;
  Composite function;
};
} // namespace

static const Entry entries[] = {
#define COMPOSITE(NAME, LEAST, MOST, FORMULA) {#NAME, LEAST, MOST, composites::NAME},
#include "graph/composites/Composites.def"
};

static const Entry *lookup(StringRef name) {
  const Entry *found = llvm::find_if(entries, [&](const Entry &entry) { return entry.name == name; });
  return found == std::end(entries) ? nullptr : found;
}

Composite lookupComposite(StringRef name) {
  const Entry *entry = lookup(name);
  return entry ? entry->function : nullptr;
}

Results applyComposite(Builder &builder, StringRef name, Values inputs, const Attributes &attributes) {
  const Entry *entry = lookup(name);
  assert(entry && "no such composite");
  while (!inputs.empty() && !inputs.back())
    inputs = inputs.drop_back();
  bool isAnyNumber = entry->mostInputs < 0;
  bool fits = inputs.size() >= entry->leastInputs &&
              (isAnyNumber || inputs.size() <= static_cast<size_t>(entry->mostInputs)) &&
              !llvm::is_contained(isAnyNumber ? inputs : inputs.take_front(entry->leastInputs), Value());
  if (fits) {
    Results results = entry->function(builder, inputs, attributes);
    return results.empty() ? Results(1) : results;
  }
  std::string most = isAnyNumber ? " or more"
                     : entry->mostInputs == static_cast<int>(entry->leastInputs)
                         ? ""
                         : " to " + std::to_string(entry->mostInputs);
  builder.fail("expected " + Twine(entry->leastInputs) + most + " inputs, got " +
               Twine(llvm::count_if(inputs, [](Value input) { return !!input; })));
  return Results(1);
}

Value call(Builder &builder, StringRef name, Values inputs, const Attributes &attributes) {
  return llvm::is_contained(inputs, Value()) ? Value() : applyComposite(builder, name, inputs, attributes)[0];
}
} // namespace perpend::graph
