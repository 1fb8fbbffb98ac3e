//===- Optimisers.cpp - one step of a training algorithm ------------------===//
//
// Inputs: the learning rate, the number of the step, then tensors grouped by kind: all parameters x, all their
// gradients g, then each kind of state of the algorithm. Results: all new x, then the new states in the same groups.
// Source: ONNX ai.onnx.preview.training Momentum-1, Adam-1, Adagrad-1.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {
namespace {
/// The scalars of a step and the tensors of one parameter.
using Step = llvm::function_ref<SmallVector<Value>(Value rate, Value count, ArrayRef<Value> tensors)>;
} // namespace

/// Calls `step` for each parameter, with one tensor of each of `kinds` kinds.
static Results forEachParameter(Builder &b, Values in, size_t kinds, Step step) {
  Values tensors = in.drop_front(2);
  if (tensors.empty() || tensors.size() % kinds)
    return {b.fail("expected a rate, a count and a multiple of " + Twine(kinds) + " tensors, got " + Twine(in.size()) +
                   " inputs")};
  size_t parameters = tensors.size() / kinds;
  Results results(parameters * (kinds - 1));
  for (size_t i = 0; i < parameters; ++i) {
    SmallVector<Value> own;
    for (size_t kind = 0; kind < kinds; ++kind)
      own.push_back(tensors[kind * parameters + i]);
    Type type = elementTypeOf(own[0]);
    SmallVector<Value> updated = step(b.cast(in[0], type), b.cast(in[1], type), own);
    for (auto [kind, value] : llvm::enumerate(updated)) {
      if (!value)
        return {};
      results[kind * parameters + i] = value;
    }
  }
  return results;
}

namespace composites {
/// g' = g + norm x; v' = alpha v + (count > 0 ? beta : 1) g'; x' = x - rate v', or x - rate (g' + alpha v').
Results momentum(Builder &b, Values in, const Attributes &a) {
  double alpha = a.getFloat("alpha"), beta = a.getFloat("beta"), norm = a.getFloat("norm_coefficient");
  bool isNesterov = a.getString("mode", "standard") == "nesterov";
  return forEachParameter(b, in, 3, [&](Value rate, Value count, ArrayRef<Value> t) -> SmallVector<Value> {
    auto velocity = [&](ArrayRef<Scalar> v) {
      Scalar slope = v[1] + norm * v[0];
      Scalar share = select(v[4] > 0, v[4].constant(beta), v[4].constant(1));
      return alpha * v[2] + share * slope;
    };
    auto position = [&](ArrayRef<Scalar> v) {
      Scalar moved = velocity(v);
      return v[0] - v[3] * (isNesterov ? v[1] + norm * v[0] + alpha * moved : moved);
    };
    SmallVector<Value> all{t[0], t[1], t[2], rate, count};
    return {pointwise(b, all, position), pointwise(b, all, velocity)};
  });
}

/// r = rate / (1 + count decay); h' = h + g'^2; x' = x - r g' / (sqrt(h') + epsilon).
Results adagrad(Builder &b, Values in, const Attributes &a) {
  double decay = a.getFloat("decay_factor"), epsilon = a.getFloat("epsilon", 1e-6F),
         norm = a.getFloat("norm_coefficient");
  return forEachParameter(b, in, 3, [&](Value rate, Value count, ArrayRef<Value> t) -> SmallVector<Value> {
    auto slope = [&](ArrayRef<Scalar> v) { return v[1] + norm * v[0]; };
    auto history = [&](ArrayRef<Scalar> v) { return v[2] + slope(v) * slope(v); };
    auto position = [&](ArrayRef<Scalar> v) {
      Scalar decayed = v[3] / (1.0 + v[4] * decay);
      return v[0] - decayed * slope(v) / (sqrt(history(v)) + epsilon);
    };
    SmallVector<Value> all{t[0], t[1], t[2], rate, count};
    return {pointwise(b, all, position), pointwise(b, all, history)};
  });
}

/// v' = alpha v + (1 - alpha) g'; h' = beta h + (1 - beta) g'^2; r = rate sqrt(1 - beta^count) / (1 - alpha^count), or
/// the rate at count 0; x' = (1 - norm_post) (x - r v' / (sqrt(h') + epsilon)).
Results adam(Builder &b, Values in, const Attributes &a) {
  double alpha = a.getFloat("alpha", 0.9F), beta = a.getFloat("beta", 0.999F), epsilon = a.getFloat("epsilon", 1e-6F);
  double norm = a.getFloat("norm_coefficient"), normAfter = a.getFloat("norm_coefficient_post");
  return forEachParameter(b, in, 4, [&](Value rate, Value count, ArrayRef<Value> t) -> SmallVector<Value> {
    auto slope = [&](ArrayRef<Scalar> v) { return v[1] + norm * v[0]; };
    auto velocity = [&](ArrayRef<Scalar> v) { return alpha * v[2] + (1 - alpha) * slope(v); };
    auto history = [&](ArrayRef<Scalar> v) { return beta * v[3] + (1 - beta) * slope(v) * slope(v); };
    auto position = [&](ArrayRef<Scalar> v) {
      Scalar whole = v[4] * sqrt(1.0 - pow(v[5].constant(beta), v[5])) / (1.0 - pow(v[5].constant(alpha), v[5]));
      Scalar adjusted = select(v[5] > 0, whole, v[4]);
      return (1 - normAfter) * (v[0] - adjusted * velocity(v) / (sqrt(history(v)) + epsilon));
    };
    SmallVector<Value> all{t[0], t[1], t[2], t[3], rate, count};
    return {pointwise(b, all, position), pointwise(b, all, velocity), pointwise(b, all, history)};
  });
}
} // namespace composites
} // namespace perpend::graph
