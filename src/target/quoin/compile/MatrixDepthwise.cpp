//===- MatrixDepthwise.cpp - sums of products whose factors share columns -===//
//
// In a depthwise convolution, each column of the result has its own sum: both factors have its loop. The left one is an
// image, of which L1 has the window of a tile, between zeros where it has a border. Its lines are so long that their
// first pixels are first rows of fractals: each tap along a line is fed once, and those across lines are other fractals
// of the same feed.
//
//   parts of lines
//     tiles of columns: the right factor, a matrix of one row for each tap
//       tiles of lines: the window
//         blocks of lines
//           taps along a line: feed the window from there on
//             taps across lines: multiply
//           drain each line
//         store
//
// Of what is fed, lines at a tile's end are fed again for the next tile. Fractals of short lines hold more of them, so
// long lines are cut into parts; L1 holds more lines than the matrix unit's memories, so a tile may have several
// blocks.
//
//===----------------------------------------------------------------------===//
#include "target/quoin/compile/Cores.h"
#include "target/quoin/compile/MatrixNest.h"

#include "llvm/Support/MathExtras.h"

namespace perpend::quoin {

constexpr int64_t lanes = 16; ///< rows and columns of a fractal
constexpr int64_t mostLine = 512;

static int64_t upTo(int64_t value, int64_t multiple) {
  return static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(value), static_cast<uint64_t>(multiple)));
}

/// Bytes of the fractals of so many rows of k elements.
static int64_t fractalsOf(int64_t rows, int64_t k, unsigned elementBytes) {
  return upTo(rows, lanes) / lanes * (upTo(k * elementBytes, 32) / 32) * int64_t{fractalBytes};
}

/// Finds the loops: columns, pixels of a line, lines, and the taps along both.
bool MatrixNest::assignDepthwise() {
  auto isShared = [&](unsigned loop) { return changes(false, loop) && changes(true, loop); };
  llvm::SmallVector<unsigned, 4> taps, places;
  for (bool swaps : {false, true}) {
    if (swaps)
      std::swap(left, right);
    taps.clear();
    places.clear();
    axes = {-1, -1, -1};
    bool isImage = true;
    for (unsigned loop = 0; loop < nest.loops.size(); ++loop) {
      if (nest.loops[loop].isReduced)
        taps.push_back(loop);
      else if (isShared(loop) && axes[N] < 0 && nest.store.strides[loop] == 1 && left.access.strides[loop] == 1 &&
               right.access.strides[loop] == 1)
        axes[N] = static_cast<int>(loop);
      else if (changes(false, loop) && !changes(true, loop))
        places.push_back(loop);
      else
        isImage = false;
    }
    if (isImage && axes[N] >= 0 && taps.size() == 2 && places.size() >= 2)
      break;
    if (swaps)
      return false;
  }
  auto byStride = [&](unsigned a, unsigned b) { return left.access.strides[a] < left.access.strides[b]; };
  llvm::sort(taps, byStride);
  llvm::sort(places, byStride);
  const auto strideOfLoop = [&](unsigned loop) { return left.access.strides[loop]; };
  const int64_t columns = nest.loops[axes[N]].extent;
  axes[M] = static_cast<int>(places[0]);
  rowLoop = places[1];
  tapAlong = taps[0];
  tapAcross = taps[1];
  const bool isRegular = strideOfLoop(tapAlong) >= columns && strideOfLoop(tapAcross) > strideOfLoop(tapAlong) &&
                         strideOfLoop(places[0]) % strideOfLoop(tapAlong) == 0 &&
                         strideOfLoop(places[1]) % strideOfLoop(tapAcross) == 0 &&
                         nest.loops[places[0]].extent <= mostLine && isEven(places[1], places[0]);
  bool areBorders = true;
  for (const accelerator::Border &border : nest.borders)
    areBorders &= (border.loop == places[0] && border.reduced == tapAlong) ||
                  (border.loop == places[1] && border.reduced == tapAcross);
  bool isForwards = true;
  forEachAccess([&](ElementAccess &access) {
    isForwards &= llvm::all_of(access.strides, [](int64_t stride) { return stride >= 0; });
  });
  isDepthwise = isRegular && areBorders && isForwards;
  if (!isDepthwise)
    rowLoop.reset();
  return isDepthwise;
}

MatrixNest::DepthwiseShape MatrixNest::depthwiseShape(int64_t rows) const {
  const auto &strides = left.access.strides;
  DepthwiseShape shape;
  shape.alongStep = strides[axes[M]] / strides[tapAlong];
  shape.acrossStep = strides[*rowLoop] / strides[tapAcross];
  shape.along = nest.loops[tapAlong].extent;
  shape.across = nest.loops[tapAcross].extent;
  shape.width = lineOf(M);
  shape.lines = rows / shape.width;
  shape.pixels = upTo((shape.width - 1) * shape.alongStep + shape.along, lanes * shape.alongStep);
  shape.inputLines = (shape.lines - 1) * shape.acrossStep + shape.across;
  return shape;
}

MatrixWindow MatrixNest::depthwiseWindow(int64_t rows) const {
  const DepthwiseShape shape = depthwiseShape(rows);
  const int64_t columns = tile[N], along = left.access.strides[tapAlong], across = left.access.strides[tapAcross];
  MatrixWindow window;
  window.row = columns;
  window.line = shape.pixels * columns;
  window.load.extents = {columns, shape.pixels, shape.inputLines};
  window.load.from = {1, along, across};
  window.load.to = {1, columns, window.line};
  window.load.elements = shape.inputLines * window.line;
  window.count = {columns, (shape.width - 1) * shape.alongStep + shape.along, shape.inputLines};
  for (const accelerator::Border &border : nest.borders) {
    const bool isAlong = border.reduced == tapAlong;
    const int64_t extent = nest.loops[border.loop].extent, pitch = isAlong ? along : across;
    if ((isAlong ? shape.width : shape.lines) < extent)
      continue; // one of several tiles, which partsOf leaves without a border
    const auto reach = reachOf(border, left.access.strides[border.loop], pitch);
    const unsigned level = isAlong ? 1 : 2;
    window.first[level] = reach ? reach->first / pitch : 0;
    window.count[level] = reach ? (reach->second - reach->first) / pitch + 1 : 0;
  }
  return window;
}

/// The nest of some pixels of each line.
MatrixNest MatrixNest::partOfLines(int64_t begin, int64_t length) const {
  MatrixNest part(*this);
  const auto loop = static_cast<unsigned>(axes[M]);
  part.nest.loops[loop].extent = length;
  cutBorders(part.nest, loop, begin, begin + length);
  part.forEachAccess([&](ElementAccess &access) { access.base += begin * access.strides[loop]; });
  part.hasPartsOfLines = true;
  return part;
}

/// Whole lines, or parts of them one behind the other.
bool MatrixNest::emitLines(MatrixRooms &shared) {
  const int64_t width = lineOf(M), length = tiling.line ? tiling.line : width;
  for (int64_t begin = 0; begin < width; begin += length) {
    MatrixNest part = length < width ? partOfLines(begin, length) : *this;
    for (Axis axis : {M, N, K}) {
      part.isTiled[axis] = tile[axis] < part.extentOf(axis);
      part.isOnePart[axis] = part.partsOf(axis).size() == 1 && !(axis == M && part.hasPartsOfLines);
    }
    if (!part.emitParts(M, shared))
      return refuse(part.problem);
  }
  return true;
}

/// Tilings of whole lines, or of equal parts of them, of which the ones with the fewest cycles of the busiest unit are
/// tried, some of each way. Units feed less than whole lines where fractals hold more lines of parts, of which fewer
/// are read twice.
std::vector<Tiling> MatrixNest::depthwiseTilings() const {
  constexpr unsigned mostOfWay = 8;
  constexpr double mostWorse = 1.5;
  constexpr int64_t mostParts = 8;
  std::vector<std::pair<double, Tiling>> ranked;
  rankDepthwise(ranked, 1);
  for (int64_t parts = 2; parts <= mostParts && mayHaveLines(); ++parts)
    if (const int64_t width = lineOf(M); width % parts == 0)
      partOfLines(0, width / parts).rankDepthwise(ranked, parts);
  auto rankOf = [](const std::pair<double, Tiling> &each) {
    const Tiling &tiling = each.second;
    return std::tuple(each.first, tiling.tile, tiling.line, tiling.block, -int(tiling.feedSlots));
  };
  llvm::sort(ranked, [&](const auto &a, const auto &b) { return rankOf(a) < rankOf(b); });
  std::vector<Tiling> tilings;
  std::map<std::tuple<int64_t, int64_t, bool>, unsigned> found; // of each way
  for (auto &[cycles, tiling] : ranked)
    if (cycles <= mostWorse * ranked.front().first &&
        found[{tiling.line, tiling.tile[N], tiling.isInBlocks()}]++ < mostOfWay)
      tilings.push_back(tiling);
  return tilings;
}

/// Cycles of units in some lines of a tile.
MatrixNest::DepthwiseCycles MatrixNest::depthwiseCycles(int64_t lines, int64_t block, int64_t columns) const {
  const unsigned size = sizeOf(left.type);
  const int64_t columnTiles = upTo(columns, lanes) / lanes;
  DepthwiseCycles cycles;
  for (int64_t begin = 0; begin < lines; begin += block) {
    const DepthwiseShape shape = depthwiseShape(std::min(block, lines - begin) * lineOf(M));
    const bool isFlat = shape.acrossStep == 1;
    const int64_t rows = isFlat ? shape.lines * shape.rowsOfLine() : shape.width; // of an instruction
    cycles.feeds += double(shape.along) * (6 + double(fractalsOf(shape.fedRows(), columns, size)) / 128);
    cycles.products += double(shape.along * shape.across * (isFlat ? 1 : shape.lines)) *
                       (8 + double(upTo(rows, lanes) / lanes * columnTiles));
    cycles.drains += double(shape.lines) * (6 + double(shape.width) * double(upTo(columns * 4, 128) / 128));
  }
  const DepthwiseShape shape = depthwiseShape(lines * lineOf(M));
  const bool isFar = places[left.access.buffer].space == Space::DDR;
  const int64_t pixels = (shape.width - 1) * shape.alongStep + shape.along; // the others are zeros
  const auto rows = double(upTo(columns * size, 64) / 64), lineCount = double(shape.inputLines);
  const double moved = lineCount * double(pixels * columns * size) * sharers / config.ddrBytesPerCycle;
  const double load = 16 + (isFar ? config.ddrLatency : config.llbLatency) +
                      std::max(lineCount * double(pixels) * rows, isFar ? moved : 0);
  cycles.loads = load + 16 + config.l1Latency + lineCount * double(shape.pixels - pixels) * rows;
  return cycles;
}

/// Tilings of one of so many parts of lines.
void MatrixNest::rankDepthwise(std::vector<std::pair<double, Tiling>> &ranked, int64_t parts) const {
  const unsigned size = sizeOf(left.type);
  const int64_t allColumns = extentOf(N), allLines = nest.loops[*rowLoop].extent;
  auto add = [&](int64_t columns, int64_t block, int64_t lines, unsigned feedSlots) {
    const DepthwiseCycles each = depthwiseCycles(lines, block, columns),
                          rest = depthwiseCycles(allLines % lines, block, columns);
    const double others = allLines % lines > 0, times = double(parts * llvm::divideCeil(allColumns, columns));
    auto sum = [&](auto cyclesOf) {
      return times * (double(allLines / lines) * cyclesOf(each) + others * cyclesOf(rest));
    };
    auto compute = [&](const DepthwiseCycles &tile) {
      return std::max(feedSlots == 1 ? tile.feeds + tile.products : std::max(tile.feeds, tile.products), tile.drains);
    };
    const DepthwiseCycles &last = others > 0 ? rest : each;
    const double cycles = std::max(sum([](const DepthwiseCycles &tile) { return tile.loads; }) + compute(last),
                                   each.loads + sum(compute));
    Tiling tiling;
    tiling.tile = {lines * lineOf(M), columns, 1};
    tiling.hold = {Hold::Window, Hold::All};
    tiling.feedSlots = feedSlots;
    tiling.line = hasPartsOfLines ? lineOf(M) : 0;
    tiling.block = block * lineOf(M);
    ranked.emplace_back(cycles + last.drains, tiling);
  };
  for (int64_t columnParts = 1, lastColumns = 0; columnParts <= allColumns; ++columnParts) {
    const int64_t columns =
        std::min(allColumns, upTo(static_cast<int64_t>(llvm::divideCeil(allColumns, columnParts)), lanes));
    if (columns == lastColumns)
      continue;
    lastColumns = columns;
    for (int64_t blocks = 1, lastBlock = 0; blocks <= allLines; ++blocks) {
      const auto block = static_cast<int64_t>(llvm::divideCeil(allLines, blocks));
      if (block == lastBlock)
        continue;
      lastBlock = block;
      const DepthwiseShape shape = depthwiseShape(block * lineOf(M));
      const int64_t fed = shape.fedRows(), sums = shape.lines * shape.rowsOfLine();
      const int64_t weightSlots = columns < allColumns ? 2 : 1;
      for (int64_t feedSlots : {2, 1}) {
        if (fed > 1024 || sums > 1024 || columns > 1024 ||
            fractalsOf(fed, columns, size) * feedSlots > int64_t(config.l0aBytes) ||
            shape.along * shape.across * fractalsOf(columns, 1, size) * weightSlots > int64_t(config.l0bBytes) ||
            upTo(sums, lanes) / lanes * (upTo(columns, lanes) / lanes) * int64_t{tileBytes} * 2 >
                int64_t(config.l0cBytes))
          continue;
        for (int64_t lines = block; lines <= allLines; lines += block) {
          const int64_t window = ((lines - 1) * shape.acrossStep + shape.across) * shape.pixels * columns * size;
          const int64_t results = lines * shape.width * columns * int64_t{sizeOf(nest.type)};
          if (2 * window + 4 * results > int64_t(config.l1Bytes))
            break;
          add(columns, block, lines, static_cast<unsigned>(feedSlots));
        }
      }
    }
  }
}

/// Rows of the right factor: one for each tap.
bool MatrixNest::emitTapWeights(const Operand &from, const Operand &to) {
  const DepthwiseShape shape = depthwiseShape(lineOf(M));
  Instruction load;
  load.opcode = Opcode::ld_3d;
  load.dstType = load.src0Type = right.type;
  load.extent = {static_cast<uint32_t>(tile[N]), static_cast<uint32_t>(shape.along),
                 static_cast<uint32_t>(shape.across)};
  load.src(0) = from;
  load.dst() = to;
  load.stride1[Src0] = static_cast<uint32_t>(right.access.strides[tapAlong]);
  load.stride2[Src0] = static_cast<uint32_t>(right.access.strides[tapAcross]);
  load.stride1[Dst] = static_cast<uint32_t>(tile[N]);
  load.stride2[Dst] = static_cast<uint32_t>(tile[N] * shape.along);
  return add(std::move(load));
}

/// Each tap is a matrix of one row, of its own fractals.
bool MatrixNest::feedTapWeights() {
  const DepthwiseShape shape = depthwiseShape(lineOf(M));
  const unsigned size = sizeOf(right.type);
  for (int64_t tap = 0; tap < shape.along * shape.across; ++tap) {
    std::optional<Operand> from = stream.at(room(MatrixRooms::Right), static_cast<uint64_t>(tap * tile[N] * size)),
                           to = stream.at(room(MatrixRooms::FedRight),
                                          static_cast<uint64_t>(tap * fractalsOf(tile[N], 1, size)));
    if (!from || !to)
      return refuseAddresses();
    Instruction feed;
    feed.opcode = Opcode::fd_b;
    feed.dstType = feed.src0Type = right.type;
    feed.extent = {static_cast<uint32_t>(tile[N]), 1, 0};
    feed.dst() = *to;
    feed.src(0) = *from;
    feed.stride1[Src0] = static_cast<uint32_t>(tile[N]);
    if (!add(std::move(feed)))
      return false;
  }
  return true;
}

/// Of some lines of a tile, which lie `lineAdvances` further in each iteration.
bool MatrixNest::emitTaps(int64_t lines, llvm::ArrayRef<Advance> lineAdvances, int64_t firstLine) {
  const DepthwiseShape shape = depthwiseShape(lines * lineOf(M));
  const unsigned size = sizeOf(left.type);
  const int64_t block = fractalsOf(lanes, tile[N], size); // of 16 rows
  const int64_t tilesOfRows = upTo(tile[N], lanes) / lanes * int64_t{tileBytes};
  const int64_t first = firstLine * shape.acrossStep * shape.pixels * tile[N] * size;
  const bool isFlat = shape.acrossStep == 1; // all lines of a tap follow on one another in the feed
  for (int64_t along = 0; along < shape.along; ++along) {
    stream.beginTurn(*rooms->pieceTurn);
    std::optional<Operand> from = stream.at(room(MatrixRooms::Left),
                                            static_cast<uint64_t>(first + along * tile[N] * size), lineAdvances),
                           to = stream.at(room(MatrixRooms::FedLeft));
    if (!from || !to)
      return refuseAddresses();
    Instruction feed;
    feed.opcode = Opcode::fd_a;
    feed.dstType = feed.src0Type = left.type;
    feed.extent = {static_cast<uint32_t>(tile[N]), static_cast<uint32_t>(shape.fedRows()), 0};
    feed.dst() = *to;
    feed.src(0) = *from;
    feed.stride1[Src0] = static_cast<uint32_t>(tile[N] * shape.alongStep);
    if (!add(std::move(feed)))
      return false;
    for (int64_t across = 0; across < shape.across; ++across)
      for (int64_t line = 0; line < (isFlat ? 1 : shape.lines); ++line) {
        const int64_t fed = (line * shape.acrossStep + across) * shape.rowsOfLine() / lanes;
        const int64_t tap = across * shape.along + along;
        std::optional<Operand> a = stream.at(room(MatrixRooms::FedLeft), static_cast<uint64_t>(fed * block)),
                               b = stream.at(room(MatrixRooms::FedRight),
                                             static_cast<uint64_t>(tap * fractalsOf(tile[N], 1, size))),
                               c = stream.at(room(MatrixRooms::Accumulators),
                                             static_cast<uint64_t>(line * shape.rowsOfLine() / lanes * tilesOfRows));
        if (!a || !b || !c)
          return refuseAddresses();
        Instruction multiply;
        multiply.opcode = Opcode::dwconv;
        multiply.dstType = sumType();
        multiply.src0Type = left.type;
        multiply.src1Type = right.type;
        const int64_t rows = (isFlat ? shape.lines - 1 : 0) * shape.rowsOfLine() + shape.width;
        multiply.extent = {static_cast<uint32_t>(tile[N]), static_cast<uint32_t>(rows), 1};
        multiply.dst() = *c;
        multiply.src(0) = *a;
        multiply.src(1) = *b;
        multiply.zero = along == 0 && across == 0;
        if (!add(std::move(multiply)))
          return false;
      }
    stream.endTurn(*rooms->pieceTurn);
  }
  return true;
}

/// Blocks of lines, each of which becomes results. Of a tile, L1 has more lines than the matrix unit's memories, and
/// fewer of them are loaded for two tiles.
bool MatrixNest::emitBlocks(const Instruction &drain, MatrixRooms::Role result) {
  const int64_t lines = tile[M] / lineOf(M), block = std::min(lines, tiling.block / lineOf(M)), whole = lines / block;
  if (whole > 1) {
    if (stream.depth() == numLoops)
      return refuse("more loops than the sequencer has");
    stream.openLoop(static_cast<uint64_t>(whole));
  }
  if (!emitBlock(drain, result, block, 0, whole > 1))
    return false;
  if (whole > 1)
    stream.closeLoop();
  return lines % block == 0 || emitBlock(drain, result, lines % block, whole * block, false);
}

/// A drain for each line, which is longer in the accumulators.
bool MatrixNest::emitBlock(Instruction drain, MatrixRooms::Role result, int64_t lines, int64_t firstLine,
                           bool isLooped) {
  const DepthwiseShape shape = depthwiseShape(lines * lineOf(M));
  const int64_t window = shape.acrossStep * shape.pixels * tile[N] * sizeOf(left.type); // of a line of the result
  const int64_t row = shape.width * tile[N] * sizeOf(drain.dstType);
  llvm::SmallVector<Advance, 1> windows, rows;
  if (isLooped) {
    windows.push_back({stream.depth() - 1, lines * window});
    rows.push_back({stream.depth() - 1, lines * row});
  }
  if (tiling.isInBlocks())
    stream.beginTurn(*rooms->blockTurn);
  std::optional<Operand> to = stream.at(room(result), static_cast<uint64_t>(firstLine * row), rows);
  if (!to)
    return refuseAddresses();
  drain.dst() = *to;
  if (!emitTaps(lines, windows, firstLine))
    return false;
  const bool isDense = shape.rowsOfLine() == shape.width;
  drain.extent[1] = static_cast<uint32_t>(isDense ? lines * shape.width : shape.width);
  const auto line = static_cast<uint64_t>(shape.rowsOfLine() / lanes * (upTo(tile[N], lanes) / lanes)) * tileBytes;
  for (int64_t each = 0; each < (isDense ? 1 : lines); ++each) {
    if (!add(drain))
      return false;
    drain.src(0).byte += line;
    drain.dst().byte += static_cast<uint64_t>(row);
  }
  if (tiling.isInBlocks())
    stream.endTurn(*rooms->blockTurn);
  return true;
}

/// Of the rooms of a depthwise nest: bytes of the fed factors, and of the accumulators.
std::array<uint64_t, 3> MatrixNest::depthwiseBytes() const {
  const DepthwiseShape shape = depthwiseShape(std::min(tile[M], tiling.block));
  const unsigned size = sizeOf(left.type);
  return {static_cast<uint64_t>(fractalsOf(shape.fedRows(), tile[N], size)),
          static_cast<uint64_t>(shape.along * shape.across * fractalsOf(tile[N], 1, size)),
          static_cast<uint64_t>(shape.lines * shape.rowsOfLine() / lanes * (upTo(tile[N], lanes) / lanes)) * tileBytes};
}

} // namespace perpend::quoin
