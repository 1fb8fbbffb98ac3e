//===- ReadBorders.h - boxes that are one nest ------------------*- C++ -*-===//
//
// Conditions on iterators cut a sum over windows into boxes, one for each border of the image. Most machines do better
// with the whole, and the iterations that are in it.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_ACCELERATOR_READBORDERS_H
#define PERPEND_TARGET_ACCELERATOR_READBORDERS_H

#include "target/accelerator/Affine.h"
#include "target/accelerator/Nest.h"

namespace perpend::accelerator {

/// Digits that are loops of a nest in this box: those of several iterations.
llvm::SmallVector<unsigned> loopsOf(const Box &box);

/// Whether nodes are the same but for where loads begin.
bool isSameTree(const std::vector<Node> &one, const std::vector<Node> &other);

/// Whether no address goes backwards.
bool isForwards(const Nest &nest);

/// Borders that leave of the whole box what these boxes have together, which have no iteration in common. Loops are
/// those of the whole box. nullopt: there are none.
std::optional<std::vector<Border>> bordersOf(llvm::ArrayRef<Box> boxes, const Box &whole,
                                             llvm::ArrayRef<bool> isReduced);

} // namespace perpend::accelerator

#endif
