// Every call chooses anew; there is one call per load. The runtime that loads an artifact may be another one than that
// inside, and it only knows the model's tables. So a refusal is tables, too: those of a model which requires what is
// missing.
#include "ChooseVariant.h"
#include "../Isa.h"
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace perpend::runtime {
namespace {

// A string that ends where its buffer does.
template <size_t capacity> struct BoundedText {
  char text[capacity] = {};
  size_t used = 0;

  [[gnu::format(printf, 2, 3)]] void append(const char *format, ...) {
    va_list values;
    va_start(values, format);
    int count = vsnprintf(text + used, capacity - used, format, values);
    va_end(values);
    used += static_cast<size_t>(count);
    if (used >= capacity) {
      used = capacity - 1;
      memcpy(text + used - 3, "...", 3);
    }
  }
};

using Needs = BoundedText<240>; // the room in the runtime's message

bool runs(const perpend_variant &variant) {
  for (const char *name = variant.isa; *name; name += strlen(name) + 1)
    if (!hasInstructionSet(name))
      return false;
  for (const char *name = variant.isa; *name; name += strlen(name) + 1)
    if (!requestInstructionSet(name))
      return false;
  return true;
}

// For example "avx512f,avx512dq and 3 more (x86-64-v4)" or "amx-tile (not granted by the system) (sapphirerapids)".
void describeMissing(const perpend_variant &variant, Needs &needs) {
  constexpr uint32_t shown = 4;
  uint32_t count = 0;
  for (const char *name = variant.isa; *name; name += strlen(name) + 1)
    if (!(hasInstructionSet(name) && requestInstructionSet(name)) && count++ < shown)
      needs.append("%s%s%s", count > 1 ? "," : "", name, hasInstructionSet(name) ? " (not granted by the system)" : "");
  if (count > shown)
    needs.append(" and %u more", count - shown);
  needs.append(" (%s)", variant.target);
}

void nameAll(const perpend_variant *variants, uint32_t count, Needs &text) {
  for (uint32_t i = 0; i < count; ++i)
    text.append("%s'%s'", i ? ", " : "", variants[i].target);
}

// Makes `text` safe to print.
void replaceUnprintable(char *text) {
  for (; *text; ++text)
    if (*text < ' ' || *text > '~' || *text == '"' || *text == '\\')
      *text = '?';
}

// The tables of a model that no processor runs.
struct Refusal {
  perpend_tables head;
  perpend_entry_record entry;
  uint32_t isa;
  char name[61], target[40], needs[sizeof(Needs::text)], hint[sizeof(Needs::text)], end;
};

template <size_t capacity> void copyText(char (&to)[capacity], const char *from) { snprintf(to, capacity, "%s", from); }

const perpend_module *refuse(const perpend_variant &any, const char *name, Needs &needs, const char *asked,
                             const Needs &hint = {}) {
  static thread_local Refusal refusal;
  static thread_local perpend_module module;
  replaceUnprintable(needs.text);
  memset(&refusal, 0, sizeof refusal);
  copyText(refusal.name, name);
  copyText(refusal.target, asked);
  copyText(refusal.needs, needs.text);
  copyText(refusal.hint, hint.text);
  refusal.isa = offsetof(Refusal, needs);
  refusal.entry.name = offsetof(Refusal, name);
  refusal.entry.arenaBytes = -1;
  refusal.head.name = offsetof(Refusal, name);
  refusal.head.target = offsetof(Refusal, target);
  refusal.head.hint = hint.used ? offsetof(Refusal, hint) : 0;
  refusal.head.descriptor = offsetof(Refusal, end);
  refusal.head.isa = {offsetof(Refusal, isa), 1};
  refusal.head.entries = {offsetof(Refusal, entry), 1};
  module = {};
  module.magic = PERPEND_MODULE_MAGIC;
  module.abi = PERPEND_MODULE_ABI;
  module.tables = &refusal.head;
  module.tablesBytes = sizeof refusal;
  module.bind = any.module->bind;
  module.sizes = any.module->sizes;
  module.run = any.module->run;
  return &module;
}

const perpend_module *chooseNamed(const perpend_variant *variants, uint32_t count, const char *name,
                                  const char *wanted) {
  Needs needs, hint;
  for (uint32_t i = 0; i < count; ++i)
    if (!strcmp(variants[i].target, wanted)) {
      if (runs(variants[i]))
        return variants[i].module;
      describeMissing(variants[i], needs);
      hint.append("this machine lacks that; unset PERPEND_TARGET, or set it to another of ");
      nameAll(variants, count, hint);
      return refuse(variants[i], name, needs, "that of PERPEND_TARGET", hint);
    }
  needs.append("PERPEND_TARGET to be one of ");
  nameAll(variants, count, needs);
  needs.append(", got '%s'", wanted);
  hint.append("correct or unset PERPEND_TARGET");
  return refuse(variants[0], name, needs, "that of PERPEND_TARGET", hint);
}

} // namespace
} // namespace perpend::runtime

using namespace perpend::runtime;

const perpend_module *perpend_choose_variant_v1(const perpend_variant *variants, uint32_t count, const char *name) {
  const char *wanted = getenv("PERPEND_TARGET");
  if (wanted && *wanted)
    return chooseNamed(variants, count, name, wanted);
  for (uint32_t i = 0; i < count; ++i)
    if (runs(variants[i]))
      return variants[i].module;
  Needs needs;
  BoundedText<40> asked;
  for (uint32_t i = 0; i < count; ++i) {
    needs.append("%s", i ? ", or " : "");
    describeMissing(variants[i], needs);
    asked.append("%s%s", i ? "," : "", variants[i].target);
  }
  return refuse(variants[0], name, needs, asked.text);
}
