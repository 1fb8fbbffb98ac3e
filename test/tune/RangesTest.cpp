//===- RangesTest.cpp - which of a kernel's records is used for which extents --===//

#include "tune/Ranges.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace perpend::tune;

namespace {
Record found(const std::string &extents, double part, const std::string &elsewhere, double weight = 1) {
  Record record;
  record.key.symbols = extents;
  record.trace = "of " + extents;
  record.seconds = part;
  record.defaultSeconds = 1;
  record.elsewhere = elsewhere;
  record.weight = weight;
  return record;
}

/// "n <= 11: of n=1; else: own"
std::string chosen(const std::vector<Record> &records, const std::vector<std::string> &symbols = {"n"}) {
  std::string text;
  for (const RangeOfRecord &range : chooseRanges(records, symbols))
    text += (text.empty() ? "" : "; ") + (range.range ? range.range->str() : "else") + ": " +
            (range.record ? range.record->trace : "own");
  return text;
}
} // namespace

TEST(RangesTest, Texts) {
  std::vector<PartElsewhere> parts = {{"n=1,t=2", 1.25, 1}, {"n=7,t=2", INFINITY, 2.5}};
  EXPECT_EQ(textOf(parts), "n=1,t=2 1.25 1; n=7,t=2 inf 2.5");
  auto read = parseParts(textOf(parts));
  ASSERT_TRUE(read && read->size() == 2);
  EXPECT_EQ(read->back().extents, "n=7,t=2");
  EXPECT_TRUE(std::isinf(read->back().part));
  EXPECT_EQ(read->back().weight, 2.5);
  EXPECT_TRUE(parseParts("")->empty());
  for (const char *wrong : {"n=1", "n=1 1", "n=1 x 1", "n=1 0 1", "n=1 nan 1", "n=1 1 -1", "n=1 1 inf", "n=1 1 1 1"})
    EXPECT_FALSE(parseParts(wrong)) << wrong;
}

TEST(RangesTest, MergedTexts) {
  EXPECT_EQ(mergedParts("n=1 2 1; n=2 3 1", "n=2 4 5; n=3 inf 1"), "n=1 2 1; n=2 4 5; n=3 inf 1");
  EXPECT_EQ(mergedParts("", "n=2 4 5"), "n=2 4 5");
  EXPECT_EQ(mergedParts("n=2 4 5", ""), "n=2 4 5");
}

TEST(RangesTest, SymbolsMayHaveOtherNamesInAnotherModel) {
  EXPECT_EQ(chosen({found("n=1", 0.5, "n=128 3 1"), found("seq=128", 0.8, "seq=1 4 1")}),
            "n <= 11: of n=1; else: of seq=128");
}

TEST(RangesTest, ARecordAlone) {
  EXPECT_EQ(chosen({found("", 0.9, "")}, {}), "else: of ");
  EXPECT_EQ(chosen({found("n=4", 0.99, "")}), "else: of n=4");
  EXPECT_EQ(chosen({found("n=4", 1.01, "")}), "else: own");
  EXPECT_EQ(chosen({}), "else: own");
  EXPECT_EQ(chosen({found("n=4", 0.9, "")}, {"n", "t"}), "else: of n=4") << "its symbols are others";
}

TEST(RangesTest, ARangeMoreGainsATenth) {
  // One token and 128: together 2.
  std::vector<Record> apart = {found("n=1", 0.5, "n=128 3 1"), found("n=128", 0.8, "n=1 4 1")};
  EXPECT_EQ(chosen(apart), "n <= 11: of n=1; else: of n=128");
  std::vector<Record> close = {found("n=1", 0.9, "n=128 0.85 1"), found("n=128", 0.8, "n=1 1 1")};
  EXPECT_EQ(chosen(close), "else: of n=1") << "1.7 with one range, 1.75 with two";
  EXPECT_EQ(chosen({found("n=1", 0.85, "n=128 1.2 1"), found("n=128", 0.97, "n=1 1.1 1")}), "else: own")
      << "1.82 of 2 is less than a tenth";
}

TEST(RangesTest, WhereNothingWasFoundTheCompilersOwnTraceStays) {
  EXPECT_EQ(chosen({found("n=128", 0.5, "n=1 2 1")}), "n <= 11: own; else: of n=128");
  EXPECT_EQ(chosen({found("n=1", 0.5, "n=128 inf 1")}), "n <= 11: of n=1; else: own");
  EXPECT_EQ(chosen({found("n=1", 0.5, "")}), "else: of n=1") << "elsewhere it was not measured";
}

TEST(RangesTest, Weights) {
  std::vector<Record> records = {found("n=1", 0.5, "n=128 2 1", 100), found("n=128", 0.8, "n=1 1 100", 1)};
  EXPECT_EQ(chosen(records), "else: of n=1") << "the other extents are a hundredth";
}

TEST(RangesTest, BoundariesAreInTheMiddleOfAScaleOfFactors) {
  std::vector<Record> three = {found("n=2", 0.1, "n=3 9 1; n=300 9 1"), found("n=3", 0.1, "n=2 9 1; n=300 9 1"),
                               found("n=300", 0.1, "n=2 9 1; n=3 9 1")};
  EXPECT_EQ(chosen(three), "n <= 2: of n=2; 3 <= n <= 30: of n=3; else: of n=300");
  std::swap(three[0], three[2]);
  EXPECT_EQ(chosen(three), "n <= 2: of n=2; 3 <= n <= 30: of n=3; else: of n=300") << "in any order of the records";
}

TEST(RangesTest, OfTheFirstSymbolThatDiffers) {
  std::vector<Record> records = {found("n=4,t=1", 0.5, "n=4,t=64 3 1"), found("n=4,t=64", 0.5, "n=4,t=1 3 1")};
  EXPECT_EQ(chosen(records, {"b", "s"}), "s <= 8: of n=4,t=1; else: of n=4,t=64");
  std::vector<Record> none = {found("n=1,t=1", 0.5, "n=1,t=2 3 1; n=2,t=1 3 1"), found("n=1,t=2", 0.9, ""),
                              found("n=2,t=1", 0.9, "")};
  EXPECT_EQ(chosen(none, {"n", "t"}), "else: of n=1,t=2") << "no symbol differs in all, so there is one trace";
}
