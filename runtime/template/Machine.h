// The state of one rendering: memory, limits, and the first error. After an error every function returns something
// harmless, so callers check ok() where they loop and at the end.
#ifndef PERPEND_RUNTIME_TEMPLATE_MACHINE_H
#define PERPEND_RUNTIME_TEMPLATE_MACHINE_H
#include "include/perpend_template.h"
#include "template/Table.h"
#include <cstdint>
#include <cstring>

namespace perpend::templates {

using Value = perpend_value;

// Kinds of values. Those up to Dict are the caller's (perpend_value_kind).
enum Kind : uint32_t {
  None,
  Bool,
  Integer,
  Float,
  Text,
  List,
  Tuple,
  Dict,
  Safe,      // a text that the filter `safe` or `escape` marked
  Undefined, // text: what is undefined; detail: an Absence
  Range,     // object: RangeData; size: its length
  View,      // of a dict, as items; detail: a ViewKind
  Iterator,  // object: an IteratorData
  Namespace, // object: NamespaceData
  Macro,     // object: MacroData
  Method,    // object: the value that it belongs to; detail: a MethodKind
  Function,  // detail: a FunctionKind
  Loop,      // object: LoopData
  Reference, // detail: a filter or test, items: its arguments, for map and select
  Absent     // an argument that was not given, or a variable without a value
};

// Why a value is undefined.
enum class Absence : uint32_t { Name, Attribute, Message };
enum class ViewKind : uint32_t { Keys, Values, Items };
enum class FunctionKind : uint32_t {
#define FUNCTION(NAME, TEXT) NAME,
#include "template/Functions.def"
  End
};

struct Span {
  const char *data;
  size_t size;
  bool operator==(Span other) const { return size == other.size && (!size || !memcmp(data, other.data, size)); }
  bool operator==(const char *other) const { return *this == Span{other, strlen(other)}; }
};
inline Span span(const char *text) { return {text, strlen(text)}; }
inline Span span(Value value) { return {value.as.text, value.size}; }

struct RangeData {
  int64_t start, stop, step;
};

// The slots of a function that runs.
struct Activation {
  Activation *outer;
  Value *slots;
  uint32_t count;
};

struct MacroData {
  const NodeRecord *function;
  Activation *outer;
};

struct NamespaceData {
  Value *pairs; // name, value, name, value ...
  size_t count, capacity;
};

inline Value make(uint32_t kind, uint32_t detail = 0) { return {kind, detail, {0}, 0}; }
inline Value none() { return make(None); }
inline Value absent() { return make(Absent); }
inline Value boolean(bool value) { return {Bool, 0, {value ? 1 : 0}, 0}; }
inline Value integer(int64_t value) { return {Integer, 0, {value}, 0}; }
inline Value number(double value) {
  Value result = make(Float);
  result.as.number = value;
  return result;
}
inline Value text(Span content, uint32_t kind = Text) {
  Value result = make(kind);
  result.as.text = content.data;
  result.size = content.size;
  return result;
}
inline Value items(uint32_t kind, const Value *values, size_t count, uint32_t detail = 0) {
  Value result = make(kind, detail);
  result.as.items = values;
  result.size = count;
  return result;
}
inline Value object(uint32_t kind, void *data, uint32_t detail = 0) {
  Value result = make(kind, detail);
  result.as.object = data;
  return result;
}
inline bool isText(Value value) { return value.kind == Text || value.kind == Safe; }
inline bool isWhole(Value value) { return value.kind == Integer || value.kind == Bool; }
inline bool isNumber(Value value) { return isWhole(value) || value.kind == Float; }
inline double asDouble(Value value) {
  return value.kind == Float ? value.as.number : static_cast<double>(value.as.integer);
}
inline bool isGiven(Value value) { return value.kind != Absent; }
// The name of a kind as Python has it.
const char *kindName(Value value);

// Memory that is freed at the end of a rendering.
class Arena {
public:
  explicit Arena(uint64_t limit) : limit(limit) {}
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;
  ~Arena() { release(blocks); }
  void *allocate(size_t bytes); // aligned to 16; null: over the limit, or no memory
  bool isOverLimit() const { return overLimit; }
  void *takeBlocks(); // the caller frees them with release()
  static void release(void *blocks);

private:
  struct alignas(16) Block {
    Block *next;
    size_t used, capacity;
  };
  Block *blocks = nullptr;
  uint64_t limit, used = 0;
  bool overLimit = false;
};

struct Limits {
  explicit Limits(const perpend_template_limits *given);
  uint64_t steps, memoryBytes, outputBytes;
  uint32_t depth;
};

class Machine {
public:
  Machine(Limits limits, char *message) : limits(limits), arena(limits.memoryBytes), message(message) {}

  bool ok() const { return !failed; }
  // Keeps the first message, with the line. Returns none().
  __attribute__((format(printf, 2, 3))) Value fail(const char *format, ...);
  Value failMemory();
  perpend_status status() const { return failed ? failure : PERPEND_OK; }

  // Counts work in units of one node; false after the limit.
  bool charge(uint64_t work) {
    steps += work;
    if (steps > limits.steps && ok())
      fail("more than %llu steps; hint: a loop may not end, or raise the limit",
           static_cast<unsigned long long>(limits.steps));
    return ok();
  }
  bool chargeBytes(size_t bytes) { return charge(bytes / 64 + 1); }

  // count objects of a trivial type, not initialised; null after an error.
  template <typename T> T *allocate(size_t count) {
    void *memory = ok() && count < SIZE_MAX / 2 / sizeof(T) ? arena.allocate(count * sizeof(T)) : nullptr;
    if (!memory)
      failMemory();
    return static_cast<T *>(memory);
  }
  Span copy(Span text);
  Value undefined(Span what, Absence absence) {
    return {Undefined, static_cast<uint32_t>(absence), {reinterpret_cast<intptr_t>(what.data)}, what.size};
  }
  // The error of using an undefined value.
  Value failUndefined(Value value);

  Limits limits;
  Arena arena;
  uint32_t line = 0, depth = 0;
  Value captured = none(); // the text of the block whose filter runs

private:
  char *message;
  uint64_t steps = 0;
  bool failed = false;
  perpend_status failure = PERPEND_INVALID_DATA;
};

// One level of recursion; false: too deep.
class Nested {
public:
  explicit Nested(Machine &machine) : machine(machine) {
    if (++machine.depth > machine.limits.depth && machine.ok())
      machine.fail("nested deeper than %u; hint: a macro may call itself without end, or raise the limit",
                   machine.limits.depth);
  }
  Nested(const Nested &) = delete;
  Nested &operator=(const Nested &) = delete;
  ~Nested() { --machine.depth; }
  explicit operator bool() const { return machine.ok(); }

private:
  Machine &machine;
};

// A text that grows.
class Builder {
public:
  explicit Builder(Machine &machine) : machine(machine) {}
  void add(Span text) {
    if (text.size && reserve(text.size)) {
      memcpy(data + size, text.data, text.size);
      size += text.size;
    }
  }
  void add(const char *text) { add(span(text)); }
  void add(char c) { add(Span{&c, 1}); }
  void addCode(uint32_t code);
  void addInteger(int64_t value);
  Span text() const { return {data, size}; }
  Value value(uint32_t kind = Text) const { return templates::text(text(), kind); }
  size_t bytes() const { return size; }

private:
  bool reserve(size_t more);
  Machine &machine;
  char *data = nullptr;
  size_t size = 0, capacity = 0;
};

// Values that grow.
class ValueList {
public:
  explicit ValueList(Machine &machine) : machine(machine) {}
  void add(Value value);
  Value value(uint32_t kind) const { return items(kind, data, kind == Dict ? size / 2 : size); }
  const Value *begin() const { return data; }
  Value *values() { return data; }
  size_t count() const { return size; }
  Value &operator[](size_t i) { return data[i]; }

private:
  Machine &machine;
  Value *data = nullptr;
  size_t size = 0, capacity = 0;
};

} // namespace perpend::templates
#endif
