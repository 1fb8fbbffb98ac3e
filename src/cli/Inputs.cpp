//===- Inputs.cpp - input arrays of a run ---------------------------------===//

#include "cli/Inputs.h"
#include "arrays/Draw.h"
#include "cli/AssumedExtents.h"
#include "cli/CountInputs.h"
#include "graph/Symbols.h"
#include "support/ReadableText.h"
#include "support/SymbolicInt.h"

#include "../runtime/Npy.h"

#include "llvm/ADT/StringExtras.h"

#include <cstring>
#include <random>

namespace perpend::cli {

void InputOptions::addTo(OptionList &options) {
  options.add(
      "input", files, "[NAME=]FILE.npy",
      "an input; without a name, the next one in order. Texts are numpy's '<U'. A sequence or optional value is "
      "a folder with 0.npy, 1.npy, ...");
  options.add(
      "symbol", symbols, "NAME=N",
      "value of a symbol in the dimensions of random inputs (default: from the arrays in files, also through 2*n; "
      "otherwise 2, or a value that the model accepts)");
  options.add("seed", seed, "SEED", "seed of the random inputs (default 0)");
  options.add("random", seed, "SEED", "");
}

namespace {
class InputMaker {
public:
  InputMaker(perpend_model *model, const ModelSource &source, const InputOptions &options)
      : model(model), source(source), options(options), arrays(perpend_model_input_count(model)) {}

  std::optional<Inputs> run() {
    if (!readFiles() || !readSymbols())
      return std::nullopt;
    for (const std::string &name : assumeExtents(model, arrays, symbols))
      made.assumed.push_back(name + "=" + std::to_string(symbols[name]));
    findCounts();
    std::mt19937_64 generator(options.seed);
    for (size_t i = 0; i < arrays.size(); ++i)
      if (!arrays[i] && !makeRandom(*perpend_model_input(model, static_cast<int32_t>(i)), arrays[i], generator))
        return std::nullopt;
    for (std::optional<Array> &array : arrays)
      made.arrays.push_back(std::move(*array));
    return std::move(made);
  }

private:
  bool readFiles();
  bool readSymbols();
  void findCounts();
  bool agreeWithFiles(const llvm::StringMap<int64_t> &given) const;
  std::set<std::string> knownSymbols() const;
  void bindSymbols(bool isBare);
  bool makeRandom(const perpend_tensor_info &info, std::optional<Array> &array, std::mt19937_64 &generator);
  bool makeRandomList(const perpend_tensor_info &info, std::optional<Array> &array, std::mt19937_64 &generator);

  perpend_model *model;
  const ModelSource &source;
  const InputOptions &options;
  std::set<std::string> counts;
  std::vector<std::optional<Array>> arrays;
  llvm::StringMap<int64_t> symbols;
  Inputs made;
};
} // namespace

bool InputMaker::readFiles() {
  int32_t next = 0;
  for (StringRef text : options.files) {
    int32_t index = next;
    StringRef path = text;
    if (size_t equals = text.find('='); equals != StringRef::npos) {
      path = text.drop_front(equals + 1);
      if (equals == 0)
        return fail("option '--input': expected [NAME=]FILE.npy, got '" + text + "'"), false;
      if (perpend_model_find_input(model, text.take_front(equals).str().c_str(), &index) != PERPEND_OK)
        return fail(perpend_error_message()), false;
    } else if (static_cast<size_t>(next++) >= arrays.size()) {
      return fail("the model has " + support::counted(arrays.size(), "input") + ", got one more: '" + text + "'"),
             false;
    }
    const perpend_tensor_info *info = perpend_model_input(model, index);
    if (arrays[index])
      return fail("input '" + Twine(info->name) + "' is given twice"), false;
    std::optional<Array> array = readArray(path);
    if (!array)
      return false;
    if (!adaptTo(*array, *info, info->name))
      return false;
    arrays[index] = std::move(array);
  }
  bindSymbols(/*isBare=*/true);
  bindSymbols(/*isBare=*/false);
  return true;
}

/// Binds symbols by the arrays from files: first dimensions that are a symbol, then those that are linear in one.
/// Arrays that do not fit are ignored here; the run refuses them.
void InputMaker::bindSymbols(bool isBare) {
  for (size_t i = 0; i < arrays.size(); ++i) {
    const perpend_tensor_info *info = perpend_model_input(model, static_cast<int32_t>(i));
    for (size_t dim = 0; arrays[i] && dim < arrays[i]->shape.size() && dim < static_cast<size_t>(info->rank); ++dim) {
      std::set<std::string> names = symbolsIn(info->dimTexts[dim]);
      std::optional<support::SymbolicInt> extent = support::SymbolicInt::parse(info->dimTexts[dim]);
      auto linear = names.size() == 1 && extent ? graph::linearIn(*extent, *names.begin()) : std::nullopt;
      if (!linear || (*linear == std::pair<int64_t, int64_t>(1, 0)) != isBare)
        continue;
      int64_t rest = arrays[i]->shape[dim] - linear->second;
      if (rest >= 0 && rest % linear->first == 0)
        symbols.try_emplace(*names.begin(), rest / linear->first);
    }
  }
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

/// Symbols given by --symbol must agree with the extents of arrays from files.
bool InputMaker::agreeWithFiles(const llvm::StringMap<int64_t> &given) const {
  for (size_t i = 0; i < arrays.size(); ++i) {
    const perpend_tensor_info *info = perpend_model_input(model, static_cast<int32_t>(i));
    for (size_t dim = 0; arrays[i] && dim < arrays[i]->shape.size() && dim < static_cast<size_t>(info->rank); ++dim) {
      std::optional<support::SymbolicInt> extent = support::SymbolicInt::parse(info->dimTexts[dim]);
      std::optional<int64_t> value = extent ? extent->evaluate(given) : std::nullopt;
      if (info->dims[dim] < 0 && value && *value != arrays[i]->shape[dim])
        return fail("option '--symbol': dimension " + Twine(dim) + " of the input '" + info->name + "' is " +
                        info->dimTexts[dim] + " = " + Twine(*value) + ", and its file has " +
                        Twine(arrays[i]->shape[dim]),
                    "leave --symbol out where a file gives the extent"),
               false;
    }
  }
  return true;
}

bool InputMaker::readSymbols() {
  std::set<std::string> known = knownSymbols();
  llvm::StringMap<int64_t> given;
  for (StringRef text : options.symbols) {
    auto [name, number] = text.rsplit('=');
    int64_t value = 0;
    (void)number.getAsInteger(10, value); // the option's form guarantees a number
    if (!known.count(name.str()))
      return fail("option '--symbol': the inputs have no symbol '" + name + "'",
                  known.empty() ? "all dimensions are numbers" : "symbols: " + llvm::join(known, ", ")),
             false;
    symbols.insert_or_assign(name, value);
    given.insert_or_assign(name, value);
  }
  return agreeWithFiles(given);
}

/// Imports the model again only if an input may be a count.
void InputMaker::findCounts() {
  bool mayCount = false;
  for (size_t i = 0; i < arrays.size(); ++i) {
    const perpend_tensor_info *info = perpend_model_input(model, static_cast<int32_t>(i));
    mayCount |= !arrays[i] && info->rank <= 1 && (info->type == PERPEND_I64 || info->type == PERPEND_I32);
  }
  if (!mayCount || source.kind == ModelKind::Library)
    return;
  Workspace workspace(/*isSilent=*/true);
  if (mlir::OwningOpRef<mlir::ModuleOp> module = workspace.loadEntry(source))
    counts = countInputsOf(*module);
}

/// For example "steps = 2" or "mask = [0, 1]".
static std::string valuesText(StringRef name, const Array &array) {
  std::string text;
  for (int64_t i = 0, count = array.elementCount(); i < count; ++i)
    text += (i ? ", " : "") + shortText(array.at(i));
  return (name + " = ").str() + (array.shape.empty() ? text : "[" + text + "]");
}

/// Makes two elements of the declared type, with 2 for unknown extents.
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
    elements.push_back(arrays::draw(element->type, shape, generator));
  array = Array::ofList(info.type, std::move(elements));
  return true;
}

bool InputMaker::makeRandom(const perpend_tensor_info &info, std::optional<Array> &array, std::mt19937_64 &generator) {
  made.random.push_back(info.name);
  if (info.type == PERPEND_SEQUENCE || info.type == PERPEND_OPTIONAL)
    return makeRandomList(info, array, generator);
  llvm::SmallVector<int64_t> shape;
  for (int32_t i = 0; i < info.rank; ++i) {
    if (info.dims[i] >= 0) {
      shape.push_back(info.dims[i]);
      continue;
    }
    std::optional<support::SymbolicInt> extent = support::SymbolicInt::parse(info.dimTexts[i]);
    std::optional<int64_t> value = extent ? extent->evaluate(symbols) : std::nullopt;
    if (!value)
      return fail("input '" + Twine(info.name) + "': no value for the dimension '" + info.dimTexts[i] + "'",
                  "give its symbols with --symbol NAME=N"),
             false;
    shape.push_back(*value);
  }
  array = arrays::draw(info.type, shape, generator, counts.count(info.name));
  constexpr int64_t mostShown = 8;
  if (!array->isFloat() && !array->isTexts() && array->elementCount() <= mostShown)
    made.drawn.push_back(valuesText(info.name, *array));
  return array->bytes || (fail("input '" + Twine(info.name) + "': no memory for " + typeText(info.type, shape)), false);
}

std::string Inputs::advice() const {
  if (random.empty())
    return "";
  std::string text = "made up: '" + llvm::join(random, "', '") + "' (--input NAME=FILE gives values)";
  if (!assumed.empty())
    text += ", with the extents " + llvm::join(assumed, ", ") + " (--symbol NAME=N gives others)";
  return text;
}

std::string Inputs::drawnText() const {
  if (drawn.empty())
    return "";
  return "drawn: " + support::readable(llvm::join(drawn, ", ")) + " (--input NAME=FILE gives others)\n";
}

void Inputs::print(const perpend_model *model) const {
  for (auto [i, array] : llvm::enumerate(arrays))
    llvm::outs() << "input  " << support::readable(perpend_model_input(model, static_cast<int32_t>(i))->name) << ": "
                 << typeText(array) << "\n";
  llvm::outs() << drawnText();
}

std::optional<Inputs> makeInputs(perpend_model *model, const ModelSource &source, const InputOptions &options) {
  return InputMaker(model, source, options).run();
}
} // namespace perpend::cli
