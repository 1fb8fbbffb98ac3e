//===- Weights.cpp - tensors of a checkpoint as constants -----------------===//

#include "frontend/checkpoint/Weights.h"
#include "frontend/checkpoint/Dequantise.h"
#include "frontend/checkpoint/PackBlocks.h"
#include "graph/Attributes.h"
#include "graph/StoredElements.h"
#include "graph/composites/Formulas.h"
#include "support/ZeroedMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <numeric>

using namespace mlir;

namespace perpend::checkpoint {

/// The type of the elements; null for types that cannot be weights.
static Type elementTypeOf(MLIRContext *context, Encoding encoding) {
  auto minifloat = [&](graph::MinifloatFormat format) { return graph::MinifloatType::get(context, format); };
  switch (encoding) {
  case Encoding::F64:
    return Float64Type::get(context);
  case Encoding::F16:
    return Float16Type::get(context);
  case Encoding::BF16:
    return BFloat16Type::get(context);
  case Encoding::F8_E4M3:
    return minifloat(graph::MinifloatFormat::F8E4M3FN);
  case Encoding::F8_E4M3FNUZ:
    return minifloat(graph::MinifloatFormat::F8E4M3FNUZ);
  case Encoding::F8_E5M2:
    return minifloat(graph::MinifloatFormat::F8E5M2);
  case Encoding::F8_E5M2FNUZ:
    return minifloat(graph::MinifloatFormat::F8E5M2FNUZ);
  case Encoding::F8_E8M0:
    return minifloat(graph::MinifloatFormat::F8E8M0FNU);
  default:
    return encoding == Encoding::F32 || blockReaderOf(encoding) ? Type(Float32Type::get(context)) : Type();
  }
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Names in folders that most architectures share.
static constexpr TensorName commonNames[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
    {"blk.%.attn_norm", "model.layers.%.input_layernorm"},
    {"blk.%.attn_q", "model.layers.%.self_attn.q_proj"},
    {"blk.%.attn_k", "model.layers.%.self_attn.k_proj"},
    {"blk.%.attn_v", "model.layers.%.self_attn.v_proj"},
    {"blk.%.attn_output", "model.layers.%.self_attn.o_proj"},
    {"blk.%.ffn_norm", "model.layers.%.post_attention_layernorm"},
    {"blk.%.ffn_gate", "model.layers.%.mlp.gate_proj"},
    {"blk.%.ffn_up", "model.layers.%.mlp.up_proj"},
    {"blk.%.ffn_down", "model.layers.%.mlp.down_proj"},
};

static StringRef nameIn(ArrayRef<TensorName> names, StringRef role) {
  const TensorName *found = llvm::find_if(names, [&](const TensorName &name) { return name.role == role; });
  return found == names.end() ? "" : found->name;
}

/// `%` and `#` replaced by the numbers of a layer and of an expert.
static std::string numbered(StringRef text, int64_t layer, int64_t expert) {
  std::string result;
  for (char letter : text)
    if (letter == '%')
      result += std::to_string(layer);
    else if (letter == '#')
      result += std::to_string(expert);
    else
      result += letter;
  return result;
}

/// Names that a tensor may have in a folder: checkpoints of the inner model have no first part, and those of models for
/// images and texts have one more.
static llvm::SmallVector<std::string> namesInFolders(StringRef name) {
  llvm::SmallVector<std::string> names{name.str()};
  for (StringRef part : {"model.", "transformer."})
    if (StringRef rest = name; rest.consume_front(part)) {
      names.push_back(rest.str());
      names.push_back((part + "language_model." + rest).str());
    }
  names.push_back(("language_model." + name).str());
  return names;
}

std::string Weights::nameOf(const Role &role, int64_t expert) const {
  StringRef pattern = isGguf ? "" : nameIn(names, role.role);
  if (!isGguf && pattern.empty())
    pattern = nameIn(commonNames, role.role);
  if (pattern.empty())
    pattern = role.role;
  std::string oldPattern; // files of GGUF from before experts were stored together
  if (isGguf && expert >= 0 && pattern.consume_back("_exps"))
    pattern = oldPattern = pattern.str() + ".#";
  std::string name = numbered(pattern, role.layer, expert) + (role.part.empty() ? "" : ".") + role.part.str();
  if (!isGguf)
    for (const std::string &each : namesInFolders(name))
      if (tensors.has(each))
        return each;
  return name;
}

const StoredTensor *Weights::lookup(const Role &role, int64_t expert) const {
  return tensors.find(nameOf(role, expert));
}

void Weights::ignore(const Role &role) { tensors.use(nameOf(role)); }

void Weights::ignoreLayer(int64_t layer) {
  for (StringRef name : tensors.names())
    if (name.starts_with("model.layers." + std::to_string(layer) + "."))
      tensors.use(name);
}

std::optional<int64_t> Weights::rowsOf(const Role &role) const {
  const StoredTensor *tensor = lookup(role);
  return tensor && !tensor->shape.empty() ? std::optional(tensor->shape[0]) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

const StoredTensor *Weights::use(const Role &role, ArrayRef<int64_t> shape, int64_t expert) {
  std::string name = nameOf(role, expert);
  const StoredTensor *tensor = tensors.use(name);
  if (!tensor) {
    builder.fail("the tensor '" + Twine(name) +
                 "' is missing\nhint: the checkpoint may be incomplete; download it "
                 "again");
    return nullptr;
  }
  if (ArrayRef(tensor->shape) == shape && elementTypeOf(builder.context(), tensor->encoding))
    return tensor;
  if (ArrayRef(tensor->shape) != shape)
    builder.fail("tensor '" + Twine(name) + "': expected shape " + graph::toString(shape) +
                 ", which follows from the model's settings, got " + describe(*tensor) +
                 "\nhint: its settings (config.json, or the file's metadata) and its weights are of different models");
  else
    builder.fail("tensor '" + Twine(name) + "': elements of type " + infoOf(tensor->encoding).name +
                 " are not supported as weights\nhint: convert the model to one of F32, F16, BF16, Q8_0, Q4_0, Q4_K");
  return nullptr;
}

ElementsAttr Weights::elementsOf(const StoredTensor &tensor, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, elementTypeOf(builder.context(), tensor.encoding));
  if (!blockReaderOf(tensor.encoding))
    return graph::storedElements(type, tensor.name, tensor.bytes, tensor.file);
  uint64_t sizeBytes = static_cast<uint64_t>(type.getNumElements()) * sizeof(float);
  std::shared_ptr<std::byte> memory = support::allocateZeroed(sizeBytes);
  if (!memory) {
    builder.fail("tensor '" + Twine(tensor.name) + "': not enough memory for " + Twine(sizeBytes) + " bytes");
    return {};
  }
  dequantise(tensor.encoding, tensor.bytes, reinterpret_cast<float *>(memory.get()));
  return graph::storedElements(type, tensor.name, StringRef(reinterpret_cast<char *>(memory.get()), sizeBytes), memory);
}

bool Weights::isPacked(const StoredTensor &tensor) const {
  return tensor.shape.size() >= 2 && !tensor.bytes.empty() && canPack(tensor.encoding);
}

/// The rows of all matrices.
static int64_t rowCount(const StoredTensor &tensor) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end() - 1, int64_t(1), std::multiplies<>());
}

const Weights::Packed &Weights::packed(const StoredTensor &tensor) {
  auto [entry, isNew] = packedMatrices.try_emplace(tensor.name);
  Packed &result = entry->second;
  std::optional<PackedBlocks> blocks = isNew ? packBlocks(tensor) : std::nullopt;
  if (isNew && !blocks)
    builder.fail("tensor '" + Twine(tensor.name) + "': not enough memory for its numbers");
  if (!blocks)
    return result;
  int64_t rows = rowCount(tensor), count = tensor.shape.back() / blocks->groupSize;
  auto constant = [&](ArrayRef<int64_t> shape, Type type, const Twine &part,
                      const PackedBlocks::Part &memory) -> Value {
    if (!memory.bytes)
      return {};
    StringRef bytes(reinterpret_cast<char *>(memory.bytes.get()), memory.size);
    auto elements =
        graph::storedElements(RankedTensorType::get(shape, type), (tensor.name + part).str(), bytes, memory.bytes);
    return builder.constant(elements);
  };
  result.bits = blocks->bits;
  result.groupSize = blocks->groupSize;
  result.zero = blocks->zero;
  Type byte = IntegerType::get(builder.context(), 8, IntegerType::Unsigned), small = builder.operations.getI8Type(),
       half = builder.operations.getF16Type();
  Type scale = blocks->sharing ? small : blocks->hasHalfScales ? half : builder.f32();
  const int64_t shared = blocks->sharing ? count / blocks->sharing : 0;
  result.numbers = constant({rows, count, result.groupSize * result.bits / 8}, byte, "", blocks->numbers);
  result.scales = constant({rows, count}, scale, ".scales", blocks->scales);
  result.sharedScales = constant({rows, shared}, half, ".shared_scales", blocks->sharedScales);
  result.zeros = constant({rows, count}, builder.f32(), ".zeros", blocks->zeros);
  result.offsets = constant({rows, count}, small, ".offsets", blocks->offsets);
  result.sharedOffsets = constant({rows, shared}, half, ".shared_offsets", blocks->sharedOffsets);
  return result;
}

/// [.., groups] times [.., groups / n], each of which n groups share. It stays a product where it is read, because its
/// elements are several times as large as its factors.
static Value timesShared(graph::Builder &b, Value ofGroups, Value shared) {
  if (!shared || !ofGroups)
    return b.cast(ofGroups, b.f32());
  graph::Shape shape = graph::shapeOf(ofGroups), repeated = graph::shapeOf(shared);
  repeated.push_back(support::floorDiv(shape.back(), repeated[shape.size() - 1]));
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(shape.size())));
  Value ofAll = b.reshape(b.broadcast(shared, dims, repeated), shape);
  Value products = b.map({ofGroups, ofAll}, b.f32(), [&](OpBuilder &code, Location loc, ValueRange v) -> Value {
    Value whole = code.create<arith::SIToFPOp>(loc, b.f32(), v[0]);
    return code.create<arith::MulFOp>(loc, whole, code.create<arith::ExtFOp>(loc, b.f32(), v[1]));
  });
  if (products)
    products.getDefiningOp()->setAttr(graph::computedByUsersAttribute, b.operations.getUnitAttr());
  return products;
}

Value Weights::Packed::scalesOfGroups(graph::Builder &builder) const {
  return timesShared(builder, scales, sharedScales);
}

Value Weights::Packed::offsetsOfGroups(graph::Builder &builder) const {
  return offsets ? timesShared(builder, offsets, sharedOffsets) : Value();
}

Weights::Packed Weights::Packed::rows(graph::Builder &builder, Value indices) const {
  Packed some = *this;
  for (Value *part : {&some.numbers, &some.scales, &some.sharedScales, &some.zeros, &some.offsets, &some.sharedOffsets})
    if (*part)
      *part = builder.gather(*part, indices, 0);
  return some;
}

Value Weights::dequantised(const StoredTensor &tensor) {
  const Packed &matrix = packed(tensor);
  const int64_t rows = rowCount(tensor), columns = tensor.shape.back();
  auto attribute = [&](StringRef name, int64_t value) {
    return builder.operations.getNamedAttr(name, builder.operations.getI64IntegerAttr(value));
  };
  NamedAttribute form[] = {attribute("N", rows), attribute("K", columns), attribute("bits", matrix.bits),
                           attribute("block_size", matrix.groupSize), attribute("zero", matrix.zero)};
  SmallVector<Value> parts{matrix.numbers, matrix.sharedScales ? matrix.scalesOfGroups(builder) : matrix.scales};
  if (matrix.zeros)
    parts.push_back(matrix.zeros);
  Value scaled = graph::call(builder, "dequantize_packed", parts, graph::Attributes(builder.context(), form));
  if (Value offsets = matrix.offsetsOfGroups(builder)) {
    graph::Shape repeated{rows, columns / matrix.groupSize, matrix.groupSize};
    offsets = builder.reshape(builder.broadcast(offsets, {0, 1}, repeated), graph::shapeOf(scaled));
    scaled = graph::sub(builder, scaled, offsets);
  }
  graph::Shape shape(tensor.shape.begin(), tensor.shape.end());
  return scaled && shape.size() > 2 ? builder.reshape(scaled, shape) : scaled;
}

/// Numbers in bytes [.., bytes], the first in the lowest bits, as [.., numbers] of i32.
static Value unpackedBytes(graph::Builder &b, Value bytes, int64_t bits) {
  Value wide = b.cast(bytes, b.operations.getI32Type());
  if (!wide || bits == 8)
    return wide;
  int64_t rank = graph::rankOf(bytes);
  Value range = b.scalar(1 << bits, b.operations.getI32Type());
  SmallVector<Value> places;
  for (Value rest = wide; rest && int64_t(places.size()) < 8 / bits; rest = graph::div(b, rest, range))
    places.push_back(b.unsqueeze(graph::call(b, "mod", {rest, range}), {rank}));
  graph::Shape shape = graph::shapeOf(bytes);
  shape.back() = shape.back() * static_cast<int64_t>(places.size());
  return b.reshape(b.concat(places, rank), shape);
}

Value Weights::rows(const Role &role, ArrayRef<int64_t> shape, Value indices) {
  const StoredTensor *tensor = use(role, shape);
  if (!tensor || !indices)
    return {};
  graph::Builder &b = builder;
  if (!isPacked(*tensor)) {
    Value table = get(role, shape);
    return table ? b.cast(b.gather(table, indices, 0), b.f32()) : table;
  }
  const Packed &whole = packed(*tensor);
  if (!whole.numbers)
    return {};
  const Packed matrix = whole.rows(b, indices);
  Value numbers = b.cast(unpackedBytes(b, matrix.numbers, matrix.bits), b.f32()), scales = matrix.scalesOfGroups(b),
        offsets = matrix.offsetsOfGroups(b);
  if (!numbers || !scales)
    return {};
  auto ofGroups = [&](Value values) { return b.unsqueeze(values, {graph::rankOf(values)}); };
  Value zeros = matrix.zeros ? ofGroups(matrix.zeros) : b.scalar(static_cast<double>(matrix.zero), b.f32());
  Value scaled = graph::mul(b, graph::sub(b, numbers, zeros), ofGroups(scales));
  if (offsets)
    scaled = graph::sub(b, scaled, ofGroups(offsets));
  graph::Shape result = graph::shapeOf(indices);
  result.emplace_back(shape[1]);
  return scaled ? b.reshape(scaled, result) : scaled;
}

Value Weights::get(const Role &role, ArrayRef<int64_t> shape) {
  const StoredTensor *tensor = use(role, shape);
  return tensor ? constantOf(*tensor, shape) : Value();
}

Value Weights::constantOf(const StoredTensor &tensor, ArrayRef<int64_t> shape) {
  Value &constant = constants[tensor.name];
  if (!constant && isPacked(tensor))
    constant = dequantised(tensor);
  else if (!constant)
    if (ElementsAttr elements = elementsOf(tensor, shape))
      constant = builder.constant(elements);
  return constant;
}

Value Weights::getF32(const Role &role, ArrayRef<int64_t> shape) {
  Value constant = get(role, shape);
  return constant ? builder.cast(constant, builder.f32()) : constant;
}

std::optional<std::vector<double>> Weights::numbers(const Role &role, ArrayRef<int64_t> shape) {
  const StoredTensor *tensor = use(role, shape);
  ElementsAttr elements = tensor ? elementsOf(*tensor, shape) : ElementsAttr();
  if (!elements)
    return std::nullopt;
  std::vector<double> numbers;
  if (auto values = elements.tryGetValues<APFloat>())
    for (APFloat value : *values) {
      bool losesInformation;
      value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInformation);
      numbers.push_back(value.convertToDouble());
    }
  if (int64_t(numbers.size()) == elements.getNumElements())
    return numbers;
  builder.fail("tensor '" + Twine(tensor->name) + "': expected numbers of type F32, F16 or BF16, got " +
               describe(*tensor));
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

namespace {
/// The bytes of several tensors.
class Joined : public llvm::MemoryBuffer {
public:
  Joined(const std::shared_ptr<std::byte> &memory, uint64_t sizeBytes) : memory(memory) {
    const char *begin = reinterpret_cast<const char *>(memory.get());
    init(begin, begin + sizeBytes, /*RequiresNullTerminator=*/false);
  }
  BufferKind getBufferKind() const override { return MemoryBuffer_Malloc; }

private:
  std::shared_ptr<std::byte> memory;
};
} // namespace

const StoredTensor *Weights::joined(const Role &role, ArrayRef<int64_t> shape) {
  const StoredTensor *first = use(role, shape.drop_front(), 0);
  if (!first)
    return nullptr;
  auto [entry, isNew] = joinedTensors.try_emplace(first->name, *first);
  StoredTensor &all = entry->second;
  if (!isNew)
    return &all;
  const uint64_t count = static_cast<uint64_t>(shape.front()), sizeBytes = first->bytes.size();
  std::shared_ptr<std::byte> memory = support::allocateZeroed(sizeBytes * count);
  if (!memory)
    return builder.fail("not enough memory for the experts of '" + Twine(first->name) + "'"), nullptr;
  auto *bytes = reinterpret_cast<char *>(memory.get());
  for (uint64_t expert = 0; expert < count; ++expert) {
    const StoredTensor *tensor = use(role, shape.drop_front(), static_cast<int64_t>(expert));
    if (!tensor)
      return nullptr;
    if (tensor->encoding != first->encoding)
      return builder.fail("tensor '" + Twine(tensor->name) + "': expected the type of the other experts, " +
                          infoOf(first->encoding).name + ", got " + describe(*tensor)),
             nullptr;
    std::memcpy(bytes + expert * sizeBytes, tensor->bytes.data(), sizeBytes);
  }
  all.shape.assign(shape.begin(), shape.end());
  all.file = std::make_shared<Joined>(memory, sizeBytes * count);
  all.bytes = all.file->getBuffer();
  return &all;
}

Value Weights::getExperts(const Role &role, int64_t count, ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> all{count};
  llvm::append_range(all, shape);
  bool isOneByOne = !lookup(role) && (!isGguf || lookup(role, 0));
  const StoredTensor *tensor = isOneByOne ? joined(role, all) : use(role, all);
  return tensor ? constantOf(*tensor, all) : Value();
}
} // namespace perpend::checkpoint
