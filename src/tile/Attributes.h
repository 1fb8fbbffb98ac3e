//===- Attributes.h - names of the tile level's attributes ------*- C++ -*-===//
//
// Each attribute by which passes of this level pass facts on to later ones,
// named once. The mark of a kernel function is graph::kernelAttribute.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_ATTRIBUTES_H
#define PERPEND_TILE_ATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace perpend::tile {

//===----------------------------------------------------------------------===//
// Of modules
//===----------------------------------------------------------------------===//

/// Dictionary: the type of --precision, the number of products that use it, and per reason the number of those that do
/// not.
inline constexpr llvm::StringLiteral precisionAttribute = "tile.precision";

//===----------------------------------------------------------------------===//
// Of kernels
//===----------------------------------------------------------------------===//

/// Dictionary: how the kernel runs (Schedule.h).
inline constexpr llvm::StringLiteral scheduleAttribute = "tile.schedule";
/// Array of strings: the schedule of the kernel's blocks, one instruction each (schedule/KernelTraces.h).
inline constexpr llvm::StringLiteral traceAttribute = "tile.trace";
/// Location: file and line of the first string of tile.trace.
inline constexpr llvm::StringLiteral traceOriginAttribute = "tile.trace_origin";
/// Unit: tile.trace is a tuning record; if a primitive refuses it, the kernel falls back to its rule.
inline constexpr llvm::StringLiteral recordAttribute = "tile.record";
/// String: why the kernel's tuning record was not used; removed once the compiler has reported it.
inline constexpr llvm::StringLiteral refusedRecordAttribute = "tile.refused_record";
/// Array of strings, for kernels scheduled by a rule: which rules refused and why, and which one applied. Removed when
/// the kernel is flattened.
inline constexpr llvm::StringLiteral rulesAttribute = "tile.rules";
/// Array of functions: the kernel's variants, each for a range of a symbol (Variants.h).
inline constexpr llvm::StringLiteral variantsAttribute = "tile.variants";
/// String, on a variant: the range of the symbol for which it runs.
inline constexpr llvm::StringLiteral rangeAttribute = "tile.range";
/// Unit: the trace in tile.trace has been applied.
inline constexpr llvm::StringLiteral scheduledAttribute = "tile.scheduled";
/// #graph.shape of one expression: the number of parallel units of the kernel's loops; with tile.grid, the number of
/// instances of each level.
inline constexpr llvm::StringLiteral extentAttribute = "tile.extent";
/// #graph.shape: the number of elements of each scratch buffer that a thread has while it runs the kernel (Scratch.h).
inline constexpr llvm::StringLiteral scratchAttribute = "tile.scratch";
/// Unit: the kernel records out-of-bounds accesses (CheckedAccesses.h).
inline constexpr llvm::StringLiteral checkedAttribute = "tile.checked";
/// #graph.shape of three expressions: arithmetic operations and bytes (KernelWork.h).
inline constexpr llvm::StringLiteral workAttribute = "tile.work";
/// Integer: the kernel's position in the artifact's list.
inline constexpr llvm::StringLiteral numberAttribute = "tile.number";

/// String: the device of the machine that runs the kernel (ir/Levels.h).
inline constexpr llvm::StringLiteral deviceAttribute = "tile.device";
/// Array of strings: the levels whose ids a lowered kernel takes in place of a range of units (kernel/KernelAbi.h).
inline constexpr llvm::StringLiteral gridAttribute = "tile.grid";

//===----------------------------------------------------------------------===//
// Of tensor intrinsics
//===----------------------------------------------------------------------===//

/// Dictionary, on a function: marks it as the description of an intrinsic (intrinsics/Intrinsic.h).
inline constexpr llvm::StringLiteral intrinsicAttribute = "tile.intrinsic";
/// List of strings, or of such lists, on a function that is the step of an intrinsic's emitter: the processor features
/// that it requires.
inline constexpr llvm::StringLiteral featuresAttribute = "tile.features";
/// On a step whose sums are narrower than the intrinsic's: the function that adds these to them.
inline constexpr llvm::StringLiteral foldAttribute = "tile.fold";
/// Unit, on a step that multiplies bytes: it takes both operands as signed ones.
inline constexpr llvm::StringLiteral signedAttribute = "tile.signed";
/// Array, on a function that configures matrix registers on entry: the name of the configuring function and its two
/// arguments (target/vector/TileRegisters.h).
inline constexpr llvm::StringLiteral configuredAttribute = "tile.configured";
/// String, an annotation of a block: the intrinsic that computes the block's contents.
inline constexpr llvm::StringLiteral tensorizedAnnotation = "tensorized";

//===----------------------------------------------------------------------===//
// Of loops around blocks
//===----------------------------------------------------------------------===//

/// Annotation, a string: the machine's level that runs the iterations of the loop (bind).
inline constexpr llvm::StringLiteral levelAnnotation = "level";
/// Annotation of a loop of units, an integer: how many iterations ahead rows of memory are prefetched. Intrinsics that
/// read the same rows repeatedly prefetch them while they compute.
inline constexpr llvm::StringLiteral prefetchAnnotation = "prefetch";
/// Integer, on a tile.alloc: from this dimension on, storage_align chose the strides, which must be kept.
inline constexpr llvm::StringLiteral alignedAttribute = "tile.aligned";
/// Unit, on a tile.alloc: elements are reused once nobody reads them any more (rolling_buffer).
inline constexpr llvm::StringLiteral rolledAttribute = "tile.rolled";

//===----------------------------------------------------------------------===//
// Of scalar operations
//===----------------------------------------------------------------------===//

/// Unit: the operands have been made safe, so that the operation cannot trap (ExpandIntegers.cpp).
inline constexpr llvm::StringLiteral safeAttribute = "tile.safe";
} // namespace perpend::tile

#endif
