//===- DisjointSumsTest.cpp - which sums are marked -----------------------===//
#include "target/cpu/DisjointSums.h"
#include "TestModules.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Operator.h"

using namespace llvm;
using namespace perpend::target;

/// Whether the pass marks `or i64 left, right` in a loop of so many iterations, whose variable is %i.
static bool isMarked(const std::string &left, const std::string &right, const std::string &count) {
  const std::string ir = R"(
    define void @f(ptr %x, i64 %n, i64 %any) {
    entry:
      %row = shl i64 %any, 5
      %half = shl i64 %any, 4
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %loop ]
      %at = or i64 )" + left +
                         ", " + right + R"(
      %p = getelementptr float, ptr %x, i64 %at
      store float 0.0, ptr %p
      %next = add nuw nsw i64 %i, 1
      %more = icmp ult i64 %next, )" +
                         count + R"(
      br i1 %more, label %loop, label %done
    done:
      ret void
    })";
  LLVMContext context;
  std::unique_ptr<Module> module = parseIr(context, ir.c_str());
  Function &function = *module->getFunction("f");
  runOn(function, MarkDisjointSums());
  for (Instruction &instruction : instructions(function))
    if (auto *sum = dyn_cast<PossiblyDisjointInst>(&instruction))
      return sum->isDisjoint();
  ADD_FAILURE() << "there is no sum";
  return false;
}

TEST(DisjointSums, OfARowAndWhatIsLess) {
  EXPECT_TRUE(isMarked("%row", "%i", "32"));
  EXPECT_TRUE(isMarked("%i", "%row", "32"));
}

TEST(DisjointSums, OperandsThatOverlapStay) {
  EXPECT_FALSE(isMarked("%row", "%i", "33"));
  EXPECT_FALSE(isMarked("%half", "%i", "32"));
  EXPECT_TRUE(isMarked("%half", "%i", "16"));
}

TEST(DisjointSums, AnUnknownRangeStays) {
  EXPECT_FALSE(isMarked("%row", "%i", "%n"));
  EXPECT_FALSE(isMarked("%any", "%i", "32"));
}

TEST(DisjointSums, WhatTheLoopDoesNotMoveStays) { EXPECT_FALSE(isMarked("%row", "7", "32")); }
