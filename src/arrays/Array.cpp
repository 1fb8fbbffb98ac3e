//===- Array.cpp - dense arrays, strings and lists ------------------------===//

#include "arrays/Array.h"
#include "interp/ElementFormat.h"
#include "runtime/Allocate.h"
#include "runtime/Types.h"
#include "support/ReadableText.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace perpend::arrays {
using llvm::ArrayRef;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Array
//===----------------------------------------------------------------------===//

Array Array::allocate(perpend_type type, ArrayRef<int64_t> shape) {
  Array array{type, llvm::SmallVector<int64_t>(shape), nullptr};
  int64_t bytes = perpend_type_size_bytes(type);
  for (int64_t extent : shape)
    if (extent < 0 || llvm::MulOverflow(bytes, extent, bytes))
      return array;
  void *memory = bytes < (int64_t{1} << 46) ? runtime::allocateTensor(bytes + 1) : nullptr;
  if (memory)
    std::memset(memory, 0, bytes);
  array.bytes = std::shared_ptr<std::byte>(static_cast<std::byte *>(memory), std::free);
  return array;
}

static Array copyOfHandles(const perpend_tensor &tensor);

Array Array::copyOf(const perpend_tensor &tensor) {
  if (runtime::isHandle(tensor.type))
    return copyOfHandles(tensor);
  Array array = allocate(tensor.type, ArrayRef(tensor.shape, tensor.rank));
  if (array.bytes && array.sizeBytes() > 0)
    std::memcpy(array.bytes.get(), tensor.data, array.sizeBytes());
  return array;
}

//===----------------------------------------------------------------------===//
// Texts and lists
//===----------------------------------------------------------------------===//

namespace {
struct Texts {
  std::vector<std::string> values;
  std::vector<perpend_string> views;
};
struct List {
  std::vector<Array> elements;
  std::vector<perpend_tensor> views;
  perpend_sequence sequence;
};
} // namespace

Array Array::ofTexts(ArrayRef<int64_t> shape, std::vector<std::string> texts) {
  auto owner = std::make_shared<Texts>();
  owner->values = std::move(texts);
  owner->views.reserve(owner->values.size() + 1); // never null
  for (const std::string &text : owner->values)
    owner->views.push_back({text.data(), static_cast<int64_t>(text.size())});
  auto *bytes = reinterpret_cast<std::byte *>(owner->views.data());
  return {PERPEND_STRING, llvm::SmallVector<int64_t>(shape), std::shared_ptr<std::byte>(owner, bytes)};
}

Array Array::ofList(perpend_type type, std::vector<Array> elements) {
  auto owner = std::make_shared<List>();
  owner->elements = std::move(elements);
  for (const Array &element : owner->elements)
    owner->views.push_back(element.view());
  owner->sequence = {owner->views.data(), static_cast<int64_t>(owner->views.size())};
  auto *bytes = reinterpret_cast<std::byte *>(&owner->sequence);
  return {type, {}, std::shared_ptr<std::byte>(owner, bytes)};
}

StringRef Array::text(int64_t i) const {
  const perpend_string &text = reinterpret_cast<const perpend_string *>(bytes.get())[i];
  return StringRef(text.data, text.sizeBytes);
}

ArrayRef<perpend_tensor> Array::elements() const {
  const auto &sequence = *reinterpret_cast<const perpend_sequence *>(bytes.get());
  return ArrayRef(sequence.elements, sequence.count);
}

static Array copyOfHandles(const perpend_tensor &tensor) {
  if (tensor.type == PERPEND_STRING) {
    Array shape{tensor.type, llvm::SmallVector<int64_t>(ArrayRef(tensor.shape, tensor.rank)), nullptr};
    std::vector<std::string> texts;
    for (const perpend_string &text : ArrayRef(static_cast<const perpend_string *>(tensor.data), shape.elementCount()))
      texts.emplace_back(text.data ? text.data : "", text.sizeBytes);
    return Array::ofTexts(shape.shape, std::move(texts));
  }
  std::vector<Array> elements;
  const auto &sequence = *static_cast<const perpend_sequence *>(tensor.data);
  for (const perpend_tensor &element : ArrayRef(sequence.elements, sequence.count))
    elements.push_back(Array::copyOf(element));
  return Array::ofList(tensor.type, std::move(elements));
}

int64_t Array::elementCount() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

perpend_tensor Array::view() const { return {bytes.get(), shape.data(), static_cast<int32_t>(shape.size()), type}; }

template <typename T> static T elementAt(const Array &array, int64_t i) {
  T value;
  std::memcpy(&value, array.bytes.get() + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

static const llvm::fltSemantics *minifloatSemantics(perpend_type type) {
  switch (type) {
  case PERPEND_F8E4M3FN:
    return &llvm::APFloat::Float8E4M3FN();
  case PERPEND_F8E4M3FNUZ:
    return &llvm::APFloat::Float8E4M3FNUZ();
  case PERPEND_F8E5M2:
    return &llvm::APFloat::Float8E5M2();
  case PERPEND_F8E5M2FNUZ:
    return &llvm::APFloat::Float8E5M2FNUZ();
  case PERPEND_F6E2M3FN:
    return &llvm::APFloat::Float6E2M3FN();
  case PERPEND_F6E3M2FN:
    return &llvm::APFloat::Float6E3M2FN();
  case PERPEND_F4E2M1FN:
    return &llvm::APFloat::Float4E2M1FN();
  default:
    return nullptr;
  }
}

static double minifloatValue(perpend_type type, uint8_t byte) {
  const llvm::fltSemantics *semantics = minifloatSemantics(type);
  if (!semantics) // f8e8m0fnu
    return byte == 255 ? NAN : std::ldexp(1.0, byte - 127);
  unsigned width = llvm::APFloat::getSizeInBits(*semantics);
  llvm::APFloat value(*semantics, llvm::APInt(8, byte).trunc(width));
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

double Array::at(int64_t i) const {
  switch (type) {
  case PERPEND_F32:
    return elementAt<float>(*this, i);
  case PERPEND_F64:
    return elementAt<double>(*this, i);
  case PERPEND_F16:
    return interp::halfToFloat(elementAt<uint16_t>(*this, i));
  case PERPEND_BF16:
    return interp::brainToFloat(elementAt<uint16_t>(*this, i));
  case PERPEND_I8:
    return elementAt<int8_t>(*this, i);
  case PERPEND_I4:
    return llvm::SignExtend64<4>(elementAt<uint8_t>(*this, i));
  case PERPEND_I2:
    return llvm::SignExtend64<2>(elementAt<uint8_t>(*this, i));
  case PERPEND_I16:
    return elementAt<int16_t>(*this, i);
  case PERPEND_I32:
    return elementAt<int32_t>(*this, i);
  case PERPEND_I64:
    return static_cast<double>(elementAt<int64_t>(*this, i));
  case PERPEND_U8:
  case PERPEND_BOOL:
    return elementAt<uint8_t>(*this, i);
  case PERPEND_U4:
    return elementAt<uint8_t>(*this, i) & 15;
  case PERPEND_U2:
    return elementAt<uint8_t>(*this, i) & 3;
  case PERPEND_U16:
    return elementAt<uint16_t>(*this, i);
  case PERPEND_U32:
    return elementAt<uint32_t>(*this, i);
  case PERPEND_U64:
    return static_cast<double>(elementAt<uint64_t>(*this, i));
  default:
    return minifloatValue(type, elementAt<uint8_t>(*this, i));
  }
}

std::string typeText(perpend_type type, ArrayRef<int64_t> shape) {
  std::string text = std::string(perpend_type_name(type)) + " [";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string typeText(const Array &array) {
  if (!array.isList())
    return typeText(array.type, array.shape);
  return std::string(perpend_type_name(array.type)) + " of " + std::to_string(array.elements().size());
}

std::string shortText(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.5g", value);
  return text;
}

/// The first strings, or the types of the first elements.
static std::string firstOf(const Array &array) {
  std::string text = "  first:";
  llvm::raw_string_ostream out(text);
  if (array.isList()) {
    for (const perpend_tensor &element : array.elements().take_front(4))
      out << " " << typeText(Array::copyOf(element));
    return text;
  }
  for (int64_t i = 0; i < std::min<int64_t>(array.elementCount(), 4); ++i)
    out << " " << support::quoted(array.text(i), 40);
  return text;
}

std::string summarize(StringRef name, const Array &array) {
  std::string text = support::readable(name) + ": " + typeText(array);
  if (array.isTexts() || array.isList())
    return text + firstOf(array);
  double least = INFINITY, most = -INFINITY, sum = 0;
  int64_t count = array.elementCount(), nans = 0;
  for (int64_t i = 0; i < count; ++i) {
    double value = array.at(i);
    if (std::isnan(value)) {
      ++nans;
      continue;
    }
    least = std::fmin(least, value);
    most = std::fmax(most, value);
    sum += value;
  }
  if (count > nans)
    text += "  min " + shortText(least) + ", max " + shortText(most) + ", mean " +
            shortText(sum / static_cast<double>(count - nans));
  text += "  NaN: " + std::to_string(nans) + "  first:";
  for (int64_t i = 0; i < std::min<int64_t>(count, 4); ++i)
    text += " " + shortText(array.at(i));
  return text;
}
} // namespace perpend::arrays
