//===- WordShufflesTest.cpp - which words are numbers ---------------------===//
#include "target/cpu/WordShuffles.h"
#include "TestModules.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Verifier.h"

using namespace llvm;
using namespace perpend::target;

/// The shuffles of elements of this type that the pass leaves, in a function that returns one.
static int shufflesLeft(const std::string &body, const std::string &type, const std::string &attributes,
                        const char *element = "i8") {
  const std::string ir =
      "define " + type + " @f(ptr %p, <16 x i8> %row) " + attributes + " {\n" + body + "\n  ret " + type + " %all\n}";
  LLVMContext context;
  std::unique_ptr<Module> module = parseIr(context, ir.c_str());
  Function &function = *module->getFunction("f");
  runOn(function, BroadcastWords());
  EXPECT_FALSE(verifyModule(*module, &errs()));
  return int(count_if(instructions(function), [&](Instruction &instruction) {
    auto *shuffle = dyn_cast<ShuffleVectorInst>(&instruction);
    return shuffle && shuffle->getType()->getScalarType()->isIntegerTy(StringRef(element) == "i8" ? 8 : 32);
  }));
}

constexpr const char *length = "vscale_range(2,2)";
static const std::string load = "  %word = load <4 x i8>, ptr %p, align 1\n";
static const std::string ofWord =
    load + "  %all = shufflevector <4 x i8> %word, <4 x i8> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 0, i32 "
           "1, i32 2, i32 3>";

static std::string ofRow(const std::string &mask) {
  return "  %all = shufflevector <16 x i8> %row, <16 x i8> poison, <8 x i32> <" + mask + ">";
}

TEST(WordShuffles, AWordIsANumber) {
  EXPECT_EQ(shufflesLeft(ofWord, "<8 x i8>", length), 0);
  EXPECT_EQ(shufflesLeft(ofWord, "<8 x i8>", length, "i32"), 1) << "of the number to all lanes";
  EXPECT_EQ(shufflesLeft(ofRow("i32 4, i32 5, i32 6, i32 7, i32 4, i32 5, i32 6, i32 7"), "<8 x i8>", length), 0);
}

TEST(WordShuffles, OthersStay) {
  EXPECT_EQ(shufflesLeft(ofWord, "<8 x i8>", ""), 1) << "vectors have no such length";
  EXPECT_EQ(shufflesLeft(ofRow("i32 1, i32 2, i32 3, i32 4, i32 1, i32 2, i32 3, i32 4"), "<8 x i8>", length), 1)
      << "parts of two words";
  EXPECT_EQ(shufflesLeft(ofRow("i32 4, i32 5, i32 6, i32 7, i32 4, i32 5, i32 6, i32 6"), "<8 x i8>", length), 1)
      << "no repetition";
  EXPECT_EQ(shufflesLeft(ofRow("i32 4, i32 4, i32 4, i32 4, i32 4, i32 4, i32 4, i32 4"), "<8 x i8>", length), 1)
      << "one element";
  EXPECT_EQ(shufflesLeft(ofRow("i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7"), "<8 x i8>", length), 1)
      << "a part, once";
}
