//===- Recorded.cpp - schedules that were measured once -------------------===//

#include "Recorded.h"

#include "tune/TreeModel.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

#include <limits>

using namespace mlir;

namespace perpend::tune {

static constexpr double infinite = std::numeric_limits<double>::infinity();

static std::string joined(const llvm::json::Array &lines) {
  std::string text;
  for (const llvm::json::Value &line : lines)
    text += line.getAsString()->str() + "\n";
  return text;
}

/// With numbers in the places of "{}"; of a line behind "? " the number says whether it is there.
static Trace traceOf(const llvm::json::Array &lines, const llvm::json::Array &numbers) {
  std::string text;
  size_t at = 0;
  for (const llvm::json::Value &value : lines) {
    llvm::StringRef line = *value.getAsString();
    if (line.consume_front("? ") && *numbers[at++].getAsInteger() == 0)
      continue;
    for (size_t place; (place = line.find("{}")) != llvm::StringRef::npos; line = line.drop_front(place + 2))
      text += (line.take_front(place) + std::to_string(*numbers[at++].getAsInteger())).str();
    text += line.str() + "\n";
  }
  return readTrace(text).value();
}

Recorded::Recorded(const llvm::json::Object &object)
    : name(object.getString("name")->str()), module(joined(*object.getArray("module"))),
      target(llvm::cantFail(target::resolveTarget(object.getString("target")->str()))),
      kernel(module.module->lookupSymbol<func::FuncOp>(*object.getString("kernel"))),
      space(Space::ofTrace(kernel, target, traceOf(*object.getArray("trace"), *object.getArray("given")))) {
  for (const llvm::json::Value &numbers : *object.getArray("points"))
    addPoint(*numbers.getAsArray(), *object.getArray("trace"));
}

void Recorded::addPoint(const llvm::json::Array &numbers, const llvm::json::Array &trace) {
  Trace candidate = traceOf(trace, numbers);
  std::optional<Point> point = space.pointOf(candidate);
  ASSERT_TRUE(point) << name << ": not of the space:\n" << llvm::join(linesOf(candidate), "\n");
  OwningOpRef<func::FuncOp> copy = kernel.clone();
  if (failed(tile::KernelSchedule(*copy, target).replay(candidate)))
    return;
  tile::compactBuffers(*copy);
  double time = *numbers.back().getAsNumber();
  points.push_back(*point);
  rows.push_back({featuresOf(*copy, target), time < 0 ? infinite : time});
}

std::vector<std::unique_ptr<Recorded>> Recorded::kernels() {
  auto text = llvm::MemoryBuffer::getFile(PERPEND_SOURCE_DIR "/test/tune/recorded.json");
  std::vector<std::unique_ptr<Recorded>> list;
  llvm::json::Value all = llvm::cantFail(llvm::json::parse((*text)->getBuffer()));
  for (const llvm::json::Value &kernel : *all.getAsArray())
    list.push_back(std::make_unique<Recorded>(*kernel.getAsObject()));
  return list;
}

/// By how many of all its choices each decision is off.
size_t Recorded::nearest(const Point &point) const {
  auto distance = [&](const Point &to) {
    double sum = 0;
    for (size_t i = 0; i < point.size(); ++i)
      sum += std::abs(double(point[i]) - to[i]) / static_cast<double>(space.decisions()[i].choices.size());
    return sum;
  };
  const auto *begin = points.data();
  return std::min_element(begin, begin + points.size(),
                          [&](const Point &a, const Point &b) { return distance(a) < distance(b); }) -
         begin;
}

double Recorded::bestTime() const {
  double best = infinite;
  for (const MeasuredRow &row : rows)
    best = std::min(best, row.time);
  return best;
}

namespace {
class RecordedSearch : public Search {
public:
  RecordedSearch(std::unique_ptr<Search> search, const Recorded &kernel, uint64_t seed)
      : search(std::move(search)), kernel(kernel), generator(seed) {
    for (size_t i = 0; i < kernel.points.size(); ++i)
      left.insert(i);
  }
  bool ask(CostModel &model) override { return search->ask(model); }
  std::optional<Point> propose() override {
    constexpr int mostTries = 30;
    for (int i = 0; i < mostTries && !left.empty(); ++i)
      if (std::optional<Point> point = search->propose())
        if (size_t number = kernel.nearest(*point); left.erase(number))
          return kernel.points[number];
    if (left.empty())
      return std::nullopt;
    auto any = std::next(left.begin(), static_cast<int64_t>(generator() % left.size()));
    return kernel.points[left.extract(any).value()];
  }
  void tell(const Point &point, double time) override { search->tell(point, time); }

private:
  std::unique_ptr<Search> search;
  const Recorded &kernel;
  std::mt19937_64 generator;
  std::set<size_t> left;
};

class RecordedModel : public CostModel {
public:
  RecordedModel(const Recorded &kernel, std::unique_ptr<Experience> experience)
      : kernel(kernel), experience(std::move(experience)) {}
  double predict(const Trace &candidate) override {
    const Features &features = rowOf(candidate).features;
    return experience && experience->isTrained() ? experience->predict(features) : features[machineTime];
  }
  bool learn(const Trace &candidate, double time) override {
    return experience && experience->learn(kernel.name, {rowOf(candidate).features, time});
  }

private:
  const size_t machineTime = llvm::find(featureNames(), "time") - featureNames().begin();

  const MeasuredRow &rowOf(const Trace &candidate) {
    return kernel.rows[kernel.nearest(*kernel.space.pointOf(candidate))];
  }
  const Recorded &kernel;
  std::unique_ptr<Experience> experience;
};
} // namespace

std::unique_ptr<Search> recordedSearch(std::unique_ptr<Search> search, const Recorded &kernel, uint64_t seed) {
  return std::make_unique<RecordedSearch>(std::move(search), kernel, seed);
}
std::unique_ptr<CostModel> recordedTrees(const Recorded &kernel) {
  return std::make_unique<RecordedModel>(kernel, std::make_unique<Experience>(llvm::cantFail(Trees::load())));
}
std::unique_ptr<CostModel> recordedMachine(const Recorded &kernel) {
  return std::make_unique<RecordedModel>(kernel, nullptr);
}
} // namespace perpend::tune
