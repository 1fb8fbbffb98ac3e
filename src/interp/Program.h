//===- Program.h - scalar code as a flat list of instructions ---*- C++ -*-===//
//
// A body (of map or generate) or a kernel function, compiled once: every value has a slot, every operation a pointer
// to the function that executes it. Straight-line bodies execute each instruction on a block of elements, in a loop;
// code with control flow executes it on one element. A vector register is a slot with several lanes. Internal to the
// interpreter.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_INTERP_PROGRAM_H
#define PERPEND_INTERP_PROGRAM_H

#include "interp/Accesses.h"
#include "interp/IndexCode.h"
#include "interp/Scalars.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace perpend::interp {
class Executor;
struct Instruction;
class ProgramCache;

/// A tensor or memref, row-major with identity layout.
struct MemoryView {
  std::byte *data = nullptr;
  ElementFormat format;
  Extents shape;
  /// Owner of memory that the program allocated.
  std::shared_ptr<std::byte> owner;
  /// Set for buffers of the tile level.
  std::shared_ptr<TrackedBuffer> tracked = nullptr;
};

/// The location of a value: registers at a byte offset of the frame, or a memory view.
struct Slot {
  bool isMemory = false;
  uint32_t position = 0;
  uint32_t lanes = 1;
  ElementFormat format;
};

/// Returns false after it has emitted an error.
using Execute = bool (*)(Executor &executor, const Instruction &instruction);

/// The code of a block. `yields` are the terminator's operands, if any.
struct CodeBlock {
  std::vector<Instruction> instructions;
  llvm::SmallVector<Slot, 4> arguments, yields;
};

struct Instruction {
  Execute execute = nullptr;
  mlir::Operation *op = nullptr;
  llvm::SmallVector<Slot, 4> operands;
  llvm::SmallVector<Slot, 2> results;
  ScalarOperation scalar;
  std::vector<CodeBlock> regions;
  /// For operations of the tile level; they refer to operands from the first index on.
  std::vector<IndexCode> expressions;
  unsigned firstIndex = 0;
};

class Program {
public:
  /// Elements per instruction in straight-line bodies.
  static constexpr int64_t maxBlockSize = 256;

  /// nullptr, with an error, if an operation is unknown to the interpreter.
  static std::unique_ptr<Program> compile(mlir::Block &body, const Environment &environment, ProgramCache *functions);

  CodeBlock code;
  /// The initial registers, including the constants.
  std::vector<uint64_t> image;
  uint32_t memoryCount = 0;
  int64_t blockSize = maxBlockSize;

private:
  friend class ProgramCompiler;
};

/// The functions of the module, compiled when first called.
class ProgramCache {
public:
  explicit ProgramCache(const Environment &environment) : environment(environment) {}
  const Environment &environment;
  Program *find(mlir::Operation *caller, llvm::StringRef name);
  Program *compile(mlir::Operation *function);

private:
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<Program>> programs;
};

/// An activation of a program.
class Executor {
public:
  Executor(const Program &program, const Environment &environment, ProgramCache *functions)
      : environment(environment), functions(functions), frame(program.image), memories(program.memoryCount) {}

  const Environment &environment;
  ProgramCache *functions;
  /// Elements in the current block; 1 in code with control flow.
  int64_t count = 1;
  unsigned depth = 0;
  /// Set for kernels of blocks.
  AccessTracker *accesses = nullptr;

  bool run(const CodeBlock &code);
  void *registers(const Slot &slot) { return reinterpret_cast<std::byte *>(frame.data()) + slot.position; }
  int64_t &integer(const Slot &slot) { return *static_cast<int64_t *>(registers(slot)); }
  MemoryView &memory(const Slot &slot) { return memories[slot.position]; }
  /// Copies all sources to the targets simultaneously.
  void copy(llvm::ArrayRef<Slot> targets, llvm::ArrayRef<Slot> sources);
  void copyFrom(const Slot &target, Executor &other, const Slot &source);

private:
  std::vector<uint64_t> frame;
  std::vector<MemoryView> memories;
};

/// The execution functions of operations other than scalar ones; null if unknown here.
Execute findMemoryOperation(mlir::Operation *op);  // Memory.cpp: memref, vector, graph.load, tile.call_intrinsic
Execute findControlOperation(mlir::Operation *op); // Control.cpp: scf, func
Execute findBlockOperation(mlir::Operation *op);   // Blocks.cpp: loops, blocks and buffers of the tile level
/// IntrinsicCalls.cpp: tile.call_intrinsic
bool executeIntrinsicCall(Executor &executor, const Instruction &instruction);
/// Error (at the operation): a symbol without value.
mlir::LogicalResult compileExpressions(Instruction &instruction, const Environment &environment); // Blocks.cpp
} // namespace perpend::interp

#endif
