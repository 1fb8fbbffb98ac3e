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
// Of modules
//===----------------------------------------------------------------------===//

/// Dictionary: the type of --precision, how many products have it, and how many have not for each reason.
inline constexpr llvm::StringLiteral precisionAttribute = "tile.precision";

//===----------------------------------------------------------------------===//
// Of kernels
//===----------------------------------------------------------------------===//

/// Dictionary: how the kernel runs (Schedule.h).
inline constexpr llvm::StringLiteral scheduleAttribute = "tile.schedule";
/// Array of texts: what is done to the kernel's blocks, one instruction each (schedule/KernelTraces.h).
inline constexpr llvm::StringLiteral traceAttribute = "tile.trace";
/// Location: the file and the line that the first text of tile.trace is from.
inline constexpr llvm::StringLiteral traceOriginAttribute = "tile.trace_origin";
/// Unit: tile.trace is a record of tuning; where it is refused, the kernel gets its rule's.
inline constexpr llvm::StringLiteral recordAttribute = "tile.record";
/// Text: why the kernel's record of tuning was not used. Until the compiler has read it.
inline constexpr llvm::StringLiteral refusedRecordAttribute = "tile.refused_record";
/// Array of texts, of a kernel whose trace is a rule's: which rules were refused, and why; which one made it. Until the
/// kernel's loops are on memory.
inline constexpr llvm::StringLiteral rulesAttribute = "tile.rules";
/// Array of functions: what runs in the kernel's place where a symbol is in their range (Variants.h).
inline constexpr llvm::StringLiteral variantsAttribute = "tile.variants";
/// Text, of a variant: for which values of a symbol it is.
inline constexpr llvm::StringLiteral rangeAttribute = "tile.range";
/// Unit: what tile.trace says has been done.
inline constexpr llvm::StringLiteral scheduledAttribute = "tile.scheduled";
/// #graph.shape of one expression: how many parallel units the kernel's loops have.
inline constexpr llvm::StringLiteral extentAttribute = "tile.extent";
/// #graph.shape: the elements of each buffer that a thread which runs the kernel has for itself (Scratch.h).
inline constexpr llvm::StringLiteral scratchAttribute = "tile.scratch";
/// Unit: the kernel records accesses that would leave its memory (CheckedAccesses.h).
inline constexpr llvm::StringLiteral checkedAttribute = "tile.checked";
/// #graph.shape of three expressions: arithmetic operations and bytes (KernelWork.h).
inline constexpr llvm::StringLiteral workAttribute = "tile.work";
/// Integer: the kernel's position in the artifact's list.
inline constexpr llvm::StringLiteral numberAttribute = "tile.number";

//===----------------------------------------------------------------------===//
// Of tensor intrinsics
//===----------------------------------------------------------------------===//

/// Dictionary, of a function: it describes an intrinsic (intrinsics/Intrinsic.h).
inline constexpr llvm::StringLiteral intrinsicAttribute = "tile.intrinsic";
/// List of texts, or of such lists, of a function that is a step of an intrinsic's emitter: what the processor must
/// have.
inline constexpr llvm::StringLiteral featuresAttribute = "tile.features";
/// Integers, of a function: the rows of upper and of lower registers that its entry configures (intrinsics/Tiles.cpp).
inline constexpr llvm::StringLiteral configuredRowsAttribute = "tile.configured_rows";
/// Text, an annotation of a block: the intrinsic that computes its inside.
inline constexpr llvm::StringLiteral tensorizedAnnotation = "tensorized";

//===----------------------------------------------------------------------===//
// Of loops around blocks
//===----------------------------------------------------------------------===//

/// Annotation, a string: the thread that the loop's iterations are (bind): blockIdx.x.
inline constexpr llvm::StringLiteral threadAnnotation = "thread";
/// Annotation of the loop of units, an integer: rows of memory are asked for so many iterations before they are
/// touched; by intrinsics that read them again and again, while they compute.
inline constexpr llvm::StringLiteral prefetchAnnotation = "prefetch";
/// Integer, of a tile.alloc: from this dimension on the extents hold strides that were asked for (storage_align), and
/// stay.
inline constexpr llvm::StringLiteral alignedAttribute = "tile.aligned";
/// Unit, of a tile.alloc: elements are written again when nobody reads them any more (rolling_buffer).
inline constexpr llvm::StringLiteral rolledAttribute = "tile.rolled";

//===----------------------------------------------------------------------===//
// Of scalar operations
//===----------------------------------------------------------------------===//

/// Unit: the operands have been made safe (ExpandIntegers.cpp).
inline constexpr llvm::StringLiteral safeAttribute = "tile.safe";
} // namespace perpend::tile

#endif
