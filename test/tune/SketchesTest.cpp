//===- SketchesTest.cpp - rules that write sketches -----------------------===//
//
// What a rule makes of a kernel, and that no point of it computes something else:
// each is refused by a primitive, or gives the same bits on small integers.
//
//===----------------------------------------------------------------------===//

#include "Blocks.h"
#include "ScheduleCase.h"

#include "tune/sketches/Sketches.h"

using namespace perpend;
using namespace perpend::tune;
using tile::TensorText;
using tile::Workload;

/// With a panel of 16 columns, and what follows.
static Workload packed(const std::string &name, const std::string &rows, std::vector<int64_t> sizes = {1}) {
  TensorText a{{rows, "12"}}, b{{"3", "12", "16"}}, r{{rows, "40"}};
  std::string types = " : (" + r.str() + ", " + r.str() + ") -> " + r.str();
  return {name,
          {a, b},
          "  %p = tile.matmul %a, %b : (" + a.str() + ", " + b.str() + ") -> " + r.str() +
              "\n  %r = graph.map (%p, %p)" + types +
              " {\n  ^bb0(%x: f32, %y: f32):\n    %z = arith.addf %x, %y : f32\n    graph.yield %z : f32\n  }\n",
          r,
          sizes};
}

static Workload window(const std::string &name, const std::string &height) {
  bool isNumber = height != "n";
  TensorText x{{"1", height, "12", "16"}}, w{{"3", "3", "1", "16"}};
  return {name,
          {x, w},
          "  %r = graph.conv %a, %b strides [1, 1] pad [1, 1] dilations [1, 1] input_dilation [1, 1] groups 16 "
          "channels_last : (" +
              x.str() + ", " + w.str() + ") -> " + x.str() + "\n",
          x,
          isNumber ? std::vector<int64_t>{1} : std::vector<int64_t>{1, 5}};
}

static Workload packedConv() {
  TensorText x{{"1", "9", "12", "8"}}, w{{"1", "2", "3", "3", "8", "16"}}, r{{"1", "7", "10", "32"}};
  return {"packedConv",
          {x, w},
          "  %r = tile.conv %a, %b strides [1, 1] dilations [1, 1] : (" + x.str() + ", " + w.str() + ") -> " + r.str() +
              "\n",
          r};
}

/// A row, less its sum: the form of softmax.
static Workload rows(const std::string &name, const std::string &count, std::vector<int64_t> sizes = {1}) {
  TensorText s{{count, "64"}}, r{{count}};
  return {name,
          {s},
          "  %m = graph.reduce sum %a dims [1] : " + s.str() + " -> " + r.str() +
              "\n  %w = graph.broadcast %m dims [0] : " + r.str() + " -> " + s.str() +
              "\n  %r = graph.map (%a, %w) : (" + s.str() + ", " + s.str() + ") -> " + s.str() +
              " {\n  ^bb0(%x: f32, %y: f32):\n    %z = arith.subf %x, %y : f32\n    graph.yield %z : f32\n  }\n",
          s,
          sizes};
}

static std::vector<Workload> larger() {
  return {packed("packed", "13"),
          packed("packedSymbolic", "n", {0, 1, 5, 40}),
          window("window", "9"),
          window("windowSymbolic", "n"),
          packedConv(),
          rows("rows", "5"),
          rows("rowsSymbolic", "n", {0, 1, 7})};
}

static std::string linesText(const Trace &trace) { return llvm::join(linesOf(trace), "\n"); }

static std::string sketchTexts(const Workload &workload) {
  std::string text;
  for (const Trace &trace : Blocks(workload).sketches())
    text += linesText(trace) + "\n\n";
  return text;
}

static void expectIn(const std::string &part, const std::string &text) {
  EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
}

TEST(Sketches, AProductGoesToAnIntrinsic) {
  std::string text = sketchTexts(packed("packed", "13"));
  for (const char *part : {"tensorize", "\"f32.block\"", "compute_at %", "parallel %", "sample_categorical ["})
    expectIn(part, text);
}

TEST(Sketches, AConvolutionGoesToAnIntrinsic) { expectIn("\"f32.block\"", sketchTexts(packedConv())); }

TEST(Sketches, AWindowIsSummedInRegisters) {
  std::string text = sketchTexts(window("window", "9"));
  EXPECT_EQ(text.find("tensorize"), std::string::npos) << text;
  for (const char *part : {"decompose_reduction", "unroll", "vectorize"})
    expectIn(part, text);
}

TEST(Sketches, RowsAreSummedInPartsOrNot) {
  std::vector<Trace> sketches = Blocks(rows("rows", "5")).sketches();
  auto has = [](const Trace &trace, llvm::StringRef primitive) {
    return llvm::any_of(trace, [&](const auto &instruction) { return instruction.primitive == primitive; });
  };
  EXPECT_EQ(sketches.size(), 4U);
  for (llvm::StringRef primitive : {"rfactor", "vectorize"}) {
    EXPECT_EQ(llvm::count_if(sketches, [&](const Trace &trace) { return has(trace, primitive); }), 2);
    EXPECT_TRUE(llvm::all_of(sketches, [&](const Trace &trace) { return has(trace, "compute_at"); }));
  }
}

TEST(Sketches, EachIsDifferentAndIsTaken) {
  std::vector<Workload> all = tile::workloads();
  llvm::append_range(all, larger());
  for (const Workload &workload : all) {
    SCOPED_TRACE(workload.name);
    Blocks blocks(workload);
    std::set<std::string> texts;
    for (const Trace &trace : blocks.sketches()) {
      EXPECT_TRUE(blocks.takes(trace)) << linesText(trace);
      EXPECT_TRUE(texts.insert(linesText(trace)).second) << linesText(trace);
    }
  }
}

/// The trace that is given is the given point, and sketches are beside it.
TEST(Sketches, ASpaceOfRules) {
  Blocks blocks(packed("packed", "13"));
  Trace rule = blocks.ruleTrace();
  Space space = blocks.spaceOfRules();
  EXPECT_EQ(linesText(space.traceAt(space.given())), linesText(rule));
  EXPECT_EQ(space.sketches(), 1 + blocks.sketches().size());
  EXPECT_GT(space.size(), 1000);
}

TEST(Sketches, NoPointChangesAResult) {
  int64_t each = std::getenv("PERPEND_LONG") ? 200 : 6;
  interp::Random random;
  std::vector<Workload> all = tile::workloads();
  llvm::append_range(all, larger());
  int64_t taken = 0, refused = 0;
  for (const Workload &workload : all) {
    Blocks blocks(workload);
    Space space = blocks.spaceOfRules();
    tile::ScheduleCase same(workload);
    for (int64_t i = 0; i < each && space.sketches() > 1 && !HasFailure(); ++i) {
      Point point;
      for (const Decision &decision : space.decisions())
        point.push_back(static_cast<unsigned>(random.integer(0, static_cast<int64_t>(decision.choices.size()) - 1)));
      Trace trace = space.traceAt(point);
      ++(blocks.takes(trace) ? taken : refused);
      if (blocks.takes(trace))
        (void)same.apply([&](tile::KernelSchedule &schedule) { EXPECT_TRUE(mlir::succeeded(schedule.replay(trace))); });
    }
  }
  std::cout << taken << " points, " << refused << " refused\n";
  EXPECT_GE(taken, 200);
  EXPECT_GE(taken, 9 * refused);
}
