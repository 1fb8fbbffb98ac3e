// Memory, limits and errors of a rendering.
#include "template/Machine.h"
#include "library/Utf8.h"
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace perpend::templates {

Limits::Limits(const perpend_template_limits *given) {
  const perpend_template_limits defaults = {10'000'000, uint64_t{256} << 20, uint64_t{64} << 20, 1000};
  auto choose = [&](auto field) { return given && given->*field ? given->*field : defaults.*field; };
  steps = choose(&perpend_template_limits::steps);
  memoryBytes = choose(&perpend_template_limits::memoryBytes);
  outputBytes = choose(&perpend_template_limits::outputBytes);
  depth = choose(&perpend_template_limits::depth);
}

void *Arena::allocate(size_t bytes) {
  bytes = (bytes + 15) & ~size_t{15};
  if (bytes > limit - used) {
    overLimit = true;
    return nullptr;
  }
  if (!blocks || blocks->capacity - blocks->used < bytes) {
    const size_t least = blocks && blocks->capacity < (1 << 20) ? 2 * blocks->capacity : 4064;
    const size_t capacity = bytes > least ? bytes : least;
    auto *block = static_cast<Block *>(malloc(sizeof(Block) + capacity));
    if (!block)
      return nullptr;
    *block = {blocks, 0, capacity};
    blocks = block;
  }
  used += bytes;
  blocks->used += bytes;
  return reinterpret_cast<char *>(blocks + 1) + blocks->used - bytes;
}

void *Arena::takeBlocks() {
  void *taken = blocks;
  blocks = nullptr;
  return taken;
}

void Arena::release(void *first) {
  for (auto *block = static_cast<Block *>(first); block;) {
    Block *next = block->next;
    free(block);
    block = next;
  }
}

const char *kindName(Value value) {
  static const char *const names[] = {"NoneType", "bool",   "int",       "float", "str",       "list",      "tuple",
                                      "dict",     "Markup", "undefined", "range", "dict view", "generator", "namespace",
                                      "macro",    "method", "function",  "loop",  "reference", "nothing"};
  return value.kind <= Absent ? names[value.kind] : "unknown";
}

Value Machine::fail(const char *format, ...) {
  if (failed)
    return none();
  failed = true;
  size_t used = 0;
  if (line)
    used = static_cast<size_t>(snprintf(message, PERPEND_TEMPLATE_MESSAGE_BYTES, "line %u: ", line));
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message + used, PERPEND_TEMPLATE_MESSAGE_BYTES - used, format, arguments);
  va_end(arguments);
  // Parts of the message may have been cut short within a character.
  const auto size = static_cast<int64_t>(strlen(message));
  for (int64_t position = 0; position < size;) {
    const int64_t start = position;
    if (library::decode(message, size, position) < library::invalidByte)
      continue;
    if (size - start < 4)
      message[start] = '\0';
    message[start] = message[start] ? '?' : '\0';
  }
  return none();
}

Value Machine::failMemory() {
  if (failed)
    return none();
  if (arena.isOverLimit())
    return fail("values of more than %llu bytes; hint: raise the limit of memory",
                static_cast<unsigned long long>(limits.memoryBytes));
  fail("no memory");
  failure = PERPEND_OUT_OF_MEMORY;
  return none();
}

Value Machine::failUndefined(Value value) {
  const int size = value.size < 200 ? static_cast<int>(value.size) : 200;
  if (value.detail == static_cast<uint32_t>(Absence::Message))
    return fail("%.*s", size, value.as.text);
  return fail(value.detail == static_cast<uint32_t>(Absence::Name) ? "'%.*s' is undefined"
                                                                   : "the value has no attribute or item '%.*s'",
              size, value.as.text);
}

Span Machine::copy(Span text) {
  char *data = allocate<char>(text.size ? text.size : 1);
  if (!data)
    return {"", 0};
  if (text.size)
    memcpy(data, text.data, text.size);
  return {data, text.size};
}

bool Builder::reserve(size_t more) {
  if (!machine.chargeBytes(more))
    return false;
  if (more <= capacity - size)
    return true;
  const size_t wanted = size + more > 2 * capacity ? size + more : 2 * capacity;
  char *bigger = machine.allocate<char>(wanted < 32 ? 32 : wanted);
  if (!bigger)
    return false;
  if (size)
    memcpy(bigger, data, size);
  data = bigger;
  capacity = wanted < 32 ? 32 : wanted;
  return true;
}

void Builder::addCode(uint32_t code) {
  char bytes[4];
  add(Span{bytes, static_cast<size_t>(library::encode(code, bytes))});
}

void Builder::addInteger(int64_t value) {
  char digits[24];
  snprintf(digits, sizeof digits, "%lld", static_cast<long long>(value));
  add(digits);
}

void ValueList::add(Value value) {
  if (!machine.charge(1))
    return;
  if (size == capacity) {
    const size_t wanted = capacity ? 2 * capacity : 4;
    Value *bigger = machine.allocate<Value>(wanted);
    if (!bigger)
      return;
    if (size)
      memcpy(bigger, data, size * sizeof(Value));
    data = bigger;
    capacity = wanted;
  }
  data[size++] = value;
}

} // namespace perpend::templates
