//===- SymbolRangeTest.cpp - values of a symbol, from least to most -------===//

#include "support/SymbolRange.h"

#include <gtest/gtest.h>

using perpend::support::SymbolRange;

TEST(SymbolRange, TextRoundTrip) {
  for (const char *text : {"n <= 16", "17 <= n", "17 <= n <= 64", "0 <= batch size"})
    EXPECT_EQ(SymbolRange::parse(text).value().str(), text);
  EXPECT_EQ(SymbolRange::parse("0<=n<=3")->str(), "n <= 3");
  for (const char *text :
       {"", "n", "16", "<= 16", "n <=", "5 <= 16", "17 <= n <= 16", "n <= -1", "1 <= n <= m", "n < 3"})
    EXPECT_FALSE(SymbolRange::parse(text)) << text;
}

TEST(SymbolRange, BothEndsAreInIt) {
  SymbolRange range = *SymbolRange::parse("17 <= n <= 64");
  for (int64_t value : {17, 64})
    EXPECT_TRUE(range.contains(value));
  for (int64_t value : {0, 16, 65})
    EXPECT_FALSE(range.contains(value));
}
