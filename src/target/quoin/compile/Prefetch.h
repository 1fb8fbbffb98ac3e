//===- Prefetch.h - constants come to LLB before they are read --*- C++ -*-===//
//
// DDR is idle while units compute, and units are idle while they wait for weights. So the constants of later steps are
// copied to LLB beside what cores compute: those of the next step in any case, and those of steps behind it as far as
// there is time and space. They lie at the end of LLB, above all that the steps up to their last reader have there;
// what several steps read stays in between.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_PREFETCH_H
#define PERPEND_TARGET_QUOIN_COMPILE_PREFETCH_H

#include "target/quoin/compile/MainProgram.h"

#include <map>

namespace perpend::quoin {

/// Bytes from DDR to LLB.
struct Copy {
  uint64_t from = 0, to = 0, bytes = 0;
};

class Prefetch {
public:
  Prefetch(const MainProgram &main, const Config &config);

  /// Inputs of the step that are in LLB by now get their places there.
  void begin(size_t number, Step &step);
  /// LLB is free below this, until the step that runs has ended.
  uint64_t limit() const;
  /// What the step behind this one lacks.
  uint64_t missingBytes(size_t number) const;
  /// What to copy beside a part of a step, that has LLB up to `used`: all that the next step lacks, and at most so many
  /// bytes of others.
  std::vector<Copy> next(size_t number, uint64_t used, uint64_t bytes);

private:
  /// Of DDR.
  using Constant = std::pair<uint64_t, uint64_t>; ///< first byte, bytes
  struct Resident {
    Constant constant;
    uint64_t to = 0, done = 0; ///< done: bytes that are there, or on their way
    size_t last = 0;           ///< step that reads it
  };
  const Resident *find(const Constant &constant) const;
  Resident *allocate(size_t number, const Constant &constant, uint64_t used);
  std::optional<uint64_t> placeOf(size_t from, size_t last, uint64_t bytes, uint64_t used) const;

  uint64_t nearBytes;
  std::vector<uint64_t> ends;                   ///< of what each step has in LLB
  std::vector<std::vector<Constant>> constants; ///< that each step reads
  std::map<Constant, std::vector<size_t>> readers;
  std::vector<Resident> residents; ///< that the step which runs, or a later one, reads
};

} // namespace perpend::quoin

#endif
