// What SymbolicInt promises, by example; SymbolicIntFuzz covers the breadth.
#include "support/Inequality.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <chrono>
#include <limits>

using namespace perpend::support;

namespace {

const int64_t lowest = std::numeric_limits<int64_t>::min();
const int64_t highest = std::numeric_limits<int64_t>::max();

SymbolicInt sym(llvm::StringRef name) { return SymbolicInt::symbol(name); }

/// The normal form of a text, as text; the message if it does not parse.
std::string simplified(llvm::StringRef text) {
  std::string error;
  std::optional<SymbolicInt> value = SymbolicInt::parse(text, &error);
  return value ? value->str() : error;
}

SymbolicInt parsed(llvm::StringRef text) { return SymbolicInt::parse(text).value_or(SymbolicInt::poison()); }

TEST(Inequality, ReadsFromLeftToRight) {
  auto text = [](llvm::StringRef value, bool isEquality = false) { return Inequality(parsed(value), isEquality).text; };
  EXPECT_EQ(text("n - 4"), "n >= 4");
  EXPECT_EQ(text("n + 2*m - k - 4"), "2*m + n >= k + 4");
  EXPECT_EQ(text("4 - n"), "n <= 4");
  EXPECT_EQ(text("-n"), "n <= 0");
  EXPECT_EQ(text("n - m + 4", true), "n + 4 = m");
  EXPECT_EQ(text("4 - n", true), "n = 4");
  EXPECT_EQ(text("n // m - 1"), "floordiv(n, m) >= 1");
  EXPECT_EQ(text("Max(n - 1, 3 - m)"), "m <= 3 or n >= 1");
  EXPECT_EQ(text("Max(n, m) - 4"), "m >= 4 or n >= 4");
  EXPECT_EQ(text("Max(n - m - 1, m - n - 1)"), "n other than m");
  EXPECT_EQ(text("Max(n - 6, 4 - n)"), "n other than 5");
  EXPECT_EQ(Inequality(parsed("Max(n - 6, 4 - n)")).left.str(), "n");
  EXPECT_EQ(Inequality(parsed("n - m - 4")).left.str(), "n");
  EXPECT_EQ(text("4*n - m - 4", true), "4*n = m + 4");
  EXPECT_EQ(Inequality(parsed("4 - n")).left.str(), "n");
}

TEST(Inequality, SaysWhatIsDivisible) {
  auto text = [](llvm::StringRef value, bool isEquality = false) { return Inequality(parsed(value), isEquality).text; };
  for (bool isEquality : {false, true}) {
    EXPECT_EQ(text("h - 2*floordiv(h + 1, 2)", isEquality), "h divisible by 2");
    EXPECT_EQ(text("3*h + 3*w - 12*floordiv(h + w + 3, 4)", isEquality), "h + w divisible by 4");
    EXPECT_EQ(text("-mod(h + 1, 3)", isEquality), "h + 1 divisible by 3");
    EXPECT_EQ(text("5*floordiv(h, 5) - h", isEquality), "h divisible by 5");
  }
  EXPECT_EQ(text("h - 3*floordiv(h + 1, 3)"), "h >= 3*floordiv(h + 1, 3)") << "a remainder of 1 will do";
  EXPECT_EQ(text("h - 4*floordiv(h + 1, 2)"), "h >= 4*floordiv(h + 1, 2)");
  EXPECT_EQ(text("mod(h, 3) - 1"), "h not divisible by 3");
  EXPECT_EQ(text("mod(h, 3) - 1", true), "mod(h, 3) = 1");
  EXPECT_EQ(text("mod(h, 3) - 2"), "mod(h, 3) >= 2");
  EXPECT_EQ(Inequality(parsed("h - 2*floordiv(h + 1, 2)")).left.str(), "h");
}

TEST(Inequality, SaysWhatIsRounded) {
  auto text = [](llvm::StringRef value, bool isEquality = false) { return Inequality(parsed(value), isEquality).text; };
  EXPECT_EQ(text("8 - n - mod(7*n, 8)"), "n <= 8");
  EXPECT_EQ(text("20 - n - mod(7*n, 8)"), "n <= 16") << "n is rounded up";
  EXPECT_EQ(text("n + mod(-n, 8) - 9"), "n >= 9");
  EXPECT_EQ(text("n + m + mod(3*n + 3*m, 4) - 5"), "m + n >= 5");
  EXPECT_EQ(text("10 - n + mod(n, 8)"), "n <= 15") << "n is rounded down";
  EXPECT_EQ(text("n - mod(n, 8) - 9"), "n >= 16");
  EXPECT_EQ(text("8 - n - mod(5*n, 8)"), "n + mod(5*n, 8) <= 8");
  EXPECT_EQ(Inequality(parsed("8 - n - mod(7*n, 8)")).left.str(), "n");
  EXPECT_EQ(text("n // 2 - 1"), "n >= 2");
  EXPECT_EQ(text("3 - (n + m) // 4"), "m + n <= 15");
  EXPECT_EQ(text("3 - (n + 1) // 2 // 4"), "n <= 30");
  EXPECT_EQ(text("2 * (n // 4) - 6"), "2*floordiv(n, 4) >= 6");
  for (llvm::StringRef value : {"n // 3 - 2", "2 - n // 3"})
    EXPECT_EQ(text(value, true), "n from 6 to 8");
  EXPECT_EQ(text("(n + 7) // 8 - 1", true), "n from 1 to 8");
  EXPECT_EQ(text("n + mod(-n, 8) - 16", true), "n from 9 to 16");
  EXPECT_EQ(text("n + mod(-n, 8) - 9", true), "n + mod(7*n, 8) = 9") << "never";
}

TEST(Inequality, HoldsWithoutRoundingWhereItHeld) {
  for (llvm::StringRef text : {"8 - n - mod(-n, 8)", "n + mod(-n, 8) - 9", "10 - n + mod(n, 8)", "n - mod(n, 8) - 9",
                               "n // 3 - 2", "2 - (n + 1) // 3", "3 - (n + 1) // 2 // 4", "(2*n - 5) // 7 - 1"}) {
    SymbolicInt plain = withoutRounding(parsed(text));
    EXPECT_EQ(plain.str().find("floordiv") & plain.str().find("mod"), std::string::npos) << plain.str();
    for (int64_t n = 0; n < 60; ++n) {
      const llvm::StringMap<int64_t> values = {{"n", n}};
      EXPECT_EQ(*plain.evaluate(values) >= 0, *parsed(text).evaluate(values) >= 0) << text.str() << ", n = " << n;
    }
  }
}

TEST(Inequality, SaysBetweenWhatAnExtentIs) {
  auto text = [](llvm::StringRef value, bool isEquality = false) { return Inequality(parsed(value), isEquality).text; };
  EXPECT_EQ(text("-(s - 1)*(s - 4)"), "s from 1 to 4");
  EXPECT_EQ(text("(s - 1)*(s - n - 2)"), "s <= 1 or s >= n + 2");
  EXPECT_EQ(text("(s - 1)*(s - 4)", true), "s = 1 or s = 4");
  EXPECT_EQ(Inequality(parsed("-(s - 1)*(s - 4)")).left.str(), "s");
  EXPECT_EQ(text("(s - 2)*(s - 4)"), "s**2 + 8 >= 6*s");
}

TEST(SymbolicInt, ArithmeticIsInNormalForm) {
  SymbolicInt n = sym("n"), m = sym("m");
  EXPECT_EQ((n * 4 + 1).str(), "4*n + 1");
  EXPECT_EQ((n * m).str(), "m*n");
  EXPECT_EQ(n * m, m * n);
  EXPECT_EQ((n + m) * (n - m), n * n - m * m);
  EXPECT_EQ((n - n).constant(), 0);
  EXPECT_EQ((-n + 1).str(), "-n + 1");
  EXPECT_EQ((n * n).str(), "n**2");
  EXPECT_EQ(hash_value(n * m), hash_value(m * n));
  EXPECT_NE(n, m);
  EXPECT_FALSE(n.isConstant());
}

TEST(SymbolicInt, QuotientsAndRemaindersFollowTheirRules) {
  EXPECT_EQ(simplified("floordiv(4*n + m, 4)"), "n + floordiv(m, 4)");
  EXPECT_EQ(simplified("mod(4*n + m, 4)"), "mod(m, 4)");
  EXPECT_EQ(simplified("floordiv(floordiv(n, 2), 3)"), "floordiv(n, 6)");
  EXPECT_EQ(simplified("floordiv(n, 1)"), "n");
  EXPECT_EQ(simplified("floordiv(6*n, 4)"), "n + floordiv(n, 2)");
  EXPECT_EQ(simplified("floordiv(m*n, n)"), "m");
  EXPECT_EQ(simplified("floordiv(m*n + n - 1, n)"), "m");
  EXPECT_EQ(simplified("mod(mod(n, 12), 4)"), "mod(n, 4)");
  EXPECT_EQ(simplified("4*floordiv(n, 4) + mod(n, 4)"), "n");
  EXPECT_EQ(simplified("n*floordiv(m, n) + mod(m, n) + 3"), "m + 3");
  EXPECT_EQ(simplified("floordiv(mod(n, 4), 4)"), "0");
  EXPECT_EQ(simplified("floordiv(4*n + 3, 8)"), "floordiv(n, 2)");
  EXPECT_EQ(simplified("floordiv(n, n + 1)"), "0");
  EXPECT_EQ(simplified("ceildiv(n, 4)"), "floordiv(n + 3, 4)");
  EXPECT_EQ(simplified("-floordiv(-n, 4)"), "floordiv(n + 3, 4)");
  EXPECT_EQ(simplified("ceildiv(8*n, 4)"), "2*n");
  // Two convolutions of stride 2 and padding 1.
  EXPECT_EQ(simplified("((n - 1)//2 + 1 - 1)//2 + 1"), "floordiv(n + 3, 4)");
}

TEST(SymbolicInt, DivisionRoundsTowardsMinusInfinity) {
  EXPECT_EQ(floorDiv(-7, 2).constant(), -4);
  EXPECT_EQ(ceilDiv(-7, 2).constant(), -3);
  EXPECT_EQ(mod(-7, 3).constant(), 2);
  EXPECT_EQ(mod(7, -3).constant(), -2);
  EXPECT_EQ(mod(lowest, -1).constant(), 0);
}

TEST(SymbolicInt, MinimumAndMaximum) {
  EXPECT_EQ(simplified("max(n, 0)"), "n");
  EXPECT_EQ(simplified("max(n, 1)"), "max(n, 1)");
  EXPECT_EQ(simplified("min(n, 0)"), "0");
  EXPECT_EQ(simplified("max(n + 1, n)"), "n + 1");
  EXPECT_EQ(simplified("max(n*m + n, n)"), "m*n + n");
  EXPECT_EQ(simplified("max(n*m, n)"), "n*max(m, 1)");
  EXPECT_EQ(simplified("max(n + 1, m + 1)"), "max(m, n) + 1");
  EXPECT_EQ(simplified("max(n, min(m, n))"), "n");
  EXPECT_EQ(simplified("max(k, max(n, m))"), simplified("max(max(m, k), n)"));
  EXPECT_EQ(simplified("max(2*n, 2*m)"), "2*max(m, n)");
  EXPECT_EQ(simplified("max(floordiv(n, 2), n)"), "n");
}

TEST(SymbolicInt, ParseAcceptsPythonAndSympySpellings) {
  EXPECT_EQ(simplified("n // 2"), "floordiv(n, 2)");
  EXPECT_EQ(simplified("(a//b)"), "floordiv(a, b)");
  EXPECT_EQ(simplified("n % 2"), "mod(n, 2)");
  EXPECT_EQ(simplified("s0**2"), "s0**2");
  EXPECT_EQ(simplified("Max(1, s0 - 3)"), "max(s0 - 3, 1)");
  EXPECT_EQ(simplified("FloorDiv(s0, 2)"), "floordiv(s0, 2)");
  EXPECT_EQ(simplified("-n // 2"), simplified("(-n) // 2"));
  EXPECT_EQ(simplified("-2**2"), "-4");
  EXPECT_EQ(simplified("7 - 2 - 3"), "2");
  EXPECT_EQ(simplified("2*n//2*3"), "3*n");
  EXPECT_EQ(simplified("-9223372036854775808*n"), "-9223372036854775808*n");
  EXPECT_EQ(simplified("n*m + -9223372036854775808*n"), "m*n + -9223372036854775808*n");
}

TEST(SymbolicInt, NamesThatAreNoIdentifiersAreQuoted) {
  SymbolicInt odd = sym("batch size \"\\") + sym("");
  EXPECT_EQ(SymbolicInt::parse(odd.str()), odd);
  EXPECT_EQ(simplified("\"n\""), "n");
}

TEST(SymbolicInt, ParseNamesTheFault) {
  auto message = [](llvm::StringRef text) {
    std::string error;
    EXPECT_FALSE(SymbolicInt::parse(text, &error)) << text.str();
    return error;
  };
  EXPECT_EQ(message(""), "symbolic integer: expected a number, a name or '(', got '' at offset 0");
  EXPECT_EQ(message("n +"), "symbolic integer: expected a number, a name or '(', got '' at offset 3");
  EXPECT_EQ(message("n n"), "symbolic integer: expected the end of the text, got 'n' at offset 2");
  EXPECT_EQ(message("sin(n)"), "symbolic integer: expected floordiv, ceildiv, mod, min or max, "
                               "got function 'sin' at offset 4");
  EXPECT_EQ(message("mod(n)"), "symbolic integer: expected 2 operands of mod, got 1 at offset 6");
  EXPECT_EQ(message("n**m"), "symbolic integer: expected a number from 0 to 64 as exponent at offset 4");
  EXPECT_EQ(message("9223372036854775808"),
            "symbolic integer: expected a number of 64 bits, got '9223372036854775808' at offset 0");
  EXPECT_NE(message("n // 0").find("divides by 0"), std::string::npos);
  EXPECT_NE(message("\"n").find("quoted name"), std::string::npos);
  EXPECT_NE(message("(n").find("expected ')'"), std::string::npos);
}

TEST(SymbolicInt, ParseIsBounded) {
  for (llvm::StringRef piece : {"(", "-", "max(", "n//(", "n%", "n**"}) {
    std::string text;
    for (int count = 0; count < 100000; ++count)
      text += piece;
    EXPECT_FALSE(SymbolicInt::parse(text)) << piece.str();
  }
  std::string chain = "n", sum = "n", nested = "n";
  for (int count = 0; count < 100000; ++count) {
    chain += "//3";
    sum += "+n";
  }
  for (int count = 0; count < 100; ++count)
    nested = "floordiv(k*" + nested + "+m, n)";
  EXPECT_FALSE(SymbolicInt::parse(chain));
  EXPECT_FALSE(SymbolicInt::parse(sum));
  EXPECT_FALSE(SymbolicInt::parse(nested));
  EXPECT_FALSE(SymbolicInt::parse("(a+b+c+d+e+f+g)**60"));
}

TEST(SymbolicInt, OverflowIsPoison) {
  SymbolicInt n = sym("n");
  SymbolicInt large = highest;
  EXPECT_TRUE((large + 1).isPoison());
  EXPECT_TRUE((n * highest + n).isPoison());
  EXPECT_TRUE((n * highest * 2).isPoison());
  EXPECT_TRUE((-SymbolicInt(lowest)).isPoison());
  EXPECT_TRUE(floorDiv(lowest, -1).isPoison());
  EXPECT_TRUE(floorDiv(n, 0).isPoison());
  EXPECT_TRUE(mod(n, 0).isPoison());
  SymbolicInt poison = large + 1;
  for (const SymbolicInt &value :
       {poison + 1, poison * 0, -poison, max(poison, n), mod(n, poison), floorDiv(poison, n)})
    EXPECT_TRUE(value.isPoison());
  EXPECT_FALSE(poison.constant() || poison.lowerBound() || poison.upperBound());
  EXPECT_FALSE(poison.evaluate({}) || exactDiv(poison, 2) || compareLess(poison, 1));
  EXPECT_EQ(poison, SymbolicInt::poison());
  EXPECT_NE(poison, SymbolicInt(0));
}

TEST(SymbolicInt, SizeIsBounded) {
  SymbolicInt sum = 0;
  for (int count = 0; count < 17; ++count)
    sum += sym("s" + std::to_string(count));
  EXPECT_FALSE((sum * sum).isPoison());
  EXPECT_TRUE((sum * sum * sum).isPoison());
  SymbolicInt nested = sym("n");
  for (int count = 0; count < 200; ++count)
    nested = floorDiv(nested * nested + 1, sym("m")) * mod(nested, 7);
  EXPECT_TRUE(nested.isPoison());
}

TEST(SymbolicInt, EvaluateChecksItsInput) {
  SymbolicInt value = parsed("floordiv(n*m + 1, n - 2)");
  llvm::StringMap<int64_t> values;
  values["n"] = 5;
  EXPECT_FALSE(value.evaluate(values));
  values["m"] = 7;
  EXPECT_EQ(value.evaluate(values), 12);
  values["n"] = 2;
  EXPECT_FALSE(value.evaluate(values));
  values["n"] = 0;
  EXPECT_EQ(value.evaluate(values), -1);
  values["n"] = -1;
  EXPECT_FALSE(value.evaluate(values));
  values["n"] = highest;
  EXPECT_FALSE(value.evaluate(values));
}

TEST(SymbolicInt, SubstituteSimplifiesAgain) {
  llvm::StringMap<SymbolicInt> replacements;
  replacements["n"] = sym("k") * 8;
  EXPECT_EQ(parsed("floordiv(n + m, 4)").substitute(replacements), parsed("2*k + floordiv(m, 4)"));
  std::set<std::string> names;
  parsed("floordiv(n + m, 4)*k").symbols(names);
  EXPECT_EQ(names, (std::set<std::string>{"k", "m", "n"}));
}

TEST(SymbolicInt, BoundsUseNonNegativeSymbols) {
  EXPECT_EQ(parsed("n + m").lowerBound(), 0);
  EXPECT_EQ(parsed("n").upperBound(), std::nullopt);
  EXPECT_EQ(parsed("4 - n").upperBound(), 4);
  EXPECT_EQ(parsed("mod(n, 8)").upperBound(), 7);
  EXPECT_EQ(parsed("min(n, 8)*2").upperBound(), 16);
  EXPECT_TRUE(parsed("n*m + n").knownNonNegative());
  EXPECT_TRUE(parsed("n - floordiv(n, 2)").knownNonNegative());
  EXPECT_TRUE(parsed("floordiv(n, m)").knownNonNegative());
  EXPECT_TRUE(parsed("n - floordiv(n, m)").knownNonNegative());
  EXPECT_TRUE(parsed("n - mod(m, n)").knownPositive());
  EXPECT_TRUE(parsed("max(n, m) - m").knownNonNegative());
  EXPECT_TRUE(parsed("n + m - max(n, m)").knownNonNegative());
  EXPECT_TRUE(parsed("b*n - b*floordiv(n, 2)").knownNonNegative());
  EXPECT_TRUE(parsed("4*floordiv(n + 3, 4) - n").knownNonNegative());
  EXPECT_TRUE(parsed("b*max(n, m) - b*n").knownNonNegative());
  EXPECT_FALSE(parsed("n").knownPositive());
  EXPECT_FALSE(parsed("n*m - n").knownNonNegative());
  EXPECT_FALSE(parsed("n - m").knownNonNegative());
  EXPECT_FALSE(parsed("floordiv(n, 2)").knownPositive());
  EXPECT_FALSE(parsed("(n - m)*max(n, m) - (n - m)*n").knownNonNegative());
  EXPECT_EQ(((sym("n") + 1) * highest).lowerBound(), highest);
}

TEST(SymbolicInt, CompareLessKnowsWhenItDoesNot) {
  SymbolicInt n = sym("n"), m = sym("m");
  EXPECT_EQ(compareLess(n, n + 1), true);
  EXPECT_EQ(compareLess(n, n), false);
  EXPECT_EQ(compareLess(n + m, n), false);
  EXPECT_EQ(compareLess(n, m), std::nullopt);
}

TEST(SymbolicInt, ExactDivision) {
  SymbolicInt n = sym("n"), m = sym("m");
  EXPECT_EQ(exactDiv(n * 12 * 64, n * 64), SymbolicInt(12));
  EXPECT_EQ(exactDiv(n * 4, 4), n);
  EXPECT_EQ(exactDiv(n * n - m * m, n + m), n - m);
  EXPECT_EQ(exactDiv(floorDiv(n, 2) * m, floorDiv(n, 2)), m);
  EXPECT_EQ(exactDiv(n * 3, 2), std::nullopt);
  EXPECT_EQ(exactDiv(n, m), std::nullopt);
  EXPECT_EQ(exactDiv(n, 0), std::nullopt);
  EXPECT_EQ(exactDiv(0, n), SymbolicInt(0));
}

/// Writes an expression as a compiler would emit it, with terms() alone.
std::string emit(const SymbolicInt &value) {
  std::string text = "0";
  for (const SymbolicTerm &term : value.terms()) {
    text += "+" + std::to_string(term.coefficient);
    for (const SymbolicFactor &factor : term.factors)
      for (unsigned power = 0; power < factor.power; ++power) {
        const SymbolicAtom &atom = factor.atom;
        text += "*";
        text += atom.name();
        for (const SymbolicInt &operand : atom.operands())
          text += "[" + emit(operand) + "]";
      }
  }
  return text;
}

TEST(SymbolicInt, TermsAreEnoughToEmitCode) {
  EXPECT_EQ(emit(parsed("3*n**2 + floordiv(n + 1, 4) - 5")), "0+3*n*n+1*[0+1*n+1][0+4]+-5");
}

TEST(SymbolicInt, TypicalShapesTakeMicroseconds) {
  SymbolicInt n = sym("n"), batch = sym("batch");
  constexpr int count = 2000;
  auto start = std::chrono::steady_clock::now();
  for (int index = 0; index < count; ++index) {
    SymbolicInt size = floorDiv(n + 2 * 1 - 3, 2) + 1;
    SymbolicInt flat = batch * size * 64;
    EXPECT_EQ(exactDiv(flat, size), batch * 64);
    EXPECT_EQ(floorDiv(flat, size * 64), batch);
  }
  std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
  RecordProperty("microsecondsPerShape", std::to_string(elapsed.count() / count));
  EXPECT_LT(elapsed.count() / count, 2000.0);
}

} // namespace
