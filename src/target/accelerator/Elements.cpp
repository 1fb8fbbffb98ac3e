//===- Elements.cpp - types of elements -----------------------------------===//
#include "target/accelerator/Elements.h"

#include <iterator>

namespace perpend::accelerator {

struct TypeRow {
  llvm::StringLiteral name;
  unsigned bytes;
};
constexpr TypeRow types[] = {{"none", 0}, {"i8", 1},   {"u8", 1},  {"i16", 2},  {"i32", 4},
                             {"f16", 2},  {"bf16", 2}, {"f32", 4}, {"pred8", 1}};
static_assert(std::size(types) == static_cast<size_t>(DType::Pred8) + 1);

unsigned sizeOf(DType type) { return types[static_cast<size_t>(type)].bytes; }
llvm::StringRef nameOf(DType type) { return types[static_cast<size_t>(type)].name; }

} // namespace perpend::accelerator
