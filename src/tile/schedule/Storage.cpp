//===- Storage.cpp - primitives on the storage of local buffers -----------===//

#include "support/ReadableText.h"
#include "tile/Attributes.h"
#include "tile/schedule/Nests.h"
#include "tile/schedule/Primitives.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

//===----------------------------------------------------------------------===//
// storage_align
//===----------------------------------------------------------------------===//

/// The least padded extent whose product with `stride` is `offset` modulo `factor`.
static std::optional<int64_t> alignedExtent(int64_t extent, int64_t stride, int64_t factor, int64_t offset) {
  for (int64_t aligned = extent; aligned < extent + factor; ++aligned)
    if (aligned * stride % factor == offset)
      return aligned;
  return std::nullopt;
}

LogicalResult KernelSchedule::storageAlign(Block handle, int64_t number, int64_t axis, int64_t factor, int64_t offset) {
  constexpr int64_t largest = 1 << 20;
  FailureOr<BlockOp> found = find(handle);
  if (failed(found))
    return failure();
  std::string title = "storage_align " + nameOf(handle) + ": ";
  FailureOr<Value> buffer = findBuffer(*found, "write", number, title);
  if (failed(buffer))
    return failure();
  if (!buffer->getDefiningOp())
    return refuse(title + bufferName(*buffer) + " belongs to the kernel's caller\nhint: cache_write it");
  auto type = cast<BufferType>(buffer->getType());
  Shape shape = type.extents();
  int64_t rank = shape.size(), dim = axis < 0 ? axis + rank : axis;
  if (rank < 2)
    return refuse(title + bufferName(*buffer) + " has " + support::counted(rank, "dimension") +
                  ", expected at least 2: the stride of the last one is 1");
  if (dim < 0 || dim >= rank - 1)
    return refuse(title + "expected an axis other than the innermost one, 0 to " + Twine(rank - 2) + ", got " +
                  Twine(axis));
  if (factor < 1 || factor > largest || offset < 0 || offset >= factor)
    return refuse(title + "expected a factor from 1 to " + Twine(largest) + " and an offset below it, got " +
                  Twine(factor) + " and " + Twine(offset));
  SymbolicInt stride(1);
  for (const SymbolicInt &extent : ArrayRef(shape).drop_front(dim + 2))
    stride *= extent;
  std::optional<int64_t> extent = shape[dim + 1].constant(), step = stride.constant();
  bool isSymbolic = !extent && step == 1 && offset == 0;
  if (!isSymbolic && (!extent || !step || *extent > INT32_MAX || *step > INT32_MAX))
    return refuse(title + "the stride of the axis is not a number: " + (shape[dim + 1] * stride).str());
  std::optional<int64_t> aligned = isSymbolic ? 0 : alignedExtent(*extent, *step, factor, offset);
  if (!aligned)
    return refuse(title + "no multiple of " + Twine(*step) + " elements is " + Twine(offset) + " modulo " +
                  Twine(factor) + "; align the axis " + Twine(dim + 1) + " before");
  shape[dim + 1] =
      isSymbolic ? support::ceilDiv(shape[dim + 1], SymbolicInt(factor)) * SymbolicInt(factor) : SymbolicInt(*aligned);
  Operation *alloc = buffer->getDefiningOp();
  auto known = alloc->getAttrOfType<IntegerAttr>(alignedAttribute);
  alloc->setAttr(alignedAttribute,
                 OpBuilder(alloc).getI64IntegerAttr(known ? std::min(known.getInt(), dim + 1) : dim + 1));
  buffer->setType(BufferType::get(type.getContext(), shape, type.getElementType(), type.getScope().getValue()));
  record(
      "storage_align", {},
      {nameOf(handle), std::to_string(number), std::to_string(axis), std::to_string(factor), std::to_string(offset)});
  return success();
}

//===----------------------------------------------------------------------===//
// unsafe_set_dtype
//===----------------------------------------------------------------------===//

/// Converts `value` to another type of the same class.
static Value convert(OpBuilder &builder, Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth(), to = type.getIntOrFloatBitWidth();
  Location loc = value.getLoc();
  if (value.getType() == type)
    return value;
  if (isa<FloatType>(type))
    return from < to ? builder.create<arith::ExtFOp>(loc, type, value).getResult()
                     : builder.create<arith::TruncFOp>(loc, type, value).getResult();
  return from < to ? builder.create<arith::ExtSIOp>(loc, type, value).getResult()
                   : builder.create<arith::TruncIOp>(loc, type, value).getResult();
}

/// Both types must be floating-point of different widths, or signless integers of at least 8 bits.
static bool isConvertible(Type from, Type to) {
  if (isa<FloatType>(from) && isa<FloatType>(to))
    return from == to || from.getIntOrFloatBitWidth() != to.getIntOrFloatBitWidth();
  auto isInteger = [](Type type) { return type.isSignlessInteger() && type.getIntOrFloatBitWidth() >= 8; };
  return isInteger(from) && isInteger(to);
}

LogicalResult KernelSchedule::unsafeSetDtype(Block handle, int64_t number, StringRef text) {
  FailureOr<BlockOp> found = find(handle);
  if (failed(found))
    return failure();
  std::string title = "unsafe_set_dtype " + nameOf(handle) + ": ";
  FailureOr<Value> buffer = findBuffer(*found, "write", number, title);
  if (failed(buffer))
    return failure();
  if (!buffer->getDefiningOp())
    return refuse(title + bufferName(*buffer) + " belongs to the kernel's caller\nhint: cache_write it");
  ScopedDiagnosticHandler silent(kernel.getContext(), [](Diagnostic &) { return success(); });
  Type element = text.empty() ? Type() : parseType(text, kernel.getContext());
  auto type = cast<BufferType>(buffer->getType());
  if (!element || !element.isIntOrFloat() || !isConvertible(type.scalarType(), element))
    return refuse(title + "expected a type of the same class as " +
                  [&] {
                    std::string name;
                    llvm::raw_string_ostream(name) << type.getElementType();
                    return name;
                  }() +
                  " and of another width, got '" + text + "'");
  auto changed = BufferType::get(type.getContext(), type.extents(), element, type.getScope().getValue());
  buffer->setType(changed);
  for (const Access &access : accessesIn(kernel, *buffer)) {
    OpBuilder builder(access.op);
    if (access.isStore()) {
      access.op->setOperand(0, convert(builder, access.op->getOperand(0), changed.scalarType()));
      continue;
    }
    builder.setInsertionPointAfter(access.op);
    Value loaded = access.op->getResult(0);
    Type before = loaded.getType();
    loaded.setType(changed.scalarType());
    if (Value converted = convert(builder, loaded, before); converted != loaded)
      loaded.replaceAllUsesExcept(converted, converted.getDefiningOp());
  }
  record("unsafe_set_dtype", {}, {nameOf(handle), std::to_string(number), quotedText(text)});
  return success();
}
