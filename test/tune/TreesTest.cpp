//===- TreesTest.cpp - a cost model that learns while a tuner measures ----===//

#include "Blocks.h"

#include "tune/TreeModel.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <unistd.h>

using namespace perpend;
using namespace perpend::tune;

namespace {
constexpr double infinite = std::numeric_limits<double>::infinity();

/// Of a made-up schedule: all but two numbers are 0.
Features featuresWith(double first, double second) {
  Features features(featureNames().size());
  features[3] = static_cast<float>(first);
  features[50] = static_cast<float>(second);
  return features;
}
MeasuredRow rowWith(int a, int b, double time) { return {featuresWith(a, b), time}; }

/// Slower with the first number, and twice as slow where the second one is odd.
std::vector<MeasuredRow> grid(double factor = 1) {
  std::vector<MeasuredRow> rows;
  for (int a = 0; a < 10; ++a)
    for (int b = 0; b < 4; ++b)
      rows.push_back(rowWith(a, b, factor * (1 + a) * (b % 2 ? 2 : 1)));
  return rows;
}

class ExperienceTest : public testing::Test {
protected:
  static Experience made() { return Experience(llvm::cantFail(Trees::load())); }
  void SetUp() override { std::filesystem::remove(path); }
  void TearDown() override { std::filesystem::remove(path); }
  std::string path = testing::TempDir() + "points" + std::to_string(getpid());
};
} // namespace

TEST(Trees, LearnAnOrder) {
  std::unique_ptr<Trees> trees = llvm::cantFail(Trees::load());
  ASSERT_TRUE(trees->train({grid()}));
  for (int a = 0; a + 1 < 10; a += 2)
    EXPECT_LT(trees->predict(featuresWith(a, 0)), trees->predict(featuresWith(a + 1, 0))) << a;
  EXPECT_LT(trees->predict(featuresWith(4, 2)), trees->predict(featuresWith(4, 1)));
}

TEST(Trees, AreTheSameOfTheSameRows) {
  std::vector<double> costs;
  for (int i = 0; i < 3; ++i) {
    std::unique_ptr<Trees> trees = llvm::cantFail(Trees::load());
    ASSERT_TRUE(i == 0 || trees->train({grid(7)})); // what they were before does not count
    ASSERT_TRUE(trees->train({grid()}));
    costs.push_back(trees->predict(featuresWith(3, 1)));
  }
  EXPECT_EQ(costs[0], costs[1]);
  EXPECT_EQ(costs[0], costs[2]);
}

TEST(Trees, CompareWithinAGroup) {
  // The second kernel takes a thousand times as long, and has other numbers: nothing says that those are bad.
  std::vector<MeasuredRow> slow = grid(1000);
  for (MeasuredRow &row : slow)
    row.features[20] = 1;
  std::unique_ptr<Trees> trees = llvm::cantFail(Trees::load());
  ASSERT_TRUE(trees->train({grid(), slow}));
  Features good = featuresWith(0, 0), bad = featuresWith(9, 1);
  good[20] = 1;
  EXPECT_LT(trees->predict(good), trees->predict(bad));
}

TEST(Trees, WhatIsRefusedIsTheSlowest) {
  std::vector<MeasuredRow> rows = grid();
  for (MeasuredRow &row : rows)
    if (row.features[50] == 3)
      row.time = infinite;
  std::unique_ptr<Trees> trees = llvm::cantFail(Trees::load());
  ASSERT_TRUE(trees->train({rows}));
  EXPECT_GT(trees->predict(featuresWith(0, 3)), trees->predict(featuresWith(9, 0)));
}

TEST(Trees, NeedRows) { EXPECT_FALSE(llvm::cantFail(Trees::load())->train({})); }

TEST_F(ExperienceTest, KnowsEnoughBehindSixteenRows) {
  Experience experience = made();
  std::vector<size_t> trained;
  std::vector<MeasuredRow> rows = grid();
  for (size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(experience.isTrained(), i >= 16);
    if (experience.learn("k", rows[i]))
      trained.push_back(i + 1);
  }
  EXPECT_EQ(trained, (std::vector<size_t>{16, 18, 20, 22, 24, 27, 30}));
  EXPECT_LT(experience.predict(rows[0].features), experience.predict(rows[30].features));
}

TEST_F(ExperienceTest, IsKeptInAFile) {
  std::vector<MeasuredRow> rows = grid();
  rows[5].time = infinite;
  Experience first = made();
  EXPECT_FALSE(first.keepIn(path));
  for (const MeasuredRow &row : rows)
    first.learn(row.features[3] < 5 ? "a" : "b", row);
  std::ofstream(path, std::ios::app) << "0123\tk\t1\t1 2 3\nof another version, or cut";
  for (int i = 0; i < 2; ++i) {
    Experience second = made();
    EXPECT_FALSE(second.keepIn(path));
    ASSERT_TRUE(second.isTrained());
    EXPECT_LT(second.predict(featuresWith(1, 0)), second.predict(featuresWith(4, 1)));
    EXPECT_EQ(second.countOfRows(), rows.size() + i);
    EXPECT_EQ(second.learn("a", rows[1]), false); // one more of forty
  }
}

TEST_F(ExperienceTest, AFileThatCannotBeRead) {
  Experience experience = made();
  std::string error = llvm::toString(experience.keepIn(testing::TempDir()));
  EXPECT_NE(error.find("cannot read"), std::string::npos) << error;
}

TEST_F(ExperienceTest, AFileThatCannotBeWritten) {
  Experience experience = made();
  std::string error = llvm::toString(experience.keepIn(path + ".no/folder"));
  EXPECT_NE(error.find("cannot write"), std::string::npos) << error;
  experience.learn("a", grid().front());
  EXPECT_EQ(experience.countOfRows(), 1U);
}

namespace {
class TreeModelTest : public testing::Test {
protected:
  std::unique_ptr<CostModel> model() {
    return treeModel(blocks.kernel(), blocks.target, tiledProduct(),
                     std::make_shared<Experience>(llvm::cantFail(Trees::load())));
  }
  std::vector<Point> drawn(size_t count) {
    const SearchInfo &info = searches().back();
    std::unique_ptr<Search> search = info.make(space, 1);
    std::vector<Point> points;
    while (points.size() < count)
      points.push_back(*search->propose());
    return points;
  }
  Blocks blocks{Blocks::product("128", "96", "256")};
  Space space = blocks.spaceOf(tiledProduct());
};
} // namespace

TEST_F(TreeModelTest, TheMachinesNumbersAtFirst) {
  std::unique_ptr<CostModel> trees = model(), machine = machineModel(blocks.kernel(), blocks.target);
  for (const Point &point : drawn(5))
    EXPECT_EQ(trees->predict(space.traceAt(point)), machine->predict(space.traceAt(point)));
}

TEST_F(TreeModelTest, ThenWhatWasMeasured) {
  std::unique_ptr<CostModel> trees = model();
  auto timeOf = [](const Point &point) { return 1.0 + point[1]; }; // by one factor alone
  std::vector<Point> points = drawn(60);
  for (const Point &point : points)
    trees->learn(space.traceAt(point), timeOf(point));
  std::sort(points.begin(), points.end(), [&](const Point &a, const Point &b) { return timeOf(a) < timeOf(b); });
  size_t right = 0;
  for (size_t i = 0; i < 20; ++i)
    right += trees->predict(space.traceAt(points[i])) < trees->predict(space.traceAt(points[40 + i]));
  EXPECT_GE(right, 18U);
}

TEST_F(TreeModelTest, WhatIsRefusedIsNotLearnt) {
  std::unique_ptr<CostModel> trees = model();
  Trace refused = *readTrace("%b = get_block \"no such block\"");
  for (int i = 0; i < 20; ++i)
    EXPECT_FALSE(trees->learn(refused, infinite));
  EXPECT_EQ(trees->predict(refused), infinite);
}

TEST_F(TreeModelTest, AWholeSearchIsTheSameAgain) {
  auto proposals = [&](const SearchInfo &info) {
    std::unique_ptr<Search> search = rankedSearch(info.make(space, 1), model(), space);
    std::vector<Point> points;
    while (points.size() < 30) {
      points.push_back(*search->propose());
      search->tell(points.back(), 1.0 + points.back()[1]);
    }
    EXPECT_EQ(std::set<Point>(points.begin(), points.end()).size(), points.size());
    return points;
  };
  for (const SearchInfo &info : searches())
    EXPECT_EQ(proposals(info), proposals(info)) << info.name.str();
}
