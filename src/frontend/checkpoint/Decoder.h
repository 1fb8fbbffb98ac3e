//===- Decoder.h - the graph of a decoder -----------------------*- C++ -*-===//

#ifndef PERPEND_FRONTEND_CHECKPOINT_DECODER_H
#define PERPEND_FRONTEND_CHECKPOINT_DECODER_H

#include "frontend/checkpoint/CacheOptions.h"
#include "frontend/checkpoint/Form.h"
#include "frontend/checkpoint/Rotary.h"
#include "frontend/checkpoint/Weights.h"
#include "graph/composites/Attention.h"

namespace perpend::checkpoint {

/// Keys or values of one layer for all tokens of a sequence, [tokens, key heads, size of a head], in f32 or rounded to
/// f16 or bf16; or integers of i8, with a scale for each token and head, [tokens, key heads].
struct CachedRows {
  mlir::Value rows, scales;
};
struct LayerCache {
  CachedRows keys, values;
};

/// A text of which some tokens are known: further ones, [n], the number of those before, and the caches of each layer.
struct Continuation {
  mlir::Value tokens;
  graph::SymbolicInt past;
  llvm::MutableArrayRef<LayerCache> caches;
};

/// Builds the graph of a form from the weights of a checkpoint. Errors: null values, with a diagnostic.
class Decoder {
public:
  Decoder(graph::Builder &builder, Weights &weights, const Form &form)
      : builder(builder), weights(weights), form(form) {}

  /// tokens [batch, length] of integers to logits [batch, length, vocabulary] of f32.
  mlir::Value logits(mlir::Value tokens);
  /// The logits [texts, vocabulary] of the last token of each text, of NaN where one has no further tokens. Caches are
  /// those without the further tokens; then with them. All texts share the products with weights, and each reads its
  /// own cache. Rotations that depend on the length of a text are those of the longest one, `capacity`, because keys in
  /// a cache stay as they are.
  mlir::Value continued(llvm::ArrayRef<Continuation> continuations, int64_t capacity);
  /// The same of one text, for each of its further tokens.
  mlir::Value continuedRows(const Continuation &continuation, int64_t capacity, Result result);

private:
  struct Projections {
    mlir::Value query, key, value;
  };

  /// Of following operators, in messages and reports: the role that they have in the model.
  void begin(const Role &role);
  mlir::Value norm(mlir::Value x, const Role &role, int64_t size);
  mlir::Value linear(mlir::Value x, const Role &role, int64_t from, int64_t to, bool hasBias);
  mlir::Value embedding(mlir::Value tokens);
  mlir::Value layer(mlir::Value x, int64_t number);
  mlir::Value attention(mlir::Value x, int64_t number);
  Projections projections(mlir::Value x, int64_t number);
  mlir::Value attend(const Projections &heads, int64_t number);
  mlir::Value attendWithCaches(const Projections &heads, int64_t number, graph::AttentionForm attention);
  /// Appends heads [1, heads, n, size] to a cache, rounded to its type; the heads of all tokens so far from `first` on.
  mlir::Value cached(CachedRows &cache, mlir::Value heads, const graph::SymbolicInt &first);
  /// The same of integers: rows of f32.
  mlir::Value quantised(CachedRows &cache, mlir::Value rows, const graph::SymbolicInt &first);
  mlir::Value positionsFrom(const graph::SymbolicInt &first, const graph::SymbolicInt &count);
  mlir::Value layers(mlir::Value tokens);
  /// Of the further tokens of texts, what the head takes.
  mlir::Value furtherLayers(llvm::ArrayRef<Continuation> continuations, int64_t capacity);
  /// Of x [1, rows, width], the last row of each text.
  mlir::Value lastRows(mlir::Value x);
  mlir::Value activation(mlir::Value x);
  mlir::Value feedForward(mlir::Value x, int64_t number);
  mlir::Value experts(mlir::Value x, int64_t number);
  mlir::Value head(mlir::Value x);
  RotaryTables &rotaryOf(int64_t number);

  graph::Builder &builder;
  Weights &weights;
  const Form &form;
  /// The rows of a text among those of all.
  struct Rows {
    graph::SymbolicInt start, count;
  };
  /// The positions of the tokens, [rows] of i64, and the extent that rotations are made for.
  mlir::Value positions;
  graph::SymbolicInt rotaryExtent{0};
  /// The extent of each text; without caches, all have one.
  llvm::SmallVector<graph::SymbolicInt> extents;
  llvm::ArrayRef<Continuation> texts;
  llvm::SmallVector<Rows> rows;
  llvm::SmallVector<RotaryTables, 2> rotaries;
};
} // namespace perpend::checkpoint

#endif
