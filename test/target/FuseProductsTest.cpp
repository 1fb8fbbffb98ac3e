//===- FuseProductsTest.cpp - vector-fuse-products against the code before it --===//
//
// Interleaved sums of products of narrow integers, of signs that agree or not, run
// as they are and behind the pass, on random bytes: all sums are the same.
//
//===----------------------------------------------------------------------===//

#include "Jit.h"
#include "target/TargetInfo.h"
#include "target/vector/passes/Passes.h"

#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

#include <random>

using namespace perpend::tile;

namespace {
template <typename T> StridedMemRefType<T, 1> view(std::vector<T> &values) {
  return {values.data(), values.data(), 0, {static_cast<int64_t>(values.size())}, {1}};
}

/// Straight code on buffers of bytes (%x, %w), of 16 bits (%h) and of sums (%out).
class Program {
public:
  /// `isMixed`: each factor is of any buffer, and extended in any way; else left and right ones are of one type each.
  Program(unsigned seed, bool isMixed) : random(seed), isMixed(isMixed) {
    lanes = 8 << pick(0, 2);
    for (const char *&extension : extensions)
      extension = pick(0, 1) ? "extsi" : "extui";
    for (int64_t chain = pick(1, 5); chain > 0; --chain)
      sums.push_back(line("arith.constant dense<{0}> : vector<{1}xi32>", pick(-99, 99), lanes));
    for (int64_t step = pick(4, 30); step > 0; --step)
      addTo(sums[static_cast<size_t>(pick(0, static_cast<int64_t>(sums.size()) - 1))]);
    for (const std::string &sum : sums)
      store(sum);
  }

  std::string source() const {
    return "func.func @run(%x: memref<?xi8>, %w: memref<?xi8>, %h: memref<?xi16>, %out: memref<?xi32>)"
           " attributes {llvm.emit_c_interface} {\n" +
           body + "  return\n}\n";
  }
  int64_t sumCount() const { return stored; }

private:
  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); }

  template <typename... Values> std::string line(const char *format, Values &&...values) {
    std::string name = "%v" + std::to_string(names++);
    body += "  " + name + " = " + llvm::formatv(format, std::forward<Values>(values)...).str() + "\n";
    return name;
  }

  std::string indexOf(int64_t element) { return line("arith.constant {0} : index", element); }

  /// Sixteenths, so that factors are loaded again and words can be shared.
  std::string factor(size_t side) {
    size_t buffer = isMixed ? static_cast<size_t>(pick(0, 2)) : side;
    const char *extension = isMixed && pick(0, 1) ? "extsi" : extensions[side];
    std::string index = indexOf(16 * pick(0, 9));
    const char *type = buffer == 2 ? "i16" : "i8";
    std::string narrow = line("vector.load {0}[{1}] : memref<?x{2}>, vector<{3}x{2}>",
                              llvm::StringRef("%x%w%h").substr(2 * buffer, 2), index, type, lanes);
    return line("arith.{0} {1} : vector<{2}x{3}> to vector<{2}xi32>", extension, narrow, lanes, type);
  }

  std::string either(const char *operation, std::string left, std::string right) {
    if (pick(0, 3) == 0)
      std::swap(left, right);
    return line("arith.{0} {1}, {2} : vector<{3}xi32>", operation, left, right, lanes);
  }

  void addTo(std::string &sum) {
    sum = either("addi", sum, either("muli", factor(0), factor(1)));
    if (isMixed && pick(0, 9) == 0)
      sum = either("addi", sum, factor(0)); // no product
    if (pick(0, 14) == 0)
      store(sum);           // and it goes on
    if (pick(0, 14) == 0) { // what is loaded again is another
      std::string index = indexOf(16 * pick(0, 9));
      std::string bytes = line("arith.trunci {0} : vector<{1}xi32> to vector<{1}xi8>", sum, lanes);
      body += llvm::formatv("  vector.store {0}, %x[{1}] : memref<?xi8>, vector<{2}xi8>\n", bytes, index, lanes).str();
    }
  }

  void store(const std::string &sum) {
    std::string index = indexOf(stored);
    body += llvm::formatv("  vector.store {0}, %out[{1}] : memref<?xi32>, vector<{2}xi32>\n", sum, index, lanes).str();
    stored += lanes;
  }

  std::mt19937 random;
  bool isMixed;
  int64_t lanes = 0, stored = 0, names = 0;
  const char *extensions[2] = {};
  std::vector<std::string> sums;
  std::string body;
};

/// The sums, and what is left in the first buffer.
std::pair<std::vector<int32_t>, std::vector<int8_t>> run(Jit &jit, unsigned seed, int64_t count) {
  std::mt19937 random(seed);
  auto numbers = [&]<typename T>(std::vector<T> all) {
    for (T &number : all) // often at the ends of the type
      number = random() % 3   ? static_cast<T>(random())
               : random() % 2 ? std::numeric_limits<T>::min()
                              : std::numeric_limits<T>::max();
    return all;
  };
  std::vector<int8_t> x = numbers(std::vector<int8_t>(192)), w = numbers(std::vector<int8_t>(192));
  std::vector<int16_t> h = numbers(std::vector<int16_t>(192));
  std::vector<int32_t> out(static_cast<size_t>(count));
  auto xView = view(x);
  auto wView = view(w);
  auto hView = view(h);
  auto outView = view(out);
  jit.function<void(void *, void *, void *, void *)>("run")(&xView, &wView, &hView, &outView);
  return {out, x};
}

struct Case {
  const char *target;
  bool isMixed;
};

class FuseProductsTest : public testing::TestWithParam<Case> {};

TEST_P(FuseProductsTest, SumsAreTheSame) {
  perpend::target::TargetInfo target = llvm::cantFail(perpend::target::resolveTarget(GetParam().target));
  perpend::target::TargetInfo host = llvm::cantFail(perpend::target::resolveTarget("host"));
  if (!llvm::all_of(target.features, [&](llvm::StringRef set) { return host.hasFeature(set); }))
    GTEST_SKIP() << "this processor has no such instructions";
  for (unsigned seed = 0; seed < 12; ++seed) {
    Program program(seed, GetParam().isMixed);
    Jit before(program.source(), std::vector<std::unique_ptr<mlir::Pass>>());
    Jit after(program.source(), perpend::target::createVectorFuseProducts({target}));
    for (unsigned inputs = 0; inputs < 4; ++inputs)
      ASSERT_EQ(run(after, inputs, program.sumCount()), run(before, inputs, program.sumCount()))
          << "seed " << seed << "\n"
          << program.source();
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, FuseProductsTest,
                         testing::Values(Case{"x86-64-v4,+avx512vnni", false}, Case{"x86-64-v4,+avx512vnni", true},
                                         Case{"x86-64-v3,+avxvnni", false}, Case{"x86-64-v4", false},
                                         Case{"x86-64-v4", true}, Case{"x86-64-v3", false}, Case{"x86-64", true}));
} // namespace
