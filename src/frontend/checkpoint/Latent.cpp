//===- Latent.cpp - latent attention --------------------------------------===//
//
// With c the latent of a token (form.latent->size numbers), and r the rotated part of its key, which all heads share:
//
//   key of head h:    [K_h c, r]          value of head h:  V_h c
//   score of query q: q_plain . K_h c + q_rotated . r  =  (K_h^T q_plain) . c + q_rotated . r
//   result of h:      sum of p_j V_h c_j  =  V_h (sum of p_j c_j)
//
// So queries are multiplied by K_h^T, and results by V_h ("absorbed"): attention reads rows of c and r, and no key or
// value of a head is ever made. Source: DeepSeek-V2 (arXiv 2405.04434), section 2.1 and appendix C.
//
//===----------------------------------------------------------------------===//

#include "frontend/checkpoint/Decoder.h"
#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::checkpoint {
using namespace perpend::graph;

/// The queries of all heads, [batch, heads, length, headSize].
Value Decoder::latentQueries(Value x, int64_t number) {
  const LatentForm &latent = *form.latent;
  int64_t from = form.width;
  StringRef role = "blk.%.attn_q";
  if (latent.querySize > 0) {
    x = linear(x, {"blk.%.attn_q_a", number}, form.width, latent.querySize, form.hasProjectionBias);
    x = norm(x, {"blk.%.attn_q_a_norm", number}, latent.querySize, latent.epsilon);
    from = latent.querySize;
    role = "blk.%.attn_q_b";
  }
  Value all = linear(x, {role, number}, from, form.heads * form.headSize, /*hasBias=*/false);
  return splitHeads(builder, all, SymbolicInt(form.heads));
}

Decoder::LatentMatrices Decoder::latentMatrices(int64_t number) {
  const LatentForm &latent = *form.latent;
  if (latent.splitsMatrices) {
    Value keys = weights.getF32({"blk.%.attn_k_b", number}, {form.heads, latent.size, latent.plainSize});
    Value values = weights.getF32({"blk.%.attn_v_b", number}, {form.heads, form.valueSize, latent.size});
    return {keys, /*keySize=*/2, values};
  }
  const int64_t rows = latent.plainSize + form.valueSize;
  Value both = weights.getF32({"blk.%.attn_kv_b", number}, {form.heads * rows, latent.size});
  if (!both)
    return {};
  both = builder.reshape(both, {SymbolicInt(form.heads), SymbolicInt(rows), SymbolicInt(latent.size)});
  Value keys = sliceAxis(builder, both, 1, SymbolicInt(0), SymbolicInt(latent.plainSize));
  Value values = sliceAxis(builder, both, 1, SymbolicInt(latent.plainSize), SymbolicInt(form.valueSize));
  return {keys, /*keySize=*/1, values};
}

/// x [batch, heads, length, size] times the matrix of each head, contracted over its dimension `contracted`.
static Value timesMatrices(Builder &b, Value x, Value matrices, int64_t contracted) {
  if (!x || !matrices)
    return {};
  Value product = b.contract(x, matrices, {1}, {0}, {3}, {contracted});
  return product ? b.transpose(product, {1, 0, 2, 3}) : product;
}

Decoder::Projections Decoder::latentProjections(Value x, int64_t number) {
  const LatentForm &latent = *form.latent;
  const SymbolicInt zero(0), size(latent.size), plain(latent.plainSize), turned(latent.rotatedSize);
  Value queries = latentQueries(x, number);
  Value rows =
      linear(x, {"blk.%.attn_kv_a_mqa", number}, form.width, latent.size + latent.rotatedSize, form.hasProjectionBias);
  if (!queries || !rows)
    return {};
  Value latents =
      norm(sliceAxis(builder, rows, 2, zero, size), {"blk.%.attn_kv_a_norm", number}, latent.size, latent.epsilon);
  Value key = sliceAxis(builder, rows, 2, size, turned);
  if (!latents || !key)
    return {};
  Value rotatedQuery = rotated(sliceAxis(builder, queries, 3, plain, turned), number);
  Value rotatedKey = rotated(builder.unsqueeze(key, {1}), number);
  LatentMatrices matrices = latentMatrices(number);
  begin({"blk.%.attn_k_b", number});
  Value absorbed = timesMatrices(builder, sliceAxis(builder, queries, 3, zero, plain), matrices.keys, matrices.keySize);
  return {absorbed, rotatedKey, builder.unsqueeze(latents, {1}), rotatedQuery};
}

Value Decoder::latentValues(Value mixed, int64_t number) {
  LatentMatrices matrices = latentMatrices(number);
  begin({"blk.%.attn_v_b", number});
  return timesMatrices(builder, mixed, matrices.values, /*contracted=*/2);
}
} // namespace perpend::checkpoint
