//===- Spread.cpp - copies between the loads of loops ---------------------===//
#include "target/quoin/compile/Spread.h"
#include "target/quoin/compile/Cost.h"

#include "llvm/ADT/STLExtras.h"

namespace perpend::quoin {

constexpr uint64_t lineBytes = 64, elementBytes = 4;
/// Of a copy: elements of a row, and rows.
constexpr uint64_t mostElements = 65535, mostRows = 4095;

namespace {
struct Loop {
  size_t end = 0;              ///< the item that closes it
  unsigned level = 0;          ///< loops inside of it, one in the other
  std::vector<unsigned> trips; ///< of the loops around it, and its own

  uint64_t iterations() const {
    uint64_t all = 1;
    for (unsigned each : trips)
      all *= each;
    return all;
  }
};
} // namespace

static std::vector<Loop> loopsOf(const Section &section) {
  std::vector<Loop> loops;
  std::vector<unsigned> trips, levels;
  for (auto [at, item] : llvm::enumerate(section.items)) {
    if (item.kind == Item::OpenLoop) {
      trips.push_back(static_cast<unsigned>(item.instruction.src(0).byte));
      levels.push_back(0);
    }
    if (item.kind == Item::CloseLoop) {
      const unsigned level = levels.back();
      levels.pop_back();
      loops.push_back({at, level, trips});
      trips.pop_back();
      if (!levels.empty())
        levels.back() = std::max(levels.back(), level + 1);
    }
  }
  return loops;
}

static uint64_t bytesOf(const Copy &copy) { return copy.bytes * copy.rows; }

static Instruction instructionOf(const Copy &rows, uint64_t count) {
  Instruction copy;
  const bool isOneRow = rows.pitch == rows.bytes;
  copy.opcode = isOneRow ? Opcode::sd_ld : Opcode::sd_2d;
  copy.dstType = copy.src0Type = DType::I32;
  copy.extent[0] = static_cast<uint32_t>(rows.bytes * (isOneRow ? count : 1) / elementBytes);
  if (!isOneRow) {
    copy.extent[1] = static_cast<uint32_t>(count);
    copy.stride1[Dst] = static_cast<uint32_t>(rows.bytes / elementBytes);
    copy.stride1[Src0] = static_cast<uint32_t>(rows.pitch / elementBytes);
  }
  copy.dst() = {Space::LLB, 0, ownCore, rows.to};
  copy.src(0) = {Space::DDR, 0, ownCore, rows.from};
  return copy;
}

/// The shares of loops at a level, and what they leave of the copy. None: the shares would be too small or too large.
static std::vector<LoopItem> sharesOf(Copy &copy, llvm::ArrayRef<Loop> loops, unsigned level) {
  const bool isOneRow = copy.rows == 1;
  Copy rows = isOneRow ? Copy{copy.from, copy.to, lineBytes, copy.bytes / lineBytes, lineBytes} : copy;
  uint64_t iterations = 0;
  for (const Loop &loop : loops)
    iterations += loop.level == level ? loop.iterations() : 0;
  const uint64_t share = iterations ? rows.rows / iterations : 0;
  if (share == 0 || (isOneRow ? rows.bytes * share > mostElements * elementBytes : share > mostRows))
    return {};
  std::vector<LoopItem> shares;
  for (const Loop &loop : loops) {
    if (loop.level != level)
      continue;
    LoopItem &item = shares.emplace_back(LoopItem{loop.end, instructionOf(rows, share), loop.trips, {}, {}});
    auto next = static_cast<int64_t>(share); // rows from one iteration to the next
    for (size_t number = loop.trips.size(); number-- > 0; next *= loop.trips[number]) {
      item.to.push_back({static_cast<unsigned>(number), next * static_cast<int64_t>(rows.bytes)});
      item.from.push_back({static_cast<unsigned>(number), next * static_cast<int64_t>(rows.pitch)});
    }
    const uint64_t moved = share * loop.iterations();
    rows.from += moved * rows.pitch;
    rows.to += moved * rows.bytes;
    rows.rows -= moved;
  }
  const uint64_t left = isOneRow ? copy.from + copy.bytes - rows.from : 0;
  copy = isOneRow ? Copy{rows.from, rows.to, left, 1, left} : rows;
  return shares;
}

static uint64_t cyclesWith(Section section, const Spread &spread, const Config &config, unsigned sharers) {
  for (const LoopItem &share : llvm::reverse(spread.shares)) {
    Item item;
    item.instruction = share.instruction;
    section.items.insert(section.items.begin() + static_cast<ptrdiff_t>(share.before), std::move(item));
  }
  for (const Copy &copy : spread.rest) {
    Item &item = section.items.emplace_back();
    item.instruction = instructionOf({copy.from, copy.to, bytesOf(copy), 1, bytesOf(copy)}, 1);
  }
  return estimatedCycles(section, config, sharers);
}

Spread bestSpread(llvm::ArrayRef<Copy> copies, const Section &section, const Config &config, unsigned sharers) {
  constexpr size_t mostSpread = 3;
  std::vector<Copy> sorted = copies.vec();
  llvm::sort(sorted, [](const Copy &one, const Copy &other) {
    return std::pair(bytesOf(other), one.to) < std::pair(bytesOf(one), other.to);
  });
  Spread best{{}, copies.vec(), 0};
  best.cycles = cyclesWith(section, best, config, sharers);
  const std::vector<Loop> loops = loopsOf(section);
  for (unsigned level = 0; level < numLoops; ++level)
    for (size_t count = 1; count <= std::min(mostSpread, sorted.size()); ++count) {
      Spread other{{}, sorted, 0};
      for (Copy &copy : llvm::MutableArrayRef(other.rest).take_front(count))
        llvm::append_range(other.shares, sharesOf(copy, loops, level));
      if (other.shares.empty())
        continue;
      llvm::sort(other.shares, [](const LoopItem &one, const LoopItem &next) {
        return std::pair(one.before, one.instruction.dst().byte) < std::pair(next.before, next.instruction.dst().byte);
      });
      llvm::erase_if(other.rest, [](const Copy &copy) { return bytesOf(copy) == 0; });
      other.cycles = cyclesWith(section, other, config, sharers);
      if (other.cycles < best.cycles)
        best = std::move(other);
    }
  return best;
}

void addCopies(llvm::ArrayRef<Copy> copies, Stream &stream) {
  for (const Copy &copy : copies)
    if (copy.rows > 1)
      stream.addRows(copy.from, copy.to, copy.bytes, copy.rows, copy.pitch);
    else
      stream.addCopy(copy.from, copy.to, copy.bytes);
}

void addSpread(llvm::ArrayRef<Copy> copies, Stream &stream, const Config &config, unsigned sharers) {
  const Spread spread = bestSpread(copies, stream.current(), config, sharers);
  addCopies(stream.insert(spread.shares) ? llvm::ArrayRef(spread.rest) : copies, stream);
}

} // namespace perpend::quoin
