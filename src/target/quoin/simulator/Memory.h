//===- Memory.h - bytes of a device, and what is known of them --*- C++ -*-===//
//
// Beside its bytes a memory keeps a bit for each that was written, and for each line of 64 bytes who wrote and who read
// it last, as times of vector clocks. Two accesses of a line are a race if one of them is a write and the later one's
// clock does not know the earlier one's time: then no flag, barrier or semaphore orders them, however they fell this
// time.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_QUOIN_SIMULATOR_MEMORY_H
#define PERPEND_TARGET_QUOIN_SIMULATOR_MEMORY_H

#include "target/quoin/Access.h"

#include <cstdlib>
#include <map>
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

/// Additions of several threads to a line do not race with each other.
enum class Touch : uint8_t { Read, Write, Add };

/// An addition that st.add left to do.
struct Addition {
  Thread thread;
  bool isFloat;
  uint32_t bits; ///< of f32 or i32
};

struct Conflict {
  Thread other;
  bool otherWrote;
  uint64_t byte; ///< of the line
};

/// Zeros that take pages of the host only when they are written.
template <typename T> class ZeroedArray {
public:
  ZeroedArray() = default;
  /// Empty if the host has no memory for it.
  explicit ZeroedArray(uint64_t count) : elements(static_cast<T *>(std::calloc(count, sizeof(T)))) {}

  bool empty() const { return !elements; }
  T *begin() const { return elements.get(); }
  T &operator[](uint64_t index) const { return elements.get()[index]; }

private:
  struct Free {
    void operator()(T *allocated) const { std::free(allocated); }
  };
  std::unique_ptr<T, Free> elements;
};

class Memory {
public:
  Memory(uint64_t sizeBytes, bool tracksWrites, bool tracksRaces);
  /// The host had memory for it.
  bool isValid() const;

  uint8_t *data() { return bytes.begin(); }
  const uint8_t *data() const { return bytes.begin(); }
  uint64_t sizeBytes() const { return size; }

  void markWritten(uint64_t byte, uint64_t count);
  /// `ended`: their lifetime ended; otherwise one begins.
  void markUnwritten(uint64_t byte, uint64_t count, bool ended);
  /// Of a byte that is unwritten: its last lifetime ended.
  bool isStale(uint64_t byte) const;
  /// The first byte of the range that nothing wrote.
  std::optional<uint64_t> firstUnwritten(uint64_t byte, uint64_t count) const;

  /// Registers an access of a thread at its own time clock[thread].
  std::optional<Conflict> touch(uint64_t byte, uint64_t count, Touch kind, Thread thread, const Clock &clock);
  /// Forgets who touched what: all later accesses come after all earlier ones.
  void forgetAccesses();

  /// Additions wait until their element is accessed otherwise. All that come before that access are known then, so they
  /// are done in the order of cores, whatever the order in time was: sums of floats are the same in each run.
  void addLater(uint64_t byte, Addition addition);
  void settle(uint64_t byte, uint64_t count);
  bool hasAdditions() const { return !additions.empty(); }

private:
  /// A line of zeros is one that nobody touched: threads and indices are counted from 1, so that untouched lines of a
  /// large memory cost no memory of the host.
  struct Line {
    uint32_t writeTime, readTime;
    uint16_t writer, reader;  ///< 1 + Thread
    uint32_t readers, adders; ///< 1 + index into clocks: several threads read, threads add
  };

  std::optional<Conflict> touchLine(Line &line, uint64_t byte, Touch kind, Thread thread, const Clock &clock);
  std::optional<Conflict> unorderedReader(const Line &line, uint64_t byte, Thread thread, const Clock &clock) const;
  /// A thread whose time in a clock of the line the accessing thread does not know.
  std::optional<Thread> unknownTime(uint32_t index, Thread thread, const Clock &clock) const;
  void addReader(Line &line, Thread thread, const Clock &clock);
  void setTime(uint32_t &index, Thread thread, const Clock &clock);

  uint64_t size;
  bool tracksWrites, tracksRaces;
  ZeroedArray<uint8_t> bytes;
  ZeroedArray<uint64_t> written;                       ///< empty: not tracked
  ZeroedArray<uint64_t> stale;                         ///< empty: no lifetime ended
  ZeroedArray<Line> lines;                             ///< empty: not tracked
  std::vector<Clock> clocks;                           ///< of lines that several threads read or add to
  std::map<uint64_t, std::vector<Addition>> additions; ///< by byte of the element
};

/// The first byte that a tracked memory would have to know as written, for a whole access.
std::optional<uint64_t> firstUnwritten(const Memory &memory, const Access &access);
void markWritten(Memory &memory, const Access &access);
std::optional<Conflict> touch(Memory &memory, const Access &access, Thread thread, const Clock &clock);
/// Does the additions that wait in the range.
void settle(Memory &memory, const Access &access);

} // namespace perpend::quoin

#endif
