//===- Prefetch.h - values come to LLB before they are read -----*- C++ -*-===//
//
// DDR is idle while units compute, and units are idle while they wait for weights. So the constants of later steps are
// copied to LLB beside what cores compute: those of the next step in any case, and those of steps behind it as far as
// there is time and space. They lie at the end of LLB, where the steps up to their last reader have nothing; what
// several steps read stays in between. The same goes for values in DDR, from the step behind their writers on; inputs
// of the program have none.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_PREFETCH_H
#define PERPEND_TARGET_QUOIN_COMPILE_PREFETCH_H

#include "target/quoin/compile/NearMemory.h"
#include "target/quoin/compile/Pieces.h"

#include <map>
#include <tuple>

namespace perpend::quoin {

/// Rows of so many bytes from DDR to LLB, where they lie one behind the other.
struct Copy {
  uint64_t from = 0, to = 0, bytes = 0;
  uint64_t rows = 1, pitch = 0;
};

class Prefetch {
public:
  Prefetch(llvm::ArrayRef<Piece> pieces, const Range &weights, const Config &config, const Decisions &decisions);

  /// Inputs of the step that are in LLB by now get their places there.
  void begin(size_t number, Step &step);
  /// What is taken of LLB until the step that runs has ended.
  NearMemory near(size_t number) const;
  /// Where in LLB the step has a buffer that its kernel keeps between its nests, counted from 0; nullopt: there is no
  /// space. Those that the best list of nests keeps have had places from the beginning.
  std::optional<uint64_t> takeLocal(size_t number, unsigned buffer, uint64_t bytes);
  /// A place that is free until the step behind this one has ended, and is taken then. nullopt: there is none.
  std::optional<uint64_t> takeForNext(size_t number, uint64_t bytes);
  /// Whether nests have something in a buffer.
  static bool isUsed(llvm::ArrayRef<Nest> nests, unsigned buffer);
  /// What the step behind this one lacks.
  uint64_t missingBytes(size_t number) const;
  /// What steps behind this one lack, as far as there is space: of each of the next steps, all that lacks until then.
  std::vector<uint64_t> missingAhead(size_t number, size_t steps) const;
  /// What to copy beside a part of a step, that has these ranges of LLB, too: all that the next step lacks, and at most
  /// so many bytes of others.
  std::vector<Copy> next(size_t number, llvm::ArrayRef<Range> used, uint64_t bytes);

private:
  /// Of DDR: a constant, or a value from some step on.
  struct Constant {
    uint64_t byte = 0, row = 0; ///< bytes of a row
    uint64_t rows = 1, pitch = 0;
    size_t since = 0; ///< the step behind the one that has written it

    uint64_t bytes() const { return row * rows; }
    /// Whether it is the same place, or a row that the other one is in.
    bool has(const Constant &other) const {
      return std::tie(byte, row, rows, pitch) == std::tie(other.byte, other.row, other.rows, other.pitch) ||
             (rows == 1 && other.rows == 1 && byte <= other.byte && other.byte + other.row <= byte + row);
    }
    auto operator<=>(const Constant &) const = default;
  };
  static Constant constantOf(const Value &value);
  void joinSmall(const Range &weights, const Config &config);
  struct Resident {
    Constant constant;
    uint64_t to = 0, done = 0; ///< done: bytes that are there, or on their way
    size_t last = 0;           ///< step that reads it
  };
  const Resident *find(const Constant &constant, size_t step) const;
  Resident *allocate(size_t number, const Constant &constant, llvm::ArrayRef<Range> used);
  std::optional<uint64_t> placeUntil(size_t last, const NearMemory &free, uint64_t bytes) const;
  NearMemory nearUntil(size_t from, size_t last, llvm::ArrayRef<Range> used) const;
  void placeLocals(const Step &step, const Decisions &decisions);

  uint64_t nearBytes;
  std::vector<std::vector<Range>> taken; ///< what each step has in LLB
  std::vector<std::vector<std::optional<uint64_t>>> locals;
  std::vector<std::vector<Constant>> constants; ///< that each step reads
  std::map<Constant, std::vector<size_t>> readers;
  std::vector<Resident> residents; ///< that the step which runs, or a later one, reads
};

} // namespace perpend::quoin

#endif
