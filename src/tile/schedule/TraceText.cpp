//===- TraceText.cpp - the text form of traces ----------------------------===//

#include "tile/schedule/TraceText.h"

#include "support/SymbolRange.h"

#include "tile/schedule/Primitives.h"

#include "support/Nearest.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {
/// Limit of nesting: no operand needs more, and parsing recurses.
constexpr unsigned mostBrackets = 100;

/// A line and the position in it.
class LineReader {
public:
  LineReader(StringRef line, unsigned number) : line(line), number(number) {}

  TextPosition position() const { return {number, static_cast<unsigned>(at + 1)}; }
  StringRef rest() const { return line.drop_front(at); }
  bool isAtEnd() { return skipSpaces(), at == line.size() || rest().starts_with("//"); }
  void skipSpaces() { at = std::min(line.find_first_not_of(" \t\r\v\f", at), line.size()); }

  bool consume(StringRef text) {
    skipSpaces();
    if (!rest().starts_with(text))
      return false;
    at += text.size();
    return true;
  }

  /// Reads letters, digits, and other characters of names; may be empty.
  StringRef readWord() {
    skipSpaces();
    StringRef word = rest().take_while(isTraceNameCharacter);
    at += word.size();
    return word;
  }

  /// Reads up to a comma or the end of the line, outside brackets and quotes. nullopt if these are unbalanced.
  std::optional<StringRef> readOperand();

private:
  StringRef line;
  unsigned number;
  size_t at = 0;
};
} // namespace

/// The end of the quoted text that starts at `at`; npos if it has none.
static size_t endOfQuotes(StringRef text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    at += text[at] == '\\';
  return at < text.size() ? at : StringRef::npos;
}

std::optional<StringRef> LineReader::readOperand() {
  skipSpaces();
  size_t begin = at;
  SmallVector<char> closing;
  for (; at < line.size(); ++at) {
    char c = line[at];
    if (closing.empty() && (c == ',' || rest().starts_with("//")))
      break;
    if (size_t open = StringRef("([{<").find(c); open != StringRef::npos) {
      closing.push_back(")]}>"[open]);
      if (closing.size() > mostBrackets)
        return std::nullopt;
    } else if (c == '"') {
      size_t end = endOfQuotes(line, at);
      if (end == StringRef::npos)
        return std::nullopt;
      at = end;
    } else if (c == '-' && rest().starts_with("->")) {
      ++at;
    } else if (StringRef(")]}>").contains(c)) {
      if (closing.empty() || closing.pop_back_val() != c)
        return std::nullopt;
    }
  }
  if (!closing.empty())
    return std::nullopt;
  return line.slice(begin, at).rtrim();
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

namespace {
class TraceParser {
public:
  explicit TraceParser(TextError &error) : error(error) {}

  /// False if there is an error.
  bool parseLine(LineReader reader, std::vector<TraceLine> &trace);

private:
  bool fail(TextPosition position, const Twine &message) {
    error = {position, message.str()};
    return false;
  }
  bool parseResults(LineReader &reader, TraceLine &line);
  bool parsePrimitive(LineReader &reader, TraceLine &line);
  bool parseOperands(LineReader &reader, TraceLine &line);

  TextError &error;
  /// The line where each value is defined.
  llvm::StringMap<unsigned> definitions;
};
} // namespace

bool TraceParser::parseResults(LineReader &reader, TraceLine &line) {
  while (true) {
    reader.skipSpaces();
    TextPosition position = reader.position();
    if (!reader.consume("%"))
      return fail(position, "expected a value such as %i0");
    StringRef name = reader.rest().take_while(isTraceNameCharacter);
    if (name.empty())
      return fail(position, "expected the name of a value behind %");
    reader.readWord();
    auto [before, isNew] = definitions.try_emplace(name, position.line);
    if (!isNew)
      return fail(position, "%" + name + " is defined already, in line " + Twine(before->second));
    line.instruction.results.push_back("%" + name.str());
    if (reader.consume(","))
      continue;
    reader.skipSpaces();
    return reader.consume("=") || fail(reader.position(), "expected = or , behind %" + name);
  }
}

bool TraceParser::parsePrimitive(LineReader &reader, TraceLine &line) {
  reader.skipSpaces();
  line.position = reader.position();
  StringRef word = reader.readWord();
  const PrimitiveInfo *primitive = findPrimitive(word);
  if (word.empty())
    return fail(line.position, "expected a primitive such as split\nhint: docs/schedule-primitives.md lists them");
  if (!primitive)
    return fail(line.position, unknownPrimitive(word));
  line.instruction.primitive = primitive->name;
  return true;
}

bool TraceParser::parseOperands(LineReader &reader, TraceLine &line) {
  if (reader.isAtEnd())
    return true;
  do {
    reader.skipSpaces();
    TextPosition position = reader.position();
    std::optional<StringRef> operand = reader.readOperand();
    if (!operand)
      return fail(position, line.instruction.primitive + ": brackets or quotes of this operand do not match");
    if (operand->empty())
      return fail(position, line.instruction.primitive + ": expected an operand here");
    line.instruction.operands.push_back(operand->str());
    line.operands.push_back(position);
  } while (reader.consume(","));
  return true;
}

bool TraceParser::parseLine(LineReader reader, std::vector<TraceLine> &trace) {
  if (reader.isAtEnd())
    return true;
  TraceLine line;
  if ((reader.rest().starts_with("%") && !parseResults(reader, line)) || !parsePrimitive(reader, line) ||
      !parseOperands(reader, line))
    return false;
  trace.push_back(std::move(line));
  return true;
}

std::optional<std::vector<TraceLine>> perpend::tile::parseTrace(StringRef text, TextError &error) {
  std::vector<TraceLine> trace;
  TraceParser parser(error);
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (auto [i, line] : llvm::enumerate(lines))
    if (!parser.parseLine({line, static_cast<unsigned>(i + 1)}, trace))
      return std::nullopt;
  return trace;
}

LogicalResult perpend::tile::replay(KernelSchedule &schedule, ArrayRef<TraceLine> trace, TextError &error) {
  SmallVector<TraceInstruction> instructions;
  for (const TraceLine &line : trace)
    instructions.push_back(line.instruction);
  size_t wrong = 0;
  if (succeeded(schedule.replay(instructions, &wrong)))
    return success();
  const TraceLine &line = trace[wrong];
  std::optional<unsigned> operand = schedule.refusedOperand();
  error.position = operand && *operand < line.operands.size() ? line.operands[*operand] : line.position;
  error.message = schedule.refusal().str();
  return failure();
}

//===----------------------------------------------------------------------===//
// Files of schedules
//===----------------------------------------------------------------------===//

std::string ScheduleText::str() const {
  std::string text = "schedule @" + (llvm::all_of(kernel, isTraceNameCharacter) ? kernel : quotedText(kernel));
  if (!structure.empty())
    text += " structure " + quotedText(structure);
  if (!range.empty())
    text += " where " + quotedText(range);
  if (!target.empty())
    text += " for " + quotedText(target);
  text += " {\n";
  SmallVector<StringRef> lines;
  StringRef(trace).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines)
    text += "  " + line.trim().str() + "\n";
  return text + "}\n";
}

namespace {
class FileParser {
public:
  FileParser(TextError &error, bool mayBeSeveral) : error(error), mayBeSeveral(mayBeSeveral) {}

  std::optional<std::vector<ScheduleText>> parse(StringRef text);

private:
  bool fail(TextPosition position, const Twine &message) {
    error = {position, message.str()};
    return false;
  }
  bool parseHead(LineReader reader);
  bool parseQuoted(LineReader &reader, std::string &value);
  bool closeSection();

  TextError &error;
  const bool mayBeSeveral;
  std::vector<ScheduleText> sections;
  llvm::StringMap<unsigned> kernels;
};
} // namespace

bool FileParser::parseQuoted(LineReader &reader, std::string &value) {
  reader.skipSpaces();
  TextPosition position = reader.position();
  size_t end = reader.rest().starts_with("\"") ? endOfQuotes(reader.rest(), 0) : StringRef::npos;
  std::optional<std::string> text;
  if (end != StringRef::npos)
    text = unquotedText(reader.rest().take_front(end + 1));
  if (!text || text->empty())
    return fail(position, "expected a text in quotes");
  reader.consume(reader.rest().take_front(end + 1));
  value = *text;
  return true;
}

/// Parses `schedule @name structure "…" where "…" for "…" {`.
bool FileParser::parseHead(LineReader reader) {
  constexpr StringRef form = "expected schedule @kernel structure \"...\" for \"target\" {\n"
                             "hint: `perpend inspect MODEL --schedules` writes such a file; tensor intrinsics are for "
                             "--intrinsics";
  reader.skipSpaces();
  ScheduleText section;
  section.position = reader.position();
  if (reader.readWord() != "schedule" || !reader.consume("@"))
    return fail(section.position, form);
  if (reader.rest().starts_with("\"") ? !parseQuoted(reader, section.kernel)
                                      : (section.kernel = reader.readWord().str()).empty())
    return fail(reader.position(), "expected the name of a kernel behind @");
  while (!reader.consume("{")) {
    reader.skipSpaces();
    TextPosition position = reader.position();
    StringRef word = reader.readWord();
    std::string *value = word == "structure" ? &section.structure
                         : word == "where"   ? &section.range
                         : word == "for"     ? &section.target
                                             : nullptr;
    if (!value || !value->empty())
      return fail(position, form);
    if (!parseQuoted(reader, *value))
      return false;
    if (word == "where" && !support::SymbolRange::parse(section.range))
      return fail(position, "expected values of a symbol, such as \"n <= 16\" or \"17 <= n <= 64\", got \"" +
                                section.range + "\"");
  }
  if (!reader.isAtEnd())
    return fail(reader.position(), "expected the first instruction on a line of its own");
  std::optional<support::SymbolRange> range = support::SymbolRange::parse(section.range);
  auto [before, isNew] =
      kernels.try_emplace(section.kernel + '\0' + (range ? range->str() : ""), section.position.line);
  if (!isNew && !mayBeSeveral)
    return fail(section.position, "the kernel @" + section.kernel + " has a schedule already" +
                                      (range ? " for " + range->str() : "") + ", in line " + Twine(before->second));
  section.firstLine = section.position.line + 1;
  sections.push_back(std::move(section));
  return true;
}

bool FileParser::closeSection() {
  ScheduleText &section = sections.back();
  TextError inside;
  if (parseTrace(section.trace, inside))
    return true;
  inside.position.line += section.firstLine - 1;
  error = inside;
  return false;
}

std::optional<std::vector<ScheduleText>> FileParser::parse(StringRef text) {
  bool isInside = false;
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (auto [i, line] : llvm::enumerate(lines)) {
    LineReader reader(line, i + 1);
    if (!isInside && reader.isAtEnd())
      continue;
    if (!isInside) {
      if (!parseHead(reader))
        return std::nullopt;
      isInside = true;
    } else if (reader.consume("}")) {
      if (!reader.isAtEnd())
        return fail(reader.position(), "expected nothing else behind }"), std::nullopt;
      if (!closeSection())
        return std::nullopt;
      isInside = false;
    } else {
      sections.back().trace += line.str() + "\n";
    }
  }
  if (isInside)
    return fail(sections.back().position, "the schedule of @" + sections.back().kernel + " has no } at its end"),
           std::nullopt;
  return std::move(sections);
}

std::optional<std::vector<ScheduleText>> perpend::tile::parseSchedules(StringRef text, TextError &error,
                                                                       bool mayBeSeveral) {
  return FileParser(error, mayBeSeveral).parse(text);
}
