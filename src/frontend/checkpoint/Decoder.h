//===- Decoder.h - the graph of a decoder -----------------------*- C++ -*-===//

#ifndef PERPEND_FRONTEND_CHECKPOINT_DECODER_H
#define PERPEND_FRONTEND_CHECKPOINT_DECODER_H

#include "frontend/checkpoint/Form.h"
#include "frontend/checkpoint/Rotary.h"
#include "frontend/checkpoint/Weights.h"

namespace perpend::checkpoint {

/// Keys and values of one layer for all tokens of a sequence, each [tokens, key heads, size of a head], in f32 or
/// rounded to f16 or bf16.
struct LayerCache {
  mlir::Value keys, values;
};

/// Builds the graph of a form from the weights of a checkpoint. Errors: null values, with a diagnostic.
class Decoder {
public:
  Decoder(graph::Builder &builder, Weights &weights, const Form &form)
      : builder(builder), weights(weights), form(form) {}

  /// tokens [batch, length] of integers to logits [batch, length, vocabulary] of f32.
  mlir::Value logits(mlir::Value tokens);
  /// tokens [n], which follow `past` ones in a sequence, to logits [vocabulary] of the last. `caches`: of each layer,
  /// without the tokens; then with them. Rotations that depend on the length of the sequence are those of the longest
  /// one, `capacity`, because keys in a cache stay as they are.
  mlir::Value continued(mlir::Value tokens, const graph::SymbolicInt &past, int64_t capacity,
                        llvm::MutableArrayRef<LayerCache> caches);

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
  /// Appends heads [1, heads, n, size] to a cache, rounded to its type; the heads of all tokens so far.
  mlir::Value cached(mlir::Value &cache, mlir::Value heads);
  mlir::Value layers(mlir::Value tokens);
  mlir::Value activation(mlir::Value x);
  mlir::Value feedForward(mlir::Value x, int64_t number);
  mlir::Value experts(mlir::Value x, int64_t number);
  mlir::Value head(mlir::Value x);
  RotaryTables &rotaryOf(int64_t number);

  graph::Builder &builder;
  Weights &weights;
  const Form &form;
  /// The positions of the tokens, [length] of i64, the extent of the sequence that they end, and the one that rotations
  /// are made for.
  mlir::Value positions;
  graph::SymbolicInt extent{0}, rotaryExtent{0}, past{0};
  llvm::MutableArrayRef<LayerCache> caches;
  llvm::SmallVector<RotaryTables, 2> rotaries;
};
} // namespace perpend::checkpoint

#endif
