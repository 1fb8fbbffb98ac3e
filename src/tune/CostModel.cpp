//===- CostModel.cpp - predicts a candidate's time ------------------------===//

#include "tune/CostModel.h"

#include "tile/cost/BlockCost.h"

#include <limits>

using namespace mlir;

namespace perpend::tune {

static constexpr double infinite = std::numeric_limits<double>::infinity();

namespace {
class MachineModel : public CostModel {
public:
  MachineModel(func::FuncOp kernel, const target::Machine &target) : kernel(kernel), target(target) {}
  double predict(const Trace &candidate) override {
    OwningOpRef<func::FuncOp> copy = kernel.clone();
    if (failed(tile::KernelSchedule(*copy, target).replay(candidate)))
      return infinite;
    tile::compactBuffers(*copy);
    return tile::costOf(*copy, target).seconds();
  }

private:
  func::FuncOp kernel;
  const target::Machine target;
};

class RankedSearch : public Search {
public:
  RankedSearch(std::unique_ptr<Search> search, std::unique_ptr<CostModel> model, const Space &space)
      : search(std::move(search)), model(std::move(model)), space(space),
        poolPoints(this->search->ask(*this->model) ? 1 : 64), newPoints(poolPoints == 1 ? 1 : 8) {}

  std::optional<Point> propose() override {
    constexpr size_t mostTried = 256; // in case everything is refused
    for (size_t added = 0, tried = 0; added < newPoints && pool.size() < poolPoints && tried < mostTried; ++tried) {
      std::optional<Point> point = search->propose();
      if (!point)
        break;
      added += add(*point);
    }
    auto best = std::min_element(pool.begin(), pool.end());
    if (best == pool.end())
      return std::nullopt;
    Point point = best->second;
    pool.erase(best);
    return point;
  }
  void tell(const Point &point, double time) override {
    search->tell(point, time);
    if (!model->learn(space.traceAt(point), time))
      return;
    for (auto &[cost, waiting] : pool)
      cost = model->predict(space.traceAt(waiting));
  }

private:
  /// False if the model cannot rank the point.
  bool add(const Point &point) {
    double cost = model->predict(space.traceAt(point));
    if (cost == infinite)
      return search->tell(point, infinite), false;
    pool.emplace_back(cost, point);
    return true;
  }

  std::unique_ptr<Search> search;
  std::unique_ptr<CostModel> model;
  const Space &space;
  size_t poolPoints, newPoints; ///< points in the pool; new points per proposal
  std::vector<std::pair<double, Point>> pool;
};
} // namespace

std::unique_ptr<CostModel> machineModel(func::FuncOp kernel, const target::Machine &target) {
  return std::make_unique<MachineModel>(kernel, target);
}

std::unique_ptr<Search> rankedSearch(std::unique_ptr<Search> search, std::unique_ptr<CostModel> model,
                                     const Space &space) {
  return std::make_unique<RankedSearch>(std::move(search), std::move(model), space);
}

llvm::ArrayRef<CostModelInfo> costModels() {
  static constexpr CostModelInfo list[] = {{"machine", "the machine's numbers"},
                                           {"trees", "trees that learn from the measurements, by XGBoost"},
                                           {"none", "nothing"}};
  return list;
}
} // namespace perpend::tune
