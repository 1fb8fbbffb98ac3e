//===- IntrinsicDraws.cpp - random calls of intrinsics --------------------===//

#include "compiler/IntrinsicDraws.h"

#include "graph/Attributes.h"
#include "graph/Graph.h"
#include "graph/SubstituteSymbols.h"
#include "interp/Interpreter.h"
#include "tile/Attributes.h"
#include "tile/schedule/Nests.h"

#include <numeric>
#include <random>

using namespace mlir;

namespace perpend {
using interp::Tensor;
using tile::Intrinsic;
using Buffer = IntrinsicDraw::Buffer;
using support::SymbolicInt;

namespace {
constexpr int callCount = 10, attempts = 400;
constexpr int64_t usualExtents[] = {0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 32, 64};
/// Most iterations of a call: the interpreter takes about a microsecond for each.
constexpr int64_t mostPoints = 1 << 15;
/// Most elements that a buffer spans, including the gaps between strides.
constexpr int64_t mostElements = 1 << 20;
/// Guard elements on both sides of what a call may touch.
constexpr int64_t guardElements = 128;

class Draws {
public:
  explicit Draws(const Intrinsic &intrinsic) : intrinsic(intrinsic) {}

  FailureOr<std::vector<IntrinsicDraw>> run();

private:
  LogicalResult fail(const Twine &message) {
    return intrinsic.description.emitError("intrinsic '") << intrinsic.name << "': " << message.str();
  }
  int64_t integer(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine); }
  std::optional<int64_t> valueOf(const SymbolicInt &expression) { return expression.substitute(values).constant(); }

  std::vector<int64_t> extentsToTry() const;
  void drawExtents(IntrinsicDraw &draw, ArrayRef<int64_t> candidates);
  bool areAllowed();
  std::string drawInto(IntrinsicDraw &draw);
  std::string drawBuffer(unsigned number, Buffer &buffer);
  void placeFreely(unsigned number, Buffer &buffer);
  void fill(Tensor &tensor);
  bool giveSharedElementsOneValue(Buffer &buffer);
  OwningOpRef<ModuleOp> moduleOf();
  LogicalResult interpretInto(IntrinsicDraw &draw);

  const Intrinsic &intrinsic;
  std::mt19937_64 engine{20261123};
  /// The drawn values of the intrinsic's parameters.
  llvm::StringMap<SymbolicInt> values;
  /// Draw integers of all magnitudes, instead of small ones.
  bool isWide = false;
  /// Why extents above 1 were rejected although the conditions allow them; empty: none were.
  std::string refusal;
};
} // namespace

std::vector<int64_t> Buffer::positions() const {
  std::vector<int64_t> list{base};
  for (auto [extent, stride] : llvm::zip(tensor.shape, strides)) {
    std::vector<int64_t> next;
    for (int64_t position : list)
      for (int64_t i = 0; i < extent; ++i)
        next.push_back(position + i * stride);
    list = std::move(next);
  }
  return list;
}

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

/// Whether the conditions hold and the call is short enough to interpret.
bool Draws::areAllowed() {
  for (size_t i = 0; i < intrinsic.where.size(); i += 2) {
    std::optional<int64_t> least = valueOf(intrinsic.where[i]), most = valueOf(intrinsic.where[i + 1]);
    if (!least || !most || *least > *most)
      return false;
  }
  int64_t points = 1;
  for (const SymbolicInt &extent : intrinsic.block.getDomain().values()) {
    int64_t count = valueOf(extent).value_or(-1);
    if (count < 0 || count > mostPoints || points > mostPoints / std::max<int64_t>(count, 1))
      return false;
    points *= std::max<int64_t>(count, 1);
  }
  return true;
}

/// The usual extents, and the constants of the conditions with their neighbours.
std::vector<int64_t> Draws::extentsToTry() const {
  std::vector<int64_t> list(std::begin(usualExtents), std::end(usualExtents));
  for (const SymbolicInt &side : intrinsic.where)
    if (std::optional<int64_t> number = side.constant(); number && *number > 0 && *number < mostPoints)
      list.insert(list.end(), {*number - 1, *number, *number + 1});
  return list;
}

void Draws::drawExtents(IntrinsicDraw &draw, ArrayRef<int64_t> candidates) {
  for (const std::string &name : intrinsic.parameters) {
    int64_t extent = candidates[integer(0, static_cast<int64_t>(candidates.size()) - 1)];
    draw.extents.push_back(extent);
    values[name] = SymbolicInt(extent);
    draw.text += (draw.text.empty() ? "with " : ", ") + name + " = " + std::to_string(extent);
  }
}

static bool isLarge(const IntrinsicDraw &draw) {
  return llvm::any_of(draw.extents, [](int64_t extent) { return extent > 1; });
}

/// Draws extents that the conditions allow, and places the buffers. Returns why that is impossible, or nothing.
std::string Draws::drawInto(IntrinsicDraw &draw) {
  std::string why = "no extents that were tried fulfil the conditions\nhint: where is a list of texts such as "
                    "\"rows <= 8\"";
  const std::vector<int64_t> candidates = extentsToTry();
  for (int attempt = 0; attempt < attempts; ++attempt) {
    draw = {};
    drawExtents(draw, candidates);
    if (!areAllowed())
      continue;
    for (auto [i, extent] : llvm::enumerate(intrinsic.block.getDomain().values()))
      if (intrinsic.block.kind(i) == tile::IteratorKind::Reduced)
        draw.depth *= std::max<int64_t>(*valueOf(extent), 1);
    why.clear();
    for (unsigned i = 0; i < intrinsic.strides.size() && why.empty(); ++i)
      why = drawBuffer(i, draw.buffers.emplace_back());
    if (why.empty())
      return "";
    if (isLarge(draw))
      refusal = why;
  }
  return why;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Draws the strides that are free: dimensions in any order and direction, with gaps, outside or between those with
/// given strides. Inputs sometimes get stride 0.
void Draws::placeFreely(unsigned number, Buffer &buffer) {
  int64_t span = 1;
  bool isAround = integer(0, 3) != 0;
  auto steps = [&](unsigned dim) { return std::max<int64_t>(buffer.tensor.shape[dim] - 1, 0); };
  SmallVector<unsigned> freely;
  for (auto [dim, stride] : llvm::enumerate(intrinsic.strides[number])) {
    if (!stride)
      freely.push_back(dim);
    else if (isAround)
      span += steps(dim) * std::abs(buffer.strides[dim]);
  }
  std::shuffle(freely.begin(), freely.end(), engine);
  bool isRead = number + 1 < intrinsic.strides.size();
  for (unsigned dim : freely) {
    bool isRepeated = isRead && integer(0, 7) == 0, isBackwards = integer(0, 7) == 0;
    int64_t size = isRepeated ? 0 : span + (integer(0, 2) == 0 ? integer(1, 5) : 0);
    buffer.strides[dim] = isBackwards ? -size : size;
    span += steps(dim) * size;
  }
}

/// Fills with small multiples of a half, small integers, or integers of any magnitude.
void Draws::fill(Tensor &tensor) {
  interp::ElementFormat format = tensor.format();
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    int64_t small = integer(-8, 8);
    float single = static_cast<float>(small) / 2;
    double twice = single;
    int64_t whole = isWide ? static_cast<int64_t>(engine()) : small;
    const void *value = format.kind == interp::RegisterKind::Single   ? static_cast<const void *>(&single)
                        : format.kind == interp::RegisterKind::Double ? static_cast<const void *>(&twice)
                                                                      : static_cast<const void *>(&whole);
    interp::writeElements(format, value, 1, tensor.mutableData() + i * format.bytes());
  }
}

/// Returns why the buffer cannot be placed, or nothing.
std::string Draws::drawBuffer(unsigned number, Buffer &buffer) {
  std::string title = "the " + std::to_string(number + 1) + ". buffer";
  tile::BufferType type = intrinsic.bufferType(number);
  SmallVector<int64_t> shape;
  for (const SymbolicInt &extent : type.extents())
    shape.push_back(valueOf(extent).value_or(0));
  std::optional<Tensor> tensor = Tensor::allocate(type.getElementType(), shape);
  if (!tensor)
    return "elements of " + title + " have no values here";
  buffer.tensor = *tensor;
  fill(buffer.tensor);
  constexpr int64_t far = mostElements + 1;
  for (const std::optional<SymbolicInt> &stride : intrinsic.strides[number])
    buffer.strides.push_back(stride ? std::clamp(valueOf(*stride).value_or(far), -far, far) : 0);
  placeFreely(number, buffer);
  int64_t first = 0, last = 0; // lowest and highest offset of an element
  for (auto [extent, stride] : llvm::zip(shape, buffer.strides))
    (stride < 0 ? first : last) += std::max<int64_t>(extent - 1, 0) * stride;
  if (last - first > mostElements)
    return "expected strides that place " + title + " within " + std::to_string(mostElements) + " elements";
  buffer.base = guardElements + integer(0, 7) - first;
  buffer.memory = buffer.base + last + 1 + guardElements;
  bool isLast = number + 1 == intrinsic.strides.size();
  return giveSharedElementsOneValue(buffer) && isLast ? "elements of the last buffer overlap" : "";
}

/// Returns whether any two elements share a place.
bool Draws::giveSharedElementsOneValue(Buffer &buffer) {
  llvm::DenseMap<int64_t, size_t> first;
  unsigned bytes = buffer.tensor.format().bytes();
  std::byte *data = buffer.tensor.mutableData();
  for (auto [i, position] : llvm::enumerate(buffer.positions()))
    if (auto [known, isNew] = first.try_emplace(position, i); !isNew)
      std::memcpy(data + i * bytes, data + known->second * bytes, bytes);
  return int64_t(first.size()) < buffer.tensor.elementCount();
}

//===----------------------------------------------------------------------===//
// Expected results
//===----------------------------------------------------------------------===//

/// Moves the init out of the reduction, so that an empty sum yields the initial value.
static void separateInit(func::FuncOp kernel) {
  tile::BlockOp block;
  kernel.walk([&](tile::BlockOp found) { block = found; });
  SmallVector<tile::ForOp> loops = tile::loopsAround(block);
  std::string why;
  if (block.init() && block.isReduction() && !loops.empty())
    (void)tile::decomposeReduction(kernel, block, loops.front(), why);
}

/// Builds a main that calls the description as a kernel. If the last buffer is read before it is written, an input
/// supplies its initial contents.
OwningOpRef<ModuleOp> Draws::moduleOf() {
  Location loc = intrinsic.description.getLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto kernel = cast<func::FuncOp>(builder.insert(intrinsic.description.clone()));
  kernel.setSymName("description");
  kernel->setDiscardableAttrs(
      builder.getDictionaryAttr(builder.getNamedAttr(graph::kernelAttribute, builder.getUnitAttr())));
  graph::substituteSymbols(kernel.getBody(), values);
  separateInit(kernel);
  unsigned last = kernel.getNumArguments() - 1;
  Block &body = kernel.getBody().front();
  if (!intrinsic.block.init()) {
    Value before = body.insertArgument(last, body.getArgument(last).getType(), loc);
    tile::createCopy(OpBuilder::atBlockBegin(&body), loc, before, body.getArguments().back(), "before");
  }
  kernel.setFunctionType(builder.getFunctionType(body.getArgumentTypes(), {}));
  SmallVector<Type> types;
  for (Type type : body.getArgumentTypes()) {
    auto buffer = cast<tile::BufferType>(type);
    SmallVector<int64_t> shape;
    for (const SymbolicInt &extent : buffer.extents())
      shape.push_back(*extent.constant());
    types.push_back(RankedTensorType::get(shape, buffer.getElementType()));
  }
  Type result = types.pop_back_val();
  auto main = builder.create<func::FuncOp>(loc, "main", builder.getFunctionType(types, result));
  builder.setInsertionPointToStart(main.addEntryBlock());
  auto call = builder.create<graph::CallKernelOp>(loc, result, "description", main.getArguments());
  builder.create<func::ReturnOp>(loc, call.getResults());
  return module;
}

LogicalResult Draws::interpretInto(IntrinsicDraw &draw) {
  OwningOpRef<ModuleOp> module = moduleOf();
  SmallVector<Tensor> inputs;
  for (const Buffer &buffer : draw.buffers)
    inputs.push_back(buffer.tensor);
  if (intrinsic.block.init())
    inputs.pop_back();
  auto results = interp::interpret(module->lookupSymbol<func::FuncOp>("main"), inputs);
  if (failed(results))
    return failure();
  draw.expected = results->front();
  return success();
}

FailureOr<std::vector<IntrinsicDraw>> Draws::run() {
  std::vector<IntrinsicDraw> draws;
  for (int number = 0; number < callCount; ++number) {
    IntrinsicDraw &draw = draws.emplace_back();
    isWide = number % 2 == 1;
    if (std::string why = drawInto(draw); !why.empty())
      return fail(why);
    if (failed(interpretInto(draw)))
      return failure();
  }
  if (!refusal.empty() && llvm::none_of(draws, isLarge))
    return fail(refusal);
  return draws;
}

FailureOr<std::vector<IntrinsicDraw>> drawCalls(const Intrinsic &intrinsic) { return Draws(intrinsic).run(); }
} // namespace perpend
