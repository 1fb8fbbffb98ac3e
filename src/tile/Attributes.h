//===- Attributes.h - the names of the tile level's attributes ---*- C++ -*-===//
//
// What passes of this level leave for those after them, each name once. That a
// function is a kernel is graph::kernelAttribute.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_ATTRIBUTES_H
#define PERPEND_TILE_ATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace perpend::tile {

//===----------------------------------------------------------------------===//
// Of kernels
//===----------------------------------------------------------------------===//

/// Dictionary: how the kernel runs (Schedule.h).
inline constexpr llvm::StringLiteral scheduleAttribute = "tile.schedule";
/// Array of texts: what was done to the kernel's blocks, one instruction each (schedule/Schedule.h).
inline constexpr llvm::StringLiteral traceAttribute = "tile.trace";
/// #graph.shape of one expression: how many parallel units the kernel's loops have.
inline constexpr llvm::StringLiteral extentAttribute = "tile.extent";
/// Unit: the kernel records accesses that would leave its memory (CheckedAccesses.h).
inline constexpr llvm::StringLiteral checkedAttribute = "tile.checked";
/// Integer: the kernel's position in the artifact's list.
inline constexpr llvm::StringLiteral numberAttribute = "tile.number";

//===----------------------------------------------------------------------===//
// Of operators of main: places, in pairs of space and number (Buffers.h)
//===----------------------------------------------------------------------===//

/// Operands, then results; of a terminator its operands.
inline constexpr llvm::StringLiteral buffersAttribute = "tile.buffers";
/// The arguments of a loop's body.
inline constexpr llvm::StringLiteral argumentsAttribute = "tile.arguments";
/// Where a loop's body puts the values of the next iteration, and the elements of its scans.
inline constexpr llvm::StringLiteral targetsAttribute = "tile.targets";
/// The second buffers of a loop's carried values.
inline constexpr llvm::StringLiteral sparesAttribute = "tile.spares";
/// Integer, of a constant: its offset in the weights, in bytes.
inline constexpr llvm::StringLiteral weightOffsetAttribute = "tile.weight_offset";

//===----------------------------------------------------------------------===//
// Of main: the memory that a run needs
//===----------------------------------------------------------------------===//

/// Integer: the size of the weights.
inline constexpr llvm::StringLiteral weightBytesAttribute = "tile.weight_bytes";
/// #graph.shape: the size of each planned buffer.
inline constexpr llvm::StringLiteral bufferBytesAttribute = "tile.buffer_bytes";
/// Integers: first and last step of each planned buffer.
inline constexpr llvm::StringLiteral lifetimesAttribute = "tile.lifetimes";
/// Integers: where each planned buffer lies in the arena; only where all sizes are known.
inline constexpr llvm::StringLiteral offsetsAttribute = "tile.offsets";
/// Integer: the size of the arena; with offsets.
inline constexpr llvm::StringLiteral arenaBytesAttribute = "tile.arena_bytes";
/// Integer: how many intermediate values have a size that only a run decides.
inline constexpr llvm::StringLiteral growingAttribute = "tile.growing";
/// Integer: how many addresses change during a run.
inline constexpr llvm::StringLiteral slotsAttribute = "tile.slots";

//===----------------------------------------------------------------------===//
// Of scalar operations
//===----------------------------------------------------------------------===//

/// Unit: the operands have been made safe (ExpandIntegers.cpp).
inline constexpr llvm::StringLiteral safeAttribute = "tile.safe";
} // namespace perpend::tile

#endif
