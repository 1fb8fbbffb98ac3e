// Fourier transforms of the library against sums in long double.
#include "FakeCall.h"
#include "library/FourierPlan.h"
#include "library/RootsOfUnity.h"
#include <algorithm>
#include <cmath>
#include <complex>
#include <gtest/gtest.h>
#include <numbers>
#include <random>

using perpend::testing::FakeCall;
using perpend::testing::FakeTensor;
using Wide = std::complex<long double>;
using Extents = std::vector<int64_t>;

namespace {

// e^(2 pi i k / n), with the angle brought into [0, pi / 4] in integers.
Wide exactRoot(int64_t k, int64_t n) {
  int64_t octant = 8 * k / n, rest = 8 * k % n;
  long double angle = std::numbers::pi_v<long double> / 4 * (octant % 2 ? n - rest : rest) / n;
  long double cosine = std::cos(angle), sine = std::sin(angle);
  if (octant % 4 == 1 || octant % 4 == 2)
    std::swap(cosine, sine);
  return {octant % 8 >= 2 && octant % 8 < 6 ? -cosine : cosine, octant % 8 >= 4 ? -sine : sine};
}

template <typename T> constexpr perpend_type typeOf = sizeof(T) == 4 ? PERPEND_F32 : PERPEND_F64;

template <typename T> std::vector<T> normals(int64_t count) {
  std::mt19937 engine(5);
  std::normal_distribution<double> normal;
  std::vector<T> values(static_cast<size_t>(count));
  std::generate(values.begin(), values.end(), [&] { return static_cast<T>(normal(engine)); });
  return values;
}

struct Form {
  Extents input, output; // [before, j, behind, parts], or [before, i, j, behind, parts]
  int64_t length;
  bool isInverse = false, isScaled = false;
  int64_t half = 0;
};

template <typename T> std::vector<T> transform(const Form &form, const std::vector<T> &values) {
  FakeCall call;
  std::string parameters =
      "{\"inverse\": " + std::to_string(form.isInverse) + ", \"scaled\": " + std::to_string(form.isScaled) +
      ", \"half\": " + std::to_string(form.half) + "}";
  EXPECT_EQ(call.run(perpend_fourier_transform,
                     {call.tensor(typeOf<T>, form.input, values), call.tensor(PERPEND_I64, {1}, Extents{form.length})},
                     {typeOf<T>}, parameters, form.output),
            PERPEND_OK)
      << call.message;
  EXPECT_EQ(call.results[0].shape, form.output);
  return call.results[0].as<T>();
}

template <typename T> T at(const std::vector<T> &values, const Extents &shape, Extents index) {
  int64_t position = 0;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    position = position * shape[dim] + index[dim];
  return values[static_cast<size_t>(position)];
}

// One element of a spectrum: the sum that defines it.
template <typename T>
Wide exactElement(const Form &form, const std::vector<T> &values, const std::vector<Wide> &roots, Extents index) {
  Wide sum = 0;
  const int64_t n = form.length, k = index[1];
  for (int64_t j = 0; j < std::min(n, form.input[1]); ++j) {
    Wide x = {at(values, form.input, {index[0], j, index[2], 0}),
              form.input[3] == 2 ? at(values, form.input, {index[0], j, index[2], 1}) : 0};
    Wide root = roots[static_cast<size_t>(j * k % n)];
    sum += x * (form.isInverse ? root : std::conj(root));
  }
  return form.isScaled ? sum / static_cast<long double>(n) : sum;
}

// The root of the mean squared error over that of the mean square, in units of the type's rounding error. At most
// `samples` elements of every line are looked at.
template <typename T> double errorOf(const Form &form, int64_t samples = 20) {
  const Extents &in = form.input, &out = form.output;
  std::vector<T> values = normals<T>(in[0] * in[1] * in[2] * in[3]), got = transform(form, values);
  std::vector<Wide> roots;
  for (int64_t k = 0; k < form.length; ++k)
    roots.push_back(exactRoot(k, form.length));
  long double error = 0, size = 0;
  const int64_t step = std::max<int64_t>(1, out[1] / samples);
  for (int64_t before = 0; before < out[0]; ++before)
    for (int64_t k = 0; k < out[1]; k += step)
      for (int64_t behind = 0; behind < out[2]; ++behind) {
        Wide expected = k < form.length ? exactElement(form, values, roots, {before, k, behind}) : 0;
        for (int64_t part = 0; part < out[3]; ++part) {
          long double value = part ? expected.imag() : expected.real();
          long double difference = at(got, out, {before, k, behind, part}) - value;
          error += difference * difference;
          size += value * value;
        }
      }
  return static_cast<double>(std::sqrt(error / size)) / std::numeric_limits<T>::epsilon();
}

template <typename T> void expectExact(const Form &form, double factor = 0.5) {
  double error = errorOf<T>(form), bound = factor * std::log2(static_cast<double>(form.length) + 1);
  EXPECT_LE(error, bound) << sizeof(T) * 8 << " bits, n = " << form.length << ", inverse " << form.isInverse;
}

template <typename T> class FourierTest : public ::testing::Test {};
using Elements = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FourierTest, Elements);

} // namespace

TEST(RootsOfUnity, AreRoundedFromExactOnes) {
  for (int64_t n : {1, 2, 3, 4, 6, 8, 12, 100, 441, 1009, 4096, 99991}) {
    std::vector<double> cosines(static_cast<size_t>(n)), sines = cosines;
    std::vector<float> shortCosines(static_cast<size_t>(n)), shortSines = shortCosines;
    perpend::library::fillRoots(n, cosines.data(), sines.data());
    perpend::library::fillRoots(n, shortCosines.data(), shortSines.data());
    for (int64_t k = 0; k < n; ++k) {
      auto at = static_cast<size_t>(k);
      Wide exact = exactRoot(k, n);
      ASSERT_NEAR(cosines[at], exact.real(), 0x1p-53 * 1.5) << k << "/" << n;
      ASSERT_NEAR(sines[at], exact.imag(), 0x1p-53 * 1.5) << k << "/" << n;
      ASSERT_EQ(shortCosines[at], static_cast<float>(exact.real())) << k << "/" << n;
      ASSERT_EQ(shortSines[at], static_cast<float>(exact.imag())) << k << "/" << n;
      ASSERT_NEAR(perpend::library::rootOfUnity(k, n).cosine, cosines[at], 0x1p-53) << k << "/" << n;
    }
  }
}

TYPED_TEST(FourierTest, SmallLengthsInBothDirections) {
  for (int64_t n = 1; n <= 64; ++n)
    for (bool isInverse : {false, true}) {
      expectExact<TypeParam>({{1, n, 1, 2}, {1, n, 1, 2}, n, isInverse});
      expectExact<TypeParam>({{11, n, 1, 2}, {11, n, 1, 2}, n, isInverse, true});
      expectExact<TypeParam>({{2, n, 13, 1}, {2, n / 2 + 1, 13, 2}, n, isInverse});
      expectExact<TypeParam>({{1, n, 1, 1}, {1, n, 1, 2}, n, isInverse});
    }
}

TYPED_TEST(FourierTest, PrimesAndLongLengths) {
  for (int64_t n : {67, 97, 127, 211, 1009, 2018, 3027, 4096, 4099, 44100, 65536})
    for (int64_t lines : {1, 5})
      for (int64_t parts : {1, 2})
        expectExact<TypeParam>({{lines, n, 1, parts}, {lines, n, 1, 2}, n, false});
  for (int64_t behind : {3, 9})
    expectExact<TypeParam>({{1, 16384, behind, 1}, {1, 16384, behind, 2}, 16384, true, true});
}

TYPED_TEST(FourierTest, MissingElementsAreZeroAndLaterOnesAreLeftOut) {
  for (int64_t n : {1, 6, 7, 37, 61}) {
    expectExact<TypeParam>({{3, n + 4, 2, 2}, {3, n, 2, 2}, n});
    expectExact<TypeParam>({{3, n, 2, 2}, {3, n + 3, 2, 1}, n, true});
    expectExact<TypeParam>({{9, (n + 1) / 2, 1, 1}, {9, n, 1, 2}, n}, 1);
  }
}

TYPED_TEST(FourierTest, ALineHasOneTransformWhereverItLies) {
  using T = TypeParam;
  for (int64_t n : {10, 49, 74, 2187, 20000}) {
    std::vector<T> line = normals<T>(2 * n), alone = transform<T>({{1, n, 1, 2}, {1, n, 1, 2}, n}, line);
    for (int64_t lines : {2, 4, 9, 16}) {
      std::vector<T> side = normals<T>(lines * n * 2), stacked = side;
      for (int64_t i = 0; i < 2 * n; ++i) {
        stacked[static_cast<size_t>(2 * n * (lines - 1) + i)] = line[static_cast<size_t>(i)];
        side[static_cast<size_t>((i / 2 * lines + lines - 1) * 2 + i % 2)] = line[static_cast<size_t>(i)];
      }
      Extents rows{lines, n, 1, 2}, columns{1, n, lines, 2};
      std::vector<T> below = transform<T>({rows, rows, n}, stacked), beside = transform<T>({columns, columns, n}, side);
      for (int64_t i = 0; i < 2 * n; ++i) {
        ASSERT_EQ(at(below, rows, {lines - 1, i / 2, 0, i % 2}), alone[static_cast<size_t>(i)]) << n << " " << lines;
        ASSERT_EQ(at(beside, columns, {0, i / 2, lines - 1, i % 2}), alone[static_cast<size_t>(i)])
            << n << " " << lines;
      }
    }
  }
}

// What `half` says of one side, done to it by hand.
template <typename T> std::vector<T> weighted(const std::vector<T> &values, const Extents &shape, int64_t length) {
  std::vector<T> result = values;
  const int64_t inner = shape[2] * shape[3];
  for (size_t i = 0; i < result.size(); ++i) {
    int64_t k = static_cast<int64_t>(i) / inner % shape[1];
    result[i] *= static_cast<T>(2 * k > length ? 0 : k == 0 || 2 * k == length ? 1 : 2);
  }
  return result;
}

template <typename T> void expectNear(const std::vector<T> &got, const std::vector<T> &expected, double size) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], size * std::numeric_limits<T>::epsilon()) << i;
}

TYPED_TEST(FourierTest, HalvesOfSpectraCountTwice) {
  using T = TypeParam;
  for (int64_t n : {1, 2, 3, 8, 37, 74, 100, 256, 1018})
    for (int64_t lines : {1, 17})
      for (int64_t count : {n / 2 + 1, n + 2, n / 3 + 1}) {
        const Extents half{lines, count, 1, 2}, whole{1, n, lines, 1}, wholeRows{lines, n, 1, 1};
        std::vector<T> values = normals<T>(lines * count * 2);
        expectNear(transform<T>({half, wholeRows, n, true, true, 1}, values),
                   transform<T>({half, wholeRows, n, true, true}, weighted(values, half, n)), 8);
        std::vector<T> real = normals<T>(lines * n);
        expectNear(transform<T>({wholeRows, half, n, false, true, 2}, real),
                   weighted(transform<T>({wholeRows, half, n, false, true}, real), half, n), 8);
        expectNear(transform<T>({wholeRows, wholeRows, n, true, true, 1}, real),
                   transform<T>({wholeRows, wholeRows, n, true, true}, weighted(real, wholeRows, n)), 8);
      }
}

// Both dimensions at once have the bits of one after the other.
TYPED_TEST(FourierTest, ImagesAreTransformedAlongBothDimensions) {
  using T = TypeParam;
  const Extents sizes[] = {{1, 1, 1, 1}, {3, 4, 6, 1}, {2, 5, 7, 3}, {40, 16, 16, 1}, {2, 128, 96, 1}, {1, 37, 74, 2}};
  for (const Extents &s : sizes) {
    const int64_t b = s[0], rows = s[1], n = s[2], behind = s[3], half = n / 2 + 1;
    for (int64_t parts : {1, 2}) {
      std::vector<T> values = normals<T>(b * rows * n * behind * parts);
      auto got = transform<T>({{b, rows, n, behind, parts}, {b, rows, half, behind, 2}, n}, values);
      auto lines = transform<T>({{b * rows, n, behind, parts}, {b * rows, half, behind, 2}, n}, values);
      EXPECT_EQ(got, transform<T>({{b, rows, half * behind, 2}, {b, rows, half * behind, 2}, rows}, lines));
    }
    std::vector<T> values = normals<T>(b * rows * half * behind * 2);
    const Extents image{b, rows, half, behind, 2}, result{b, rows, n, behind, 1};
    auto got = transform<T>({image, result, n, true, true, 1}, values);
    auto columns =
        transform<T>({{b, rows, half * behind, 2}, {b, rows, half * behind, 2}, rows, true, true}, values);
    EXPECT_EQ(got, transform<T>({{b * rows, half, behind, 2}, {b * rows, n, behind, 1}, n, true, true, 1}, columns));
  }
}

TYPED_TEST(FourierTest, RealLinesHaveRealEnds) {
  using T = TypeParam;
  for (int64_t n : {2, 10, 64, 74, 126})
    for (bool isInverse : {false, true}) {
      std::vector<T> got = transform<T>({{1, n, 1, 1}, {1, n, 1, 2}, n, isInverse}, normals<T>(n));
      EXPECT_EQ(got[1], 0);
      EXPECT_EQ(got[static_cast<size_t>(n + 1)], 0);
      for (int64_t k = 1; k < n; ++k) {
        EXPECT_EQ(at(got, {n, 2}, {k, 0}), at(got, {n, 2}, {n - k, 0}));
        EXPECT_EQ(at(got, {n, 2}, {k, 1}), -at(got, {n, 2}, {n - k, 1}));
      }
    }
}

TYPED_TEST(FourierTest, InfinityStaysInItsLine) {
  using T = TypeParam;
  for (int64_t n : {2, 16, 37}) {
    std::vector<T> values(static_cast<size_t>(9 * n), 1);
    values[0] = std::numeric_limits<T>::infinity();
    std::vector<T> got = transform<T>({{9, n, 1, 1}, {9, 1, 1, 2}, n}, values);
    EXPECT_FALSE(std::isfinite(got[0]));
    for (size_t line = 1; line < 9; ++line)
      EXPECT_NEAR(got[2 * line], static_cast<double>(n), 1e-4 * static_cast<double>(n));
  }
}

TYPED_TEST(FourierTest, NothingToDo) {
  using T = TypeParam;
  EXPECT_EQ(transform<T>({{0, 8, 3, 2}, {0, 8, 3, 2}, 8}, {}), std::vector<T>());
  EXPECT_EQ(transform<T>({{2, 8, 0, 2}, {2, 8, 0, 2}, 8}, {}), std::vector<T>());
  EXPECT_EQ(transform<T>({{2, 0, 1, 1}, {2, 1, 1, 2}, 0}, {}), std::vector<T>(4, 0));
  EXPECT_EQ(transform<T>({{2, 0, 1, 1}, {2, 2, 1, 1}, 3}, {}), std::vector<T>(4, 0));
  EXPECT_EQ(transform<T>({{1, 2, 1, 1}, {1, 0, 1, 2}, 2}, {1, 2}), std::vector<T>());
}

TEST(Fourier, RefusesWhatItCannotTransform) {
  FakeCall call;
  FakeTensor x = call.tensor<float>(PERPEND_F32, {1, 2, 1, 1}, {1, 2});
  auto run = [&](int64_t length, Extents shape) {
    return call.run(perpend_fourier_transform, {x, call.tensor(PERPEND_I64, {1}, Extents{length})}, {PERPEND_F32}, "{}",
                    std::move(shape));
  };
  EXPECT_EQ(run(-2, {1, 2, 1, 2}), PERPEND_INVALID_DATA);
  EXPECT_EQ(call.message, "expected a length from 0 to 1099511627776, got -2");
  EXPECT_EQ(run(2, {1, 2, 1, 3}), PERPEND_INVALID_DATA);
  EXPECT_EQ(run(2, {2, 2, 1, 2}), PERPEND_INVALID_DATA);
}

TEST(Fourier, ASessionKeepsTheTablesOfAFewLengths) {
  perpend::library::KeptTables kept;
  int32_t isNew;
  auto find = [&](int64_t key) { return kept.find(nullptr, &key, sizeof key, 100, &isNew); };
  void *first = find(0);
  EXPECT_EQ(isNew, 1);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0U);
  for (int64_t key = 1; key < 40; ++key) {
    find(key);
    EXPECT_EQ(isNew, 1) << key;
    EXPECT_EQ(find(0), first); // used all the time
    EXPECT_EQ(isNew, 0) << key;
  }
  find(1); // not used for the longest time, so freed
  EXPECT_EQ(isNew, 1);
  EXPECT_EQ(kept.find(nullptr, &first, 65, 100, &isNew), nullptr);
}
