//===- ExpandMathCase.h - tests of expanded functions -----------*- C++ -*-===//
//
// Sources, arguments and a compiler for the tests of f32 (ExpandMathTest.cpp) and of f64 (ExpandMathDoublesTest.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TEST_TILE_EXPANDMATHCASE_H
#define PERPEND_TEST_TILE_EXPANDMATHCASE_H

#include "Jit.h"
#include "target/cpu/passes/Passes.h"
#include "tile/passes/Passes.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

namespace perpend::tile {

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

/// Arguments where functions change their method or meet a limit.
inline std::vector<float> specialValues() {
  std::vector<float> values = {0,
                               1,
                               2,
                               3,
                               4,
                               0.5f,
                               0.25f,
                               0.625f,
                               1.5f,
                               3.92f,
                               9.01f,
                               10,
                               16,
                               17.5f,
                               30,
                               64,
                               88.7228f,
                               88.73f,
                               89,
                               89.5f,
                               103.97f,
                               104,
                               126,
                               127,
                               128,
                               149,
                               150,
                               151,
                               1000,
                               1e5f,
                               1e10f,
                               1e-5f,
                               1e-10f,
                               0x1p23f,
                               0x1p24f,
                               0x1.000002p24f,
                               0x1p-126f,
                               0x1p-149f,
                               0x1.fffffep127f,
                               infinity,
                               notANumber,
                               0.70710678f,
                               1.4142135f,
                               0x1.fffffep-1f,
                               0x1.000002p0f};
  for (size_t i = 0, count = values.size(); i < count; ++i)
    values.push_back(-values[i]);
  return values;
}

/// Of two arguments.
inline std::string binarySource(llvm::StringRef name, llvm::StringRef dialect = "math", llvm::StringRef type = "f32") {
  return llvm::formatv(R"(
    func.func @{0}(%base: memref<?x{2}>, %exponent: memref<?x{2}>, %out: memref<?x{2}>) attributes {{llvm.emit_c_interface} {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %size = memref.dim %base, %zero : memref<?x{2}>
      scf.for %i = %zero to %size step %one {{
        %x = memref.load %base[%i] : memref<?x{2}>
        %y = memref.load %exponent[%i] : memref<?x{2}>
        %z = {1}.{0} %x, %y : {2}
        memref.store %z, %out[%i] : memref<?x{2}>
      }
      return
    })",
                       name, dialect, type);
}

inline std::string vectorSource(llvm::StringRef name, llvm::StringRef type = "f32") {
  return llvm::formatv(R"(
    func.func @{0}_vector(%in: memref<?x{1}>, %out: memref<?x{1}>) attributes {{llvm.emit_c_interface} {{
      %zero = arith.constant 0 : index
      %x = vector.load %in[%zero] : memref<?x{1}>, vector<8x{1}>
      %y = math.{0} %x : vector<8x{1}>
      vector.store %y, %out[%zero] : memref<?x{1}>, vector<8x{1}>
      return
    })",
                       name, type);
}

/// The parameter: whether multiply-adds are fused.
class ExpandMathCase : public testing::TestWithParam<bool> {
protected:
  Jit compile(const std::string &source, bool hasF64 = true) {
    perpend::target::Machine target;
    target.hasF64 = hasF64;
    target.fusesMultiplyAdds = GetParam();
    std::vector<std::unique_ptr<mlir::Pass>> passes;
    passes.push_back(createTileExpandMath({target, {}}));
    passes.push_back(perpend::target::createCpuExpandFloats({target}));
    return Jit(source, std::move(passes));
  }
};

} // namespace perpend::tile

#endif
