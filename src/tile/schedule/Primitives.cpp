//===- Primitives.cpp - table of primitives, and their operands -----------===//

#include "tile/schedule/Primitives.h"

#include "support/Nearest.h"
#include "support/ReadableText.h"
#include "tile/schedule/IndexMap.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

#include <tuple>

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

//===----------------------------------------------------------------------===//
// Literals
//===----------------------------------------------------------------------===//

std::string perpend::tile::quotedText(StringRef text) {
  std::string quoted;
  llvm::raw_string_ostream stream(quoted);
  stream << '"';
  llvm::printEscapedString(text, stream);
  stream << '"';
  return quoted;
}

std::optional<std::string> perpend::tile::unquotedText(StringRef text) {
  if (text.size() < 2 || !text.consume_front("\"") || !text.consume_back("\""))
    return std::nullopt;
  std::string result;
  while (!text.empty()) {
    char c = text.front();
    text = text.drop_front();
    if (c == '"')
      return std::nullopt;
    if (c != '\\') {
      result += c;
    } else if (text.consume_front("\\")) {
      result += '\\';
    } else if (text.size() > 1 && llvm::isHexDigit(text[0]) && llvm::isHexDigit(text[1])) {
      result += static_cast<char>(llvm::hexFromNibbles(text[0], text[1]));
      text = text.drop_front(2);
    } else if (!text.empty() && (text[0] == '"' || text[0] == 'n' || text[0] == 't')) {
      result += text[0] == 'n' ? '\n' : text[0] == 't' ? '\t' : '"';
      text = text.drop_front();
    } else {
      return std::nullopt;
    }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Operands: a reader for each kind, which returns an error or nothing
//===----------------------------------------------------------------------===//

static std::string expected(StringRef what, StringRef got) { return ("expected " + what + ", got " + got).str(); }

static std::string readOperand(KernelSchedule &schedule, StringRef text, operands::Place &place) {
  std::optional<operands::Place> found = schedule.handle(text);
  if (!found)
    return schedule.unknownHandle(text);
  place = *found;
  return "";
}

static std::string readOperand(KernelSchedule &schedule, StringRef text, operands::Loop &loop) {
  operands::Place place;
  if (std::string error = readOperand(schedule, text, place); !error.empty())
    return error;
  if (!std::holds_alternative<operands::Loop>(place))
    return expected("a loop", ("the block " + text).str());
  loop = std::get<operands::Loop>(place);
  return "";
}

static std::string readOperand(KernelSchedule &schedule, StringRef text, operands::Block &block) {
  operands::Place place;
  if (std::string error = readOperand(schedule, text, place); !error.empty())
    return error;
  if (!std::holds_alternative<operands::Block>(place))
    return expected("a block", ("the loop " + text).str());
  block = std::get<operands::Block>(place);
  return "";
}

static std::string readOperand(KernelSchedule &, StringRef text, operands::Integer &integer) {
  return text.getAsInteger(10, integer) ? expected("an integer", text) : "";
}

static std::string readOperand(KernelSchedule &, StringRef text, operands::String &string) {
  std::optional<std::string> value = unquotedText(text);
  if (!value)
    return expected("a text in quotes", text);
  string = *value;
  return "";
}

/// The elements of `[a, b]`; nullopt if the text is not a list.
static std::optional<SmallVector<StringRef>> partsOf(StringRef text) {
  if (!text.consume_front("[") || !text.consume_back("]"))
    return std::nullopt;
  SmallVector<StringRef> parts;
  if (!text.trim().empty())
    text.split(parts, ',');
  for (StringRef &part : parts)
    part = part.trim();
  return parts;
}

static std::string readOperand(KernelSchedule &schedule, StringRef text, operands::Factors &factors) {
  std::optional<SmallVector<StringRef>> parts = partsOf(text);
  if (int64_t factor; !parts && !text.getAsInteger(10, factor))
    return expected("a list such as [_, 8]",
                    (text + "\nhint: [_, " + text + "], in Python [None, " + text + "]").str());
  if (!parts)
    return expected("a list such as [_, 8]", text);
  for (StringRef part : *parts) {
    int64_t factor;
    if (part == "_")
      factors.push_back(std::nullopt);
    else if (!part.getAsInteger(10, factor))
      factors.push_back(factor);
    else if (std::optional<KernelSchedule::Number> number = schedule.number(part))
      factors.push_back(*number);
    else
      return expected("integers and _ in the list", part.empty() ? "nothing" : part);
  }
  return "";
}

static std::string readOperand(KernelSchedule &, StringRef text, operands::Integers &integers) {
  std::optional<SmallVector<StringRef>> parts = partsOf(text);
  if (!parts)
    return expected("a list such as [2, 8]", text);
  for (StringRef part : *parts)
    if (part.getAsInteger(10, integers.emplace_back()))
      return expected("integers in the list", part.empty() ? "nothing" : part);
  return "";
}

static std::string readOperand(KernelSchedule &, StringRef text, operands::Map &map) {
  std::string why;
  map.text = text.str();
  return IndexMap::parse(text, why) ? "" : why;
}

static std::string readOperand(KernelSchedule &schedule, StringRef text, operands::Attribute &attribute) {
  MLIRContext *context = schedule.context();
  ScopedDiagnosticHandler silent(context, [](Diagnostic &) { return success(); });
  size_t length = 0;
  attribute = parseAttribute(text, context, {}, &length);
  return attribute && length == text.size() ? "" : expected("an attribute such as 4 : i64 or \"text\"", text);
}

namespace {
template <typename T> struct ReadsOne {
  static T read(OperandTexts &operands) {
    T value{};
    if (!operands.error.empty())
      return value;
    operands.error = readOperand(operands.schedule, operands.texts[operands.text], value);
    operands.text += operands.error.empty();
    ++operands.info;
    return value;
  }
};

template <typename T> struct Reads : ReadsOne<T> {};

template <> struct Reads<operands::Loops> {
  static operands::Loops read(OperandTexts &operands) {
    operands::Loops loops;
    while (operands.error.empty() && operands.text < operands.texts.size())
      loops.push_back(ReadsOne<operands::Loop>::read(operands));
    return loops;
  }
};

template <typename T> struct Reads<std::optional<T>> {
  static std::optional<T> read(OperandTexts &operands) {
    if (!operands.error.empty() || operands.text == operands.texts.size())
      return std::nullopt;
    StringRef text = operands.texts[operands.text], name = operands.infos[operands.info].name;
    ++operands.info;
    if (!text.consume_front(name) || !(text = text.ltrim()).consume_front("="))
      return std::nullopt;
    T value{};
    operands.error = readOperand(operands.schedule, text.ltrim(), value);
    operands.text += operands.error.empty();
    return value;
  }
};

/// Reads operands of a function's parameter types, then calls `method` with them.
template <typename... Types, typename Method> void callWith(void (*)(Types...), Method method, OperandTexts &operands) {
  std::tuple<Types...> values{Reads<Types>::read(operands)...}; // braces evaluate from left to right
  if (operands.error.empty() && operands.text != operands.texts.size())
    operands.error = "expected no operand of this kind here";
  if (operands.error.empty())
    std::apply(method, values);
}
} // namespace

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// Parses a declaration such as `(Block block, std::optional<Integer> depth)`.
static SmallVector<OperandInfo, 3> readDeclaration(StringRef text) {
  SmallVector<OperandInfo, 3> infos;
  text = text.drop_front().drop_back();
  SmallVector<StringRef> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    auto [kind, name] = part.trim().rsplit(' ');
    bool isOptional = kind.consume_front("std::optional<") && kind.consume_back(">");
    infos.push_back({kind, name, isOptional});
  }
  return infos;
}

namespace perpend::tile::operands { // so that the types of Primitives.def resolve
static std::vector<PrimitiveInfo> readTable() {
  return {
#define PRIMITIVE(name, method, results, operands, sentence)                                                           \
  {#name, #results, readDeclaration(#operands), sentence, [](OperandTexts &texts) {                                    \
     callWith(                                                                                                         \
         static_cast<void(*) operands>(nullptr), [&](auto &...values) { (void)texts.schedule.method(values...); },     \
         texts);                                                                                                       \
   }},
#include "tile/schedule/Primitives.def"
  };
}
} // namespace perpend::tile::operands

ArrayRef<PrimitiveInfo> perpend::tile::primitives() {
  static const std::vector<PrimitiveInfo> table = operands::readTable();
  return table;
}

std::string perpend::tile::versionOf(ArrayRef<PrimitiveInfo> table) {
  std::string text;
  for (const PrimitiveInfo &info : table) {
    text += (info.results + " = " + info.name + "(").str();
    for (const OperandInfo &operand : info.operands)
      text += (operand.kind + (operand.isOptional ? "? " : " ") + operand.name + ",").str();
    text += ")\n";
  }
  return llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true, /*Width=*/16);
}

const PrimitiveInfo *perpend::tile::findPrimitive(StringRef name) {
  const PrimitiveInfo *found =
      llvm::find_if(primitives(), [&](const PrimitiveInfo &info) { return info.name == name; });
  return found == primitives().end() ? nullptr : found;
}

std::string perpend::tile::unknownPrimitive(StringRef name) {
  SmallVector<std::string> names;
  for (const PrimitiveInfo &info : primitives())
    names.push_back(info.name.str());
  std::string near = support::nearest(name, names);
  return ("there is no primitive '" + name + "'" + (near.empty() ? "" : "\nhint: did you mean " + near + "?")).str();
}

std::string OperandInfo::str() const {
  std::string text = name.str();
  if (kind == "String")
    text = "\"" + text + "\"";
  else if (kind == "Factors" || kind == "Integers")
    text = "[" + text + "]";
  else if (kind == "Map")
    text = "(indices) -> (indices)";
  else if (kind == "Place")
    text = "loop or block";
  return isOptional ? name.str() + " = " + text : text;
}

std::string PrimitiveInfo::operandList() const {
  std::string text;
  for (const OperandInfo &operand : operands)
    text += (text.empty() ? "" : ", ") + operand.str();
  return text;
}

std::string PrimitiveInfo::resultList() const { return results == "None" ? "" : results.lower(); }

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// Checks the number of operands.
static std::string countError(const PrimitiveInfo &primitive, ArrayRef<std::string> texts) {
  size_t least = 0, most = 0;
  for (const OperandInfo &operand : primitive.operands) {
    least += !operand.isOptional && !operand.isList();
    most = operand.isList() ? SIZE_MAX : most == SIZE_MAX ? most : most + 1;
  }
  if (texts.size() >= least && texts.size() <= most)
    return "";
  std::string list = primitive.operandList();
  return "expected " + (list.empty() ? "no operands" : "the operands (" + list + ")") + ", got " +
         support::counted(texts.size(), "operand");
}

LogicalResult KernelSchedule::apply(const TraceInstruction &instruction) {
  return instruction.results.empty() ? applyInPlace(instruction) : replay(instruction);
}

LogicalResult KernelSchedule::applyInPlace(const TraceInstruction &instruction) {
  wrongOperand.reset();
  const PrimitiveInfo *primitive = findPrimitive(instruction.primitive);
  if (!primitive)
    return refuse(unknownPrimitive(instruction.primitive));
  if (std::string error = countError(*primitive, instruction.operands); !error.empty())
    return refuse(primitive->name + ": " + error);
  size_t before = instructions.size();
  reason.clear();
  OperandTexts texts{*this, primitive->operands, instruction.operands, 0, 0, ""};
  primitive->call(texts);
  if (!texts.error.empty()) {
    wrongOperand = texts.text;
    return refuse(primitive->name + ": " + texts.error);
  }
  if (instructions.size() == before)
    return failure();
  return instruction.results.empty() ? success() : nameResults(instruction.results);
}

LogicalResult KernelSchedule::nameResults(ArrayRef<std::string> names) {
  TraceInstruction &last = instructions.back();
  if (names.size() != last.results.size())
    return refuse(last.primitive + ": it has " + support::counted(last.results.size(), "result") + ", got " +
                  support::counted(names.size(), "name"));
  unsigned first = handles.size() - names.size();
  for (const std::string &result : last.results)
    handleNumbers.erase(StringRef(result).drop_front());
  for (auto [i, name] : llvm::enumerate(names)) {
    if (!handleNumbers.try_emplace(StringRef(name).drop_front(), first + i).second)
      return refuse(last.primitive + ": " + name + " is defined already");
    handleNames[first + i] = name.substr(1);
    last.results[i] = name;
  }
  return success();
}

LogicalResult KernelSchedule::replay(ArrayRef<TraceInstruction> trace, size_t *failed) {
  IRMapping mapping;
  OwningOpRef<func::FuncOp> copy = cast<func::FuncOp>(kernel->clone(mapping));
  KernelSchedule trial(*this);
  trial.kernel = *copy;
  for (Operation *&handle : trial.handles)
    handle = handle ? mapping.lookup(handle) : nullptr;
  for (auto [i, instruction] : llvm::enumerate(trace))
    if (mlir::failed(trial.applyInPlace(instruction))) {
      if (failed)
        *failed = i;
      wrongOperand = trial.wrongOperand;
      return refuse(trial.reason);
    }
  trial.kernel = kernel;
  kernel.getBody().takeBody(copy->getBody());
  *this = std::move(trial);
  return success();
}
