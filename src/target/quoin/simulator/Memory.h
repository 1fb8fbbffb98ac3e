//===- Memory.h - bytes of a device, and what is known of them --*- C++ -*-===//
//
// Beside its bytes a memory keeps a bit for each that was written, and for each line of 64 bytes who wrote and who read
// it last, as times of vector clocks. Two accesses of a line are a race if one of them is a write and the later one's
// clock does not know the earlier one's time: then no flag, barrier or semaphore orders them, however they fell this time.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_QUOIN_SIMULATOR_MEMORY_H
#define PERPEND_TARGET_QUOIN_SIMULATOR_MEMORY_H

#include "target/quoin/Access.h"

#include <memory>
#include <optional>
#include <vector>

namespace perpend::quoin {

/// One time for each unit of each core.
using Clock = std::vector<uint32_t>;
void join(Clock &clock, const Clock &other);

/// A unit of a core, as an index into clocks.
using Thread = uint16_t;
inline constexpr Thread noThread = 0xffff;

struct Conflict {
  Thread other;
  bool otherWrote;
  uint64_t byte; ///< of the line
};

class Memory {
public:
  Memory(uint64_t sizeBytes, bool tracksWrites, bool tracksRaces);
  bool isValid() const { return bytes != nullptr || size == 0; }

  uint8_t *data() { return bytes.get(); }
  const uint8_t *data() const { return bytes.get(); }
  uint64_t sizeBytes() const { return size; }

  void markWritten(uint64_t byte, uint64_t count);
  void markUnwritten(uint64_t byte, uint64_t count);
  /// The first byte of the range that nothing wrote.
  std::optional<uint64_t> firstUnwritten(uint64_t byte, uint64_t count) const;

  /// Registers an access of a thread at its own time clock[thread].
  std::optional<Conflict> touch(uint64_t byte, uint64_t count, bool isWrite, Thread thread, const Clock &clock);
  /// Forgets who touched what: all later accesses come after all earlier ones.
  void forgetAccesses();

private:
  struct Line {
    uint32_t writeTime = 0, readTime = 0;
    Thread writer = noThread, reader = noThread;
    int32_t readers = -1; ///< index into readClocks if more than one thread reads
  };
  struct Free {
    void operator()(uint8_t *bytes) const;
  };

  std::optional<Conflict> touchLine(Line &line, uint64_t byte, bool isWrite, Thread thread, const Clock &clock);
  std::optional<Conflict> unorderedReader(const Line &line, uint64_t byte, Thread thread, const Clock &clock) const;
  void addReader(Line &line, Thread thread, const Clock &clock);

  uint64_t size;
  std::unique_ptr<uint8_t, Free> bytes;
  std::vector<uint64_t> written; ///< empty: not tracked
  std::vector<Line> lines;       ///< empty: not tracked
  std::vector<Clock> readClocks;
};

/// The first byte that a tracked memory would have to know as written, for a whole access.
std::optional<uint64_t> firstUnwritten(const Memory &memory, const Access &access);
void markWritten(Memory &memory, const Access &access);
std::optional<Conflict> touch(Memory &memory, const Access &access, bool isWrite, Thread thread, const Clock &clock);

} // namespace perpend::quoin

#endif
