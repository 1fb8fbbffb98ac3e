//===- Accesses.h - checks a kernel's accesses ------------------*- C++ -*-===//
//
// While a kernel runs, checks the guarantees that its loops and blocks give:
//   - iterations of a parallel or vectorized loop do not conflict: no element that
//     one writes is read or written by another;
//   - executions of a block that differ in their spatial iterators write different
//     elements, and read none that another one writes;
//   - an element is written before it is read; every element of a result is
//     written, and none of an input.
// Internal to the interpreter.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_INTERP_ACCESSES_H
#define PERPEND_INTERP_ACCESSES_H

#include "interp/Environment.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <vector>

namespace perpend::interp {

/// The state of a buffer's elements.
struct TrackedBuffer {
  static constexpr uint32_t none = ~uint32_t{0};
  /// Where an access happened: an iteration (of parallel loops) and a block, both by number.
  struct Place {
    uint32_t iteration = none, block = none;
    bool exists() const { return iteration != none; }
  };
  /// `read` is the latest; `otherRead` is a read by another iteration, if there is one.
  struct Element {
    Place write, read, otherRead;
  };
  /// What instances of one block did: their spatial points, and the enclosing instance.
  struct Claim {
    uint32_t scope = none;
    bool severalRead = false;
    int64_t writer = -1, reader = -1;
  };

  TrackedBuffer(std::string name, llvm::ArrayRef<int64_t> shape, bool isInput);
  /// For example "element [1, 2] of the buffer 'sum'".
  std::string describe(int64_t element) const;
  std::vector<Claim> &claimsOf(uint32_t block);

  std::string name;
  Extents shape;
  bool isInput;
  /// Empty for inputs.
  std::vector<Element> elements;
  llvm::SmallVector<std::pair<uint32_t, std::vector<Claim>>, 2> claims;
};

/// State of one run of a kernel. Functions emit errors at the operation that they are given.
class AccessTracker {
public:
  explicit AccessTracker(bool checksInstances) : checksInstances(checksInstances), iterations(1) {}

  /// Registers every block of the kernel, before the run.
  void addBlock(tile::BlockOp block, llvm::ArrayRef<int64_t> domain);

  /// Starts a loop whose iterations are unordered; returns the number of this execution.
  uint64_t beginLoop() { return nextExecution++; }
  void enterIteration(tile::ForOp loop, uint64_t execution, int64_t number);
  void leaveIteration() { current = iterations[current].around; }

  /// Errors: an iterator leaves its domain; the instance has already run.
  mlir::LogicalResult enterInstance(tile::BlockOp block, llvm::ArrayRef<int64_t> point);
  void leaveInstance() { frames.pop_back(); }

  mlir::LogicalResult read(mlir::Operation *op, mlir::Value buffer, TrackedBuffer &tracked, int64_t element);
  mlir::LogicalResult write(mlir::Operation *op, TrackedBuffer &tracked, int64_t element);
  /// "block 'sum': " inside a block; otherwise empty.
  std::string place() const;

  /// Errors, after the run: an instance has not run.
  mlir::LogicalResult finish();

private:
  struct Iteration {
    uint32_t around = 0, depth = 0;
    tile::ForOp loop;
    uint64_t execution = 0;
    int64_t number = 0;
  };
  struct Block {
    tile::BlockOp op;
    Extents domain;
    unsigned spatial = 0;
    llvm::SmallPtrSet<mlir::Value, 2> written;
    /// How often each point ran inside the instance `scope`; empty unless that is checked.
    std::vector<uint8_t> runs;
    uint32_t scope = TrackedBuffer::none;
  };
  struct Frame {
    uint32_t block, scope, serial;
    int64_t spatialPoint;
  };
  /// Two iterations of one execution of a loop.
  struct Divergence {
    tile::ForOp loop;
    int64_t first, second;
    uint32_t depth;
  };

  std::optional<Divergence> diverge(uint32_t first, uint32_t second) const;
  TrackedBuffer::Place here() const;
  mlir::LogicalResult checkRace(mlir::Operation *op, const TrackedBuffer &tracked, int64_t element,
                                TrackedBuffer::Place before, bool wasWrite, bool isWrite) const;
  mlir::LogicalResult claim(mlir::Operation *op, TrackedBuffer &tracked, int64_t element, const Frame &frame,
                            bool isWrite);
  mlir::LogicalResult checkRuns(Block &block);
  std::string nameOf(uint32_t block) const;
  std::string pointText(const Block &block, int64_t point, unsigned dims) const;

  bool checksInstances;
  std::vector<Block> blocks;
  llvm::DenseMap<mlir::Operation *, uint32_t> numbers;
  /// The first entry stands for code outside all loops.
  std::vector<Iteration> iterations;
  uint32_t current = 0;
  uint64_t nextExecution = 0;
  uint32_t nextInstance = 0;
  llvm::SmallVector<Frame, 2> frames;
};
} // namespace perpend::interp

#endif
