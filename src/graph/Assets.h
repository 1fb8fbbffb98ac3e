//===- Assets.h - bytes that an artifact carries ----------------*- C++ -*-===//
//
// A module may have named bytes for programs that use its artifact, such as a
// tokenizer. No phase looks at them; perpend_model_asset returns them.
//
//   module attributes {graph.assets = {"words" = dense<[104, 105]> : tensor<2xi8>}}
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_ASSETS_H
#define PERPEND_GRAPH_ASSETS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

namespace perpend::graph {

/// Copies the bytes, which replace those that had this name.
void addAsset(mlir::ModuleOp module, llvm::StringRef name, llvm::StringRef bytes);

/// Names and bytes, in the order of the names. The module must have passed verifyAssets().
llvm::SmallVector<std::pair<llvm::StringRef, llvm::ArrayRef<char>>, 4> assetsOf(mlir::ModuleOp module);

/// Errors: an attribute that is no dictionary of bytes, more bytes than tables have room for.
mlir::LogicalResult verifyAssets(mlir::ModuleOp module);
} // namespace perpend::graph

#endif
