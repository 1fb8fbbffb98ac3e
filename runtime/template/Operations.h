// What templates can do with values: as Python and Jinja define it, or an error.
#ifndef PERPEND_RUNTIME_TEMPLATE_OPERATIONS_H
#define PERPEND_RUNTIME_TEMPLATE_OPERATIONS_H
#include "template/Machine.h"

namespace perpend::templates {

// Print.cpp. As Python's str and repr.
void addText(Machine &machine, Builder &out, Value value);
void addRepresentation(Machine &machine, Builder &out, Value value);
Span textOf(Machine &machine, Value value);
void addNumber(Builder &out, double value);

// WriteJson.cpp. As Python's json.dumps.
struct JsonStyle {
  bool ascii = false, sortKeys = false;
  bool isIndented = false;
  Span indent = {"", 0}, item = {", ", 2}, key = {": ", 2};
};
Value toJson(Machine &machine, Value value, const JsonStyle &style);

// Compare.cpp
bool isTrue(Machine &machine, Value value);
bool equal(Machine &machine, Value a, Value b);
bool less(Machine &machine, Value a, Value b); // error: no order
bool contains(Machine &machine, Value container, Value item);
bool compare(Machine &machine, Comparison comparison, Value a, Value b);
bool isHashable(Value value);
// The value of a key; null: there is none.
const Value *lookUp(Machine &machine, Value dict, Value key);
Value dictOf(Machine &machine, const Value *pairs, size_t count); // of equal keys the last value counts
// Sorts values by keys, and stays stable.
void sortBy(Machine &machine, Value *keys, Value *values, size_t count, bool reverse);

// Iterate.cpp
struct IteratorData {
  enum Source : uint32_t { OfValue, Reversed, Mapped } source;
  FilterKind filter; // of Mapped: Map, Select, Reject, SelectAttribute, RejectAttribute, Unique or Items
  Value value;       // what it goes over
  size_t position;
  const Value *arguments; // of the filter
  IteratorData *inner;
  ValueList *seen; // of Unique
  bool started, ended;
};
bool isIterable(Value value);
// An iterator over a value; null after an error.
IteratorData *iterate(Machine &machine, Value value);
bool next(Machine &machine, IteratorData &iterator, Value &value);
Value lazily(Machine &machine, FilterKind filter, Value value, const Value *arguments, size_t count);
Value reversed(Machine &machine, Value value);
Value listOf(Machine &machine, Value value);
// The length; -1: it has none, and no error was raised.
int64_t lengthOfValue(Value value);

// Operators.cpp
Value operate(Machine &machine, NodeKind kind, Value a, Value b);
Value negate(Machine &machine, Value value, bool isPlus);
Value formatPercent(Machine &machine, Span format, Value arguments);

// Members.cpp
Value attributeOf(Machine &machine, Value value, Span name);
Value itemOf(Machine &machine, Value value, Value index);
Value sliceOf(Machine &machine, Value value, Value start, Value stop, Value step);
// The value at a path such as "function.name", or at an integer.
Value valueAt(Machine &machine, Value value, Value path, Value otherwise);

// Arguments of a call: by position, then by name.
struct Keyword {
  Span name;
  Value value;
};
struct Arguments {
  const Value *values;
  size_t count;
  const Keyword *keywords;
  size_t keywordCount;
};
// Puts arguments in the order of `parameters` ("sep maxsplit"); the rest is absent.
bool bind(Machine &machine, const char *name, const char *parameters, size_t least, size_t positional,
          const Arguments &arguments, Value *bound, size_t most);

// Methods.cpp, Functions.cpp, Filters.cpp, Tests.cpp
enum class MethodKind : uint32_t;
bool findMethod(Machine &machine, Value owner, Span name, Value &method);
Value callMethod(Machine &machine, Value method, const Arguments &arguments);
bool findFunction(Span name, Value &function);
Value callFunction(Machine &machine, FunctionKind function, const Arguments &arguments);
Value applyFilter(Machine &machine, FilterKind filter, Value operand, const Value *arguments, size_t count);
bool applyTest(Machine &machine, TestKind test, Value operand, const Value *arguments, size_t count);
Value namespaceOf(Machine &machine, const Arguments &arguments);
void setAttribute(Machine &machine, Value space, Span name, Value value);
Value formatBraces(Machine &machine, Span format, const Arguments &arguments);

// An argument as a whole number, a bool or a text; errors name it.
int64_t wholeArgument(Machine &machine, const char *name, Value value, int64_t otherwise);
Span textArgument(Machine &machine, const char *name, Value value);

} // namespace perpend::templates
#endif
