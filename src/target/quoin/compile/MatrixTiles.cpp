//===- MatrixTiles.cpp - how a product is cut -----------------------------===//
//
// All tilings are ranked by a formula: cycles of the busiest unit, with what does not overlap, and of the first pass.
// The formula follows Cycles.cpp without instructions; Matrix.cpp measures the instructions of the best ones.
//
//===----------------------------------------------------------------------===//
#include "target/quoin/compile/MatrixNest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <functional>
#include <limits>

namespace perpend::quoin {

using llvm::ArrayRef;

namespace {

constexpr AxisExtents mostExtents = {1024, 1024, 4095};
constexpr int64_t lanes = 16; ///< rows and columns of a fractal
constexpr int64_t mostRows = 4095, mostRow = 65535;

int64_t ceilOf(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t upTo(int64_t value, int64_t multiple) { return ceilOf(value, multiple) * multiple; }

int64_t fractalBytesOf(int64_t rows, int64_t k, unsigned size) {
  return ceilOf(rows, lanes) * ceilOf(k * size, 32) * int64_t{fractalBytes};
}

/// The whole extent, and equal parts of it, as multiples of 16, or of lines.
std::vector<int64_t> lengthsOf(int64_t extent, int64_t most, int64_t line) {
  const int64_t step = line == 1 ? lanes : line;
  std::vector<int64_t> lengths;
  for (int64_t parts = ceilOf(extent, most);; ++parts) {
    const int64_t length = parts == 1 ? extent : std::min(extent, upTo(ceilOf(extent, parts), step));
    if (length <= most && (lengths.empty() || length < lengths.back()))
      lengths.push_back(length);
    if (length <= step)
      return lengths;
  }
}

/// Loops of a nest, by which factors change.
struct Counts {
  double both = 1, sums = 1;
  std::array<double, 2> own = {1, 1};
};

class Formula {
public:
  Formula(const Config &config, unsigned sharers, const Counts &counts)
      : config(config), sharers(sharers), counts(counts) {}

  struct Side {
    int64_t extent = 1; ///< of its own axis
    Space space = Space::DDR;
    bool isAlongSum = false;
    unsigned feedRate = 64;
  };
  std::array<Side, 2> sides; ///< left, right
  int64_t sum = 1;
  unsigned size = 4, resultSize = 4; ///< bytes of elements
  Space resultSpace = Space::DDR;
  bool continues = false;
  unsigned windowFeedRate = 128;
  unsigned operandsAfter = 0, nodesAfter = 0; ///< of nodes behind the sum: whole tiles that are loaded; instructions
  unsigned prologue = 0;                      ///< passes over 128 bytes of the left side, which is computed

  struct Window {
    LoadPlan load;
    int64_t rows = 0; ///< of the product with whole lines; 0: lines do not lie so
  };
  std::function<Window(int64_t)> window; ///< of a left side that is an image, by rows of a tile

  bool fits(const Tiling &tiling) const;
  double cost(const Tiling &tiling) const;

private:
  double transfer(Space space, double rows, double row, unsigned elementBytes) const;
  double tilesOf(const Tiling &tiling, bool isRight) const {
    return double(ceilOf(sides[isRight].extent, tiling.tile[isRight ? N : M]));
  }
  double allTiles(const Tiling &tiling) const {
    return counts.both * counts.own[0] * counts.own[1] * tilesOf(tiling, false) * tilesOf(tiling, true);
  }
  double roomBytes(const Tiling &tiling, bool isRight) const;
  const Window &windowOf(int64_t rows) const;
  static bool isWindow(const Tiling &tiling) { return tiling.hold[0] == Hold::Window || tiling.hold[0] == Hold::Lines; }
  /// Of the product.
  int64_t rowsOf(const Tiling &tiling) const {
    return tiling.hold[0] == Hold::Lines ? windowOf(tiling.tile[M]).rows : tiling.tile[M];
  }

  const Config &config;
  unsigned sharers;
  Counts counts;
  mutable std::map<int64_t, Window> windows; ///< that are known, by rows
};

const Formula::Window &Formula::windowOf(int64_t rows) const {
  auto [known, isNew] = windows.try_emplace(rows);
  if (isNew)
    known->second = window(rows);
  return known->second;
}

double Formula::roomBytes(const Tiling &tiling, bool isRight) const {
  if (!isRight && isWindow(tiling))
    return double(upTo(windowOf(tiling.tile[M]).load.elements * size, 64)) * tiling.slots[isRight];
  const int64_t own = tiling.tile[isRight ? N : M];
  double bytes = double(upTo(own * (tiling.hold[isRight] == Hold::Pieces ? tiling.tile[K] : sum) * size, 64));
  if (tiling.hold[isRight] != Hold::Pieces)
    bytes *= counts.sums;
  if (tiling.hold[isRight] == Hold::All)
    bytes *= counts.own[isRight] * tilesOf(tiling, isRight);
  const int64_t length = tiling.hold[isRight] == Hold::Pieces ? tiling.tile[K] : sum;
  return (bytes + (isRight || !prologue ? 0 : double(own * length * size))) * tiling.slots[isRight];
}

bool Formula::fits(const Tiling &tiling) const {
  if (isWindow(tiling) && !windowOf(tiling.tile[M]).load.isLegal())
    return false;
  const int64_t m = rowsOf(tiling), n = tiling.tile[N], k = tiling.tile[K];
  if (m == 0 || m > mostExtents[M])
    return false;
  if (fractalBytesOf(m, k, size) * tiling.feedSlots > int64_t(config.l0aBytes) ||
      fractalBytesOf(n, k, size) * tiling.feedSlots > int64_t(config.l0bBytes) ||
      ceilOf(m, lanes) * ceilOf(n, lanes) * int64_t{tileBytes} * tiling.resultSlots > int64_t(config.l0cBytes))
    return false;
  for (bool isRight : {false, true})
    if (tiling.hold[isRight] != Hold::Pieces && (sides[isRight].isAlongSum ? sum > mostRow : sum > mostRows))
      return false;
  const double result = double(upTo(m * n * resultSize, 64)) * 2 * (continues ? 2 : 1) +
                        double(upTo(m * n * 4, 64)) * (2 * operandsAfter + std::min(nodesAfter, 3u));
  return roomBytes(tiling, false) + roomBytes(tiling, true) + result <= double(config.l1Bytes);
}

double Formula::transfer(Space space, double rows, double row, unsigned elementBytes) const {
  const double bytes = row * elementBytes;
  const double latency = space == Space::DDR ? config.ddrLatency : config.llbLatency;
  const double rate = space == Space::DDR ? double(config.ddrBytesPerCycle) / sharers : config.llbBytesPerCycle;
  return 16 + latency + std::max(rows * double(ceilOf(int64_t(bytes), 64)), rows * bytes / rate);
}

double Formula::cost(const Tiling &tiling) const {
  const int64_t m = rowsOf(tiling), n = tiling.tile[N], k = tiling.tile[K];
  const double tiles = allTiles(tiling), pieces = double(ceilOf(sum, k)), step = size == 1 ? 16 : size == 2 ? 8 : 2;
  double loads = 0, far = 0, alone = 0, first = 0, feeds = 0, computed = 0;
  for (bool isRight : {false, true}) {
    const Side &side = sides[isRight];
    const Hold hold = tiling.hold[isRight];
    const bool isWindow = !isRight && this->isWindow(tiling);
    const LoadPlan *plan = isWindow ? &windowOf(tiling.tile[M]).load : nullptr;
    const double own = double(isRight ? n : m), along = hold == Hold::Pieces ? double(k) : double(sum);
    const double each =
        plan ? transfer(side.space, double(plan->extents[1] * plan->extents[2]), double(plan->extents[0]), size)
        : side.isAlongSum ? transfer(side.space, own, along, size)
                          : transfer(side.space, along, own, size);
    const double iterations = isWindow ? 1 : counts.sums; // of the sum, each of which has loads
    double count = tiles * iterations * (hold == Hold::Pieces ? pieces : 1);
    if (hold == Hold::All || (hold != Hold::Pieces && isRight == tiling.columnsOutside))
      count = counts.both * counts.own[isRight] * tilesOf(tiling, isRight) * iterations;
    loads += count * each;
    const double moved = plan ? double(plan->extents[0] * plan->extents[1] * plan->extents[2]) : own * along;
    far += side.space == Space::DDR ? count * moved * size : 0;
    if (hold == Hold::All)
      first += each * counts.own[isRight] * tilesOf(tiling, isRight) * counts.sums;
    else
      first += each * (hold == Hold::OwnTile ? counts.sums : 1);
    if (!isRight && prologue) {
      const double tile = 6 + double(own) * double(ceilOf(int64_t(along) * size, 128)) * prologue;
      computed = count * tile;
      first += tile;
    }
    const bool isRepeated = hold == Hold::All ? counts.both > 1 : hold != Hold::Pieces && count > iterations;
    if (tiling.slots[isRight] == 1 && isRepeated)
      alone += count * each;
    feeds +=
        6 + double(fractalBytesOf(int64_t(own), k, size)) / (hold == Hold::Window ? windowFeedRate : side.feedRate);
  }
  const double product = 8 + double(ceilOf(m, lanes) * ceilOf(n, lanes)) * double(ceilOf(k, int64_t(step)));
  const double drain = (6 + double(m * ceilOf(n * 4, 128))) * (1 + continues + nodesAfter);
  const double store = transfer(resultSpace, double(m), double(n), resultSize);
  far += resultSpace == Space::DDR ? tiles * double(m * n * resultSize) * (continues ? 2 : 1) : 0;
  loads += tiles * store * (operandsAfter + continues);
  const double products = tiles * counts.sums * pieces * product, drains = tiles * drain + computed;
  feeds *= tiles * counts.sums * pieces;
  const double most = std::max({loads, feeds, products, drains, tiles * store, far * sharers / config.ddrBytesPerCycle,
                                tiling.feedSlots == 1 ? feeds + products : 0,
                                tiling.resultSlots == 1 && tiles > 1 ? products + drains : 0});
  return most + alone + first + product + drain + store;
}

/// The best ones of each way to hold operands, of which those count that are not much worse than the best one.
class BestTilings {
public:
  explicit BestTilings(const Formula &formula) : formula(formula) {}
  void consider(const Tiling &tiling);
  std::vector<Tiling> found() const;

private:
  static constexpr size_t mostOfWay = 3;
  static constexpr double mostWorse = 1.5;
  using Way = std::tuple<Hold, Hold, bool>;
  const Formula &formula;
  std::map<Way, std::vector<std::pair<double, Tiling>>> bestOf;
};

void BestTilings::consider(const Tiling &tiling) {
  if (!formula.fits(tiling))
    return;
  const double cost = formula.cost(tiling);
  auto &best = bestOf[{tiling.hold[0], tiling.hold[1], tiling.columnsOutside}];
  auto same = llvm::find_if(best, [&](const auto &other) { return other.second.tile == tiling.tile; });
  if (same != best.end() && same->first <= cost)
    return;
  if (same != best.end())
    best.erase(same);
  auto at = llvm::find_if(best, [&](const auto &other) { return cost < other.first; });
  best.insert(at, {cost, tiling});
  best.resize(std::min(best.size(), mostOfWay));
}

std::vector<Tiling> BestTilings::found() const {
  double least = std::numeric_limits<double>::infinity();
  for (const auto &[way, best] : bestOf)
    least = std::min(least, best.front().first);
  std::vector<Tiling> found;
  for (const auto &[way, best] : bestOf)
    for (const auto &[cost, tiling] : best)
      if (cost <= mostWorse * least)
        found.push_back(tiling);
  return found;
}

} // namespace

std::vector<Tiling> MatrixNest::tilings() const {
  if (isDepthwise)
    return depthwiseTilings();
  Counts counts;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop) {
    if (!isAround(loop))
      continue;
    const bool isLeft = changes(false, loop), isRight = changes(true, loop);
    double &count = nest.loops[loop].isReduced ? counts.sums : isLeft && isRight ? counts.both : counts.own[isRight];
    count *= double(nest.loops[loop].extent);
  }
  Formula formula(config, sharers, counts);
  for (bool isRight : {false, true}) {
    const bool isAlong = isAlongSum(isRight);
    formula.sides[isRight] = {extentOf(isRight ? N : M), places[factor(isRight).access.buffer].space, isAlong,
                              isAlong ? 128u : 64u};
  }
  formula.sum = extentOf(K);
  formula.size = sizeOf(left.type);
  formula.resultSize = sizeOf(nest.type);
  formula.resultSpace = places[nest.store.buffer].space;
  formula.continues = nest.continues;
  formula.prologue = prologuePasses();
  const Drain drain = drainOf();
  for (unsigned number = nest.sum.value_or(0); nest.sum && number < nest.nodes.size(); ++number) {
    const Node &node = nest.nodes[number];
    formula.nodesAfter += node.kind == Node::Apply && !llvm::is_contained(drain.done, number);
    formula.operandsAfter += node.kind == Node::Load && strideOf(node.access, N) && strideOf(node.access, M);
  }

  BestTilings best(formula);
  if (mayHoldWindow()) {
    const bool hasLines = mayHaveLines();
    formula.window = [this, hasLines](int64_t rows) {
      const MatrixWindow window = windowOf(rows);
      const int64_t line = lineOf(M), lines = rows / line;
      const bool isEven =
          hasLines && lines > 1 && window.row > 0 && window.line % window.row == 0 && window.line >= line * window.row;
      return Formula::Window{window.load, isEven ? (lines - 1) * rowsOfLine(window) + line : 0};
    };
    formula.windowFeedRate = rowLoop ? 64 : 128; // of lines apart, and of rows
  }
  const bool hasBorders = !nest.borders.empty(); // only windows have them
  constexpr Hold holds[] = {Hold::Pieces, Hold::OwnTile, Hold::All, Hold::Window, Hold::Lines};
  const int64_t step = 32 / formula.size;
  for (int64_t m : lengthsOf(extentOf(M), mostExtents[M], lineOf(M)))
    for (int64_t n : lengthsOf(extentOf(N), mostExtents[N], 1))
      for (unsigned feedSlots : {2u, 1u}) {
        const int64_t steps = std::min(int64_t(config.l0aBytes) / (ceilOf(m, lanes) * fractalBytes * feedSlots),
                                       int64_t(config.l0bBytes) / (ceilOf(n, lanes) * fractalBytes * feedSlots));
        const int64_t longest = std::min(steps * step, mostExtents[K] / step * step);
        if (longest == 0)
          continue;
        Tiling tiling;
        tiling.feedSlots = feedSlots;
        tiling.tile = {m, n, std::min(formula.sum, upTo(ceilOf(formula.sum, ceilOf(formula.sum, longest)), step))};
        for (bool columnsOutside : {false, true})
          for (Hold holdLeft : ArrayRef(holds).drop_front(hasBorders ? 3 : 0).drop_back(formula.window ? 0 : 2))
            for (Hold holdRight : {Hold::Pieces, Hold::OwnTile, Hold::All})
              for (unsigned slots = 0; slots < 8; ++slots) {
                tiling.columnsOutside = columnsOutside;
                tiling.hold = {holdLeft, holdRight};
                tiling.slots = {slots & 1 ? 1u : 2u, slots & 2 ? 1u : 2u};
                tiling.resultSlots = slots & 4 ? 1 : 2;
                best.consider(tiling);
              }
      }
  std::vector<Tiling> found = best.found();
  if (formula.window)
    addChunked(found);
  return found;
}

} // namespace perpend::quoin
