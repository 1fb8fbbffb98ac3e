//===- Weights.h - tensors of a checkpoint as constants ---------*- C++ -*-===//
//
// The decoder names tensors by their role, such as "blk.3.attn_q": the name in GGUF without ".weight". Lists of names
// translate roles for the folders of Hugging Face.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_CHECKPOINT_WEIGHTS_H
#define PERPEND_FRONTEND_CHECKPOINT_WEIGHTS_H

#include "frontend/checkpoint/StoredTensors.h"
#include "graph/builder/Builder.h"

namespace perpend::checkpoint {

/// `%` stands for the number of a layer, `#` for that of an expert.
struct TensorName {
  StringRef role, name;
};

/// A role in a layer (none: -1).
struct Role {
  StringRef role;
  int64_t layer = -1;
  StringRef part = "weight";
};

class Weights {
public:
  /// `names`: those in folders that differ from the common ones. In GGUF, names are the roles.
  Weights(graph::Builder &builder, StoredTensors &tensors, ArrayRef<TensorName> names, bool isGguf)
      : builder(builder), tensors(tensors), names(names), isGguf(isGguf) {}

  bool has(const Role &role) const { return lookup(role); }
  /// A tensor of this shape, as it is stored; quantised blocks become f32, in the graph where it has their form (packed
  /// numbers and scales), else here. Errors: null, with a diagnostic.
  mlir::Value get(const Role &role, ArrayRef<int64_t> shape);
  /// Rows of such a matrix, in f32: the shape of the indices, then the row. Only they are dequantised in the graph.
  mlir::Value rows(const Role &role, ArrayRef<int64_t> shape, mlir::Value indices);
  /// As get(), in f32.
  mlir::Value getF32(const Role &role, ArrayRef<int64_t> shape);
  /// The numbers of a small tensor. Errors: nullopt, with a diagnostic.
  std::optional<std::vector<double>> numbers(const Role &role, ArrayRef<int64_t> shape);
  /// The matrices of all experts, [count, shape...], as get() gives them. They may be stored together or one by one.
  mlir::Value getExperts(const Role &role, int64_t count, ArrayRef<int64_t> shape);
  /// The number of rows of a matrix; nullopt if it is not there.
  std::optional<int64_t> rowsOf(const Role &role) const;
  /// A tensor that this model may have but does not need.
  void ignore(const Role &role);
  /// The tensors of a layer that this graph does not have, in folders.
  void ignoreLayer(int64_t layer);
  /// The tensor's name in the file, or the first of the names that it could have.
  std::string nameOf(const Role &role, int64_t expert = -1) const;

private:
  const StoredTensor *lookup(const Role &role, int64_t expert = -1) const;
  const StoredTensor *use(const Role &role, ArrayRef<int64_t> shape, int64_t expert = -1);
  /// Experts that are stored one by one, as one tensor. Null after an error.
  const StoredTensor *joined(const Role &role, ArrayRef<int64_t> shape);
  mlir::Value constantOf(const StoredTensor &tensor, ArrayRef<int64_t> shape);
  mlir::ElementsAttr elementsOf(const StoredTensor &tensor, ArrayRef<int64_t> shape);
  /// Constants of numbers [rows, groups, bytes], scales and zeros [rows, groups]; null without memory, and zeros if
  /// they are the middle of the range. The rows of several matrices are those of one.
  struct Packed {
    /// As in PackedBlocks.
    mlir::Value numbers, scales, sharedScales, zeros, offsets, sharedOffsets;
    int64_t bits = 0, groupSize = 0, zero = 0;

    /// f32 [rows, groups]; offsets: null if there are none.
    mlir::Value scalesOfGroups(graph::Builder &builder) const;
    mlir::Value offsetsOfGroups(graph::Builder &builder) const;
    /// The same of some rows.
    Packed rows(graph::Builder &builder, mlir::Value indices) const;
  };
  bool isPacked(const StoredTensor &tensor) const;
  const Packed &packed(const StoredTensor &tensor);
  mlir::Value dequantised(const StoredTensor &tensor);

  graph::Builder &builder;
  StoredTensors &tensors;
  ArrayRef<TensorName> names;
  bool isGguf;
  /// Constants by the names of their tensors, so that each is made once.
  llvm::StringMap<mlir::Value> constants;
  llvm::StringMap<Packed> packedMatrices;
  llvm::StringMap<StoredTensor> joinedTensors;
};
} // namespace perpend::checkpoint

#endif
