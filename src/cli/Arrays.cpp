//===- Arrays.cpp - the inputs and outputs of commands --------------------===//

#include "cli/Arrays.h"
#include "interp/ElementFormat.h"
#include "support/SymbolicInt.h"

#include "../runtime/Npy.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace perpend::cli {

//===----------------------------------------------------------------------===//
// Array
//===----------------------------------------------------------------------===//

Array Array::allocate(perpend_type type, ArrayRef<int64_t> shape) {
  Array array{type, llvm::SmallVector<int64_t>(shape), nullptr};
  int64_t bytes = perpend_type_size_bytes(type);
  for (int64_t extent : shape)
    if (extent < 0 || llvm::MulOverflow(bytes, extent, bytes))
      return array;
  void *memory = bytes < (int64_t{1} << 46) ? std::aligned_alloc(64, llvm::alignTo(bytes + 1, 64)) : nullptr;
  if (memory)
    std::memset(memory, 0, bytes);
  array.bytes = std::shared_ptr<std::byte>(static_cast<std::byte *>(memory), std::free);
  return array;
}

static Array copyOfHandles(const perpend_tensor &tensor);

Array Array::copyOf(const perpend_tensor &tensor) {
  if (tensor.type >= PERPEND_STRING && tensor.type <= PERPEND_OPTIONAL)
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

/// The first texts, or the types of the first elements.
static std::string firstOf(const Array &array) {
  std::string text = "  first:";
  llvm::raw_string_ostream out(text);
  if (array.isList()) {
    for (const perpend_tensor &element : array.elements().take_front(4))
      out << " " << typeText(Array::copyOf(element));
    return text;
  }
  for (int64_t i = 0; i < std::min<int64_t>(array.elementCount(), 4); ++i) {
    out << " \"";
    out.write_escaped(array.text(i).take_front(40));
    out << "\"";
  }
  return text;
}

std::string summarize(StringRef name, const Array &array) {
  std::string text = name.str() + ": " + typeText(array);
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

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

static double uniform(std::mt19937_64 &generator) { return static_cast<double>(generator() >> 11) * 0x1p-52 - 1.0; }

static uint64_t randomBits(perpend_type type, std::mt19937_64 &generator) {
  switch (type) {
  case PERPEND_F32:
    return llvm::bit_cast<uint32_t>(static_cast<float>(uniform(generator)));
  case PERPEND_F64:
    return llvm::bit_cast<uint64_t>(uniform(generator));
  case PERPEND_F16:
    return interp::floatToHalf(static_cast<float>(uniform(generator)));
  case PERPEND_BF16:
    return interp::floatToBrain(static_cast<float>(uniform(generator)));
  case PERPEND_I8:
  case PERPEND_U8:
    return generator();
  case PERPEND_I4:
  case PERPEND_U4:
  case PERPEND_F4E2M1FN:
    return generator() & 15;
  case PERPEND_I2:
  case PERPEND_U2:
    return generator() & 3;
  case PERPEND_F6E2M3FN:
  case PERPEND_F6E3M2FN:
    return generator() & 63;
  case PERPEND_F8E4M3FN:
  case PERPEND_F8E4M3FNUZ:
  case PERPEND_F8E5M2:
  case PERPEND_F8E5M2FNUZ:
    return generator() & 0xbb; // neither NaN nor infinity
  case PERPEND_F8E8M0FNU:
    return 124 + (generator() & 7);
  default:
    return generator() & 1;
  }
}

static Array randomTexts(ArrayRef<int64_t> shape, std::mt19937_64 &generator) {
  std::vector<std::string> texts;
  for (int64_t i = 0, count = Array{PERPEND_STRING, llvm::SmallVector<int64_t>(shape), nullptr}.elementCount();
       i < count; ++i)
    texts.push_back(std::to_string(generator() % 100));
  return Array::ofTexts(shape, std::move(texts));
}

Array randomArray(perpend_type type, ArrayRef<int64_t> shape, std::mt19937_64 &generator) {
  if (type == PERPEND_STRING)
    return randomTexts(shape, generator);
  Array array = Array::allocate(type, shape);
  if (!array.bytes)
    return array;
  int64_t size = perpend_type_size_bytes(type);
  for (int64_t i = 0, count = array.elementCount(); i < count; ++i) {
    uint64_t bits = randomBits(type, generator); // little endian
    std::memcpy(array.bytes.get() + i * size, &bits, size);
  }
  return array;
}

void InputOptions::addTo(OptionList &options, StringRef seedFlag) {
  options.add(
      "input", files, "[NAME=]FILE.npy",
      "an input; without a name, the next one in order. Texts are numpy's '<U'. A sequence or optional value is "
      "a folder with 0.npy, 1.npy, ...");
  options.add("symbol", symbols, "NAME=N", "value of a symbolic dimension in random inputs (default 2)");
  options.add(seedFlag, seed, "SEED", "seed of the random inputs (default 0)");
}

namespace {
class InputMaker {
public:
  InputMaker(const perpend_model *model, const InputOptions &options)
      : model(model), options(options), arrays(perpend_model_input_count(model)) {}

  std::optional<std::vector<Array>> run() {
    if (!readFiles() || !readSymbols())
      return std::nullopt;
    std::mt19937_64 generator(options.seed);
    for (size_t i = 0; i < arrays.size(); ++i)
      if (!arrays[i] && !makeRandom(*perpend_model_input(model, static_cast<int32_t>(i)), arrays[i], generator))
        return std::nullopt;
    std::vector<Array> inputs;
    for (std::optional<Array> &array : arrays)
      inputs.push_back(std::move(*array));
    return inputs;
  }

private:
  bool readFiles();
  bool readSymbols();
  std::set<std::string> knownSymbols() const;
  void bindSymbols(const perpend_tensor_info &info, const Array &array);
  bool makeRandom(const perpend_tensor_info &info, std::optional<Array> &array, std::mt19937_64 &generator);
  bool makeRandomList(const perpend_tensor_info &info, std::optional<Array> &array, std::mt19937_64 &generator);

  const perpend_model *model;
  const InputOptions &options;
  std::vector<std::optional<Array>> arrays;
  llvm::StringMap<int64_t> symbols;
};
} // namespace

bool InputMaker::readFiles() {
  int32_t next = 0;
  for (StringRef text : options.files) {
    int32_t index = next;
    StringRef path = text;
    if (size_t equals = text.find('='); equals != StringRef::npos) {
      path = text.drop_front(equals + 1);
      if (perpend_model_find_input(model, text.take_front(equals).str().c_str(), &index) != PERPEND_OK)
        return fail(perpend_error_message()), false;
    } else if (static_cast<size_t>(next++) >= arrays.size()) {
      return fail("the model has " + Twine(arrays.size()) + " inputs, got one more: '" + text + "'"), false;
    }
    const perpend_tensor_info *info = perpend_model_input(model, index);
    if (arrays[index])
      return fail("input '" + Twine(info->name) + "' is given twice"), false;
    std::optional<Array> array = readArray(path);
    if (!array)
      return false;
    if (!adaptTo(*array, *info, info->name))
      return false;
    bindSymbols(*info, *array);
    arrays[index] = std::move(array);
  }
  return true;
}

void InputMaker::bindSymbols(const perpend_tensor_info &info, const Array &array) {
  for (size_t i = 0; i < array.shape.size() && i < static_cast<size_t>(info.rank); ++i)
    if (info.dims[i] < 0)
      symbols.try_emplace(info.dimTexts[i], array.shape[i]);
}

static std::set<std::string> symbolsIn(StringRef text) {
  std::set<std::string> names;
  if (std::optional<support::SymbolicInt> extent = support::SymbolicInt::parse(text))
    extent->symbols(names);
  return names;
}

std::set<std::string> InputMaker::knownSymbols() const {
  std::set<std::string> names;
  for (int32_t i = 0; i < perpend_model_input_count(model); ++i) {
    const perpend_tensor_info *info = perpend_model_input(model, i);
    for (int32_t dim = 0; dim < info->rank; ++dim)
      names.merge(symbolsIn(info->dimTexts[dim]));
  }
  return names;
}

bool InputMaker::readSymbols() {
  std::set<std::string> known = knownSymbols();
  for (StringRef text : options.symbols) {
    auto [name, number] = text.split('=');
    int64_t value = 0;
    if (number.getAsInteger(10, value) || value < 0)
      return fail("option '--symbol': expected NAME=N with N at least 0, got '" + text + "'"), false;
    if (!known.count(name.str()))
      return fail("option '--symbol': the inputs have no symbol '" + name + "'",
                  known.empty() ? "all dimensions are numbers" : "symbols: " + llvm::join(known, ", ")),
             false;
    symbols.insert_or_assign(name, value);
  }
  return true;
}

/// Two elements of the declared type, whose unknown extents are 2.
bool InputMaker::makeRandomList(const perpend_tensor_info &info, std::optional<Array> &array,
                                std::mt19937_64 &generator) {
  const perpend_tensor_info *element = info.element;
  if (!element || element->rank < 0 || element->element)
    return fail("input '" + Twine(info.name) + "': the model does not say what its elements are",
                "give it with --input NAME=FOLDER"),
           false;
  llvm::SmallVector<int64_t> shape;
  for (int32_t i = 0; i < element->rank; ++i)
    shape.push_back(element->dims[i] < 0 ? 2 : element->dims[i]);
  std::vector<Array> elements;
  for (int i = 0, count = info.type == PERPEND_OPTIONAL ? 1 : 2; i < count; ++i)
    elements.push_back(randomArray(element->type, shape, generator));
  array = Array::ofList(info.type, std::move(elements));
  return true;
}

bool InputMaker::makeRandom(const perpend_tensor_info &info, std::optional<Array> &array, std::mt19937_64 &generator) {
  if (info.type == PERPEND_SEQUENCE || info.type == PERPEND_OPTIONAL)
    return makeRandomList(info, array, generator);
  llvm::SmallVector<int64_t> shape;
  for (int32_t i = 0; i < info.rank; ++i) {
    if (info.dims[i] >= 0) {
      shape.push_back(info.dims[i]);
      continue;
    }
    std::optional<support::SymbolicInt> extent = support::SymbolicInt::parse(info.dimTexts[i]);
    for (const std::string &name : symbolsIn(info.dimTexts[i]))
      symbols.try_emplace(name, 2);
    std::optional<int64_t> value = extent ? extent->evaluate(symbols) : std::nullopt;
    if (!value)
      return fail("input '" + Twine(info.name) + "': no value for the dimension '" + info.dimTexts[i] + "'",
                  "give its symbols with --symbol NAME=N"),
             false;
    shape.push_back(*value);
  }
  array = randomArray(info.type, shape, generator);
  return array->bytes || (fail("input '" + Twine(info.name) + "': no memory for " + typeText(info.type, shape)), false);
}

std::optional<std::vector<Array>> makeInputs(const perpend_model *model, const InputOptions &options) {
  return InputMaker(model, options).run();
}
} // namespace perpend::cli
