//===- Rolling.cpp - factors that come while they are used ----------------===//
#include "target/quoin/compile/Rolling.h"
#include "target/quoin/compile/Cores.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace perpend::quoin {

constexpr uint64_t lineBytes = 64;

namespace {
/// Loops of a nest of three: rows, columns, which the constant has, and the sum.
struct Loops {
  int rows = -1, columns = -1, sum = -1;
};
} // namespace

static const ElementAccess *accessOf(const Nest &nest, unsigned input) {
  for (const Node &node : nest.nodes)
    if (node.kind == Node::Load && node.access.buffer == input)
      return &node.access;
  return nullptr;
}

static std::optional<Loops> loopsOf(const Nest &nest, unsigned input) {
  const ElementAccess *access = accessOf(nest, input);
  constexpr size_t all = 3;
  if (!access || nest.loops.size() != all)
    return std::nullopt;
  Loops loops;
  for (int loop = 0; loop < int(all); ++loop)
    (nest.loops[loop].isReduced ? loops.sum : access->strides[loop] ? loops.columns : loops.rows) = loop;
  if (loops.rows < 0 || loops.columns < 0 || loops.sum < 0)
    return std::nullopt;
  return loops;
}

/// Whether a nest is a product of two matrices, the right one of which is an input that lies in rows.
static bool isRollable(const Nest &nest, unsigned input) {
  const std::optional<Loops> loops = loopsOf(nest, input);
  if (!loops || !nest.borders.empty() || nest.continues || nest.store.strides[loops->columns] != 1)
    return false;
  const ElementAccess &access = *accessOf(nest, input);
  return access.strides[loops->columns] == 1 || access.strides[loops->sum] == 1;
}

uint64_t Rolling::copyCycles(const Config &config) const {
  return transferStart + config.ddrLatency + ring.chunkBytes / config.ddrBytesPerCycle;
}

std::vector<Rolling> rollingsOf(const Nest &nest, llvm::ArrayRef<Spot> places, unsigned input, uint64_t ringBytes) {
  constexpr int64_t fewestColumns = 64, mostColumns = 512, step = 16;
  constexpr uint64_t mostSlots = 4; // while cores load their rows, so many chunks come
  auto slotsOf = [&](uint64_t bytes) {
    return static_cast<unsigned>(std::clamp<uint64_t>(ringBytes / bytes, 2, mostSlots));
  };
  constexpr uint64_t leastBytes = 1 << 15, mostRows = 4095, mostPitch = (1 << 21) * 4;
  std::vector<Rolling> rollings;
  const std::optional<Loops> loops = loopsOf(nest, input);
  if (!loops)
    return rollings;
  const ElementAccess &access = *accessOf(nest, input);
  uint64_t size = 0;
  for (const Node &node : nest.nodes)
    if (node.kind == Node::Load && node.access.buffer == input)
      size = sizeOf(node.type);
  const int64_t allColumns = nest.loops[loops->columns].extent, allSum = nest.loops[loops->sum].extent;
  const auto columnStride = static_cast<uint64_t>(access.strides[loops->columns]) * size,
             sumStride = static_cast<uint64_t>(access.strides[loops->sum]) * size;
  const bool isAlong = access.strides[loops->sum] == 1;
  for (int64_t columns = step; columns <= std::min(allColumns, mostColumns); columns += step)
    for (int64_t sums = 1; allSum / sums >= step; ++sums) {
      const int64_t sum = allSum / sums;
      if (allColumns % columns || allSum % sums || (sum % step && sums > 1) ||
          columns < std::min(fewestColumns, allColumns))
        continue;
      Rolling each;
      each.from = places[input].byte + static_cast<uint64_t>(access.base) * size;
      each.row = static_cast<uint64_t>(isAlong ? sum : columns) * size;
      each.rows = static_cast<uint64_t>(isAlong ? columns : sum);
      each.pitch = isAlong ? columnStride : sumStride;
      each.sumBytes = static_cast<uint64_t>(sum) * sumStride;
      each.columnsBytes = static_cast<uint64_t>(columns) * columnStride;
      each.sums = sums;
      each.columns = allColumns / columns;
      const uint64_t bytes = each.row * each.rows;
      each.ring = {input, 0, bytes, slotsOf(bytes), columns, sum, 0};
      const bool hasLines = each.from % lineBytes == 0 && each.row % lineBytes == 0 && each.pitch % lineBytes == 0 &&
                            each.sumBytes % lineBytes == 0 && each.columnsBytes % lineBytes == 0;
      if (hasLines && bytes * each.ring.slots <= ringBytes && each.rows <= mostRows && each.pitch < mostPitch &&
          each.chunks() > 1 && (bytes >= leastBytes || sums == 1))
        rollings.push_back(each);
    }
  return rollings;
}

bool canRoll(const Nest &nest, llvm::ArrayRef<Spot> places, unsigned input, const Config &config) {
  if (!isRollable(nest, input))
    return false;
  const auto rows = static_cast<uint64_t>(nest.loops[loopsOf(nest, input)->rows].extent);
  return llvm::divideCeil(rows, config.coresPerCluster - 1) <= static_cast<uint64_t>(mostRowsOfRing) &&
         !rollingsOf(nest, places, input, config.llbBytes / mostRingShare).empty();
}

std::optional<EvenParts> evenPartsOf(const Nest &nest, llvm::ArrayRef<Spot> places, unsigned input, unsigned cores) {
  constexpr int64_t lanes = 16;
  const auto loop = static_cast<unsigned>(loopsOf(nest, input)->rows);
  const Spot &place = places[nest.store.buffer];
  const auto size = static_cast<int64_t>(sizeOf(nest.type));
  const int64_t all = nest.loops[loop].extent, tiles = all / lanes / cores;
  const bool hasLines = iterationsOfLines(nest, loop, place) == 1 &&
                        (static_cast<int64_t>(place.byte) + nest.store.base * size) % int64_t{lineBytes} == 0;
  EvenParts even;
  even.rows = tiles * lanes;
  even.rest = all - even.rows * cores;
  if (!hasLines || tiles == 0 || even.rest == 0)
    return std::nullopt;
  for (unsigned part = 0; part < cores; ++part) {
    even.parts.push_back(nest);
    cut(even.parts.back(), loop, part * even.rows, (part + 1) * even.rows);
  }
  return even;
}

std::optional<OddRows> oddRowsOf(const EvenParts &even, const Rolling &rolling, size_t part) {
  const size_t parts = even.parts.size();
  const uint64_t line = lineBytes / sizeOf(even.parts.front().type);
  const int64_t columns = rolling.ring.columns;
  if (static_cast<uint64_t>(columns) % line)
    return std::nullopt;
  const auto share = static_cast<int64_t>(llvm::alignTo(llvm::divideCeil(static_cast<uint64_t>(columns), parts), line));
  const int64_t begin = std::min(columns, share * static_cast<int64_t>(part));
  return OddRows{even.rows * static_cast<int64_t>(parts - part), even.rest, begin, std::min(share, columns - begin)};
}

/// A chunk at the loops that are open, into the next slot.
static bool addChunk(const Rolling &rolling, unsigned turn, uint64_t from, llvm::ArrayRef<Advance> advances,
                     Stream &stream) {
  const Ring &ring = rolling.ring;
  std::optional<Operand> source = stream.operand(Space::DDR, from, advances),
                         to = stream.atSlot({Space::LLB, ring.byte, ring.chunkBytes, ring.slots, turn}, 0, {});
  if (!source || !to)
    return false;
  constexpr uint64_t wordBytes = 4;
  Instruction copy;
  copy.opcode = Opcode::sd_2d;
  copy.dstType = copy.src0Type = DType::I32;
  copy.extent = {static_cast<uint32_t>(rolling.row / wordBytes), static_cast<uint32_t>(rolling.rows), 0};
  copy.dst() = *to;
  copy.src(0) = *source;
  copy.stride1[Dst] = static_cast<uint32_t>(rolling.row / wordBytes);
  copy.stride1[Src0] = static_cast<uint32_t>(rolling.pitch / wordBytes);
  stream.beginTurn(turn);
  stream.add(std::move(copy));
  stream.endTurn(turn);
  return true;
}

static uint64_t fromOf(const Rolling &rolling, int64_t chunk) {
  return rolling.from + static_cast<uint64_t>(chunk / rolling.sums) * rolling.columnsBytes +
         static_cast<uint64_t>(chunk % rolling.sums) * rolling.sumBytes;
}

void addEarlyChunk(const Rolling &rolling, int64_t chunk, Stream &stream) {
  const uint64_t to = rolling.ring.byte + static_cast<uint64_t>(chunk) * rolling.ring.chunkBytes;
  stream.addRows(fromOf(rolling, chunk), to, rolling.row, rolling.rows, rolling.pitch);
}

/// When cores meet for chunk n, that has been copied, and chunk n - 1 has been read: what comes next gets its slot. The
/// other slots are free from the beginning.
bool emitOtherChunks(const Rolling &rolling, int64_t first, Stream &stream, llvm::function_ref<void()> addBehind) {
  stream.begin();
  const unsigned turn = stream.newTurn();
  auto add = [&](int64_t chunk, llvm::ArrayRef<Advance> advances) {
    const bool isDone = addChunk(rolling, turn, fromOf(rolling, chunk), advances, stream);
    stream.addNoteOfLoads();
    return isDone;
  };
  auto addAtMeeting = [&](int64_t chunk, llvm::ArrayRef<Advance> advances) {
    stream.addMeetingOfNote(rolling.ring.cores);
    return add(chunk, advances);
  };
  for (int64_t chunk = 0; chunk < first; ++chunk) {
    stream.beginTurn(turn);
    stream.endTurn(turn);
    stream.addNoteOfLoads();
  }
  const int64_t slots = std::min<int64_t>(rolling.ring.slots, rolling.chunks());
  for (int64_t chunk = first; chunk < slots; ++chunk)
    if (!add(chunk, {}))
      return false;
  stream.addMeetingOfNote(rolling.ring.cores);
  const Advance sum{0, static_cast<int64_t>(rolling.sumBytes)};
  const int64_t rest = std::min((rolling.sums - slots % rolling.sums) % rolling.sums, rolling.chunks() - slots);
  if (rest > 0) { // chunks of the same columns
    stream.openLoop(static_cast<uint64_t>(rest));
    if (!addAtMeeting(slots, {sum}))
      return false;
    stream.closeLoop();
  }
  if (const int64_t columns = (rolling.chunks() - slots - rest) / rolling.sums; columns > 0) {
    stream.openLoop(static_cast<uint64_t>(columns));
    stream.openLoop(static_cast<uint64_t>(rolling.sums));
    if (!addAtMeeting(slots + rest, {{0, static_cast<int64_t>(rolling.columnsBytes)}, {1, sum.bytes}}))
      return false;
    stream.closeLoop();
    stream.closeLoop();
  }
  addBehind();
  for (int64_t chunk = 1; chunk < slots; ++chunk)
    stream.addMeetingOfNote(rolling.ring.cores);
  return stream.countsTurns();
}

} // namespace perpend::quoin
