//===- KernelsTest.cpp - programs by hand: results, cycles, mutants --------===//
//
// The kernels are the measure for what the compiler makes, so their cycles are frozen: a change needs a lower number.
//
//===----------------------------------------------------------------------===//

#include "target/quoin/Simulator.h"
#include "target/quoin/Verifier.h"
#include "target/quoin/simulator/Values.h"

#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace perpend::quoin::test {
namespace {
using Tensor = std::vector<float>;
using Tensors = std::map<std::string, Tensor>;

struct Kernel {
  const char *name;
  uint64_t cycles; ///< of the model
  double tolerance; ///< 0: the results are equal bit by bit
  std::function<Tensor(Tensors &)> expected;
};

float rounded(float value) { return floatOfHalf(halfOfFloat(value)); }

/// sum over k of a(i, k) * b(k, j), in order.
template <typename A, typename B>
Tensor product(size_t m, size_t n, size_t k, A a, B b) {
  Tensor result(m * n);
  for (size_t i = 0; i < m; ++i)
    for (size_t p = 0; p < k; ++p) {
      float left = a(i, p);
      for (size_t j = 0; j < n; ++j) {
        float term = left * b(p, j);
        result[i * n + j] = result[i * n + j] + term;
      }
    }
  return result;
}

Tensor expectedProduct(Tensors &in) {
  Tensor &a = in["A"], &b = in["B"];
  return product(512, 512, 512, [&](size_t i, size_t k) { return a[i * 512 + k]; }, [&](size_t k, size_t j) { return b[k * 512 + j]; });
}

/// The pixel that tap `tap` of a window 3x3 with a border of 1 sees; 0 in the border.
float tapped(const Tensor &x, int size, int channels, int pixel, int tap, int channel) {
  int row = pixel / size + tap / 3 - 1, column = pixel % size + tap % 3 - 1;
  bool inside = row >= 0 && column >= 0 && row < size && column < size;
  return inside ? x[(row * size + column) * channels + channel] : 0.0f;
}

Tensor expectedConvolution(Tensors &in) {
  return product(
      56 * 56, 64, 288, [&](size_t pixel, size_t k) { return tapped(in["x"], 56, 32, int(pixel), int(k / 32), int(k % 32)); },
      [&](size_t k, size_t filter) { return in["w"][filter * 288 + k]; });
}

Tensor expectedDepthwise(Tensors &in) {
  Tensor result(28 * 28 * 64);
  for (int pixel = 0; pixel < 28 * 28; ++pixel)
    for (int channel = 0; channel < 64; ++channel)
      for (int tap = 0; tap < 9; ++tap) {
        float term = tapped(in["x"], 28, 64, pixel, tap, channel) * in["w"][tap * 64 + channel];
        result[pixel * 64 + channel] = result[pixel * 64 + channel] + term;
      }
  return result;
}

void softmaxRows(Tensor &x, size_t columns) {
  for (size_t row = 0; row < x.size(); row += columns) {
    float most = *std::max_element(x.begin() + row, x.begin() + row + columns);
    double sum = 0;
    for (size_t column = 0; column < columns; ++column)
      sum += std::exp(double(x[row + column]) - most);
    for (size_t column = 0; column < columns; ++column)
      x[row + column] = float(std::exp(double(x[row + column]) - most) / sum);
  }
}

Tensor expectedSoftmax(Tensors &in) {
  Tensor result = in["x"];
  softmaxRows(result, 1024);
  return result;
}

Tensor expectedLayerNorm(Tensors &in) {
  constexpr size_t columns = 768;
  Tensor result = in["x"];
  for (size_t row = 0; row < result.size(); row += columns) {
    double mean = 0, variance = 0;
    for (size_t column = 0; column < columns; ++column)
      mean += result[row + column] / double(columns);
    for (size_t column = 0; column < columns; ++column)
      variance += (result[row + column] - mean) * (result[row + column] - mean) / columns;
    for (size_t column = 0; column < columns; ++column)
      result[row + column] = float((result[row + column] - mean) / std::sqrt(variance + 1e-5) * in["gamma"][column] + in["beta"][column]);
  }
  return result;
}

Tensor expectedAttention(Tensors &in) {
  Tensor scores = product(256, 256, 64, [&](size_t i, size_t k) { return in["q"][i * 64 + k]; }, [&](size_t k, size_t j) { return in["k"][j * 64 + k]; });
  for (float &score : scores)
    score *= 0.125f;
  softmaxRows(scores, 256);
  return product(256, 64, 256, [&](size_t i, size_t k) { return scores[i * 256 + k]; }, [&](size_t k, size_t j) { return in["v"][k * 64 + j]; });
}

Tensor expectedPooling(Tensors &in) {
  Tensor result(28 * 28 * 64, -INFINITY);
  for (int y = 0; y < 28; ++y)
    for (int x = 0; x < 28; ++x)
      for (int tap = 0; tap < 9; ++tap)
        for (int channel = 0; channel < 64; ++channel) {
          int row = 2 * y + tap / 3 - 1, column = 2 * x + tap % 3 - 1;
          if (row >= 0 && column >= 0 && row < 56 && column < 56) {
            float &best = result[(y * 28 + x) * 64 + channel];
            best = std::max(best, in["x"][(row * 56 + column) * 64 + channel]);
          }
        }
  return result;
}

Tensor expectedTranspose(Tensors &in) {
  Tensor result(1024 * 512);
  for (size_t row = 0; row < 1024; ++row)
    for (size_t column = 0; column < 512; ++column)
      result[column * 1024 + row] = in["x"][row * 512 + column];
  return result;
}

const Kernel kernels[] = {
    {"product", 0, 0, expectedProduct},         {"convolution", 0, 0, expectedConvolution}, {"depthwise", 0, 0, expectedDepthwise},
    {"softmax", 0, 1e-3, expectedSoftmax},      {"layernorm", 0, 2e-3, expectedLayerNorm},  {"attention", 0, 2e-3, expectedAttention},
    {"pooling", 0, 0, expectedPooling},         {"transpose", 0, 0, expectedTranspose},
};

Program readKernel(const char *name) {
  std::string path = std::string(TEST_KERNELS) + "/" + name + ".s";
  auto buffer = llvm::MemoryBuffer::getFile(path);
  EXPECT_TRUE(bool(buffer)) << path;
  llvm::Expected<Program> program = assemble(**buffer);
  if (!program) {
    ADD_FAILURE() << llvm::toString(program.takeError());
    return {};
  }
  return std::move(*program);
}

/// Inputs by name; those of f32 are `gamma` and `beta`.
bool isSingle(llvm::StringRef name) { return name == "gamma" || name == "beta"; }

Tensors writeInputs(Simulator &simulator, const Program &program) {
  Tensors inputs;
  std::mt19937 random(1);
  for (const Symbol &symbol : program.symbols) {
    if (symbol.kind != Symbol::Kind::Input)
      continue;
    unsigned size = isSingle(symbol.name) ? 4 : 2;
    Tensor &values = inputs[symbol.name];
    std::vector<uint8_t> bytes(symbol.sizeBytes);
    for (uint64_t at = 0; at < bytes.size(); at += size) {
      values.push_back(rounded(float(int(random() % 4001) - 2000) / 1000));
      storeFloat(&bytes[at], size == 4 ? DType::F32 : DType::F16, values.back());
    }
    EXPECT_FALSE(bool(simulator.write(symbol.name, bytes)));
  }
  return inputs;
}

Tensor readOutput(const Simulator &simulator, const Program &program) {
  Tensor result;
  for (const Symbol &symbol : program.symbols)
    if (symbol.kind == Symbol::Kind::Output) {
      std::vector<uint8_t> bytes(symbol.sizeBytes);
      EXPECT_FALSE(bool(simulator.read(symbol.name, bytes)));
      for (uint64_t at = 0; at < bytes.size(); at += 2)
        result.push_back(loadFloat(&bytes[at], DType::F16));
    }
  return result;
}

class KernelTest : public testing::TestWithParam<Kernel> {};

void expectResult(const Kernel &kernel, const Tensor &found, Tensors &inputs) {
  Tensor expected = kernel.expected(inputs);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t index = 0; index < found.size(); ++index) {
    double difference = std::fabs(double(found[index]) - (kernel.tolerance ? expected[index] : rounded(expected[index])));
    ASSERT_LE(difference, kernel.tolerance * std::max(1.0, std::fabs(double(expected[index])))) << "element " << index;
  }
}

TEST_P(KernelTest, IsRightInEachOrder) {
  Program program = readKernel(GetParam().name);
  for (uint64_t seed = 0; seed < 3; ++seed) {
    SimulatorOptions options;
    options.seed = seed;
    auto simulator = Simulator::create(program, options);
    ASSERT_TRUE(bool(simulator)) << llvm::toString(simulator.takeError());
    Tensors inputs = writeInputs(**simulator, program);
    std::optional<Trap> trap = (*simulator)->run();
    ASSERT_FALSE(trap.has_value()) << trap->toString();
    expectResult(GetParam(), readOutput(**simulator, program), inputs);
  }
}

TEST_P(KernelTest, TakesItsCycles) {
  Program program = readKernel(GetParam().name);
  SimulatorOptions options;
  options.mode = SimulatorMode::Time;
  auto simulator = Simulator::create(program, options);
  ASSERT_TRUE(bool(simulator)) << llvm::toString(simulator.takeError());
  std::optional<Trap> trap = (*simulator)->run();
  ASSERT_FALSE(trap.has_value()) << trap->toString();
  EXPECT_EQ((*simulator)->counters().cycles, GetParam().cycles) << reportText((*simulator)->counters(), program);
}

TEST_P(KernelTest, IsVerified) {
  Verification result = verify(readKernel(GetParam().name));
  for (const Finding &finding : result.findings)
    ADD_FAILURE() << finding.trap.toString();
  EXPECT_TRUE(result.limits.empty());
}

/// Each flag that an instruction waits for or sets, and each setf and waitf, is left out in turn.
std::vector<Program> mutantsOf(const Program &program) {
  std::vector<Program> mutants;
  for (size_t core = 0; core < program.cores.size(); ++core)
    for (size_t index = 0; index < program.cores[core].size(); ++index) {
      const Instruction &instruction = program.cores[core][index];
      auto add = [&](auto change) {
        mutants.push_back(program);
        change(mutants.back().cores[core][index]);
      };
      for (size_t token = 0; token < instruction.wait.size(); ++token)
        add([&](Instruction &mutant) { mutant.wait.erase(mutant.wait.begin() + token); });
      for (size_t token = 0; token < instruction.set.size(); ++token)
        add([&](Instruction &mutant) { mutant.set.erase(mutant.set.begin() + token); });
      if (instruction.opcode == Opcode::setf || instruction.opcode == Opcode::waitf)
        add([&](Instruction &mutant) { mutant = Instruction(); });
    }
  return mutants;
}

TEST_P(KernelTest, VerifierFindsEachMissingFlag) {
  Program program = readKernel(GetParam().name);
  std::vector<Program> mutants = mutantsOf(program);
  EXPECT_GE(mutants.size(), 4u);
  for (const Program &mutant : mutants)
    EXPECT_FALSE(verify(mutant).findings.empty()) << "a mutant lives:\n" << disassemble(mutant);
}

INSTANTIATE_TEST_SUITE_P(All, KernelTest, testing::ValuesIn(kernels), [](const auto &info) { return info.param.name; });
} // namespace
} // namespace perpend::quoin::test
