//===- Decoder.h - the graph of a decoder -----------------------*- C++ -*-===//

#ifndef PERPEND_FRONTEND_CHECKPOINT_DECODER_H
#define PERPEND_FRONTEND_CHECKPOINT_DECODER_H

#include "frontend/checkpoint/CacheOptions.h"
#include "frontend/checkpoint/Form.h"
#include "frontend/checkpoint/Rotary.h"
#include "frontend/checkpoint/Weights.h"
#include "graph/composites/Attention.h"
#include "graph/composites/Experts.h"

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
  /// Of latent attention, the key and the value are rows that all heads share: the value is the latent, with which the
  /// queries are multiplied, and the key is what is rotated, with which the rotated part of the queries is.
  struct Projections {
    mlir::Value query, key, value, rotatedQuery = {};
  };

  /// Of following operators, in messages and reports: the role that they have in the model.
  void begin(const Role &role);
  mlir::Value norm(mlir::Value x, const Role &role, int64_t size) { return norm(x, role, size, form.epsilon); }
  mlir::Value norm(mlir::Value x, const Role &role, int64_t size, double epsilon);
  mlir::Value linear(mlir::Value x, const Role &role, int64_t from, int64_t to, bool hasBias);
  mlir::Value embedding(mlir::Value tokens);
  mlir::Value layer(mlir::Value x, int64_t number);
  mlir::Value attention(mlir::Value x, int64_t number);
  Projections projections(mlir::Value x, int64_t number);
  /// x [batch, heads, length, size], whose first elements turn.
  mlir::Value rotated(mlir::Value x, int64_t number);
  Projections latentProjections(mlir::Value x, int64_t number);
  mlir::Value latentQueries(mlir::Value x, int64_t number);
  /// The means of latents that the heads see, [batch, heads, length, size], to the means of their values.
  mlir::Value latentValues(mlir::Value mixed, int64_t number);
  /// The matrices of all heads, which make the plain part of keys and the values of a latent. Of those for keys,
  /// [heads, .., ..], dimension `keySize` is that of a key's elements; those for values are [heads, valueSize, size].
  struct LatentMatrices {
    mlir::Value keys;
    int64_t keySize = 0;
    mlir::Value values;
  };
  LatentMatrices latentMatrices(int64_t number);
  mlir::Value attend(const Projections &heads, int64_t number);
  mlir::Value attendTo(const Projections &heads, graph::AttentionForm attention);
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
  /// `suffix`: of the names of its matrices.
  mlir::Value dense(mlir::Value x, int64_t number, int64_t inner, llvm::StringRef suffix = "");
  graph::ExpertRoutes routes(mlir::Value scores, int64_t number);
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
