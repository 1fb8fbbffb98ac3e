//===- Memory.cpp - bytes of a device, and what is known of them -----------===//

#include "target/quoin/simulator/Memory.h"

#include "target/quoin/simulator/Values.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace perpend::quoin {
namespace {
constexpr uint64_t lineBytes = 64, wordBits = 64;

/// Calls `visit(word, mask)` on each word of bits of a range, until it returns false.
template <typename Visitor> void visitWords(uint64_t begin, uint64_t count, Visitor visit) {
  uint64_t end = begin + count;
  for (uint64_t at = begin; at < end;) {
    uint64_t low = at % wordBits, bits = std::min(wordBits - low, end - at);
    uint64_t mask = (bits == wordBits ? ~0ull : (1ull << bits) - 1) << low;
    if (!visit(at / wordBits, mask))
      return;
    at += bits;
  }
}

/// Calls `visit(byte, count)` on each contiguous run of bytes, until it returns false.
template <typename Visitor> void visitRuns(const Access &access, Visitor visit) {
  if (access.sizeBytes() == 0)
    return;
  bool isDense = access.count[0] == 1 || access.pitchBytes[0] == access.elementBytes;
  uint64_t pieces = isDense ? 1 : access.pitchBytes[0] == 0 ? 1 : access.count[0];
  uint64_t runBytes = isDense ? access.count[0] * access.elementBytes : access.elementBytes;
  uint64_t rows = access.pitchBytes[1] == 0 ? 1 : access.count[1],
           planes = access.pitchBytes[2] == 0 ? 1 : access.count[2];
  if (isDense && planes == 1 && access.pitchBytes[1] == runBytes) { // rows without a gap
    visit(access.byte, runBytes * rows);
    return;
  }
  for (uint64_t plane = 0; plane < planes; ++plane)
    for (uint64_t row = 0; row < rows; ++row)
      for (uint64_t piece = 0; piece < pieces; ++piece)
        if (!visit(access.byte + plane * access.pitchBytes[2] + row * access.pitchBytes[1] +
                       piece * access.pitchBytes[0],
                   runBytes))
          return;
}
} // namespace

void join(Clock &clock, const Clock &other) {
  for (size_t index = 0; index < clock.size(); ++index)
    clock[index] = std::max(clock[index], other[index]);
}

Memory::Memory(uint64_t sizeBytes, bool tracksWrites, bool tracksRaces)
    : size(sizeBytes), tracksWrites(tracksWrites), tracksRaces(tracksRaces), bytes(std::max<uint64_t>(sizeBytes, 1)) {
  if (tracksWrites)
    written = ZeroedArray<uint64_t>(llvm::divideCeil(sizeBytes, wordBits) + 1);
  if (tracksRaces)
    lines = ZeroedArray<Line>(llvm::divideCeil(sizeBytes, lineBytes) + 1);
}

bool Memory::isValid() const {
  return !bytes.empty() && (!tracksWrites || !written.empty()) && (!tracksRaces || !lines.empty());
}

void Memory::markWritten(uint64_t byte, uint64_t count) {
  if (written.empty())
    return;
  visitWords(byte, count, [&](uint64_t word, uint64_t mask) {
    written[word] |= mask;
    return true;
  });
}

void Memory::markUnwritten(uint64_t byte, uint64_t count, bool ended) {
  if (written.empty())
    return;
  if (ended && stale.empty())
    stale = ZeroedArray<uint64_t>(llvm::divideCeil(size, wordBits) + 1);
  visitWords(byte, count, [&](uint64_t word, uint64_t mask) {
    written[word] &= ~mask;
    if (!stale.empty())
      stale[word] = ended ? stale[word] | mask : stale[word] & ~mask;
    return true;
  });
}

bool Memory::isStale(uint64_t byte) const { return !stale.empty() && stale[byte / wordBits] >> byte % wordBits & 1; }

std::optional<uint64_t> Memory::firstUnwritten(uint64_t byte, uint64_t count) const {
  std::optional<uint64_t> found;
  if (written.empty())
    return found;
  visitWords(byte, count, [&](uint64_t word, uint64_t mask) {
    if (uint64_t missing = ~written[word] & mask)
      found = word * wordBits + llvm::countr_zero(missing);
    return !found;
  });
  return found;
}

std::optional<Thread> Memory::unknownTime(uint32_t index, Thread thread, const Clock &clock) const {
  if (index == 0)
    return std::nullopt;
  const Clock &times = clocks[index - 1];
  for (Thread other = 0; other < times.size(); ++other)
    if (other != thread && times[other] > clock[other])
      return other;
  return std::nullopt;
}

void Memory::setTime(uint32_t &index, Thread thread, const Clock &clock) {
  if (index == 0) {
    clocks.emplace_back(clock.size());
    index = uint32_t(clocks.size());
  }
  clocks[index - 1][thread] = clock[thread];
}

std::optional<Conflict> Memory::unorderedReader(const Line &line, uint64_t byte, Thread thread,
                                                const Clock &clock) const {
  if (std::optional<Thread> other = unknownTime(line.readers, thread, clock))
    return Conflict{*other, false, byte};
  bool isSingle = line.readers == 0 && line.reader != 0 && line.reader != thread + 1;
  if (isSingle && line.readTime > clock[line.reader - 1])
    return Conflict{Thread(line.reader - 1), false, byte};
  return std::nullopt;
}

void Memory::addReader(Line &line, Thread thread, const Clock &clock) {
  if (line.readers)
    return setTime(line.readers, thread, clock);
  bool isOrdered = line.reader == 0 || line.reader == thread + 1 || line.readTime <= clock[line.reader - 1];
  if (!isOrdered) {
    setTime(line.readers, thread, clock);
    clocks[line.readers - 1][line.reader - 1] = line.readTime;
  }
  line.reader = thread + 1;
  line.readTime = clock[thread];
}

std::optional<Conflict> Memory::touchLine(Line &line, uint64_t byte, Touch kind, Thread thread, const Clock &clock) {
  if (line.writer != 0 && line.writer != thread + 1 && line.writeTime > clock[line.writer - 1])
    return Conflict{Thread(line.writer - 1), true, byte};
  if (kind != Touch::Add)
    if (std::optional<Thread> other = unknownTime(line.adders, thread, clock))
      return Conflict{*other, true, byte};
  if (kind == Touch::Read) {
    addReader(line, thread, clock);
    return std::nullopt;
  }
  if (std::optional<Conflict> conflict = unorderedReader(line, byte, thread, clock))
    return conflict;
  if (kind == Touch::Add) {
    setTime(line.adders, thread, clock);
    return std::nullopt;
  }
  line = Line();
  line.writer = thread + 1;
  line.writeTime = clock[thread];
  return std::nullopt;
}

std::optional<Conflict> Memory::touch(uint64_t byte, uint64_t count, Touch kind, Thread thread, const Clock &clock) {
  if (lines.empty() || count == 0)
    return std::nullopt;
  for (uint64_t index = byte / lineBytes; index <= (byte + count - 1) / lineBytes; ++index)
    if (std::optional<Conflict> conflict = touchLine(lines[index], index * lineBytes, kind, thread, clock))
      return conflict;
  return std::nullopt;
}

void Memory::forgetAccesses() {
  if (tracksRaces)
    lines = ZeroedArray<Line>(llvm::divideCeil(size, lineBytes) + 1);
  clocks.clear();
  additions.clear();
}

/// Additions of one thread stay in their order.
void Memory::addLater(uint64_t byte, Addition addition) {
  std::vector<Addition> &waiting = additions[byte];
  auto isLater = [&](const Addition &other) { return other.thread > addition.thread; };
  waiting.insert(llvm::find_if(waiting, isLater), addition);
}

void Memory::settle(uint64_t byte, uint64_t count) {
  auto begin = additions.lower_bound(byte >= 3 ? byte - 3 : 0), end = additions.lower_bound(byte + count);
  for (auto at = begin; at != end; ++at) {
    uint8_t *element = bytes.begin() + at->first;
    for (const Addition &addition : at->second) {
      if (addition.isFloat)
        storeFloat(element, DType::F32, loadAs<float>(element) + std::bit_cast<float>(addition.bits));
      else
        storeAs(element, loadAs<uint32_t>(element) + addition.bits);
    }
  }
  additions.erase(begin, end);
}

std::optional<uint64_t> firstUnwritten(const Memory &memory, const Access &access) {
  std::optional<uint64_t> found;
  visitRuns(access, [&](uint64_t byte, uint64_t count) {
    found = memory.firstUnwritten(byte, count);
    return !found;
  });
  return found;
}

void markWritten(Memory &memory, const Access &access) {
  visitRuns(access, [&](uint64_t byte, uint64_t count) {
    memory.markWritten(byte, count);
    return true;
  });
}

std::optional<Conflict> touch(Memory &memory, const Access &access, Thread thread, const Clock &clock) {
  std::optional<Conflict> found;
  Touch kind = access.isAdded ? Touch::Add : access.isWritten ? Touch::Write : Touch::Read;
  visitRuns(access, [&](uint64_t byte, uint64_t count) {
    found = memory.touch(byte, count, kind, thread, clock);
    return !found;
  });
  return found;
}

void settle(Memory &memory, const Access &access) {
  visitRuns(access, [&](uint64_t byte, uint64_t count) {
    memory.settle(byte, count);
    return true;
  });
}

} // namespace perpend::quoin
