//===- SpaceTest.cpp - the schedules of a kernel that a search chooses from --===//

#include "Blocks.h"

using namespace perpend;
using namespace perpend::tune;

static Point drawPoint(const Space &space, interp::Random &random) {
  Point point;
  for (const Decision &decision : space.decisions())
    point.push_back(static_cast<unsigned>(random.integer(0, static_cast<int64_t>(decision.choices.size()) - 1)));
  return point;
}

static std::string linesText(const Trace &trace) { return llvm::join(linesOf(trace), "\n"); }

TEST(Space, DecisionsOfAProduct) {
  Space space = Blocks(Blocks::product("7", "5", "6")).spaceOf(tiledProduct());
  std::vector<std::string> texts;
  for (const Decision &decision : space.decisions())
    texts.push_back(std::to_string(decision.instruction) + ": " + llvm::join(decision.choices, "|") + " given " +
                    decision.choices[decision.given]);
  // What the extent gives, and what the trace says though it is more than the extent.
  std::vector<std::string> expected = {
      "2: 1|2|3|4|5|6|7 given 4", "3: 1|2|3|4|5|6|8 given 8", "4: 1|2|3|4|5 given 2",
      "7: |annotate %i0, \"prefetch\", 1 : i64 given annotate %i0, \"prefetch\", 1 : i64"};
  EXPECT_EQ(texts, expected);
  EXPECT_EQ(space.size(), 7 * 7 * 5 * 2);
}

TEST(Space, FactorsThatLeaveASmallRest) {
  Space space = Blocks(Blocks::product("7", "5", "1000")).spaceOf(tiledProduct());
  const std::vector<std::string> &choices = space.decisions()[1].choices;
  for (const char *factor : {"1", "16", "24", "256", "768", "1000", "500", "334", "63"})
    EXPECT_TRUE(llvm::is_contained(choices, factor)) << factor;
  EXPECT_FALSE(llvm::is_contained(choices, "1024"));
}

TEST(Space, APointIsATrace) {
  Blocks blocks(Blocks::product("7", "5", "6"));
  Space space = blocks.spaceOf(tiledProduct());
  Trace trace = space.traceAt({0, 6, 2, 0});
  EXPECT_TRUE(blocks.takes(trace));
  EXPECT_EQ(linesText(trace), "%b = get_block \"contract\"\n%i, %j, %k = get_loops %b\n%i0, %i1 = split %i, [_, 1]\n"
                              "%j0, %j1 = split %j, [_, 8]\n%k0, %k1 = split %k, [_, 3]\n"
                              "reorder %i0, %j0, %k0, %i1, %j1, %k1\nparallel %i0");
}

TEST(Space, TwoFactorsOfOneSplit) {
  Blocks blocks(Blocks::product("64", "5", "6"));
  Trace trace =
      *readTrace("%b = get_block \"contract\"\n%i, %j, %k = get_loops %b\n%x, %y, %z = split %i, [_, 4, 8]\n");
  Space space = blocks.spaceOf(trace);
  ASSERT_EQ(space.decisions().size(), 2U);
  Point point = space.given();
  point[1] = 1;
  EXPECT_EQ(space.traceAt(point)[2].str(), "%x, %y, %z = split %i, [_, 4, 2]");
  EXPECT_EQ(space.pointOf(space.traceAt(point)), point);
}

TEST(Space, WhatIsSampled) {
  Blocks blocks(Blocks::product("7", "5", "12"));
  Trace trace =
      *readTrace("%b = get_block \"contract\"\n%i, %j, %k = get_loops %b\n"
                 "%x, %y = sample_perfect_tile %j, 2, 4, decision = [4, 3]\n%j0, %j1 = split %j, [%x, %y]\n"
                 "%c = sample_categorical [2, 4, 8], [1, 1, 1], decision = 1\n%i0, %i1 = split %i, [_, %c]\n");
  Space space = blocks.spaceOf(trace);
  ASSERT_EQ(space.decisions().size(), 2U);
  EXPECT_EQ(llvm::join(space.decisions()[0].choices, "|"),
            "decision = [3, 4]|decision = [4, 3]|decision = [6, 2]|decision = [12, 1]");
  EXPECT_EQ(llvm::join(space.decisions()[1].choices, "|"), "decision = 0|decision = 1|decision = 2");
  EXPECT_EQ(space.given(), (Point{1, 1}));
  EXPECT_EQ(space.traceAt({2, 0})[2].str(), "%x, %y = sample_perfect_tile %j, 2, 4, decision = [6, 2]");
  EXPECT_TRUE(blocks.takes(space.traceAt({2, 0})));
  EXPECT_EQ(space.pointOf(space.traceAt({2, 0})), (Point{2, 0}));
}

TEST(Space, WhereABlockIsComputed) {
  Blocks blocks(Blocks::named("softmax"));
  Space space = blocks.spaceOf(
      *readTrace("%m = get_block \"reduce\"\n%l = sample_compute_location %m, decision = 0\ncompute_at %m, %l\n"));
  for (const Decision &decision : space.decisions())
    for (size_t choice = 0; choice < decision.choices.size(); ++choice)
      EXPECT_TRUE(blocks.takes(space.traceAt({static_cast<unsigned>(choice)}))) << decision.choices[choice];
}

static Space twoSketches(Blocks &blocks) {
  Trace other = *readTrace("%b = get_block \"contract\"\n%i, %j, %k = get_loops %b\n%j0, %j1 = split %j, [_, 2]\n");
  return Space::unionOf({Space::ofOne({}), blocks.spaceOf(tiledProduct()), blocks.spaceOf(other)});
}

TEST(Space, ASketchIsTheFirstDecision) {
  Blocks blocks(Blocks::product("7", "5", "6"));
  Space space = twoSketches(blocks);
  EXPECT_EQ(space.sketches(), 3U);
  ASSERT_EQ(space.decisions().size(), 1 + 4 + 1U);
  EXPECT_EQ(llvm::join(space.decisions()[0].choices, "|"), "0|1|2");
  EXPECT_EQ(space.size(), 1 + 7 * 7 * 5 * 2 + 6);
  EXPECT_TRUE(space.traceAt(space.given()).empty());
  Point point = space.given();
  point[0] = 2;
  point[5] = 0;
  EXPECT_EQ(space.traceAt(point)[2].str(), "%j0, %j1 = split %j, [_, 1]");
  EXPECT_EQ(space.pointOf(space.traceAt(point)), point);
  EXPECT_EQ(space.sketchOf(*space.pointOf(tiledProduct())), 1U);
}

TEST(Space, WhatOtherSketchesDecideIsAsGiven) {
  Blocks blocks(Blocks::product("7", "5", "6"));
  Space space = twoSketches(blocks);
  interp::Random random;
  for (int i = 0; i < 100; ++i) {
    Point point = drawPoint(space, random), reduced = space.reduced(point);
    EXPECT_EQ(linesText(space.traceAt(point)), linesText(space.traceAt(reduced)));
    EXPECT_EQ(space.pointOf(space.traceAt(point)), reduced);
    for (size_t number = 0; number < point.size(); ++number)
      EXPECT_EQ(reduced[number], space.isUsed(point, number) ? point[number] : space.given()[number]);
  }
}

TEST(Space, AUnionOfUnions) {
  Blocks blocks(Blocks::product("7", "5", "6"));
  Space one = twoSketches(blocks), all = Space::unionOf({one, Space::ofOne(tiledProduct())});
  EXPECT_EQ(all.sketches(), 4U);
  EXPECT_EQ(all.size(), one.size() + 1);
  EXPECT_EQ(Space::unionOf({Space::ofOne(tiledProduct())}).decisions().size(), 0U);
}

/// Rules' traces of static and symbolic shapes, 0 and 1 among them: what holds of each.
TEST(Space, OfEveryWorkload) {
  interp::Random random;
  size_t decisions = 0;
  for (const tile::Workload &workload : tile::workloads()) {
    SCOPED_TRACE(workload.name);
    Blocks blocks(workload);
    Trace rule = blocks.ruleTrace();
    Space space = blocks.spaceOf(rule);
    decisions += space.decisions().size();
    EXPECT_EQ(linesText(space.traceAt(space.given())), linesText(rule));
    EXPECT_EQ(space.pointOf(rule), space.given());
    for (size_t number = 0; number < space.decisions().size(); ++number)
      for (unsigned choice = 0; choice < space.decisions()[number].choices.size(); ++choice) {
        Point point = space.given();
        point[number] = choice;
        EXPECT_TRUE(blocks.takes(space.traceAt(point))) << linesText(space.traceAt(point));
      }
    for (int i = 0; i < 20; ++i) {
      Point point = drawPoint(space, random);
      EXPECT_EQ(space.pointOf(space.traceAt(point)), point) << linesText(space.traceAt(point));
    }
  }
  EXPECT_GT(decisions, 20U);
}

TEST(Space, ExtentsOfNothingOneAndPrimes) {
  for (const char *extent : {"0", "1", "2", "13", "101"}) {
    SCOPED_TRACE(extent);
    Blocks blocks(Blocks::product(extent, "5", "6"));
    Space space = blocks.spaceOf(tiledProduct());
    int64_t most = std::stoll(extent);
    for (const Decision &decision : space.decisions())
      for (const std::string &choice : decision.choices)
        if (decision.instruction == 2 && choice != "4")
          EXPECT_LE(std::stoll(choice), most);
    bool isLoop = most != 1;
    EXPECT_EQ(blocks.takes(space.traceAt(space.given())), isLoop);
    EXPECT_EQ(space.decisions().empty(), !isLoop);
  }
}

TEST(Space, OfASymbolicExtent) {
  tile::Workload workload = Blocks::product("n", "5", "6");
  workload.sizes = {0, 1, 5};
  Space space = Blocks(workload).spaceOf(tiledProduct());
  EXPECT_TRUE(llvm::is_contained(space.decisions()[0].choices, "1024"));
}

TEST(Space, ChoicesThatAreRefusedAloneAreLeftOut) {
  Blocks blocks(Blocks::product("8", "5", "6"));
  Trace trace = *readTrace("%b = get_block \"contract\"\n%i, %j, %k = get_loops %b\n%x, %y = split %j, [_, 3]\n"
                           "tensorize %y, \"no such intrinsic\"\n");
  EXPECT_FALSE(blocks.takes(trace));
  EXPECT_TRUE(blocks.spaceOf(trace).decisions().empty()); // only what is given is left
}

TEST(Space, WithoutDecisions) {
  Blocks blocks(Blocks::product("7", "5", "6"));
  for (const char *text : {"", "%b = get_block \"contract\"\n%i, %j, %k = get_loops %b\nparallel %i\n"}) {
    Space space = blocks.spaceOf(*readTrace(text));
    EXPECT_TRUE(space.decisions().empty());
    EXPECT_EQ(space.size(), 1);
    EXPECT_EQ(space.given(), Point());
    EXPECT_EQ(space.pointOf(*readTrace(text)), Point());
    EXPECT_EQ(space.pointOf(tiledProduct()), std::nullopt);
  }
}

TEST(Space, TracesOfNoPoint) {
  Space space = Blocks(Blocks::product("7", "5", "6")).spaceOf(tiledProduct());
  Trace longer = tiledProduct(), shorter = tiledProduct(), other = tiledProduct(), lists = tiledProduct();
  longer.push_back(longer.back());
  shorter.erase(shorter.begin() + 6); // parallel
  other[2].operands[1] = "[_, 1000]";
  lists[2].operands[1] = "[_, 4, 4]";
  for (const Trace &trace : {longer, shorter, other, lists, Trace()})
    EXPECT_EQ(space.pointOf(trace), std::nullopt) << linesText(trace);
}

TEST(Space, TextsThatAreNoTrace) {
  EXPECT_EQ(readTrace("%x = frobnicate %y"), std::nullopt);
  EXPECT_EQ(readTrace("%b = get_block \"contract\"\n[[["), std::nullopt);
  EXPECT_EQ(linesText(*readTrace(linesText(tiledProduct()))), linesText(tiledProduct()));
}
