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

Array Array::copyOf(const perpend_tensor &tensor) {
  Array array = allocate(tensor.type, ArrayRef(tensor.shape, tensor.rank));
  if (array.bytes && array.sizeBytes() > 0)
    std::memcpy(array.bytes.get(), tensor.data, array.sizeBytes());
  return array;
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

std::string shortText(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.5g", value);
  return text;
}

std::string summarize(StringRef name, const Array &array) {
  std::string text = name.str() + ": " + typeText(array.type, array.shape);
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
// Files
//===----------------------------------------------------------------------===//

std::optional<Array> readArray(StringRef path) {
  runtime::NpyArray header;
  runtime::NpyError error;
  uint8_t *data = nullptr;
  if (!runtime::readNpy(path.str().c_str(), header, data, error)) {
    fail(path + ": " + error.message, "expected an array that numpy.save() wrote");
    return std::nullopt;
  }
  Array array{header.type, llvm::SmallVector<int64_t>(ArrayRef(header.shape, header.rank)), nullptr};
  array.bytes = std::shared_ptr<std::byte>(reinterpret_cast<std::byte *>(data), std::free);
  return array;
}

bool writeArray(StringRef directory, StringRef name, const Array &array) {
  std::string stem = name.str();
  std::replace(stem.begin(), stem.end(), '/', '_');
  if (std::error_code error = llvm::sys::fs::create_directories(directory))
    return fail("cannot create the folder '" + directory + "': " + error.message()), false;
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path, stem + ".npy");
  runtime::NpyError error;
  return runtime::writeNpy(path.c_str(), array.view(), error) || (fail(path + ": " + error.message), false);
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

Array randomArray(perpend_type type, ArrayRef<int64_t> shape, std::mt19937_64 &generator) {
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
  options.add("input", files, "[NAME=]FILE.npy", "an input; without a name, the next one in order");
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
    array->type = runtime::npyTypeFor(array->type, info->type);
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

bool InputMaker::makeRandom(const perpend_tensor_info &info, std::optional<Array> &array, std::mt19937_64 &generator) {
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

/// Files of arrays hold numbers only.
static bool hasOnlyNumbers(const perpend_model *model) {
  auto isNumber = [](const perpend_tensor_info *info) {
    if (info->type < PERPEND_STRING || info->type > PERPEND_OPTIONAL)
      return true;
    fail("'" + Twine(info->name) + "' is of type " + perpend_type_name(info->type) +
             ", but this command reads and writes arrays of numbers",
         "run the model from Python (perpend.load) or C");
    return false;
  };
  for (int32_t i = 0; i < perpend_model_input_count(model); ++i)
    if (!isNumber(perpend_model_input(model, i)))
      return false;
  for (int32_t i = 0; i < perpend_model_output_count(model); ++i)
    if (!isNumber(perpend_model_output(model, i)))
      return false;
  return true;
}

std::optional<std::vector<Array>> makeInputs(const perpend_model *model, const InputOptions &options) {
  if (!hasOnlyNumbers(model))
    return std::nullopt;
  return InputMaker(model, options).run();
}
} // namespace perpend::cli
