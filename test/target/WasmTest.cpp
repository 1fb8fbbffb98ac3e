//===- WasmTest.cpp - relaxed sums, and variants of a module --------------===//
#include "TestModules.h"
#include "target/WasmVariants.h"
#include "target/cpu/wasm32/RelaxedSums.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsWebAssembly.h"
#include "llvm/Support/LEB128.h"

#include <gtest/gtest.h>
#include <random>

using namespace llvm;
using namespace perpend::target;

namespace {

/// The instructions of a function of %a, %b and %c of a type, by name; intrinsics by theirs.
std::vector<std::string> relaxed(const std::string &body, const std::string &type) {
  const std::string ir = "declare " + type + " @llvm.fmuladd." + (type == "float" ? "f32" : "v4f32") + "(" + type +
                         ", " + type + ", " + type + ")\ndefine " + type + " @f(" + type + " %a, " + type + " %b, " +
                         type + " %c) {\n" + body + "\nret " + type + " %r\n}";
  LLVMContext context;
  std::unique_ptr<Module> module = parseIr(context, ir.c_str());
  relaxSums(*module->getFunction("f"));
  std::vector<std::string> names;
  for (Instruction &instruction : instructions(*module->getFunction("f")))
    if (auto *call = dyn_cast<IntrinsicInst>(&instruction))
      names.push_back(call->getIntrinsicID() == Intrinsic::wasm_relaxed_madd    ? "madd"
                      : call->getIntrinsicID() == Intrinsic::wasm_relaxed_nmadd ? "nmadd"
                                                                                : "other");
    else if (!instruction.isTerminator())
      names.push_back(instruction.getOpcodeName());
  return names;
}

using Names = std::vector<std::string>;
const std::string vector = "<4 x float>";

/// What a loader does with pieces (runtime/wasm/module/perpend-engine.mjs).
std::string joined(StringRef base, StringRef pieces) {
  std::string all;
  const uint8_t *at = pieces.bytes_begin();
  auto number = [&] {
    unsigned count = 0;
    const uint64_t value = decodeULEB128(at, &count);
    at += count;
    return value;
  };
  while (at < pieces.bytes_end()) {
    const uint64_t own = number();
    all.append(reinterpret_cast<const char *>(at), own);
    at += own;
    const uint64_t from = number(), count = number();
    EXPECT_LE(from + count, base.size());
    all += base.substr(from, count);
  }
  return all;
}

} // namespace

TEST(RelaxedSums, ProductsAndSumsThatMayBeContracted) {
  const std::string product = "%p = fmul contract <4 x float> %a, %b\n";
  EXPECT_EQ(relaxed(product + "%r = fadd contract <4 x float> %p, %c", vector), Names{"madd"});
  EXPECT_EQ(relaxed(product + "%r = fadd contract <4 x float> %c, %p", vector), Names{"madd"});
  EXPECT_EQ(relaxed(product + "%r = fsub contract <4 x float> %c, %p", vector), Names{"nmadd"});
  EXPECT_EQ(
      relaxed("%r = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %a, <4 x float> %b, <4 x float> %c)", vector),
      Names{"madd"});
}

TEST(RelaxedSums, OthersStay) {
  const std::string product = "%p = fmul contract <4 x float> %a, %b\n";
  EXPECT_EQ(relaxed(product + "%r = fadd <4 x float> %p, %c", vector), (Names{"fmul", "fadd"})) << "the sum is exact";
  EXPECT_EQ(relaxed("%p = fmul <4 x float> %a, %b\n%r = fadd contract <4 x float> %p, %c", vector),
            (Names{"fmul", "fadd"}))
      << "the product is exact";
  EXPECT_EQ(relaxed(product + "%r = fsub contract <4 x float> %p, %c", vector), (Names{"fmul", "fsub"}))
      << "no instruction computes a product less a number";
  EXPECT_EQ(relaxed(product + "%s = fadd contract <4 x float> %p, %c\n%r = fadd <4 x float> %s, %p", vector),
            (Names{"fmul", "fadd", "fadd"}))
      << "the product is read twice";
  EXPECT_EQ(relaxed("%p = fmul contract float %a, %b\n%r = fadd contract float %p, %c", "float"),
            (Names{"fmul", "fadd"}))
      << "numbers have no such instruction";
}

TEST(WasmVariants, PiecesMakeTheVariant) {
  std::mt19937 random(1);
  auto bytesOf = [&](size_t count) {
    std::string bytes(count, '\0');
    for (char &byte : bytes)
      byte = char(random());
    return bytes;
  };
  const std::string base = bytesOf(100000);
  std::string moved = bytesOf(70) + base.substr(300, 60000) + bytesOf(5) + base.substr(60400);
  const std::string pieces = piecesOf(base, moved);
  EXPECT_EQ(joined(base, pieces), moved);
  EXPECT_LT(pieces.size(), 250u) << "what both have is there once";
  for (StringRef wanted : {StringRef(), StringRef(base), StringRef(base).take_front(63), StringRef("another")})
    EXPECT_EQ(joined(base, piecesOf(base, wanted)), wanted);
  EXPECT_EQ(joined("short", piecesOf("short", moved)), moved);
  const std::string same(5000, 'x');
  EXPECT_EQ(joined(same, piecesOf(same, same + "y" + same)), same + "y" + same);
}
