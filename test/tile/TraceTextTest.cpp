//===- TraceTextTest.cpp - traces as text ---------------------------------===//
//
// What is wrong with a text is said with its line and column, and nothing has
// been done then. (That a text does what the trace it was printed from did is
// part of ScheduleTest.)
//
//===----------------------------------------------------------------------===//

#include "Module.h"
#include "Workloads.h"

#include "tile/passes/Passes.h"
#include "tile/schedule/TraceText.h"

#include "mlir/Pass/PassManager.h"

using namespace perpend::tile;
using perpend::interp::Module;

namespace {
std::string describe(const TextError &error) {
  return std::to_string(error.position.line) + ":" + std::to_string(error.position.column) + ": " + error.message;
}

/// A product of 7 x 5 and 5 x 6, as loops around the block `contract`.
class Product {
public:
  Product() : module(workload().text()) {
    mlir::PassManager passes(&module.context);
    passes.addPass(createTileBuildBlocks());
    EXPECT_TRUE(mlir::succeeded(passes.run(*module.module)));
  }

  mlir::func::FuncOp kernel() { return module.module->lookupSymbol<mlir::func::FuncOp>("k"); }

  std::string text() {
    std::string text;
    llvm::raw_string_ostream(text) << kernel();
    return text;
  }

  /// Empty: all was done.
  std::string replay(llvm::StringRef trace) {
    TextError error;
    std::optional<std::vector<TraceLine>> lines = parseTrace(trace, error);
    KernelSchedule schedule(kernel());
    if (!lines || mlir::failed(perpend::tile::replay(schedule, *lines, error)))
      return describe(error);
    done.clear();
    for (const TraceInstruction &instruction : schedule.trace())
      done += instruction.str() + "\n";
    return "";
  }

  std::string done;

private:
  static Workload workload() {
    std::vector<Workload> list = workloads();
    return *llvm::find_if(list, [](const Workload &w) { return w.name == "matmul"; });
  }
  Module module;
};

struct Wrong {
  const char *name, *text, *message;
};

constexpr const char *loops = "%b = get_block \"contract\"\n%i, %j, %k = get_loops %b\n";

// Behind `loops`.
const Wrong wrong[] = {
    {"unknownPrimitive", "  splt %i, [_, 2]", "3:3: there is no primitive 'splt'\nhint: did you mean split?"},
    {"noPrimitive", "%x = ", "3:6: expected a primitive such as split\nhint: docs/schedule-primitives.md lists them"},
    {"missingOperand", "%x, %y = split %i", "3:10: split: expected the operands (loop, [factors]), got 1 operand"},
    {"operandTooMany", "parallel %i, 4", "3:1: parallel: expected the operands (loop), got 2 operands"},
    {"listTooMany", "fuse %i, %j, 3", "3:14: fuse: expected a value such as %i0, got 3"},
    {"blockForLoop", "parallel %b", "3:10: parallel: expected a loop, got the block %b"},
    {"loopForBlock", "compute_inline %k", "3:16: compute_inline: expected a block, got the loop %k"},
    {"noFactors", "split %i, 8",
     "3:11: split: expected a list such as [_, 8], got 8\nhint: [_, 8], in Python [None, 8]"},
    {"factorOfText", "split %i, [_, \"8\"]", "3:11: split: expected integers and _ in the list, got \"8\""},
    {"factorTooLarge", "split %i, [_, 99999999999999999999]",
     "3:11: split: expected integers and _ in the list, got 99999999999999999999"},
    {"factorRefused", "split %i, [_, 0]", "3:1: split %i: expected a factor of at least 1, got 0"},
    {"noInteger", "%p = rfactor %k, x", "3:18: rfactor: expected an integer, got x"},
    {"noText", "cache_write %b, local", "3:17: cache_write: expected a text in quotes, got local"},
    {"quotesOpen", "cache_write %b, \"local", "3:17: cache_write: brackets or quotes of this operand do not match"},
    {"bracketsOpen", "split %i, [_, 8", "3:11: split: brackets or quotes of this operand do not match"},
    {"bracketsCross", "split %i, [(_])", "3:11: split: brackets or quotes of this operand do not match"},
    {"noOperandBehindComma", "parallel %i,", "3:13: parallel: expected an operand here"},
    {"notDefined", "parallel %ii", "3:10: parallel: %ii is not defined before\nhint: did you mean %i?"},
    {"definedTwice", "%i = get_block \"contract\"", "3:1: %i is defined already, in line 2"},
    {"consumed", "%x, %y = split %i, [_, 2]\nparallel %i",
     "4:1: %i: an earlier step has consumed this loop\nhint: use the loops that it returned"},
    {"resultMissing", "%x = split %i, [_, 2]", "3:6: split: it has 2 results, got 1 name"},
    {"resultTooMany", "%x, %y = get_block \"contract\"", "3:10: get_block: it has 1 result, got 2 names"},
    {"resultOfNothing", "%x = parallel %i", "3:6: parallel: it has 0 results, got 1 name"},
    {"otherKernel", "%x = get_block \"reduce\"", "3:6: get_block: expected one of the blocks contract, got 'reduce'"},
    {"noAttribute", "annotate %i, \"a\", 4 : nothing",
     "3:19: annotate: expected an attribute such as 4 : i64 or \"text\", got 4 : nothing"},
    {"noEquals", "%x %y = split %i, [_, 2]", "3:4: expected = or , behind %x"},
};

class TraceText : public ::testing::TestWithParam<Wrong> {};
} // namespace

TEST_P(TraceText, saysWhere) {
  Product product;
  std::string before = product.text();
  EXPECT_EQ(product.replay(std::string(loops) + GetParam().text), GetParam().message);
  EXPECT_EQ(product.text(), before) << "a part of it was done";
}

INSTANTIATE_TEST_SUITE_P(Errors, TraceText, ::testing::ValuesIn(wrong),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(TraceText, keepsTheNamesOfValues) {
  Product product;
  EXPECT_EQ(product.replay("%b=get_block\"contract\" // the product\n\n"
                           "%rows, %i0, %k = get_loops %b\r\n"
                           "%outer, %inner = split %rows , [ _,2 ]\n"
                           "split %i0, [_, 3]\n"
                           "annotate %inner, \"a, \\22b\\22\", [1, 2] // more\n"),
            "");
  EXPECT_EQ(product.done, "%b = get_block \"contract\"\n"
                          "%rows, %i0, %k = get_loops %b\n"
                          "%outer, %inner = split %rows, [_, 2]\n"
                          "%i1_0, %i1_1 = split %i0, [_, 3]\n"
                          "annotate %inner, \"a, \\22b\\22\", [1, 2]\n");
}

TEST(TraceText, readsFilesOfSchedules) {
  std::string text = "schedule @product structure \"12ab\" for \"x86-64-v3,+avxvnni\" {\n"
                     "  %b = get_block \"contract\"\n"
                     "}\n"
                     "schedule @\"a b\" {\n"
                     "}\n";
  TextError error;
  auto sections = parseSchedules("// by hand\n" + text + "\n", error);
  ASSERT_TRUE(sections) << describe(error);
  ASSERT_EQ(sections->size(), 2u);
  EXPECT_EQ((*sections)[0].structure, "12ab");
  EXPECT_EQ((*sections)[0].target, "x86-64-v3,+avxvnni");
  EXPECT_EQ((*sections)[0].firstLine, 3u);
  EXPECT_EQ((*sections)[1].kernel, "a b");
  EXPECT_EQ((*sections)[0].str() + (*sections)[1].str(), text);
}

TEST(TraceText, saysWhatIsWrongWithFiles) {
  constexpr const char *form = "expected schedule @kernel structure \"...\" for \"target\" {\n"
                               "hint: `perpend inspect MODEL --schedules` writes such a file; tensor intrinsics are "
                               "for --intrinsics";
  const std::pair<const char *, std::string> files[] = {
      {"parallel %i", std::string("1:1: ") + form},
      {"\nschedule @a on \"b\" {\n}", std::string("2:13: ") + form},
      {"schedule @a for x {\n}", "1:17: expected a text in quotes"},
      {"schedule @ {\n}", "1:12: expected the name of a kernel behind @"},
      {"schedule @a {\n  splt %i\n}", "2:3: there is no primitive 'splt'\nhint: did you mean split?"},
      {"schedule @a {\n}\nschedule @a {\n}", "3:1: the kernel @a has a schedule already, in line 1"},
      {"schedule @a {\n", "1:1: the schedule of @a has no } at its end"},
      {"schedule @a { parallel %i }", "1:15: expected the first instruction on a line of its own"},
      {"schedule @a {\n} x", "2:3: expected nothing else behind }"},
  };
  for (const auto &[text, message] : files) {
    TextError error;
    EXPECT_FALSE(parseSchedules(text, error)) << text;
    EXPECT_EQ(describe(error), message) << text;
  }
}
