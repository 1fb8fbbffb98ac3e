//===- Buffers.h - where the values of main lie ------------------*- C++ -*-===//
//
// PlanMemory's result, kept as attributes so that it can be printed, and the offsets edited:
//
//   on an operator of main   tile.buffers = [space, number, ...], one pair per operand and result
//   on a loop   tile.arguments (pairs of the body's arguments), tile.targets (where the next carried values and the
//               elements of scan results are wanted), tile.spares (the second memory of each carried value)
//   on a call of a kernel with scratch memory   tile.scratch_place, a pair
//   on a kernel        tile.number, its position in the artifact's list of kernels
//   on a constant      tile.weight_offset
//   on main            tile.weight_bytes, tile.buffer_bytes (expressions), tile.lifetimes ([first, last] of each
//                      arena buffer), tile.growing and tile.slots (how many of each), tile.buffer_parts (where
//                      threads have parts of their own), and, when all sizes are numbers, tile.offsets and
//                      tile.arena_bytes
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_BUFFERS_H
#define PERPEND_TILE_BUFFERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

#include <vector>

namespace perpend::tile {

/// What the number of a buffer counts: inputs, outputs, bytes from the start of the weights, arena buffers, growing
/// buffers (those of outputs first), and slots: addresses that change while main runs.
enum class Space : int64_t { Input, Output, Weights, Arena, Growing, Slot };

struct Place {
  Space space = Space::Input;
  int64_t number = 0;
  bool operator==(const Place &) const = default;
};

/// The error for a tensor with more bytes than 63 bits count, or whose size no expression says.
void reportTooLarge(mlir::Value tensor);

/// Whether a module that comes from behind memory planning holds the plan of its values; the offsets in the arena may
/// be others. Code for a wrong one would reach beyond its memory. Errors: a diagnostic.
mlir::LogicalResult verifyPlan(mlir::ModuleOp module);

/// Gives constants other places: `offsetOf` the one that memory planning chose.
void moveWeights(mlir::func::FuncOp main, llvm::function_ref<int64_t(int64_t)> offsetOf);

/// Bytes of one element in memory.
int64_t elementBytes(mlir::Type elementType);

/// The elements of a constant as they lie in memory (row-major; bool one byte each). Points into the attribute where
/// it can, else into `storage`.
llvm::ArrayRef<char> constantBytes(mlir::ElementsAttr value, std::vector<char> &storage);
} // namespace perpend::tile

#endif
