//===- Program.h - scalar code as a flat list of instructions ---*- C++ -*-===//
//
// A body (of map or generate) or a kernel function, compiled once: every value
// has a slot, every operation is a pointer to the function that executes it.
// Straight-line bodies run on blocks of elements, so that each instruction is a
// loop; code with control flow runs with blocks of one. A vector register is a
// slot with several lanes. Internal to the interpreter.
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

/// A tensor or memref: row-major, identity layout.
struct MemoryView {
  std::byte *data = nullptr;
  ElementFormat format;
  Extents shape;
  /// Of memory that the program allocated.
  std::shared_ptr<std::byte> owner;
  /// Of buffers of the tile level.
  std::shared_ptr<TrackedBuffer> tracked = nullptr;
};

/// Where a value lives: registers at a byte offset of the frame, or a memory view.
struct Slot {
  bool isMemory = false;
  uint32_t position = 0;
  uint32_t lanes = 1;
  ElementFormat format;
};

/// Returns false after it has emitted an error.
using Execute = bool (*)(Executor &executor, const Instruction &instruction);

/// The code of a block. `yields` are the operands of the terminator, if there is one.
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
  /// Of the tile level; they mean the operands from the first index on.
  std::vector<IndexCode> expressions;
  unsigned firstIndex = 0;
};

class Program {
public:
  /// Elements per instruction in straight-line bodies.
  static constexpr int64_t maxBlockSize = 256;

  /// nullptr: an operation the interpreter does not know (error at it).
  static std::unique_ptr<Program> compile(mlir::Block &body, const Environment &environment, ProgramCache *functions);

  CodeBlock code;
  /// The initial registers, with the constants in place.
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

/// One activation of a program.
class Executor {
public:
  Executor(const Program &program, const Environment &environment, ProgramCache *functions)
      : environment(environment), functions(functions), frame(program.image), memories(program.memoryCount) {}

  const Environment &environment;
  ProgramCache *functions;
  /// Elements in this block; 1 in code with control flow.
  int64_t count = 1;
  unsigned depth = 0;
  /// Of kernels whose loops stand around blocks.
  AccessTracker *accesses = nullptr;

  bool run(const CodeBlock &code);
  void *registers(const Slot &slot) { return reinterpret_cast<std::byte *>(frame.data()) + slot.position; }
  int64_t &integer(const Slot &slot) { return *static_cast<int64_t *>(registers(slot)); }
  MemoryView &memory(const Slot &slot) { return memories[slot.position]; }
  /// targets = sources, all at once.
  void copy(llvm::ArrayRef<Slot> targets, llvm::ArrayRef<Slot> sources);
  void copyFrom(const Slot &target, Executor &other, const Slot &source);

private:
  std::vector<uint64_t> frame;
  std::vector<MemoryView> memories;
};

/// How operations other than scalar ones are executed; null: unknown here.
Execute findMemoryOperation(mlir::Operation *op);  // Memory.cpp: memref, vector, graph.load, tile.call_intrinsic
Execute findControlOperation(mlir::Operation *op); // Control.cpp: scf, func
Execute findBlockOperation(mlir::Operation *op);   // Blocks.cpp: loops, blocks and buffers of the tile level
/// IntrinsicCalls.cpp: tile.call_intrinsic
bool executeIntrinsicCall(Executor &executor, const Instruction &instruction);
/// Error (at the operation): a symbol without value.
mlir::LogicalResult compileExpressions(Instruction &instruction, const Environment &environment); // Blocks.cpp
} // namespace perpend::interp

#endif
