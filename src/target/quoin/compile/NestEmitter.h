//===- NestEmitter.h - nests, divided among cores ---------------*- C++ -*-===//
//
// Cores of a cluster each compute a part of a nest, and meet only where one needs what another one has written. The
// first core also moves values between DDR and LLB: constants of later steps come to LLB beside what all compute.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_NESTEMITTER_H
#define PERPEND_TARGET_QUOIN_COMPILE_NESTEMITTER_H

#include "target/quoin/compile/Choices.h"
#include "target/quoin/compile/Cores.h"
#include "target/quoin/compile/Decisions.h"
#include "target/quoin/compile/Prefetch.h"
#include "target/quoin/compile/Rolling.h"
#include "target/quoin/compile/RowChain.h"
#include "target/quoin/compile/Staging.h"
#include "target/quoin/compile/Stream.h"

#include <memory>

namespace perpend::quoin {

struct Core {
  explicit Core(Program &program) : stream(program, instructions) {}

  std::vector<Instruction> instructions;
  Stream stream;
  std::vector<FarRange> far; ///< that it has used since the cores met
};

/// How a product whose constant comes in chunks is emitted.
struct Chunks {
  Rolling rolling;
  bool isEven = false; ///< it is divided as evenPartsOf says
  uint64_t saved = 0;  ///< cycles, if what the ring holds is there from the beginning
  int64_t copied = 0;  ///< chunks that are there
};

/// What a first emission finds for a second one.
struct Trial {
  Choices choices;
  std::vector<uint64_t> idle;                     ///< of each piece: cycles that the first core has for copies
  std::vector<std::optional<Chunks>> chunks = {}; ///< of each piece
};

class NestEmitter {
public:
  /// Instructions go to `program`, whose machine and decisions must be known.
  NestEmitter(Program &program, llvm::ArrayRef<Piece> pieces, const Range &weights, const Decisions &decisions,
              Trial trial);

  /// What follows belongs to this piece, whose inputs get their places in LLB.
  void begin(size_t piece, Step &step);
  void setLocation(llvm::StringRef text);
  /// An instruction of the first core, while the others wait.
  void addAlone(Instruction instruction);
  /// Where the piece has a buffer that its kernel keeps between its nests. nullopt: not in LLB.
  std::optional<uint64_t> takeLocal(unsigned buffer, uint64_t bytes) {
    return prefetch.takeLocal(number, buffer, bytes);
  }

  /// Why the units cannot; empty: they do.
  std::string emitNest(const Nest &nest, llvm::ArrayRef<Spot> places);
  /// False: the kernel is no chain, its rows are too long, or it would write over operands that it reads later.
  bool emitRows(const Step &step, llvm::ArrayRef<Spot> places);
  /// A product whose constant comes in chunks. False: it has to be done in another way.
  bool emitRolling(const Step &step, llvm::ArrayRef<Spot> places);

  /// For taking back all that the piece has added since.
  struct State {
    std::vector<std::pair<Stream::State, std::vector<FarRange>>> cores;
    Prefetch prefetch;
    uint64_t idle = 0;
    std::optional<Chunks> nextChunks = {};
  };
  State state() const;
  void restore(const State &state);

  /// Ends the program of each core. Returns how many sections have units that wait for one another.
  unsigned finish();
  Trial trial() { return {std::move(choices), std::move(idle), std::move(chunks)}; }

private:
  std::string emitPart(const Nest &part, llvm::ArrayRef<Spot> places, Stream &stream, unsigned sharers);
  /// Parts of a nest for cores, and the buffers that they read from LLB after all.
  struct Division {
    std::vector<Nest> parts;
    llvm::SmallVector<Spot> places;
    std::vector<Staged> staged;
    uint64_t cycles = 0;  ///< about, of the first part
    uint64_t between = 0; ///< cycles for copies of the first core between the loads of its part
  };
  Division divide(const Nest &nest, llvm::ArrayRef<Spot> places);
  Division divide(const Nest &nest, llvm::ArrayRef<Spot> places, size_t count);
  std::string emitDivision(const Division &division);
  /// Of the longest of some parts, one for each core, each of which is some nests. nullopt: units do not compute all.
  std::optional<uint64_t> cyclesOf(llvm::ArrayRef<std::vector<Nest>> parts, llvm::ArrayRef<Spot> places);
  std::string emitRanges(llvm::ArrayRef<std::vector<Nest>> parts, llvm::ArrayRef<Spot> places);
  bool isCopyLong(uint64_t cycles) const;
  uint64_t cyclesOfCopying(const Division &all, const Division &others) const;
  bool isSpreadWorth(const Division &all, const Division &others, uint64_t copying);
  Division divisionOf(const std::vector<Nest> &parts, llvm::ArrayRef<Spot> places, bool isStaged);
  bool isUsedByOthers(const Core &core, const FarRange &range) const;
  bool mustMeet(llvm::ArrayRef<Core *> working) const;
  /// The cores that get so many parts: not the first one, if another one is free; else it gets the last part, which is
  /// no longer than others, because it also copies.
  std::vector<Core *> workersOf(size_t parts);
  void addCopies(std::vector<Core *> &working, uint64_t cycles, uint64_t between = 0);
  uint64_t cyclesBetween(uint64_t cycles, unsigned sharers) const;
  void endSections(llvm::ArrayRef<Core *> working);
  bool emitChunks(const EvenParts &division, llvm::ArrayRef<Spot> places, const Chunks &all);
  void placeNextChunks();
  void addNextChunks(uint64_t cycles, Stream &stream);
  void keepLastChunk(const Rolling &rolling);
  NearMemory idleNear() const;
  std::optional<Chunks> chunksOf(const EvenParts &division, llvm::ArrayRef<Spot> places, unsigned input,
                                 uint64_t &least);
  void copyAhead(std::vector<Core *> &working, uint64_t cycles, bool isBetween);
  /// No core goes on before all have done what they have been given.
  void meet();
  uint32_t allCores() const;

  Program &program;
  llvm::ArrayRef<Piece> pieces; ///< of the steps
  const Decisions decisions;
  Choices choices;
  std::vector<uint64_t> expectedIdle; ///< of each piece: what another emission found
  std::vector<uint64_t> idle;         ///< of each piece: cycles that the first core has for copies
  std::vector<std::optional<Chunks>> expectedChunks, chunks; ///< of each piece: the same
  std::optional<Chunks> nowChunks, nextChunks; ///< of this piece and the next one, if their rings have places by now
  Prefetch prefetch;
  size_t number = 0;                        ///< of the piece
  std::vector<std::unique_ptr<Core>> cores; ///< the first runs what is not divided
  std::vector<Range> stagedNow;             ///< of LLB, by the nest that is emitted
};

} // namespace perpend::quoin

#endif
