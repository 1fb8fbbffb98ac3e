//===- SaturatedIntegerTest.cpp - numbers beyond integers -----------------===//

#include "support/SaturatedInteger.h"

#include <gtest/gtest.h>

#include <limits>

using perpend::support::saturatedInteger;

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(SaturatedInteger, SixtyFourBits) {
  EXPECT_EQ(saturatedInteger(2.9), 2);
  EXPECT_EQ(saturatedInteger(-2.9), -2);
  EXPECT_EQ(saturatedInteger(0x1p62), int64_t(1) << 62);
  for (double large : {0x1p63, 1e30, infinity})
    EXPECT_EQ(saturatedInteger(large), std::numeric_limits<int64_t>::max());
  for (double low : {-0x1p63, -1e30, -infinity})
    EXPECT_EQ(saturatedInteger(low), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(saturatedInteger(std::numeric_limits<double>::quiet_NaN()), 0);
}

TEST(SaturatedInteger, OtherWidths) {
  for (unsigned width : {2, 4, 8, 16, 32, 64}) {
    EXPECT_EQ(saturatedInteger(infinity, width, false), llvm::APInt::getSignedMaxValue(width));
    EXPECT_EQ(saturatedInteger(-infinity, width, false), llvm::APInt::getSignedMinValue(width));
    EXPECT_EQ(saturatedInteger(1e30, width, true), llvm::APInt::getMaxValue(width));
    EXPECT_EQ(saturatedInteger(-3, width, true), llvm::APInt(width, 0));
    EXPECT_EQ(saturatedInteger(-1, width, false), llvm::APInt::getAllOnes(width));
  }
  EXPECT_EQ(saturatedInteger(200, 8, false), llvm::APInt(8, 127));
  EXPECT_EQ(saturatedInteger(200, 8, true), llvm::APInt(8, 200));
  EXPECT_EQ(saturatedInteger(1, 1, true), llvm::APInt(1, 1));
}
} // namespace
