//===- Pieces.cpp - steps with large constants, cut along them ------------===//
#include "target/quoin/compile/Pieces.h"
#include "target/quoin/compile/Cores.h"
#include "target/quoin/compile/Epilogues.h"
#include "target/quoin/compile/NearMemory.h"
#include "target/quoin/compile/Overwrites.h"
#include "target/quoin/compile/Rolling.h"
#include "target/quoin/compile/Vector.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

namespace perpend::quoin {

constexpr uint64_t lineBytes = 64;

std::vector<std::vector<Nest>> waysOf(const Step &step, const Decisions &decisions) {
  const Kernel &kernel = *step.nests;
  std::vector<std::vector<Nest>> ways;
  auto add = [&](const std::vector<Nest> &nests) {
    if (!decisions.epilogues)
      return ways.push_back(nests);
    Kernel way = kernel;
    way.nests = withoutCopies(kernel, nests);
    ways.push_back(withEpilogues(way));
    if (way.nests.size() != nests.size()) {
      way.nests = nests;
      ways.push_back(withEpilogues(way));
    }
    ways.push_back(nests);
  };
  if (!kernel.bordered.empty() && decisions.windows)
    add(kernel.bordered);
  add(kernel.nests);
  if (!step.overwrites.empty())
    llvm::erase_if(ways, [&](const std::vector<Nest> &nests) { return !keepsOperands(step, nests); });
  return ways;
}

namespace {

/// Where a step is cut: along a loop of its nest, in parts of one of its inputs.
struct Cut {
  unsigned input = 0, loop = 0;
  int64_t length = 0; ///< iterations of a piece
};

class Cutter {
public:
  Cutter(const MainProgram &main, const Config &config, const Decisions &decisions)
      : main(main), config(config), decisions(decisions) {}
  /// The step, or its pieces.
  void cut(Step &step, std::vector<Piece> &pieces) const;

private:
  std::optional<unsigned> rolledInputOf(const Step &step, const Nest &nest) const;
  std::optional<Cut> cutOf(const Step &step, const Nest &nest) const;
  std::optional<Cut> cutOf(const Step &step, const Nest &nest, unsigned input, uint64_t pieceBytes) const;
  uint64_t pieceBytesOf(const Step &step) const;
  bool isConstant(const Value &value) const {
    return value.spot.space == Space::DDR && value.spot.byte >= main.weights.byte &&
           value.spot.byte + value.bytes() <= main.weights.end() && value.spot.byte % lineBytes == 0;
  }

  const MainProgram &main;
  const Config &config;
  const Decisions &decisions;
};

} // namespace

/// The only load of a buffer, if that reads each of its elements once. Null: there is none.
static const ElementAccess *onlyAccess(const Nest &nest, const Kernel &kernel, unsigned buffer) {
  const ElementAccess *only = nullptr;
  for (const Node &node : nest.nodes) {
    if (node.kind != Node::Load || node.access.buffer != buffer)
      continue;
    if (only)
      return nullptr;
    only = &node.access;
  }
  if (!only || only->base != 0)
    return nullptr;
  int64_t elements = 1, last = 0;
  for (auto [loop, stride] : llvm::zip_equal(nest.loops, only->strides)) {
    if (stride < 0)
      return nullptr;
    elements *= stride ? loop.extent : 1;
    last += stride * (loop.extent - 1);
  }
  return elements == kernel.buffers[buffer].elements && last + 1 == elements ? only : nullptr;
}

/// The largest part of LLB of which the step leaves space for two; 0: they are too small.
uint64_t Cutter::pieceBytesOf(const Step &step) const {
  for (const uint64_t parts : {8, 12, 16, 24, 32}) {
    const uint64_t bytes = config.llbBytes / parts;
    NearMemory near(config.llbBytes);
    near.take(step.near);
    if (near.takeLowest(bytes) && near.takeLowest(bytes))
      return bytes;
  }
  return 0;
}

std::optional<Cut> Cutter::cutOf(const Step &step, const Nest &nest, unsigned input, uint64_t pieceBytes) const {
  const Value &value = step.inputs[input];
  const ElementAccess *access =
      isConstant(value) && value.bytes() > pieceBytes ? onlyAccess(nest, *step.nests, input) : nullptr;
  if (!access)
    return std::nullopt;
  const auto size = static_cast<int64_t>(step.nests->buffers[input].elementBytes);
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop) {
    const int64_t stride = access->strides[loop], extent = nest.loops[loop].extent;
    const int64_t lines = iterationsOfLines(nest, loop, step.outputs[nest.store.buffer - step.inputs.size()].spot);
    if (stride == 0 || lines == 0)
      continue;
    // Rows of a part are whole lines, too.
    const int64_t of = std::lcm(lines, int64_t{lineBytes} / std::gcd(stride * size, int64_t{lineBytes}));
    const auto count = static_cast<int64_t>(llvm::divideCeil(value.bytes(), pieceBytes));
    const int64_t length = static_cast<int64_t>(llvm::alignTo(
        llvm::divideCeil(static_cast<uint64_t>(extent), static_cast<uint64_t>(count)), static_cast<uint64_t>(of)));
    // Rows of several parts are copied by one instruction: all of them are whole lines, the last ones too.
    constexpr int64_t wordBytes = 4, mostWords = 65535, mostPitch = int64_t{1} << 21;
    const int64_t pitch = stride * extent * size, row = stride * length * size;
    const bool hasRows = pitch < static_cast<int64_t>(value.bytes());
    if (hasRows && (pitch % int64_t{lineBytes} || row > mostWords * wordBytes || pitch >= mostPitch * wordBytes))
      continue;
    if (length < extent)
      return Cut{input, loop, length};
  }
  return std::nullopt;
}

/// A large factor of a product of two matrices that takes about as long as the factor takes to come.
std::optional<unsigned> Cutter::rolledInputOf(const Step &step, const Nest &nest) const {
  if (!decisions.ahead || !decisions.cores || config.coresPerCluster < 2 || !nest.combine)
    return std::nullopt;
  const Nest simple = simplified(nest);
  double iterations = 1;
  for (const NestLoop &loop : simple.loops)
    iterations *= double(loop.extent);
  const double products = iterations / (2048.0 * (config.coresPerCluster - 1));
  llvm::SmallVector<Spot> places;
  for (const Value &value : step.inputs)
    places.push_back(value.spot);
  for (auto [input, value] : llvm::enumerate(step.inputs)) {
    const auto copied = double(value.bytes()) / double(config.ddrBytesPerCycle);
    // Of what takes more of LLB, little would have come before the step.
    const bool isLong = products > (4 * value.bytes() > config.llbBytes ? 0.5 : 0.75) * copied;
    if (isConstant(value) && 8 * value.bytes() > config.llbBytes && isLong &&
        onlyAccess(nest, *step.nests, static_cast<unsigned>(input)) &&
        canRoll(simple, places, static_cast<unsigned>(input), config))
      return static_cast<unsigned>(input);
  }
  return std::nullopt;
}

/// Of products that take about as long as their constant takes to come.
std::optional<Cut> Cutter::cutOf(const Step &step, const Nest &nest) const {
  if (!nest.combine || nest.store.buffer < step.inputs.size() ||
      nest.store.buffer >= step.inputs.size() + step.outputs.size())
    return std::nullopt;
  double iterations = 1;
  for (const NestLoop &loop : nest.loops)
    iterations *= double(loop.extent);
  const double products = iterations / (2048.0 * config.coresPerCluster);
  const uint64_t pieceBytes = pieceBytesOf(step);
  for (unsigned input = 0; pieceBytes && input < step.inputs.size(); ++input) {
    // Each piece reads what else the nest reads, which takes long in DDR.
    uint64_t others = 0;
    for (auto [other, value] : llvm::enumerate(step.inputs))
      others += other != input && value.spot.space == Space::DDR ? value.bytes() : 0;
    const uint64_t bytes = step.inputs[input].bytes();
    std::optional<Cut> cut = cutOf(step, nest, input, pieceBytes);
    if (cut && 4 * others < bytes && 4 * products > double(bytes) / double(config.ddrBytesPerCycle))
      return cut;
  }
  return std::nullopt;
}

void Cutter::cut(Step &step, std::vector<Piece> &pieces) const {
  std::optional<Cut> cut;
  Nest nest;
  std::vector<std::vector<Nest>> ways;
  if (step.nests && decisions.pieces)
    ways = waysOf(step, decisions);
  if (!ways.empty())
    if (ways.front().size() == 1) {
      nest = std::move(ways.front().front());
      if (std::optional<unsigned> input = rolledInputOf(step, nest)) {
        pieces.push_back({step, &step, false, input});
        return;
      }
      if (step.overwrites.empty()) // otherwise the first piece might write over what the others read
        cut = cutOf(step, nest);
    }
  if (!cut) {
    pieces.push_back({step, &step});
    return;
  }
  const int64_t extent = nest.loops[cut->loop].extent;
  for (int64_t begin = 0; begin < extent; begin += cut->length) {
    Piece &piece = pieces.emplace_back(Piece{step, &step, true});
    Nest part = nest;
    const int64_t end = std::min(begin + cut->length, extent);
    quoin::cut(part, cut->loop, begin, end);
    for (Node &node : part.nodes)
      if (node.kind == Node::Load && node.access.buffer == cut->input) {
        const int64_t stride = node.access.strides[cut->loop];
        const auto size = static_cast<uint64_t>(step.nests->buffers[cut->input].elementBytes);
        Value &value = piece.step.inputs[cut->input];
        value.part = {static_cast<uint64_t>(stride * (end - begin)) * size,
                      static_cast<uint64_t>(stride * extent) * size};
        value.part->rows = value.bytes() / value.part->pitch;
        value.spot.byte += static_cast<uint64_t>(begin * stride) * size;
        node.access.base = 0;
      }
    piece.step.nests->bordered.clear();
    piece.step.nests->nests = {std::move(part)};
  }
}

std::vector<Piece> piecesOf(MainProgram &main, const Config &config, const Decisions &decisions) {
  std::vector<Piece> pieces;
  const Cutter cutter(main, config, decisions);
  for (Step &step : main.steps)
    cutter.cut(step, pieces);
  return pieces;
}

} // namespace perpend::quoin
