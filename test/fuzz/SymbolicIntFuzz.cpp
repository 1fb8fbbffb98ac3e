// Fuzzer of SymbolicInt: `SymbolicIntFuzz --runs N --seed S`. Each run makes
//   - one random expression, compared with a naive evaluator of its tree, whose
//     bounds must contain the value, whose text must parse to the same value;
//   - every rule of SymbolicIntRules.def: the texts as they stand evaluated on
//     random numbers, and its variables replaced by random expressions;
//   - mutated text for the parser;
//   - one expression with numbers near the ends of int64_t.
// Prints the seed of the failing run and exits with 1.
#include "support/SymbolicInt.h"
#include "support/SymbolicIntRules.h"
#include "support/SymbolicIntSyntax.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>
#include <map>
#include <random>

using namespace perpend::support;

namespace {

using Kind = SymbolicSyntaxKind;
using Value = std::optional<__int128>;
using Values = std::map<std::string, int64_t>;

std::string describe(const SymbolicSyntax &tree);

/// The seed of the run in progress, for messages.
uint64_t currentSeed = 0;

[[noreturn]] void fail(const llvm::Twine &what) {
  llvm::errs() << "FAILED: " << what << "\nreplay: --runs 1 --seed " << currentSeed << "\n";
  exit(1);
}

//===- The naive evaluator: an independent definition ----------------------===//

Value naiveFloor(__int128 a, __int128 b) {
  if (b == 0)
    return std::nullopt;
  __int128 quotient = a / b;
  return quotient * b != a && ((a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

bool fits(__int128 value) {
  return value >= std::numeric_limits<int64_t>::min() && value <= std::numeric_limits<int64_t>::max();
}

Value naiveBinary(Kind kind, __int128 a, __int128 b) {
  switch (kind) {
  case Kind::Add:
    return a + b;
  case Kind::Multiply:
    return a * b;
  case Kind::Min:
    return a < b ? a : b;
  case Kind::Max:
    return a > b ? a : b;
  case Kind::FloorDiv:
    return naiveFloor(a, b);
  case Kind::CeilDiv: {
    Value negated = naiveFloor(-a, b);
    return negated ? Value(-*negated) : std::nullopt;
  }
  case Kind::Mod: {
    Value quotient = naiveFloor(a, b);
    return quotient ? Value(a - *quotient * b) : std::nullopt;
  }
  default:
    fail("not a binary operation");
  }
}

/// nullopt where undefined, or where a part leaves 64 bits.
Value naive(const SymbolicSyntax &tree, const Values &values) {
  if (tree.kind == Kind::Number)
    return tree.number;
  if (tree.kind == Kind::Name)
    return values.at(tree.name);
  Value result = naive(tree.operands[0], values);
  if (!result)
    return std::nullopt;
  if (tree.kind == Kind::Negate)
    return fits(-*result) ? Value(-*result) : std::nullopt;
  if (tree.kind == Kind::Power) {
    __int128 base = *result, product = 1;
    for (int64_t power = 0; power < tree.number; ++power)
      product *= base;
    return product;
  }
  for (const SymbolicSyntax &operand : llvm::drop_begin(tree.operands)) {
    Value right = naive(operand, values);
    result = right ? naiveBinary(tree.kind, *result, *right) : std::nullopt;
    if (!result || !fits(*result))
      return std::nullopt;
  }
  return result;
}

bool holds(const SymbolicComparison &condition, const Values &values) {
  Value left = naive(condition.left, values), right = naive(condition.right, values);
  if (!left || !right)
    return false;
  switch (condition.relation) {
  case SymbolicRelation::Equal:
    return *left == *right;
  case SymbolicRelation::NotEqual:
    return *left != *right;
  case SymbolicRelation::Less:
    return *left < *right;
  case SymbolicRelation::LessOrEqual:
    return *left <= *right;
  case SymbolicRelation::Greater:
    return *left > *right;
  case SymbolicRelation::GreaterOrEqual:
    return *left >= *right;
  }
  return false;
}

//===- Random trees --------------------------------------------------------===//

class Fuzzer {
public:
  explicit Fuzzer(uint64_t seed) : random(seed) {}
  void runOnce() {
    testExpression();
    for (const SymbolicRule &rule : symbolicRules()) {
      testRuleOnNumbers(rule);
      testRuleOnExpressions(rule);
    }
    testMutatedText();
    testLargeNumbers();
  }
  /// How often each rule's conditions held; every rule has to be reached.
  std::map<std::string, unsigned> reached;

private:
  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); }
  SymbolicSyntax number(int64_t value) { return {Kind::Number, value, "", {}}; }
  SymbolicSyntax leaf();
  SymbolicSyntax tree(unsigned depth);
  SymbolicSyntax instantiate(const SymbolicSyntax &text, const std::map<std::string, SymbolicSyntax> &trees);
  SymbolicInt throughInterface(const SymbolicSyntax &tree);
  Values symbolValues();
  void compare(const SymbolicSyntax &tree, const SymbolicInt &value, llvm::StringRef what);
  void testExpression();
  void testSubstitution(const SymbolicSyntax &tree, const SymbolicInt &value);
  void testRuleOnNumbers(const SymbolicRule &rule);
  void testRuleOnExpressions(const SymbolicRule &rule);
  void testMutatedText();
  void testLargeNumbers();

  std::mt19937_64 random;
  bool usesLargeNumbers = false;
};

constexpr llvm::StringLiteral symbolNames[] = {"m", "n", "s0"};

SymbolicSyntax Fuzzer::leaf() {
  if (usesLargeNumbers && pick(0, 1)) {
    constexpr int64_t highest = std::numeric_limits<int64_t>::max();
    int64_t large = pick(0, 1) ? highest - pick(0, 2) : highest >> pick(1, 40);
    return number(pick(0, 1) ? large : -large - pick(0, 1));
  }
  if (pick(0, 2) == 0)
    return number(pick(-6, 12));
  return {Kind::Name, 0, symbolNames[pick(0, 2)].str(), {}};
}

SymbolicSyntax Fuzzer::tree(unsigned depth) {
  if (depth == 0 || pick(0, 5) == 0)
    return leaf();
  static constexpr Kind kinds[] = {Kind::Add,      Kind::Add,     Kind::Add,      Kind::Multiply,
                                   Kind::Multiply, Kind::Negate,  Kind::FloorDiv, Kind::FloorDiv,
                                   Kind::Mod,      Kind::CeilDiv, Kind::Min,      Kind::Max};
  Kind kind = kinds[pick(0, std::size(kinds) - 1)];
  SymbolicSyntax result{kind, 0, "", {}};
  result.operands.push_back(tree(depth - 1));
  bool isDivision = kind == Kind::FloorDiv || kind == Kind::CeilDiv || kind == Kind::Mod;
  if (isDivision && pick(0, 2) != 0)
    result.operands.push_back(pick(0, 1) ? number(pick(1, 8)) : leaf());
  else if (kind != Kind::Negate)
    result.operands.push_back(tree(depth - 1));
  // Repeating a part makes cancellation and absorption likely.
  if (kind == Kind::Add && pick(0, 3) == 0)
    result.operands.push_back(result.operands[0]);
  return result;
}

SymbolicSyntax Fuzzer::instantiate(const SymbolicSyntax &text, const std::map<std::string, SymbolicSyntax> &trees) {
  if (text.kind == Kind::Name)
    return trees.at(text.name);
  SymbolicSyntax result = text;
  for (SymbolicSyntax &operand : result.operands)
    operand = instantiate(operand, trees);
  return result;
}

SymbolicInt Fuzzer::throughInterface(const SymbolicSyntax &tree) {
  if (tree.kind == Kind::Number)
    return tree.number;
  if (tree.kind == Kind::Name)
    return SymbolicInt::symbol(tree.name);
  SymbolicInt result = throughInterface(tree.operands[0]);
  if (tree.kind == Kind::Negate)
    return -result;
  for (const SymbolicSyntax &operand : llvm::drop_begin(tree.operands)) {
    SymbolicInt right = throughInterface(operand);
    result = tree.kind == Kind::Add        ? result + right
             : tree.kind == Kind::Multiply ? result * right
             : tree.kind == Kind::FloorDiv ? floorDiv(result, right)
             : tree.kind == Kind::CeilDiv  ? ceilDiv(result, right)
             : tree.kind == Kind::Mod      ? mod(result, right)
             : tree.kind == Kind::Min      ? min(result, right)
                                           : max(result, right);
  }
  return result;
}

Values Fuzzer::symbolValues() {
  Values values;
  int64_t largest = pick(0, 1) ? 4 : 40;
  for (llvm::StringRef name : symbolNames)
    values[name.str()] = pick(0, largest);
  return values;
}

std::string describe(const SymbolicSyntax &tree) {
  static const std::map<Kind, std::string> names = {
      {Kind::Add, "add"},           {Kind::Negate, "neg"},      {Kind::Multiply, "mul"},
      {Kind::FloorDiv, "floordiv"}, {Kind::CeilDiv, "ceildiv"}, {Kind::Mod, "mod"},
      {Kind::Min, "min"},           {Kind::Max, "max"},         {Kind::Power, "power"}};
  if (tree.kind == Kind::Number)
    return std::to_string(tree.number);
  if (tree.kind == Kind::Name)
    return tree.name;
  std::string text = names.at(tree.kind) + "(";
  llvm::ListSeparator separator;
  for (const SymbolicSyntax &operand : tree.operands)
    text += llvm::StringRef(separator).str() + describe(operand);
  return text + ")";
}

void Fuzzer::compare(const SymbolicSyntax &tree, const SymbolicInt &value, llvm::StringRef what) {
  for (unsigned point = 0; point < 6; ++point) {
    Values values = symbolValues();
    Value expected = naive(tree, values);
    if (!expected || value.isPoison())
      continue;
    llvm::StringMap<int64_t> map;
    std::string at;
    for (const auto &[name, number] : values) {
      map[name] = number;
      at += " " + name + "=" + std::to_string(number);
    }
    std::optional<int64_t> got = value.evaluate(map);
    auto number = static_cast<int64_t>(*expected);
    // With large numbers an intermediate result may leave 64 bits.
    if (got ? *got != number : !usesLargeNumbers)
      fail(what + ": " + describe(tree) + " became " + value.str() + "; at" + at + " expected " + llvm::Twine(number) +
           ", got " + (got ? std::to_string(*got) : "nothing"));
    std::optional<int64_t> low = value.lowerBound(), high = value.upperBound();
    if ((low && *low > number) || (high && *high < number))
      fail(what + ": bounds of " + value.str() + " do not contain " + llvm::Twine(number) + " at" + at +
           (low ? "; low " + std::to_string(*low) : "") + (high ? "; high " + std::to_string(*high) : ""));
  }
}

void Fuzzer::testSubstitution(const SymbolicSyntax &expression, const SymbolicInt &value) {
  std::map<std::string, SymbolicSyntax> trees;
  llvm::StringMap<SymbolicInt> replacements;
  for (llvm::StringRef name : symbolNames) {
    // Replacements have to be >= 0.
    SymbolicSyntax replacement{Kind::Max, 0, "", {}};
    replacement.operands.push_back(number(0));
    replacement.operands.push_back(tree(1));
    replacements[name] = throughInterface(replacement);
    trees[name.str()] = replacement;
  }
  compare(instantiate(expression, trees), value.substitute(replacements), "substitution");
}

void Fuzzer::testExpression() {
  SymbolicSyntax expression = tree(static_cast<unsigned>(pick(1, 4)));
  SymbolicInt value = throughInterface(expression);
  compare(expression, value, "expression");
  if (value.isPoison())
    return;
  testSubstitution(expression, value);
  std::string error;
  std::optional<SymbolicInt> reparsed = SymbolicInt::parse(value.str(), &error);
  if (!reparsed || *reparsed != value)
    fail("round trip of " + value.str() + " gave " + (reparsed ? reparsed->str() : error) + " from " +
         describe(expression));
  if (hash_value(*reparsed) != hash_value(value))
    fail("equal values with different hashes: " + value.str());
  SymbolicInt divisor = throughInterface(tree(1));
  std::optional<SymbolicInt> quotient = exactDiv(value * divisor, divisor);
  if (divisor != SymbolicInt(0) && !(value * divisor).isPoison() &&
      (!quotient || *quotient * divisor != value * divisor))
    fail("exactDiv of " + (value * divisor).str() + " by " + divisor.str());
}

/// Near the ends of int64_t: poison or no value is fine, a wrong value is not.
void Fuzzer::testLargeNumbers() {
  usesLargeNumbers = true;
  SymbolicSyntax expression = tree(3);
  SymbolicInt value = throughInterface(expression);
  compare(expression, value, "large numbers");
  if (!value.isPoison() && SymbolicInt::parse(value.str()) != value)
    fail("round trip of " + value.str() + " from " + describe(expression));
  usesLargeNumbers = false;
}

//===- Rules ---------------------------------------------------------------===//

void collectNames(const SymbolicSyntax &text, std::set<std::string> &names) {
  if (text.kind == Kind::Name)
    names.insert(text.name);
  for (const SymbolicSyntax &operand : text.operands)
    collectNames(operand, names);
}

/// The texts alone, with numbers for the variables.
void Fuzzer::testRuleOnNumbers(const SymbolicRule &rule) {
  std::set<std::string> names;
  collectNames(rule.pattern, names);
  for (unsigned trial = 0; trial < 4; ++trial) {
    Values values;
    for (const std::string &name : names)
      values[name] = pick(0, 3) ? pick(-9, 9) : pick(-60, 60);
    Value expected = naive(rule.pattern, values);
    bool applies =
        expected && llvm::all_of(rule.conditions, [&](const SymbolicComparison &c) { return holds(c, values); });
    if (!applies)
      continue;
    ++reached[rule.name.str()];
    Value got = naive(rule.replacement, values);
    std::string at;
    for (const auto &[name, number] : values)
      at += " " + name + "=" + std::to_string(number);
    if (!got || *got != *expected)
      fail("rule " + rule.name + " at" + at + ": expected " + llvm::Twine(static_cast<int64_t>(*expected)) + ", got " +
           (got ? std::to_string(static_cast<int64_t>(*got)) : "nothing"));
  }
}

/// Instances of the pattern made through the interface, so that the simplifier
/// meets each rule among the others.
void Fuzzer::testRuleOnExpressions(const SymbolicRule &rule) {
  std::set<std::string> names;
  collectNames(rule.pattern, names);
  std::map<std::string, SymbolicSyntax> trees;
  for (const std::string &name : names)
    trees[name] = tree(static_cast<unsigned>(pick(0, 2)));
  SymbolicSyntax expression = instantiate(rule.pattern, trees);
  compare(expression, throughInterface(expression), rule.name);
}

//===- Parser --------------------------------------------------------------===//

void Fuzzer::testMutatedText() {
  std::string text = throughInterface(tree(3)).str();
  static constexpr llvm::StringLiteral pieces[] = {
      "(", ")",  ",",  "**", "//", "%", "-",  "+",         "*", "9223372036854775808", "Max(", "mod(",
      "n", "\"", "\\", "64", "0",  " ", "\n", "FloorDiv(", "é"};
  for (int64_t edits = pick(1, 6); edits > 0 && !text.empty(); --edits) {
    auto at = static_cast<size_t>(pick(0, static_cast<int64_t>(text.size()) - 1));
    if (pick(0, 1))
      text.insert(at, pieces[pick(0, std::size(pieces) - 1)].str());
    else if (pick(0, 1))
      text.erase(at, static_cast<size_t>(pick(1, 4)));
    else
      text[at] = static_cast<char>(pick(1, 255));
  }
  std::string error;
  std::optional<SymbolicInt> value = SymbolicInt::parse(text, &error);
  if (!value && error.empty())
    fail("no message for " + text);
  if (value && (value->isPoison() || SymbolicInt::parse(value->str()) != value))
    fail("round trip of parsed text " + text + " as " + value->str());
}

/// Returns false if the arguments are wrong.
bool readArguments(int argc, char **argv, uint64_t &runs, uint64_t &seed) {
  for (int index = 1; index + 1 < argc; index += 2) {
    llvm::StringRef option = argv[index];
    uint64_t *target = option == "--runs" ? &runs : option == "--seed" ? &seed : nullptr;
    if (!target || llvm::StringRef(argv[index + 1]).getAsInteger(10, *target))
      return false;
  }
  return argc % 2 == 1;
}

} // namespace

int main(int argc, char **argv) {
  uint64_t runs = 1000, seed = 1;
  if (!readArguments(argc, argv, runs, seed)) {
    llvm::errs() << "usage: SymbolicIntFuzz [--runs N] [--seed S]\n";
    return 2;
  }
  std::map<std::string, unsigned> reached;
  for (uint64_t run = 0; run < runs; ++run) {
    Fuzzer fuzzer(seed + run);
    currentSeed = seed + run;
    fuzzer.runOnce();
    for (const auto &[name, count] : fuzzer.reached)
      reached[name] += count;
  }
  for (const SymbolicRule &rule : symbolicRules())
    if (runs >= 500 && reached[rule.name.str()] == 0)
      fail("the conditions of rule " + rule.name + " never held");
  llvm::outs() << runs << " runs, " << symbolicRules().size() << " rules: no difference\n";
  return 0;
}
