//===- CodeSet.cpp - sets of code points ----------------------------------===//

#include "tokenizer/CodeSet.h"

#include "../runtime/tokenizer/Characters.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

namespace perpend::tokenizer {

void CodeSet::normalise() {
  llvm::sort(list);
  std::vector<Range> joined;
  for (const Range &range : list)
    if (!joined.empty() && range.first <= joined.back().second + 1)
      joined.back().second = std::max(joined.back().second, range.second);
    else
      joined.push_back(range);
  list = std::move(joined);
}

CodeSet makeSet(std::vector<CodeSet::Range> ranges) {
  CodeSet set;
  set.list = std::move(ranges);
  set.normalise();
  return set;
}

void CodeSet::add(const CodeSet &other) {
  list.insert(list.end(), other.list.begin(), other.list.end());
  normalise();
}

CodeSet CodeSet::complement() const {
  CodeSet result;
  uint32_t next = 0;
  for (const Range &range : list) {
    if (range.first > next)
      result.list.push_back({next, range.first - 1});
    next = range.second + 1;
  }
  if (next <= lastCode)
    result.list.push_back({next, lastCode});
  return result;
}

CodeSet CodeSet::intersection(const CodeSet &other) const {
  CodeSet outside = complement();
  outside.add(other.complement());
  return outside.complement();
}

bool CodeSet::contains(uint32_t code) const {
  const auto *after = llvm::partition_point(ranges(), [&](const Range &range) { return range.second < code; });
  return after != ranges().end() && after->first <= code;
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

namespace {
/// Codes first, first + step, ... last of a set.
struct Run {
  const char *name;
  uint32_t first, last, step;
};
} // namespace

static constexpr Run categoryRuns[] = {
#define R(name, first, last, step) {#name, first, last, step},
#include "tokenizer/unicode/Categories.def"
};
static constexpr Run setRuns[] = {
#include "tokenizer/unicode/Sets.def"
#undef R
};

template <size_t count> static llvm::StringMap<CodeSet> readRuns(const Run (&runs)[count]) {
  llvm::StringMap<std::vector<CodeSet::Range>> ranges;
  for (const Run &run : runs) {
    std::vector<CodeSet::Range> &list = ranges[run.name];
    if (run.step == 1)
      list.push_back({run.first, run.last});
    else
      for (uint32_t code = run.first; code <= run.last; code += run.step)
        list.push_back({code, code});
  }
  llvm::StringMap<CodeSet> sets;
  for (auto &entry : ranges)
    sets[entry.first()] = makeSet(std::move(entry.second));
  return sets;
}

static const llvm::StringMap<CodeSet> &categories() {
  static const llvm::StringMap<CodeSet> sets = [] {
    llvm::StringMap<CodeSet> read = readRuns(categoryRuns);
    CodeSet assigned;
    llvm::StringMap<CodeSet> groups;
    for (auto &entry : read) {
      assigned.add(entry.second);
      groups[entry.first().take_front(1)].add(entry.second);
    }
    read["Cn"] = assigned.complement();
    groups["C"].add(read["Cn"]);
    for (auto &group : groups)
      read[group.first()] = group.second;
    read["Any"] = {{0, lastCode}};
    return read;
  }();
  return sets;
}

static const llvm::StringMap<CodeSet> &otherSets() {
  static const llvm::StringMap<CodeSet> sets = readRuns(setRuns);
  return sets;
}

std::optional<CodeSet> propertyNamed(llvm::StringRef name) {
  for (const llvm::StringMap<CodeSet> *sets : {&categories(), &otherSets()})
    for (const auto &entry : *sets)
      if (entry.first().equals_insensitive(name))
        return entry.second;
  return std::nullopt;
}

const CodeSet &namedSet(NamedSet set) {
  static constexpr const char *names[] = {"Space",   "Word",   "Numeric",   "Punctuation",
                                          "Control", "Accent", "Combining", "PatternWord"};
  return otherSets().find(names[static_cast<int>(set)])->second;
}

const std::vector<LowerCase> &lowerCases() {
  static const std::vector<LowerCase> cases = [] {
    std::vector<LowerCase> list;
    auto run = [&](uint32_t first, uint32_t last, uint32_t step, int32_t distance) {
      for (uint32_t code = first; code <= last; code += step)
        list.push_back({code, {code + static_cast<uint32_t>(distance)}});
    };
#define M(first, last, step, distance) run(first, last, step, distance);
#define L(code, ...) list.push_back({code, {__VA_ARGS__}});
#include "tokenizer/unicode/Mappings.def"
#undef M
#undef L
    llvm::sort(list, [](const LowerCase &a, const LowerCase &b) { return a.code < b.code; });
    return list;
  }();
  return cases;
}

namespace {
/// An entry of Decompositions.def: up to 18 numbers.
struct FormEntry {
  char kind;
  uint8_t count;
  uint32_t values[20];
};
} // namespace

template <typename... Values> static constexpr FormEntry formEntry(char kind, Values... values) {
  return {kind, sizeof...(values), {static_cast<uint32_t>(values)...}};
}

static constexpr FormEntry formEntries[] = {
#define C(...) formEntry('C', __VA_ARGS__),
#define K(...) formEntry('K', __VA_ARGS__),
#define P(...) formEntry('P', __VA_ARGS__),
#define O(...) formEntry('O', __VA_ARGS__),
#include "tokenizer/unicode/Decompositions.def"
#undef C
#undef K
#undef P
#undef O
};

static NormalForms readNormalForms() {
  NormalForms forms;
  for (const FormEntry &entry : formEntries) {
    const uint32_t *values = entry.values;
    if (entry.kind == 'P')
      forms.compositions.push_back({values[0], values[1], values[2]});
    else if (entry.kind == 'O')
      for (uint32_t code = values[1]; code <= values[2]; code += values[3])
        forms.classes.push_back({code, code, values[0]});
    else
      forms.decompositions.push_back({values[0], entry.kind == 'K', {values + 1, values + entry.count}});
  }
  llvm::sort(forms.decompositions, [](const CodeDecomposition &a, const CodeDecomposition &b) {
    return std::pair(a.code, a.isCompatible) < std::pair(b.code, b.isCompatible);
  });
  llvm::sort(forms.compositions, [](const CodePair &a, const CodePair &b) {
    return std::pair(a.first, a.second) < std::pair(b.first, b.second);
  });
  llvm::sort(forms.classes, [](const CodeClass &a, const CodeClass &b) { return a.first < b.first; });
  std::vector<CodeClass> joined;
  for (const CodeClass &next : forms.classes)
    if (!joined.empty() && joined.back().value == next.value && joined.back().last + 1 == next.first)
      joined.back().last = next.last;
    else
      joined.push_back(next);
  forms.classes = std::move(joined);
  return forms;
}

const NormalForms &normalForms() {
  static const NormalForms forms = readNormalForms();
  return forms;
}

const std::vector<CodeClass> &graphemeClasses() {
  static const std::vector<CodeClass> classes = [] {
    std::vector<CodeClass> list;
    static constexpr const char *names[] = {"GraphemeExtend", "GraphemePrepend", "GraphemeControl"};
    for (uint32_t value = 1; value <= std::size(names); ++value) {
      auto found = otherSets().find(names[value - 1]);
      if (found != otherSets().end())
        for (const CodeSet::Range &range : found->second.ranges())
          list.push_back({range.first, range.second, value});
    }
    llvm::sort(list, [](const CodeClass &a, const CodeClass &b) { return a.first < b.first; });
    return list;
  }();
  return classes;
}

void appendCode(std::string &text, uint32_t code) {
  char bytes[4];
  text.append(bytes, static_cast<size_t>(library::encode(code, bytes)));
}

std::optional<std::vector<uint32_t>> codesOf(llvm::StringRef text) {
  std::vector<uint32_t> codes;
  for (size_t position = 0; position < text.size();) {
    const uint32_t code = decodeAt(text.data(), text.size(), position);
    if (isInvalid(code))
      return std::nullopt;
    codes.push_back(code);
  }
  return codes;
}
} // namespace perpend::tokenizer
