//===- RecordedTest.cpp - cost models and searches on measured schedules --===//
//
// What they print is what docs/decisions/0034-trees-that-rank.md says of them.
//
//===----------------------------------------------------------------------===//

#include "Recorded.h"

#include "tune/CostModel.h"

#include <cmath>

using namespace perpend::tune;

namespace {
using Kernels = std::vector<std::unique_ptr<Recorded>>;
using Scores = std::vector<double>;

const Kernels &kernels() {
  static const Kernels list = Recorded::kernels();
  return list;
}

/// Of two points of one kernel, whose times differ by a tenth at least, how often the one with the lower cost is
/// faster.
double pairwiseAccuracy(const std::vector<MeasuredRow> &rows, llvm::function_ref<double(const Features &)> cost) {
  double right = 0, all = 0;
  Scores costs;
  for (const MeasuredRow &row : rows)
    costs.push_back(cost(row.features));
  for (size_t a = 0; a < rows.size(); ++a)
    for (size_t b = 0; b < rows.size(); ++b)
      if (rows[a].time * 1.1 < rows[b].time) {
        ++all;
        right += costs[a] < costs[b] ? 1 : costs[a] == costs[b] ? 0.5 : 0;
      }
  return right / all;
}

double machineCost(const Features &features) {
  return features[llvm::find(featureNames(), "time") - featureNames().begin()];
}

/// The best of so many trials, as a part of the best that was recorded.
double bestAfter(size_t trials, const Recorded &kernel, llvm::StringRef name, uint64_t seed,
                 std::unique_ptr<CostModel> model) {
  const SearchInfo &info = *llvm::find_if(searches(), [&](const SearchInfo &info) { return info.name == name; });
  std::unique_ptr<Search> search = recordedSearch(info.make(kernel.space, seed), kernel, seed);
  if (model)
    search = rankedSearch(std::move(search), std::move(model), kernel.space);
  double best = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < trials; ++i) {
    std::optional<Point> point = search->propose();
    if (!point)
      break;
    double time = kernel.rows[kernel.nearest(*point)].time;
    search->tell(*point, time);
    best = std::min(best, time);
  }
  return best / kernel.bestTime();
}

/// Mann and Whitney's U of `a`: of all pairs, in how many b is less. 0 of 100: `a` is always less.
double rankSum(const Scores &a, const Scores &b) {
  double pairs = 0;
  for (double x : a)
    for (double y : b)
      pairs += y < x ? 1 : y == x ? 0.5 : 0;
  return pairs;
}
double mean(const Scores &values) {
  double sum = 0;
  for (double value : values)
    sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}
} // namespace

TEST(Recorded, FourKernels) {
  ASSERT_EQ(kernels().size(), 4U);
  for (const auto &kernel : kernels()) {
    EXPECT_GT(kernel->points.size(), 200U) << kernel->name;
    for (size_t i = 0; i < kernel->points.size(); ++i)
      EXPECT_EQ(kernel->nearest(kernel->points[i]), i);
  }
}

TEST(Recorded, TreesRankKernelsThatTheyHaveNotSeen) {
  for (const auto &held : kernels()) {
    std::vector<std::vector<MeasuredRow>> others;
    for (const auto &kernel : kernels())
      if (kernel != held)
        others.push_back(kernel->rows);
    std::unique_ptr<Trees> trees = llvm::cantFail(Trees::load());
    ASSERT_TRUE(trees->train(others));
    double of = pairwiseAccuracy(held->rows, [&](const Features &features) { return trees->predict(features); });
    double machine = pairwiseAccuracy(held->rows, machineCost);
    std::printf("%-12s held out: trees %.3f, machine %.3f\n", held->name.c_str(), of, machine);
    EXPECT_GT(of, 0.6);
  }
}

TEST(Recorded, TreesRankPointsThatTheyHaveNotSeen) {
  for (const auto &kernel : kernels()) {
    std::vector<MeasuredRow> known, others;
    for (size_t i = 0; i < kernel->rows.size(); ++i)
      (i % 2 ? known : others).push_back(kernel->rows[i]);
    for (size_t count : {size_t(16), size_t(32), size_t(64), known.size()}) {
      std::vector<MeasuredRow> first(known.begin(), known.begin() + static_cast<int64_t>(count));
      std::unique_ptr<Trees> trees = llvm::cantFail(Trees::load());
      ASSERT_TRUE(trees->train({first}));
      double of = pairwiseAccuracy(others, [&](const Features &features) { return trees->predict(features); });
      std::printf("%-12s of %3zu points: trees %.3f, machine %.3f\n", kernel->name.c_str(), count, of,
                  pairwiseAccuracy(others, machineCost));
      EXPECT_GT(of, 0.65);
    }
  }
}

/// Of each kernel, and of each seed.
using Found = std::vector<Scores>;
using Model = std::unique_ptr<CostModel> (*)(const Recorded &);

static Found findWith(llvm::StringRef search, Model model) {
  constexpr size_t trials = 32, firstSeed = 101, seeds = 10; // searches were chosen by what they do with 1 to 10
  Found found;
  for (const auto &kernel : kernels()) {
    Scores &scores = found.emplace_back();
    for (uint64_t seed = firstSeed; seed < firstSeed + seeds; ++seed)
      scores.push_back(bestAfter(trials, *kernel, search, seed, model(*kernel)));
  }
  return found;
}

/// Of each seed: what all kernels' times are multiplied with.
static Scores ofAllKernels(const Found &found) {
  Scores scores(found.front().size(), 1);
  for (const Scores &kernel : found)
    for (auto [score, of] : llvm::zip(scores, kernel))
      score *= std::pow(of, 1 / static_cast<double>(found.size()));
  return scores;
}

static void print(llvm::StringRef name, const Found &found) {
  std::printf("%-22s %.3f", name.str().c_str(), mean(ofAllKernels(found)));
  for (auto [kernel, scores] : llvm::zip(kernels(), found))
    std::printf("  %s %.3f", kernel->name.c_str(), mean(scores));
  std::printf("\n");
}

static std::unique_ptr<CostModel> noModel(const Recorded &) { return nullptr; }

TEST(Recorded, SearchesWithTreesBeatChance) {
  Found chance = findWith("random", noModel), trees = findWith("evolutionary", recordedTrees);
  print("random", chance);
  print("evolutionary, trees", trees);
  double sum = 0;
  for (auto [kernel, a, b] : llvm::zip(kernels(), trees, chance)) {
    std::printf("%s: U = %g of 100\n", kernel->name.c_str(), rankSum(a, b));
    sum += rankSum(a, b);
  }
  std::printf("times of all kernels multiplied: U = %g of 100\n", rankSum(ofAllKernels(trees), ofAllKernels(chance)));
  // Four times ten against ten: 200 expected with a deviation of 26.5, so this is one-sided p < 0.01.
  EXPECT_LE(sum, 138);
}

/// For the table in docs/decisions/0034; a minute.
TEST(Recorded, AllSearches) {
  if (!std::getenv("PERPEND_LONG"))
    GTEST_SKIP() << "dev test --long";
  std::pair<std::string, Model> models[] = {{"", noModel}, {", machine", recordedMachine}, {", trees", recordedTrees}};
  for (const SearchInfo &info : searches())
    for (const auto &[name, model] : models)
      print(info.name.str() + name, findWith(info.name, model));
}
