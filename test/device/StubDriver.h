//===- StubDriver.h - a device in the test's process ------------*- C++ -*-===//
//
// Two engines, one for launches and one for copies, are threads that take
// commands in the order given and begin each once its events have happened. The
// device has memory of its own, and runs machine code of its kernels: instances
// of a grid on two threads, in no order.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TEST_DEVICE_STUBDRIVER_H
#define PERPEND_TEST_DEVICE_STUBDRIVER_H

#include "Jit.h"

#include "interp/Driver.h"
#include "target/Machine.h"

#include "mlir/IR/BuiltinOps.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

namespace perpend {

class StubDriver : public interp::Driver {
public:
  /// With the code of the module's kernels for a device of the machine.
  StubDriver(mlir::ModuleOp module, const target::Machine &machine);
  ~StubDriver() override;

  std::shared_ptr<std::byte> allocate(llvm::StringRef memory, int64_t bytes) override;
  void start(Event event, interp::Command command, llvm::ArrayRef<Event> after) override;
  llvm::LogicalResult wait(Event event) override;

  unsigned launches = 0, copies = 0;

private:
  struct Work {
    Event event;
    std::vector<Event> after;
    std::function<void()> run;
  };
  struct Engine {
    std::deque<Work> queue;
    std::thread thread;
  };
  void serve(Engine &engine);
  std::string memoryOf(const interp::Tensor &tensor) const;
  std::function<void()> launchOf(const interp::Command &command);

  std::unique_ptr<tile::Jit> code;
  struct Allocation {
    int64_t bytes;
    std::string memory;
  };
  std::map<const std::byte *, Allocation> allocations; ///< those in use
  mutable std::mutex ofAllocations;                    ///< engines free memory, too
  std::mutex mutex;
  std::condition_variable changed;
  std::set<Event> happened;
  bool isClosed = false;
  Engine launcher, copier;
};
} // namespace perpend

#endif
