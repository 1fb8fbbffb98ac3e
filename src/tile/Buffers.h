//===- Buffers.h - places of main's values ----------------------*- C++ -*-===//
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

/// What a place's number means: the index of an input or output, an offset in the weights, the index of an arena buffer
/// or of a growing buffer (outputs first), or the index of a slot, which holds an address that changes while main runs.
enum class Space : int64_t { Input, Output, Weights, Arena, Growing, Slot };

struct Place {
  Space space = Space::Input;
  int64_t number = 0;
  bool operator==(const Place &) const = default;
};

/// Reports a tensor whose size in bytes exceeds 63 bits or is given by no expression.
void reportTooLarge(mlir::Value tensor);

/// For modules that enter after memory planning: verifies that the plan fits the values, since code for a wrong plan
/// would access memory out of bounds. Offsets in the arena may differ. Errors: a diagnostic.
mlir::LogicalResult verifyPlan(mlir::ModuleOp module);

/// Moves constants: `offsetOf` maps the offset that memory planning chose to the new one.
void moveWeights(mlir::func::FuncOp main, llvm::function_ref<int64_t(int64_t)> offsetOf);

/// Bytes of one element in memory.
int64_t elementBytes(mlir::Type elementType);

/// A constant's bytes in the layout of memory (row-major, one byte per bool). Points into the attribute if possible,
/// otherwise into `storage`.
llvm::ArrayRef<char> constantBytes(mlir::ElementsAttr value, std::vector<char> &storage);
} // namespace perpend::tile

#endif
