//===- Trees.cpp - gradient-boosted trees that rank -----------------------===//

#include "tune/Trees.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/DynamicLibrary.h"

#include <cmath>

namespace perpend::tune {

namespace {
/// The part of XGBoost's C API in use, as of version 1.1; before that, prediction had one parameter less.
struct Library {
  using Handle = void *;
  int (*XGDMatrixCreateFromMat_omp)(const float *, uint64_t rows, uint64_t columns, float missing, Handle *,
                                    int threads) = nullptr;
  int (*XGDMatrixSetFloatInfo)(Handle, const char *field, const float *, uint64_t) = nullptr;
  int (*XGDMatrixSetUIntInfo)(Handle, const char *field, const unsigned *, uint64_t) = nullptr;
  int (*XGDMatrixFree)(Handle) = nullptr;
  int (*XGBoosterCreate)(const Handle *, uint64_t, Handle *) = nullptr;
  int (*XGBoosterSetParam)(Handle, const char *name, const char *value) = nullptr;
  int (*XGBoosterUpdateOneIter)(Handle, int round, Handle) = nullptr;
  int (*XGBoosterPredict)(Handle, Handle, int options, unsigned trees, int isTraining, uint64_t *,
                          const float **) = nullptr;
  int (*XGBoosterFree)(Handle) = nullptr;
  void (*XGBoostVersion)(int *major, int *minor, int *patch) = nullptr; ///< exists since 1.1

  /// False: not a suitable library.
  bool find(llvm::sys::DynamicLibrary &from) {
    auto read = [&](auto &function, const char *name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(from.getAddressOfSymbol(name));
      return function != nullptr;
    };
#define READ(name) read(name, #name)
    return READ(XGDMatrixCreateFromMat_omp) && READ(XGDMatrixSetFloatInfo) && READ(XGDMatrixSetUIntInfo) &&
           READ(XGDMatrixFree) && READ(XGBoosterCreate) && READ(XGBoosterSetParam) && READ(XGBoosterUpdateOneIter) &&
           READ(XGBoosterPredict) && READ(XGBoosterFree) && READ(XGBoostVersion);
#undef READ
  }
};

/// Rows in the library's form.
class Matrix {
public:
  Matrix(const Library &library, const std::vector<float> &values, size_t rows) : library(library) {
    library.XGDMatrixCreateFromMat_omp(values.data(), rows, values.size() / rows, NAN, &handle, /*threads=*/1);
  }
  ~Matrix() { library.XGDMatrixFree(handle); }
  Matrix(const Matrix &) = delete;
  Matrix &operator=(const Matrix &) = delete;

  const Library &library;
  Library::Handle handle = nullptr;
};

class BoostedTrees : public Trees {
public:
  explicit BoostedTrees(const Library &library) : library(library) {}
  ~BoostedTrees() override { library.XGBoosterFree(booster); }

  bool train(llvm::ArrayRef<std::vector<MeasuredRow>> groups) override {
    std::vector<float> values, labels;
    std::vector<unsigned> counts;
    for (const std::vector<MeasuredRow> &rows : groups) {
      counts.push_back(static_cast<unsigned>(rows.size()));
      for (const MeasuredRow &row : rows) {
        values.insert(values.end(), row.features.begin(), row.features.end());
        labels.push_back(labelOf(row.time));
      }
    }
    if (labels.empty())
      return false;
    Matrix matrix(library, values, labels.size());
    library.XGDMatrixSetFloatInfo(matrix.handle, "label", labels.data(), labels.size());
    setMargin(matrix, values);
    library.XGDMatrixSetUIntInfo(matrix.handle, "group", counts.data(), counts.size());
    library.XGBoosterFree(booster);
    booster = nullptr;
    bool isGood = library.XGBoosterCreate(&matrix.handle, 1, &booster) == 0;
    for (auto [name, value] : parameters)
      isGood = isGood && library.XGBoosterSetParam(booster, name, value) == 0;
    for (int round = 0; isGood && round < rounds; ++round)
      isGood = library.XGBoosterUpdateOneIter(booster, round, matrix.handle) == 0;
    return isGood;
  }

  double predict(const Features &features) const override {
    Matrix matrix(library, features, 1);
    setMargin(matrix, features);
    uint64_t count = 0;
    const float *scores = nullptr;
    bool isGood = library.XGBoosterPredict(booster, matrix.handle, 0, 0, 0, &count, &scores) == 0;
    return isGood && count == 1 ? -scores[0] : 0;
  }

private:
  static constexpr int rounds = 60;
  static constexpr std::pair<const char *, const char *> parameters[] = {
      {"objective", "rank:pairwise"}, {"num_pairsample", "8"}, {"eta", "0.2"},     {"max_depth", "5"},
      {"min_child_weight", "0.1"},    {"nthread", "1"},        {"verbosity", "0"}, {"seed", "1"}};

  /// The prediction of the machine model, which the trees correct. Scaled down, because it is confident and often
  /// wrong.
  void setMargin(const Matrix &matrix, const std::vector<float> &values) const {
    constexpr float trust = 0.5;
    std::vector<float> margins;
    for (size_t at = machineTime; at < values.size(); at += featureNames().size())
      margins.push_back(-trust * values[at]);
    library.XGDMatrixSetFloatInfo(matrix.handle, "base_margin", margins.data(), margins.size());
  }

  /// Higher is faster; refused candidates are slower than all others.
  static float labelOf(double time) {
    constexpr double slowest = 64;
    return static_cast<float>(std::log2(2 * slowest) - std::log2(std::clamp(time, 1 / slowest, 2 * slowest)));
  }

  const Library library;
  const size_t machineTime = llvm::find(featureNames(), "time") - featureNames().begin();
  Library::Handle booster = nullptr;
};
} // namespace

llvm::Expected<std::unique_ptr<Trees>> Trees::load() {
  for (const char *name : {"libxgboost.so.0", "libxgboost.so"}) {
    std::string error;
    llvm::sys::DynamicLibrary found = llvm::sys::DynamicLibrary::getPermanentLibrary(name, &error);
    if (Library library; found.isValid() && library.find(found))
      return std::make_unique<BoostedTrees>(library);
  }
  return llvm::createStringError("the library XGBoost 1.1 or newer, which learns trees, is not there\n"
                                 "hint: apt-get install libxgboost0, or libxgboost.so on LD_LIBRARY_PATH");
}
} // namespace perpend::tune
