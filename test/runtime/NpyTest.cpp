#include "Npy.h"
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

using namespace perpend::runtime;

static std::string makeFile(const std::string &header, size_t dataBytes, int version = 1) {
  std::string file("\x93NUMPY", 6);
  file += static_cast<char>(version);
  file += '\0';
  file += static_cast<char>(header.size() & 255);
  file += static_cast<char>(header.size() >> 8);
  if (version > 1)
    file += std::string(2, '\0');
  return file + header + std::string(dataBytes, 'd');
}

static bool parse(const std::string &file, NpyArray &array, NpyError &error) {
  // An exact copy on the heap, so that AddressSanitizer sees every read past the end.
  std::vector<uint8_t> bytes(file.begin(), file.end());
  return parseNpy(bytes.data(), bytes.size(), array, error);
}

TEST(Npy, ParsesHeaders) {
  NpyArray array;
  NpyError error;
  ASSERT_TRUE(parse(makeFile("{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3), }  \n", 48), array, error))
      << error.message;
  EXPECT_EQ(array.type, PERPEND_I64);
  EXPECT_EQ(array.rank, 2);
  EXPECT_EQ(array.shape[1], 3);
  ASSERT_TRUE(parse(makeFile("{\"shape\":(),\"descr\":\"|b1\",\"fortran_order\":True}", 1, 2), array, error));
  EXPECT_EQ(array.rank, 0);
  EXPECT_EQ(array.type, PERPEND_BOOL);
  ASSERT_TRUE(parse(makeFile("{'descr': '<V2', 'fortran_order': False, 'shape': (0,)}", 0, 3), array, error));
  EXPECT_EQ(array.type, PERPEND_BF16);
  ASSERT_TRUE(parse(makeFile("{'descr': '|V1', 'fortran_order': False, 'shape': (0,)}", 0, 3), array, error));
  EXPECT_EQ(npyTypeFor(array.type, PERPEND_F8E5M2), PERPEND_F8E5M2);
  ASSERT_TRUE(parse(makeFile("{'descr': '<U5', 'fortran_order': False, 'shape': (3,)}", 60), array, error));
  EXPECT_EQ(array.type, PERPEND_STRING);
  EXPECT_EQ(array.elementBytes, 20);
  EXPECT_EQ(array.dataBytes, 60);
  EXPECT_EQ(npyTypeFor(PERPEND_U8, PERPEND_U2), PERPEND_U2);
  EXPECT_EQ(npyTypeFor(PERPEND_I8, PERPEND_I4), PERPEND_I4);
  EXPECT_EQ(npyTypeFor(PERPEND_U16, PERPEND_BF16), PERPEND_BF16);
  EXPECT_EQ(npyTypeFor(array.type, PERPEND_F32), array.type) << "not of the same size";
  EXPECT_EQ(npyTypeFor(PERPEND_I8, PERPEND_U8), PERPEND_I8) << "numpy has both";
}

TEST(Npy, ReportsWhatIsWrong) {
  struct {
    std::string file;
    const char *message;
  } cases[] = {
      {"", "expected a .npy file"},
      {makeFile("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", 8), "expected little endian"},
      {makeFile("{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}", 16), "got '<c8'"},
      {makeFile("{'descr': '<U99999999999', 'fortran_order': False, 'shape': (2,)}", 16), "unicode text"},
      {makeFile("{'descr': '<U2', 'fortran_order': False, 'shape': (2,)}", 8), "expected 16 bytes of data, got 8"},
      {makeFile("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", 8), "structured"},
      {makeFile("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", 8), "expected 12 bytes of data, got 8"},
      {makeFile("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}", 8), "64 bits"},
      {makeFile("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", 8), "tuple"},
      {makeFile("{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", 8), "tuple"},
      {makeFile("{'descr': '<f4', 'shape': (2,)}", 8), "got fewer or more"},
      {makeFile("{'descr': '<f4', 'descr': '<f4', 'shape': (2,)}", 8), "once each"},
      {makeFile("{}", 0, 4), "format version: expected 1 to 3, got 4"},
      {makeFile("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 8).substr(0, 30), "truncated"},
  };
  for (auto &test : cases) {
    NpyArray array;
    NpyError error;
    EXPECT_FALSE(parse(test.file, array, error)) << test.message;
    EXPECT_NE(std::string(error.message).find(test.message), std::string::npos) << error.message;
  }
}

TEST(Npy, RoundTrip) {
  std::string path = testing::TempDir() + "round_trip" + std::to_string(getpid()) + ".npy";
  float values[6] = {1, 2, 3, 4, 5, 6};
  int64_t shape[] = {2, 3};
  NpyError error;
  NpyArray array;
  uint8_t *data = nullptr;
  ASSERT_TRUE(writeNpy(path.c_str(), {values, shape, 2, PERPEND_F32}, error)) << error.message;
  ASSERT_TRUE(readNpy(path.c_str(), array, data, error)) << error.message;
  EXPECT_EQ(array.type, PERPEND_F32);
  EXPECT_EQ(array.dataOffset % 64, 0);
  ASSERT_EQ(array.dataBytes, 24);
  EXPECT_EQ(memcmp(data, values, 24), 0);
  free(data);
  unlink(path.c_str());
  EXPECT_FALSE(readNpy(path.c_str(), array, data, error));
  EXPECT_FALSE(writeNpy("/nonexistent/x.npy", {values, shape, 2, PERPEND_F32}, error));
}

TEST(Npy, FortranOrderIsReadIntoCOrder) {
  std::string path = testing::TempDir() + "fortran" + std::to_string(getpid()) + ".npy";
  std::string file = makeFile("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3, 2)}", 0);
  for (int16_t k = 0; k < 2; ++k)
    for (int16_t j = 0; j < 3; ++j)
      for (int16_t i = 0; i < 2; ++i)
        file += std::string{static_cast<char>(i * 6 + j * 2 + k), 0};
  std::ofstream(path, std::ios::binary) << file;
  NpyError error;
  NpyArray array;
  uint8_t *data = nullptr;
  ASSERT_TRUE(readNpy(path.c_str(), array, data, error)) << error.message;
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(reinterpret_cast<int16_t *>(data)[i], i);
  free(data);
  unlink(path.c_str());
}

TEST(Npy, MutatedFilesNeverCrash) {
  std::mt19937 random(3);
  const std::string original = makeFile("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", 24);
  int accepted = 0;
  for (int round = 0; round < 50000; ++round) {
    std::string file = original;
    for (unsigned edits = 1 + random() % 3; edits; --edits) {
      size_t at = random() % file.size();
      if (random() % 3 == 0)
        file.erase(at, 1 + random() % 5);
      else
        file[at] = static_cast<char>(random() % 2 ? random() : "'(),: {}0123456789fiub<|"[random() % 24]);
    }
    NpyArray array;
    NpyError error;
    if (parse(file, array, error)) {
      ++accepted;
      EXPECT_LE(array.dataOffset + array.dataBytes, static_cast<int64_t>(file.size()));
      EXPECT_LE(array.rank, PERPEND_MAX_RANK);
    } else {
      EXPECT_NE(error.message[0], '\0');
    }
  }
  EXPECT_GT(accepted, 100); // edits of the data are fine
}
