//===- Recurrent.cpp - recurrent networks: RNN, GRU, LSTM -----------------===//
//
// ONNX's operators of these names. Everything that does not depend on the state (x W^T and the biases, except a
// recurrent bias that a GRU multiplies by its reset gate) is one contraction for all time steps; the loop adds h R^T.
// Each direction has its own loop. After the end of its sequence, a row of the batch keeps its state and outputs 0; so
// in the reverse direction each row starts at its own last step.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {

namespace {
struct Activation {
  std::string name;
  double alpha, beta;
};

/// One direction of a network with G gates and H units, N rows and T time steps, in the compute type.
struct Direction {
  bool isReverse;
  /// x W^T + biases: [T, N, G H]; R: [G H, H]; the bias of R where it is not in the former: [G H], else null.
  Value gates, recurrent, recurrentBias;
  /// Scale and zero point of R if it is quantised: one, or [G H].
  Value recurrentScale, recurrentZero;
  /// The weights of an LSTM's cell state in its gates i, o, f: [3 H], or null.
  Value peepholes;
  /// h and, for an LSTM, c: [N, H].
  SmallVector<Value> initial;
  SmallVector<Activation> activations;
};

/// A network's cell: the next states from the gates of one time step [N, G H].
using Cell = SmallVector<Value> (*)(Builder &, const Direction &, const Attributes &, Value gates, ValueRange states);

struct Kind {
  int64_t gates;
  unsigned states;
  ArrayRef<StringLiteral> activations;
  Cell cell;
};
} // namespace

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

namespace {
struct ActivationRow {
  StringLiteral name, composite;
  /// NaN: the activation has none.
  double alpha, beta;
};
} // namespace

static constexpr double none = std::numeric_limits<double>::quiet_NaN();
static constexpr ActivationRow activationRows[] = {
    {"affine", "", 1, 0},
    {"elu", "elu", 1, none},
    {"hardsigmoid", "hard_sigmoid", 0.2, 0.5},
    {"leakyrelu", "leaky_relu", 0.01, none},
    {"relu", "relu", none, none},
    {"scaledtanh", "", 1, 1},
    {"sigmoid", "sigmoid", none, none},
    {"softplus", "softplus", none, none},
    {"softsign", "softsign", none, none},
    {"tanh", "tanh", none, none},
    {"thresholdedrelu", "threshold", 1, none},
};

static const ActivationRow *lookupActivation(StringRef name) {
  const ActivationRow *found =
      llvm::find_if(activationRows, [&](const ActivationRow &row) { return name.equals_insensitive(row.name); });
  return found == std::end(activationRows) ? nullptr : found;
}

/// The activations of all directions; alpha and beta are listed, in order, for those that use them. Errors: empty.
static SmallVector<Activation> activationsOf(Builder &b, const Attributes &a, ArrayRef<StringLiteral> defaults,
                                             unsigned directions) {
  SmallVector<StringRef> names = a.getStrings("activations");
  SmallVector<double> alphas = a.getFloats("activation_alpha"), betas = a.getFloats("activation_beta");
  if (names.empty())
    names.append(defaults.begin(), defaults.end());
  if (names.size() == defaults.size() && directions == 2) // both directions use the same
    names.append(SmallVector<StringRef>(names));
  if (directions == 1 && defaults.size() == 1 && names.size() == 2) // RNN's schema has one for each possible direction
    names.truncate(1);
  if (names.size() != directions * defaults.size()) {
    b.fail("expected " + Twine(directions * defaults.size()) + " activations, got " + Twine(names.size()));
    return {};
  }
  SmallVector<Activation> result;
  size_t nextAlpha = 0, nextBeta = 0;
  auto parameter = [](double otherwise, ArrayRef<double> given, size_t &next) {
    return std::isnan(otherwise) || next >= given.size() ? otherwise : given[next++];
  };
  for (StringRef name : names) {
    const ActivationRow *row = lookupActivation(name);
    if (!row) {
      b.fail("there is no activation '" + name + "'");
      return {};
    }
    result.push_back(
        {row->name.str(), parameter(row->alpha, alphas, nextAlpha), parameter(row->beta, betas, nextBeta)});
  }
  return result;
}

static Value scaled(Builder &b, Value x, double factor) { return mul(b, x, b.scalar(factor, elementTypeOf(x))); }

static Value activate(Builder &b, Value x, const Activation &activation, const Attributes &a) {
  if (!x)
    return {};
  if (double limit = a.getFloat("clip"); limit > 0)
    x = applyComposite(b, "clip", {x, b.scalar(-limit, elementTypeOf(x)), b.scalar(limit, elementTypeOf(x))})[0];
  const ActivationRow *row = lookupActivation(activation.name);
  if (row->name == "affine")
    return add(b, scaled(b, x, activation.alpha), b.scalar(activation.beta, elementTypeOf(x)));
  if (row->name == "scaledtanh")
    return scaled(b, applyComposite(b, "tanh", {scaled(b, x, activation.beta)})[0], activation.alpha);
  NamedAttrList attributes;
  auto number = [&](double value) { return b.operations.getF64FloatAttr(value); };
  if (!std::isnan(activation.alpha))
    attributes.set(row->name == "thresholdedrelu" ? "threshold" : "alpha", number(activation.alpha));
  if (!std::isnan(activation.beta))
    attributes.set("beta", number(activation.beta));
  return applyComposite(b, row->composite, {x}, Attributes(attributes.getDictionary(b.context())))[0];
}

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

/// Part `index` of a tensor [.., G H] (gates) or [G H, ..] (weights) whose parts have the extent of `state`.
static Value part(Builder &b, Value whole, int64_t axis, int64_t index, Value state) {
  SymbolicInt size = shapeOf(state)[1];
  return sliceAxis(b, whole, axis, size * SymbolicInt(index), size);
}

/// x weight^T. With a scale, x is quantised by its range, and the weight is quantised already.
static Value product(Builder &b, Value x, Value weight, Value scale = {}, Value zero = {}) {
  if (!scale)
    return b.contract(x, weight, {}, {}, {rankOf(x) - 1}, {1});
  Results quantised = applyComposite(b, "dynamic_quantize", b.cast(x, b.f32()));
  if (quantised.size() < 3 || !quantised[0])
    return {};
  Value result =
      applyComposite(b, "scaled_matmul_integer",
                     {quantised[0], b.transpose(weight, {1, 0}), quantised[1], scale, quantised[2], zero})[0];
  return result ? b.cast(result, elementTypeOf(x)) : result;
}

/// h R^T for the rows of R.
static Value recur(Builder &b, Value state, Value weight) { return product(b, state, weight); }

static SmallVector<Value> rnnCell(Builder &b, const Direction &d, const Attributes &a, Value gates, ValueRange states) {
  return {activate(b, add(b, gates, recur(b, states[0], d.recurrent)), d.activations[0], a)};
}

/// h' = (1 - z) * candidate + z * h.
static SmallVector<Value> gruCell(Builder &b, const Direction &d, const Attributes &a, Value gates, ValueRange states) {
  Value h = states[0], reset, candidate;
  bool isLinear = a.getInt("linear_before_reset");
  Value twoWeights =
      isLinear ? d.recurrent : sliceAxis(b, d.recurrent, 0, SymbolicInt(0), shapeOf(h)[1] * SymbolicInt(2));
  Value product = recur(b, h, twoWeights);
  auto gate = [&](int64_t index) {
    return activate(b, add(b, part(b, gates, 1, index, h), part(b, product, 1, index, h)), d.activations[0], a);
  };
  Value update = gate(0);
  reset = gate(1);
  if (isLinear) {
    Value linear = part(b, product, 1, 2, h);
    if (d.recurrentBias)
      linear = add(b, linear, part(b, d.recurrentBias, 0, 2, h));
    candidate = mul(b, reset, linear);
  } else {
    candidate = recur(b, mul(b, reset, h), part(b, d.recurrent, 0, 2, h));
  }
  candidate = activate(b, add(b, part(b, gates, 1, 2, h), candidate), d.activations[1], a);
  Value one = b.scalar(1, elementTypeOf(h));
  return {add(b, mul(b, sub(b, one, update), candidate), mul(b, update, h))};
}

/// c' = f * c + i * candidate, h' = o * activation(c'); the gates are in the order i, o, f, candidate.
static SmallVector<Value> lstmCell(Builder &b, const Direction &d, const Attributes &a, Value gates,
                                   ValueRange states) {
  Value h = states[0], c = states[1],
        all = add(b, gates, product(b, h, d.recurrent, d.recurrentScale, d.recurrentZero));
  auto gate = [&](int64_t index, Value cell) {
    Value x = part(b, all, 1, index, h);
    if (d.peepholes)
      x = add(b, x, mul(b, part(b, d.peepholes, 0, index, h), cell));
    return activate(b, x, d.activations[0], a);
  };
  Value input = gate(0, c);
  Value forget = a.getInt("input_forget") ? sub(b, b.scalar(1, elementTypeOf(h)), input) : gate(2, c);
  Value candidate = activate(b, part(b, all, 1, 3, h), d.activations[1], a);
  Value cell = add(b, mul(b, forget, c), mul(b, input, candidate));
  Attributes unclipped; // clipping applies to the gates only
  return {mul(b, gate(1, cell), activate(b, cell, d.activations[2], unclipped)), cell};
}

static constexpr StringLiteral rnnActivations[] = {"tanh"}, gruActivations[] = {"sigmoid", "tanh"},
                               lstmActivations[] = {"sigmoid", "tanh", "tanh"};
static const Kind rnnKind{1, 1, rnnActivations, rnnCell}, gruKind{3, 1, gruActivations, gruCell},
    lstmKind{4, 2, lstmActivations, lstmCell};

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

/// The element of a tensor at position `index` of its first dimension.
static Value at(Builder &b, Value tensor, int64_t index) {
  return tensor ? b.squeeze(sliceAxis(b, tensor, 0, SymbolicInt(index), SymbolicInt(1)), {0}) : tensor;
}

/// Which rows of the batch have not ended at a time step: [N, 1].
static Value activeRows(Builder &b, Value lengths, Value time) {
  Value isActive = applyComposite(b, "less", {time, b.cast(lengths, b.i64())})[0];
  return isActive ? b.unsqueeze(isActive, {1}) : Value();
}

/// The outputs [T, N, H], then the last states.
static SmallVector<Value> runDirection(Builder &b, const Kind &kind, const Direction &d, const Attributes &a,
                                       Value lengths) {
  SymbolicInt steps = shapeOf(d.gates)[0];
  Value last = number(b, steps - SymbolicInt(1), b.i64());
  SmallVector<Value> results =
      b.loop({b.dims(steps, /*isScalar=*/true), {}}, d.initial, [&](Value iteration, ValueRange states) {
        Value time = d.isReverse ? sub(b, last, iteration) : iteration;
        SmallVector<Value> next = kind.cell(b, d, a, b.gather(d.gates, time, 0), states);
        Value output = next.front();
        if (lengths && output) {
          Value isActive = activeRows(b, lengths, time);
          output = where(b, isActive, output, b.scalar(0, elementTypeOf(output)));
          for (auto [state, old] : llvm::zip(next, states))
            state = where(b, isActive, state, old);
        }
        return Iteration{{}, next, {output}};
      });
  if (results.empty())
    return {};
  Value outputs = results.pop_back_val();
  if (d.isReverse) {
    Shape sizes = shapeOf(outputs), starts(3, SymbolicInt(0));
    starts[0] = steps - SymbolicInt(1);
    outputs = b.slice(outputs, starts, sizes, {-1, 1, 1});
  }
  results.insert(results.begin(), outputs);
  return results;
}

/// Exchanges the first two dimensions: batch and time, or batch and direction.
static Value swapped(Builder &b, Value x) {
  return x ? b.transpose(x, rankOf(x) == 3 ? ArrayRef<int64_t>{1, 0, 2} : ArrayRef<int64_t>{2, 0, 1, 3}) : x;
}

namespace {
/// The operator's inputs in layout 0 and in the compute type, except quantised weights, which have scales.
struct Inputs {
  Value x, weights, recurrent, bias, lengths, peepholes;
  SmallVector<Value> states;
  Value weightsScale, weightsZero, recurrentScale, recurrentZero;
};
} // namespace

/// Checks the ranks of the biases and the inputs after them, if given.
static bool haveRanks(Builder &b, Values in) {
  static constexpr std::tuple<size_t, StringLiteral, int64_t> expected[] = {
      {3, "biases", 2}, {4, "sequence_lens", 1}, {5, "initial_h", 3}, {6, "initial_c", 3}, {7, "peepholes", 2}};
  for (auto [index, name, rank] : expected)
    if (Value value = optionalInput(in, index); value && rankOf(value) != rank)
      b.contradict("expected " + name + " of rank " + Twine(rank) + ", got shape " + toString(shapeOf(value)));
  for (size_t index : {8, 9, 10, 11})
    if (Value value = optionalInput(in, index); value && rankOf(value) != 1 && rankOf(value) != 2)
      b.contradict("expected scales and zero points of rank 1 or 2, got shape " + toString(shapeOf(value)));
  return !b.hasFailed();
}

static std::optional<Inputs> inputsOf(Builder &b, const Kind &kind, Values in, const Attributes &a) {
  bool hasRanks = llvm::all_of(in.take_front(3), [](Value value) { return rankOf(value) == 3; });
  SymbolicInt units = hasRanks ? shapeOf(in[2])[2] : SymbolicInt(0);
  if (!hasRanks || provablyDiffer(shapeOf(in[1])[1], units * SymbolicInt(kind.gates)) ||
      provablyDiffer(shapeOf(in[2])[1], units * SymbolicInt(kind.gates))) {
    b.contradict("expected a tensor of rank 3 and weights for " + Twine(kind.gates) + " gates, got shapes " +
                 toString(shapeOf(in[0])) + ", " + toString(shapeOf(in[1])) + " and " + toString(shapeOf(in[2])));
    return std::nullopt;
  }
  if (!haveRanks(b, in))
    return std::nullopt;
  Type type = computeType(elementTypeOf(in[0]));
  auto given = [&](size_t index) {
    Value value = optionalInput(in, index);
    return value && isFloat(value) ? b.cast(value, type) : value;
  };
  Inputs inputs{given(0), given(1), given(2),  given(3), optionalInput(in, 4), given(7), {given(5)},
                given(8), given(9), given(10), given(11)};
  if (kind.states > 1)
    inputs.states.push_back(given(6));
  if (!a.getInt("layout"))
    return inputs;
  inputs.x = swapped(b, inputs.x);
  for (Value &state : inputs.states)
    state = swapped(b, state);
  return inputs;
}

static Direction directionOf(Builder &b, const Kind &kind, const Inputs &inputs, const Attributes &a, int64_t index) {
  Direction d;
  Type type = elementTypeOf(inputs.x);
  SymbolicInt units = shapeOf(inputs.recurrent)[2], width = units * SymbolicInt(kind.gates);
  d.gates = product(b, inputs.x, at(b, inputs.weights, index), at(b, inputs.weightsScale, index),
                    at(b, inputs.weightsZero, index));
  d.recurrent = at(b, inputs.recurrent, index);
  d.recurrentScale = at(b, inputs.recurrentScale, index);
  d.recurrentZero = at(b, inputs.recurrentZero, index);
  d.peepholes = at(b, inputs.peepholes, index);
  if (Value bias = at(b, inputs.bias, index)) {
    Value ofInput = sliceAxis(b, bias, 0, SymbolicInt(0), width), ofState = sliceAxis(b, bias, 0, width, width);
    d.gates = add(b, d.gates, ofInput);
    if (a.getInt("linear_before_reset")) {
      d.recurrentBias = ofState;
      Value others = sliceAxis(b, ofState, 0, SymbolicInt(0), units * SymbolicInt(kind.gates - 1));
      ofState = b.pad(others, SymbolicInt(0), units, ::mlir::cast<TypedAttr>(b.operations.getZeroAttr(type)));
    }
    d.gates = add(b, d.gates, ofState);
  }
  Shape stateShape{shapeOf(inputs.x)[1], units};
  for (Value state : inputs.states)
    d.initial.push_back(state ? b.reshape(at(b, state, index), stateShape) : b.splat(stateShape, 0, type));
  return d;
}

/// Each row of the batch has from 0 to `steps` time steps.
static void checkLengths(Builder &b, Value lengths, const SymbolicInt &steps) {
  std::string message = "expected sequence_lens from 0 to the " + steps.str() + " time steps";
  std::optional<Shape> known = b.contents(lengths);
  if (known)
    for (const SymbolicInt &length : *known) {
      if (!b.hasFailed())
        b.require(length, message);
      if (!b.hasFailed())
        b.require(steps - length, message);
    }
  else
    requireAll(b,
               pointwise(
                   b, {b.cast(lengths, b.i64()), number(b, steps, b.i64())},
                   [](ArrayRef<Scalar> v) { return (v[0] >= 0) & (v[0] <= v[1]); }, b.operations.getI1Type()),
               message);
}

static void checkWeights(Builder &b, Values in, const Attributes &a, unsigned directions) {
  Shape weights = shapeOf(in[1]), recurrences = shapeOf(in[2]);
  if (provablyDiffer(weights[0], SymbolicInt(directions)))
    b.contradict("expected weights for " + Twine(directions) + " directions, got shape " + toString(weights));
  else if (int64_t size = a.getInt("hidden_size");
           a.has("hidden_size") && provablyDiffer(recurrences[2], SymbolicInt(size)))
    b.fail("expected a hidden_size of " + recurrences[2].str() + ", as the recurrent weights have, got " + Twine(size) +
           "\nhint: correct the attribute, or leave it out");
}

static Results recurrent(Builder &b, const Kind &kind, Values in, const Attributes &a) {
  StringRef direction = a.getString("direction", "forward");
  unsigned count = direction == "bidirectional" ? 2 : 1;
  std::optional<Inputs> inputs = inputsOf(b, kind, in, a);
  SmallVector<Activation> activations =
      inputs ? activationsOf(b, a, kind.activations, count) : SmallVector<Activation>();
  if (activations.empty() || b.hasFailed())
    return {};
  checkWeights(b, in, a, count);
  if (inputs->lengths)
    checkLengths(b, inputs->lengths, shapeOf(inputs->x)[0]);
  if (b.hasFailed())
    return {};
  SmallVector<SmallVector<Value>> parts(1 + kind.states);
  for (unsigned index = 0; index < count; ++index) {
    Direction d = directionOf(b, kind, *inputs, a, index);
    d.isReverse = direction == "reverse" || index == 1;
    d.activations.assign(activations.begin() + index * kind.activations.size(), activations.end());
    SmallVector<Value> results;
    if (!b.hasFailed())
      results = runDirection(b, kind, d, a, inputs->lengths);
    if (b.hasFailed() || results.empty())
      return {};
    for (auto [list, value] : llvm::zip_equal(parts, results))
      list.push_back(b.unsqueeze(value, {rankOf(value) == 3 && &list == &parts.front() ? 1 : 0}));
  }
  Results results;
  for (auto [position, list] : llvm::enumerate(parts)) {
    Value joined = b.concat(list, position == 0 ? 1 : 0);
    results.push_back(b.cast(a.getInt("layout") ? swapped(b, joined) : joined, elementTypeOf(in[0])));
  }
  return results;
}

namespace composites {
Results rnn(Builder &b, Values in, const Attributes &a) { return recurrent(b, rnnKind, in, a); }
Results gru(Builder &b, Values in, const Attributes &a) { return recurrent(b, gruKind, in, a); }
Results lstm(Builder &b, Values in, const Attributes &a) { return recurrent(b, lstmKind, in, a); }

/// Like lstm, with quantised weights [directions, input or H, 4 H]; then scale and zero point [directions] or
/// [directions, 4 H] of W and R. x and h are quantised by their range. Source: DynamicQuantizeLSTM of ONNX Runtime.
Results quantized_lstm(Builder &b, Values in, const Attributes &a) {
  SmallVector<Value> inputs(in);
  if (in.size() < 12 || !in[8] || !in[9] || !in[10] || !in[11])
    return {b.fail("expected scales and zero points of both weights")};
  for (size_t index : {1, 2}) {
    if (rankOf(inputs[index]) != 3 || isFloat(inputs[index]))
      return {b.contradict("expected quantised weights of rank 3, got " + toString(shapeOf(inputs[index])))};
    inputs[index] = b.transpose(inputs[index], {0, 2, 1});
  }
  return recurrent(b, lstmKind, inputs, a);
}
} // namespace composites
} // namespace perpend::graph
