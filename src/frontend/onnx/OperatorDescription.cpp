//===- OperatorDescription.cpp - parses descriptions of operators ---------===//

#include "frontend/onnx/OperatorDescription.h"

#include "graph/ElementTypes.h"
#include "support/Nearest.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace perpend::onnx {
using llvm::StringRef;
using llvm::json::Value;

namespace {
/// Reads the keys of a JSON object; keeps the first error.
class KeyReader {
public:
  /// `subject`: "operator 'Scale': ".
  KeyReader(const Value &value, std::string subject, std::string &error)
      : object(value.getAsObject()), subject(std::move(subject)), error(error) {
    if (!object)
      fail("expected an object", value);
  }

  void expectKeys(llvm::ArrayRef<std::string> known);
  std::string text(StringRef key, bool isRequired);
  int64_t integer(StringRef key, int64_t otherwise);
  bool boolean(StringRef key, bool otherwise);
  const llvm::json::Array *list(StringRef key);

  /// "`key`: `expected`, got `got`".
  void fail(const llvm::Twine &expected, const Value &got) {
    if (error.empty())
      error = (subject + expected + ", got " + llvm::formatv("{0}", got).str().substr(0, 60)).str();
  }
  void fail(const llvm::Twine &message) {
    if (error.empty())
      error = (subject + message).str();
  }
  /// Null if it is absent.
  const Value *find(StringRef key) const { return object ? object->get(key) : nullptr; }

private:
  const llvm::json::Object *object;
  std::string subject;
  std::string &error;
};
} // namespace

void KeyReader::expectKeys(llvm::ArrayRef<std::string> known) {
  for (const auto &[key, value] : object ? *object : llvm::json::Object())
    if (StringRef name = key; !llvm::is_contained(known, name)) {
      std::string guess = support::nearest(name, known);
      fail("unknown key '" + name + "'\nhint: " + (guess.empty() ? "" : "did you mean '" + guess + "'? ") +
           "keys: " + llvm::join(known, ", "));
    }
}

std::string KeyReader::text(StringRef key, bool isRequired) {
  const Value *value = find(key);
  if (!value && isRequired)
    fail("the key '" + key + "' is missing");
  if (value && !value->getAsString())
    fail("'" + key + "': expected a text", *value);
  return value ? value->getAsString().value_or("").str() : "";
}

int64_t KeyReader::integer(StringRef key, int64_t otherwise) {
  const Value *value = find(key);
  if (value && value->getAsInteger().value_or(0) < 1)
    fail("'" + key + "': expected a whole number of at least 1", *value);
  return value ? value->getAsInteger().value_or(otherwise) : otherwise;
}

bool KeyReader::boolean(StringRef key, bool otherwise) {
  const Value *value = find(key);
  if (value && !value->getAsBoolean())
    fail("'" + key + "': expected true or false", *value);
  return value ? value->getAsBoolean().value_or(otherwise) : otherwise;
}

const llvm::json::Array *KeyReader::list(StringRef key) {
  const Value *value = find(key);
  if (!value)
    fail("the key '" + key + "' is missing");
  else if (!value->getAsArray())
    fail("'" + key + "': expected a list", *value);
  return value ? value->getAsArray() : nullptr;
}

//===----------------------------------------------------------------------===//
// Parts of an operator
//===----------------------------------------------------------------------===//

/// For example ["n", 3, "2*n"].
static graph::Shape readShape(KeyReader &tensor) {
  graph::Shape shape;
  const llvm::json::Array *extents = tensor.list("shape");
  for (const Value &extent : extents ? *extents : llvm::json::Array()) {
    std::optional<graph::SymbolicInt> value;
    if (std::optional<int64_t> number = extent.getAsInteger(); number && *number >= 0)
      value = graph::SymbolicInt(*number);
    else if (std::optional<StringRef> text = extent.getAsString())
      value = graph::SymbolicInt::parse(*text);
    if (!value)
      tensor.fail("'shape': expected numbers, names and expressions such as 3, \"n\" and \"2*n\"", extent);
    shape.push_back(value.value_or(graph::SymbolicInt(0)));
  }
  return shape;
}

static bool isTypeName(mlir::MLIRContext *context, StringRef name) {
  return (name.size() == 1 && llvm::isUpper(name[0])) || graph::elementTypeNamed(context, name);
}

static std::vector<TensorPattern> readPatterns(mlir::MLIRContext *context, KeyReader &reader, StringRef key,
                                               const std::string &subject, std::string &error) {
  std::vector<TensorPattern> patterns;
  const llvm::json::Array *list = reader.list(key);
  for (const auto &[number, entry] : llvm::enumerate(list ? *list : llvm::json::Array())) {
    KeyReader tensor(entry, subject + key.str() + "[" + std::to_string(number) + "]: ", error);
    tensor.expectKeys({"type", "shape"});
    std::string type = tensor.text("type", /*isRequired=*/true);
    if (error.empty() && !isTypeName(context, type))
      tensor.fail("'type': no element type is called '" + type +
                  "'\nhint: f32, i64, u8, bool, string and so on, or a capital letter for any");
    patterns.push_back({type, readShape(tensor)});
  }
  return patterns;
}

static bool isPlain(const Value &value) { return value.getAsNumber() || value.getAsString(); }

static bool isParameter(const Value &value) {
  const llvm::json::Array *list = value.getAsArray();
  return list ? llvm::all_of(*list, isPlain) : isPlain(value);
}

static llvm::json::Object readAttributes(KeyReader &reader) {
  const Value *value = reader.find("attributes");
  if (!value)
    return {};
  const llvm::json::Object *attributes = value->getAsObject();
  if (!attributes) {
    reader.fail("'attributes': expected an object", *value);
    return {};
  }
  for (const auto &[name, attribute] : *attributes)
    if (!isParameter(attribute))
      reader.fail("attribute '" + StringRef(name) + "': expected a number, a text or a list of these, got " +
                  llvm::formatv("{0}", attribute).str() +
                  "\nhint: write 1 for true and 0 for false, and leave out what has no value");
  return *attributes;
}

std::string kindOf(const Value &value) {
  if (value.getAsString() || value.getAsNumber())
    return value.getAsString() ? "text" : "number";
  const llvm::json::Array *list = value.getAsArray();
  if (!list || list->empty())
    return "";
  std::string first = kindOf(list->front());
  return llvm::all_of(*list, [&](const Value &element) { return kindOf(element) == first; }) ? first + "s" : "";
}

/// Kinds of attributes: those of the defaults, and "kinds" for the others.
static llvm::StringMap<std::string> readKinds(KeyReader &reader, const llvm::json::Object &attributes) {
  llvm::StringMap<std::string> kinds;
  for (const auto &[name, value] : attributes)
    if (std::string kind = kindOf(value); !kind.empty())
      kinds[StringRef(name)] = kind;
  const Value *given = reader.find("kinds");
  const llvm::json::Object *object = given ? given->getAsObject() : nullptr;
  if (given && !object)
    reader.fail("'kinds': expected an object", *given);
  for (const auto &[name, value] : object ? *object : llvm::json::Object()) {
    StringRef kind = value.getAsString().value_or("");
    if (!llvm::is_contained({"number", "text", "numbers", "texts"}, kind))
      reader.fail("'kinds': '" + StringRef(name) + "': expected number, text, numbers or texts", value);
    kinds[StringRef(name)] = kind;
  }
  return kinds;
}

/// A letter that stands for a type in an output must also occur in an input.
static void checkTypes(KeyReader &reader, const UserOperator &entry) {
  for (const auto &[number, output] : llvm::enumerate(entry.outputs))
    if (output.elementType.size() == 1 && llvm::none_of(entry.inputs, [&](const TensorPattern &input) {
          return input.elementType == output.elementType;
        }))
      reader.fail("outputs[" + llvm::Twine(number) + "]: 'type': no input has the type '" + output.elementType +
                  "'\nhint: name the element type, such as f32");
}

static bool isFunctionName(StringRef text) {
  auto [library, name] = text.split('.');
  auto isIdentifier = [](StringRef part) {
    return !part.empty() && llvm::all_of(part, [](char letter) { return llvm::isAlnum(letter) || letter == '_'; });
  };
  return isIdentifier(library) && isIdentifier(name);
}

std::optional<UserOperator> readOperator(mlir::MLIRContext *context, const Value &value, std::string &error) {
  error.clear();
  const llvm::json::Object *object = value.getAsObject();
  std::optional<StringRef> called = object ? object->getString("name") : std::nullopt;
  std::string subject = called ? "operator '" + called->str() + "': " : "operator: ";
  KeyReader reader(value, subject, error);
  reader.expectKeys(
      {"domain", "name", "since", "function", "object", "inputs", "outputs", "attributes", "kinds", "pure"});
  UserOperator entry;
  entry.domain = reader.text("domain", /*isRequired=*/false);
  entry.name = reader.text("name", /*isRequired=*/true);
  entry.function = reader.text("function", /*isRequired=*/true);
  entry.object = reader.text("object", /*isRequired=*/false);
  entry.since = reader.integer("since", 1);
  entry.isPure = reader.boolean("pure", true);
  entry.inputs = readPatterns(context, reader, "inputs", subject, error);
  entry.outputs = readPatterns(context, reader, "outputs", subject, error);
  entry.attributes = readAttributes(reader);
  entry.kinds = readKinds(reader, entry.attributes);
  checkTypes(reader, entry);
  if (entry.name.empty())
    reader.fail("'name': expected the name of an operator, got an empty text");
  if (!isFunctionName(entry.function))
    reader.fail("'function': expected LIBRARY.NAME, such as \"mine.scale\", got '" + entry.function + "'");
  if (entry.outputs.empty())
    reader.fail("'outputs': expected at least one");
  if (!error.empty())
    return std::nullopt;
  return entry;
}
} // namespace perpend::onnx
