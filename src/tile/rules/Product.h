//===- Product.h - products with an operand in panels -----------*- C++ -*-===//
//
// What rules for kernels of several blocks know of those that are sums of products.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_RULES_PRODUCT_H
#define PERPEND_TILE_RULES_PRODUCT_H

#include "tile/rules/Rules.h"

namespace perpend::tile {

/// A sum of products of one operand's rows with another's columns.
struct Product {
  mutable BlockOp block;
  /// Columns of a panel, and elements of a word.
  int64_t columnsOfPanel, group;

  /// Rows of a register tile for a product of these extents.
  int64_t rowsOfTile(const ProductExtents &extents, const target::Machine &target) const;
};

/// The row and the column are the last two spatial iterators, and each operand depends on one of them. In panels, the
/// elements of a word follow the columns if a word has several. nullopt: it is no such product.
std::optional<Product> asProduct(BlockOp block);

} // namespace perpend::tile

#endif
