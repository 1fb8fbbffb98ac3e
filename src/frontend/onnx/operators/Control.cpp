//===- Control.cpp - ONNX operators with subgraphs ------------------------===//

#include "frontend/onnx/Operators.h"
#include "graph/SequenceTypes.h"
#include "graph/composites/Formulas.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

Results importIf(Node &node) {
  const GraphProto *thenGraph = node.graph("then_branch"), *elseGraph = node.graph("else_branch");
  if (!node.input(0) || !thenGraph || !elseGraph)
    return node.fail("expected a condition and two graphs");
  auto branch = [&](const GraphProto &graph) {
    std::optional<Results> results = node.subgraphs.importSubgraph(graph, {});
    return results ? SmallVector<Value>(*results) : SmallVector<Value>();
  };
  SmallVector<std::optional<int64_t>> ranks;
  for (size_t index = 0; index < node.proto.outputs.size(); ++index)
    ranks.push_back(node.declaredRank(index));
  return Results(node.builder.ifThenElse(
      node.input(0), [&] { return branch(*thenGraph); }, [&] { return branch(*elseGraph); }, ranks));
}

//===----------------------------------------------------------------------===//
// Loop
//===----------------------------------------------------------------------===//

/// Some exporters declare the iteration's number and the condition as vectors of one element.
static Value asDeclared(Builder &b, Value scalar, const ValueInfo &input) {
  if (!input.dims || input.dims->size() != 1)
    return scalar;
  std::optional<Shape> known = b.contents(scalar);
  Value vector = b.reshape(scalar, SymbolicInt(1));
  if (known)
    b.recordContents(vector, *known);
  return vector;
}

/// Whether a carried value starts as an optional value and continues as its contents.
static bool isUnwrapped(Value initial, Value next) {
  SequenceType from = sequenceTypeOf(initial), to = sequenceTypeOf(next);
  return from && from.getIsOptional() && next && !(to && to.getIsOptional());
}

Results importLoop(Node &node) {
  const GraphProto *graph = node.graph("body");
  size_t carriedCount = std::max<size_t>(node.inputs.size(), 2) - 2;
  if (!graph)
    return {};
  if (graph->inputs.size() != carriedCount + 2 || graph->outputs.size() < carriedCount + 1)
    return node.fail("its body has " + Twine(graph->inputs.size()) + " inputs and " + Twine(graph->outputs.size()) +
                     " outputs for " + Twine(carriedCount) + " carried values");
  Builder &b = node.builder;
  SmallVector<Value> initial(llvm::drop_begin(node.inputs, std::min<size_t>(2, node.inputs.size())));
  if (llvm::is_contained(initial, Value()))
    return node.fail("an initial value is missing");
  SmallVector<bool> unwrapped(carriedCount);
  Results results(b.loop({node.input(0), node.input(1)}, initial, [&](Value number, ValueRange carried) {
    Value goesOn = b.scalar(1, b.operations.getI1Type());
    SmallVector<Value> inputs{asDeclared(b, number, graph->inputs[0]), asDeclared(b, goesOn, graph->inputs[1])};
    llvm::append_range(inputs, carried);
    std::optional<Results> outputs = node.subgraphs.importSubgraph(*graph, inputs);
    Iteration iteration;
    if (!outputs)
      return iteration;
    iteration.condition = outputs->front();
    iteration.carried.assign(outputs->begin() + 1, outputs->begin() + 1 + carriedCount);
    iteration.elements.assign(outputs->begin() + 1 + carriedCount, outputs->end());
    for (auto [index, next] : llvm::enumerate(iteration.carried))
      if ((unwrapped[index] = isUnwrapped(initial[index], next)))
        next = makeList(b, next, {}, /*isOptional=*/true);
    return iteration;
  }));
  for (auto [result, isElement] : llvm::zip(results, unwrapped))
    if (isElement)
      result = applyComposite(b, "optional_get_element", result)[0];
  return results;
}

//===----------------------------------------------------------------------===//
// Scan
//===----------------------------------------------------------------------===//

namespace {
/// The dimension along which a scanned tensor is divided into elements, and the direction.
struct ScanAxis {
  int64_t axis = 0;
  bool isReverse = false;
};

struct ScanLayout {
  size_t stateCount;
  SmallVector<ScanAxis> inputs, outputs;
};
} // namespace

static SmallVector<ScanAxis> scanAxes(const Node &node, StringRef axes, StringRef directions, size_t count) {
  SmallVector<int64_t> positions = node.attributes.getInts(axes), reversed = node.attributes.getInts(directions);
  SmallVector<ScanAxis> result(count);
  for (size_t i = 0; i < count; ++i)
    result[i] = {i < positions.size() ? positions[i] : 0, i < reversed.size() && reversed[i] != 0};
  return result;
}

/// The number of the element for iteration `number` of `count`.
static Value elementNumber(Builder &b, Value number, const SymbolicInt &count, bool isReverse) {
  return isReverse ? graph::sub(b, graph::number(b, count - SymbolicInt(1), b.i64()), number) : number;
}

/// Moves stacked elements from dimension 0 to the output's dimension.
static Value placeOutput(Builder &b, Value stacked, const ScanAxis &axis) {
  int64_t rank = rankOf(stacked), position = normalAxis(b, axis.axis, rank);
  if (position < 0)
    return {};
  if (axis.isReverse) {
    Shape sizes = shapeOf(stacked), starts(rank, SymbolicInt(0));
    SmallVector<int64_t> steps(rank, 1);
    starts[0] = sizes[0] - SymbolicInt(1);
    steps[0] = -1;
    stacked = b.slice(stacked, starts, sizes, steps);
  }
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(1, rank));
  permutation.insert(permutation.begin() + position, 0);
  return b.transpose(stacked, permutation);
}

static constexpr StringLiteral scannedTensors = "the scanned tensors";

/// The common extent along which tensors are divided into elements. Errors: poison.
static SymbolicInt sharedExtent(Builder &b, ArrayRef<Value> tensors, ArrayRef<int64_t> axes, StringRef what) {
  SmallVector<SymbolicInt> extents;
  for (auto [tensor, axis] : llvm::zip_equal(tensors, axes)) {
    int64_t dim = normalAxis(b, axis, rankOf(tensor));
    if (dim < 0)
      return SymbolicInt::poison();
    extents.push_back(shapeOf(tensor)[dim]);
  }
  for (const SymbolicInt &extent : extents)
    for (const SymbolicInt &difference : {extent - extents[0], extents[0] - extent})
      if (!b.hasFailed())
        b.require(difference,
                  (what + " have the extents " + extents[0].str() + " and " + extent.str() + " to scan").str());
  return b.hasFailed() ? SymbolicInt::poison() : extents.front();
}

/// One sequence: `count` iterations over the scanned tensors.
static Results scan(Node &node, const GraphProto &graph, const ScanLayout &layout, Value count, ArrayRef<Value> states,
                    ArrayRef<Value> scanned) {
  Builder &b = node.builder;
  std::optional<Shape> known = b.contents(count);
  SymbolicInt extent = known ? known->front() : b.measure(count, "count");
  Results results(b.loop({count, {}}, states, [&](Value number, ValueRange carried) {
    SmallVector<Value> inputs(carried);
    for (auto [tensor, axis] : llvm::zip_equal(scanned, layout.inputs))
      inputs.push_back(
          b.gather(tensor, elementNumber(b, number, extent, axis.isReverse), normalAxis(b, axis.axis, rankOf(tensor))));
    std::optional<Results> outputs = node.subgraphs.importSubgraph(graph, inputs);
    Iteration iteration;
    if (!outputs)
      return iteration;
    iteration.carried.assign(outputs->begin(), outputs->begin() + layout.stateCount);
    iteration.elements.assign(outputs->begin() + layout.stateCount, outputs->end());
    return iteration;
  }));
  if (b.hasFailed())
    return {};
  for (auto [index, axis] : llvm::enumerate(layout.outputs))
    results[layout.stateCount + index] = placeOutput(b, results[layout.stateCount + index], axis);
  return results;
}

/// The layout given by the attributes; nullopt, with an error, if the body does not fit.
static std::optional<ScanLayout> scanLayout(Node &node, const GraphProto &graph, size_t inputCount,
                                            StringRef inputDirections) {
  int64_t scanned = node.attributes.getInt("num_scan_inputs");
  if (scanned < 1 || static_cast<size_t>(scanned) > inputCount || graph.inputs.size() != inputCount ||
      graph.outputs.size() + scanned < inputCount) {
    node.fail("its body has " + Twine(graph.inputs.size()) + " inputs and " + Twine(graph.outputs.size()) +
              " outputs for " + Twine(inputCount) + " inputs, " + Twine(scanned) + " of them scanned");
    return std::nullopt;
  }
  ScanLayout layout{inputCount - scanned, {}, {}};
  layout.inputs = scanAxes(node, "scan_input_axes", inputDirections, scanned);
  layout.outputs =
      scanAxes(node, "scan_output_axes", "scan_output_directions", graph.outputs.size() - layout.stateCount);
  return layout;
}

Results importScan(Node &node) {
  const GraphProto *graph = node.graph("body");
  if (!graph || llvm::is_contained(node.inputs, Value()))
    return graph ? node.fail("an input is missing") : Results();
  std::optional<ScanLayout> layout = scanLayout(node, *graph, node.inputs.size(), "scan_input_directions");
  if (!layout)
    return {};
  ArrayRef<Value> states = ArrayRef<Value>(node.inputs).take_front(layout->stateCount),
                  scanned = ArrayRef<Value>(node.inputs).drop_front(layout->stateCount);
  SmallVector<int64_t> axes = llvm::map_to_vector(layout->inputs, [](const ScanAxis &axis) { return axis.axis; });
  SymbolicInt extent = sharedExtent(node.builder, scanned, axes, scannedTensors);
  if (extent.isPoison())
    return {};
  Value count = node.builder.dims(extent, /*isScalar=*/true);
  return scan(node, *graph, *layout, count, states, scanned);
}

/// Operator set 8: [batch, time, ...], one sequence after another; outputs beyond a sequence's end are 0.
Results importScan8(Node &node) {
  const GraphProto *graph = node.graph("body");
  size_t inputCount = std::max<size_t>(node.inputs.size(), 1) - 1;
  std::optional<ScanLayout> layout =
      graph ? scanLayout(node, *graph, inputCount, "directions") : std::optional<ScanLayout>();
  ArrayRef<Value> inputs = ArrayRef<Value>(node.inputs).drop_front();
  auto isScanned = [](Value input) { return rankOf(input) >= 2; };
  if (!layout)
    return {};
  if (llvm::is_contained(inputs, Value()))
    return node.fail("a state or a scanned tensor is missing");
  if (!llvm::all_of(inputs.drop_front(layout->stateCount), isScanned))
    return node.fail("expected scanned tensors of rank 2 or more: [batch, time, ...]");
  Builder &b = node.builder;
  ArrayRef<Value> scanned = inputs.drop_front(layout->stateCount);
  SmallVector<Value> all(inputs);
  if (node.input(0))
    all.push_back(node.input(0));
  SymbolicInt batch = sharedExtent(b, all, SmallVector<int64_t>(all.size(), 0), "the sequences");
  SymbolicInt time =
      batch.isPoison() ? batch : sharedExtent(b, scanned, SmallVector<int64_t>(scanned.size(), 1), scannedTensors);
  if (time.isPoison())
    return {};
  Results results(b.loop({b.dims(batch, /*isScalar=*/true), {}}, {}, [&](Value number, ValueRange) {
    SmallVector<Value> own = llvm::map_to_vector(inputs, [&](Value input) { return b.gather(input, number, 0); });
    Value length = b.dims(time, /*isScalar=*/true);
    if (node.input(0)) {
      length = b.gather(node.input(0), number, 0);
      b.require(time - b.measure(length, "length"), "a sequence is longer than the scanned tensors");
    }
    Results outputs = scan(node, *graph, *layout, length, ArrayRef<Value>(own).take_front(layout->stateCount),
                           ArrayRef<Value>(own).drop_front(layout->stateCount));
    for (Value &output : MutableArrayRef<Value>(outputs).drop_front(std::min(layout->stateCount, outputs.size()))) {
      Shape none(rankOf(output), SymbolicInt(0)), behind = none;
      behind[0] = time - shapeOf(output)[0];
      output = padTensor(b, output, none, behind, "constant");
    }
    return Iteration{{}, {}, outputs};
  }));
  return results;
}
} // namespace perpend::onnx
