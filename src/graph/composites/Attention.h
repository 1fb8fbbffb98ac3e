//===- Attention.h - the common attention formula ---------------*- C++ -*-===//
//
// What every attention operator of every front end expands to: heads in
// groups, scale, soft cap, masks by position and by tensor, softmax, product.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_COMPOSITES_ATTENTION_H
#define PERPEND_GRAPH_COMPOSITES_ATTENTION_H

#include "graph/composites/Formulas.h"

namespace perpend::graph {

/// How scores become probabilities. Query i is at position p = i + past, or i + starts[batch].
struct AttentionForm {
  /// Boolean: keys to attend. Numbers: added to the scores. Broadcast to [batch, heads, queries, keys].
  mlir::Value mask;
  /// Integers [batch]: keys from there on are padding.
  mlir::Value keyLengths;
  /// Integers [batch], in the place of `past`.
  mlir::Value starts;
  SymbolicInt past{0};
  /// Keys j with p - left <= j <= p + right are seen; unbounded without.
  std::optional<int64_t> left, right;
  /// 1 / sqrt(size of a head) without.
  std::optional<double> scale;
  /// c: scores become c tanh(score / c). 0: they stay.
  double softcap = 0;
  /// What the softmax is computed in; the type of the scores without.
  mlir::Type softmaxType;
  /// Further elements of queries and keys, whose products are added to the scores before they are scaled; keys may have
  /// as few heads as the others. The scale must be given.
  mlir::Value furtherQuery, furtherKey;
  /// [heads]: the score of an additional key per head, whose value is 0.
  mlir::Value sinks;
  /// Functions applied to the logits of the softmax and to the probabilities; they keep shape and type.
  llvm::function_ref<mlir::Value(mlir::Value)> changeLogits, changeProbabilities;
};

/// The result, and the intermediate tensors [batch, heads, queries, keys] that some operators return.
struct AttentionResult {
  mlir::Value result, scores, capped, masked, probabilities;
};

/// softmax(mask(cap(query key^T scale))) value, for tensors [.., length, size], or [batch, heads, length, size] with
/// fewer heads of key and value, each of which serves as many neighbouring heads of the query. A query that sees no key
/// has probabilities 0. Results have the query's element type. Source: ONNX Attention-25.
AttentionResult attend(Builder &builder, mlir::Value query, mlir::Value key, mlir::Value value,
                       const AttentionForm &form);

/// [batch, length, heads * size] to [batch, heads, length, size], and back.
mlir::Value splitHeads(Builder &builder, mlir::Value packed, const SymbolicInt &heads);
mlir::Value joinHeads(Builder &builder, mlir::Value split);
/// x / sqrt(size), the scale of products of vectors with that many elements.
mlir::Value divideByRoot(Builder &builder, mlir::Value x, const SymbolicInt &size);
/// If the last dimension of `x` is shorter than `extent`, appends `value`.
mlir::Value padLast(Builder &builder, mlir::Value x, const SymbolicInt &extent, double value);

/// Pairs of elements are rotated by angles given as cosines and sines.
struct RotaryForm {
  /// Integers [batch, length]: rows of tables [positions, pairs]; without, the tables are [batch, length, pairs].
  mlir::Value positions;
  bool interleaved = false;
  /// How many elements of a head are rotated: twice the pairs of the tables.
  SymbolicInt size;
};
/// x [batch, heads, length, size]. Source: ONNX RotaryEmbedding-23.
mlir::Value rotate(Builder &builder, mlir::Value x, mlir::Value cosines, mlir::Value sines, const RotaryForm &form);
} // namespace perpend::graph

#endif
