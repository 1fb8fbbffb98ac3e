//===- Memory.cpp - bytes of a device, and what is known of them -----------===//

#include "target/quoin/simulator/Memory.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstdlib>

namespace perpend::quoin {
namespace {
constexpr uint64_t lineBytes = 64, wordBits = 64;

/// Calls `visit(word, mask)` on each word of bits of a range, until it returns false.
template <typename Visitor>
void visitWords(uint64_t begin, uint64_t count, Visitor visit) {
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
template <typename Visitor>
void visitRuns(const Access &access, Visitor visit) {
  if (access.sizeBytes() == 0)
    return;
  bool isDense = access.count[0] == 1 || access.pitchBytes[0] == access.elementBytes;
  uint64_t pieces = isDense ? 1 : access.pitchBytes[0] == 0 ? 1 : access.count[0];
  uint64_t runBytes = isDense ? access.count[0] * access.elementBytes : access.elementBytes;
  uint64_t rows = access.pitchBytes[1] == 0 ? 1 : access.count[1], planes = access.pitchBytes[2] == 0 ? 1 : access.count[2];
  if (isDense && planes == 1 && access.pitchBytes[1] == runBytes) { // rows without a gap
    visit(access.byte, runBytes * rows);
    return;
  }
  for (uint64_t plane = 0; plane < planes; ++plane)
    for (uint64_t row = 0; row < rows; ++row)
      for (uint64_t piece = 0; piece < pieces; ++piece)
        if (!visit(access.byte + plane * access.pitchBytes[2] + row * access.pitchBytes[1] + piece * access.pitchBytes[0], runBytes))
          return;
}
} // namespace

void join(Clock &clock, const Clock &other) {
  for (size_t index = 0; index < clock.size(); ++index)
    clock[index] = std::max(clock[index], other[index]);
}

void Memory::Free::operator()(uint8_t *bytes) const { std::free(bytes); }

// calloc takes untouched pages from the system, so that a large DDR costs only what a program uses of it.
Memory::Memory(uint64_t sizeBytes, bool tracksWrites, bool tracksRaces)
    : size(sizeBytes), bytes(static_cast<uint8_t *>(std::calloc(sizeBytes ? sizeBytes : 1, 1))) {
  if (tracksWrites)
    written.resize(llvm::divideCeil(sizeBytes, wordBits));
  if (tracksRaces)
    lines.resize(llvm::divideCeil(sizeBytes, lineBytes));
}

void Memory::markWritten(uint64_t byte, uint64_t count) {
  if (written.empty())
    return;
  visitWords(byte, count, [&](uint64_t word, uint64_t mask) {
    written[word] |= mask;
    return true;
  });
}

void Memory::markUnwritten(uint64_t byte, uint64_t count) {
  if (written.empty())
    return;
  visitWords(byte, count, [&](uint64_t word, uint64_t mask) {
    written[word] &= ~mask;
    return true;
  });
}

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

std::optional<Conflict> Memory::unorderedReader(const Line &line, uint64_t byte, Thread thread, const Clock &clock) const {
  if (line.readers >= 0) {
    const Clock &readers = readClocks[line.readers];
    for (Thread other = 0; other < readers.size(); ++other)
      if (other != thread && readers[other] > clock[other])
        return Conflict{other, false, byte};
  } else if (line.reader != noThread && line.reader != thread && line.readTime > clock[line.reader]) {
    return Conflict{line.reader, false, byte};
  }
  return std::nullopt;
}

void Memory::addReader(Line &line, Thread thread, const Clock &clock) {
  if (line.readers >= 0) {
    readClocks[line.readers][thread] = clock[thread];
    return;
  }
  bool isOrdered = line.reader == noThread || line.reader == thread || line.readTime <= clock[line.reader];
  if (!isOrdered) {
    line.readers = int32_t(readClocks.size());
    readClocks.emplace_back(clock.size());
    readClocks.back()[line.reader] = line.readTime;
    readClocks.back()[thread] = clock[thread];
  }
  line.reader = thread;
  line.readTime = clock[thread];
}

std::optional<Conflict> Memory::touchLine(Line &line, uint64_t byte, bool isWrite, Thread thread, const Clock &clock) {
  if (line.writer != noThread && line.writer != thread && line.writeTime > clock[line.writer])
    return Conflict{line.writer, true, byte};
  if (!isWrite) {
    addReader(line, thread, clock);
    return std::nullopt;
  }
  if (std::optional<Conflict> conflict = unorderedReader(line, byte, thread, clock))
    return conflict;
  line.writer = thread;
  line.writeTime = clock[thread];
  line.reader = noThread;
  line.readers = -1;
  return std::nullopt;
}

std::optional<Conflict> Memory::touch(uint64_t byte, uint64_t count, bool isWrite, Thread thread, const Clock &clock) {
  if (lines.empty() || count == 0)
    return std::nullopt;
  for (uint64_t index = byte / lineBytes; index <= (byte + count - 1) / lineBytes; ++index)
    if (std::optional<Conflict> conflict = touchLine(lines[index], index * lineBytes, isWrite, thread, clock))
      return conflict;
  return std::nullopt;
}

void Memory::forgetAccesses() {
  std::fill(lines.begin(), lines.end(), Line());
  readClocks.clear();
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

std::optional<Conflict> touch(Memory &memory, const Access &access, bool isWrite, Thread thread, const Clock &clock) {
  std::optional<Conflict> found;
  visitRuns(access, [&](uint64_t byte, uint64_t count) {
    found = memory.touch(byte, count, isWrite, thread, clock);
    return !found;
  });
  return found;
}

} // namespace perpend::quoin
