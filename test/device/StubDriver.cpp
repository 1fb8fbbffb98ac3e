//===- StubDriver.cpp - a device in the test's process --------------------===//

#include "StubDriver.h"

#include "graph/Attributes.h"
#include "host/Host.h"
#include "tile/Attributes.h"
#include "tile/passes/Passes.h"

#include "gtest/gtest.h"

#include <array>
#include <utility>

using namespace mlir;

namespace perpend {

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

using Descriptor = StridedMemRefType<std::byte, 1>; // of any element type
/// Of buffers and symbols, then ids.
using Word = intptr_t;

template <size_t... positions>
static void callWith(void *function, const std::vector<Word> &words, std::index_sequence<positions...>) {
  auto typed = reinterpret_cast<void (*)(decltype(static_cast<Word>(positions))...)>(function);
  typed(words[positions]...);
}

template <size_t count> static void call(void *function, const std::vector<Word> &words) {
  if (words.size() == count)
    return callWith(function, words, std::make_index_sequence<count>());
  if constexpr (count > 0)
    call<count - 1>(function, words);
}
static constexpr size_t mostArguments = 12;

/// The kernels for devices, as a module of their own.
static std::string codeText(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (!kernel->hasAttr(tile::deviceAttribute))
      continue;
    OwningOpRef<func::FuncOp> copy = kernel.clone();
    for (NamedAttribute attribute : llvm::to_vector((*copy)->getDiscardableAttrs()))
      (*copy)->removeDiscardableAttr(attribute.getName());
    (*copy).setPublic();
    (*copy)->setAttr("llvm.emit_c_interface", UnitAttr::get(module.getContext()));
    (*copy)->print(out, OpPrintingFlags().useLocalScope());
    out << "\n";
  }
  return text;
}

/// What no conversion to LLVM knows, as for processors (Pipeline.cpp). Kernels that the rules scheduled use intrinsics
/// of the machine's processor, which runs the device's code, too.
static std::vector<std::unique_ptr<Pass>> loweringPasses(const target::Machine &machine) {
  std::vector<std::unique_ptr<Pass>> passes;
  passes.push_back(tile::createTileLowerIntrinsics({machine}));
  passes.push_back(tile::createTileExpandIntegers());
  passes.push_back(tile::createTileExpandRounding());
  passes.push_back(tile::createTileExpandMath());
  return passes;
}

StubDriver::StubDriver(ModuleOp module, const target::Machine &machine)
    : code(std::make_unique<tile::Jit>(codeText(module), loweringPasses(machine))) {
  launcher.thread = std::thread([this] { serve(launcher); });
  copier.thread = std::thread([this] { serve(copier); });
}

/// Runs the grid on two threads: odd instances on one of them, the last first.
std::function<void()> StubDriver::launchOf(const interp::Command &command) {
  std::vector<Descriptor> memories;
  for (const interp::Tensor &tensor : command.tensors) {
    EXPECT_NE(memoryOf(tensor), host::hostMemory) << "a kernel of the device touches other memory";
    auto *data = const_cast<std::byte *>(tensor.data());
    memories.push_back({data, data, 0, {tensor.elementCount()}, {1}});
  }
  void *function = reinterpret_cast<void *>(code->function<void()>(func::FuncOp(command.kernel).getSymName().str()));
  auto instance = [function](std::vector<Descriptor> memories, std::vector<int64_t> symbols, ArrayRef<int64_t> ids) {
    auto *data = reinterpret_cast<std::byte *>(symbols.data());
    memories.push_back({data, data, 0, {static_cast<int64_t>(symbols.size())}, {1}});
    std::vector<Word> words;
    for (Descriptor &memory : memories)
      words.push_back(reinterpret_cast<Word>(&memory));
    words.insert(words.end(), ids.begin(), ids.end());
    ASSERT_LE(words.size(), mostArguments);
    call<mostArguments>(function, words);
  };
  std::vector<int64_t> symbols(command.symbols.begin(), command.symbols.end()),
      extents(command.extents.begin(), command.extents.end());
  return [=] {
    int64_t count = 1;
    for (int64_t extent : extents)
      count *= extent;
    auto half = [&](int64_t first) {
      for (int64_t number = first; number >= 0; number -= 2) {
        std::vector<int64_t> ids(extents.size());
        int64_t rest = number;
        for (size_t level = extents.size(); level-- > 0; rest /= extents[level])
          ids[level] = rest % extents[level];
        instance(memories, symbols, ids);
      }
    };
    std::thread other([&] { half(count - 1); });
    half(count - 2);
    other.join();
  };
}

//===----------------------------------------------------------------------===//
// Engines
//===----------------------------------------------------------------------===//

StubDriver::~StubDriver() {
  {
    std::scoped_lock lock(mutex);
    isClosed = true;
  }
  changed.notify_all();
  launcher.thread.join();
  copier.thread.join();
}

void StubDriver::serve(Engine &engine) {
  std::unique_lock lock(mutex);
  auto isReady = [&] {
    return isClosed || (!engine.queue.empty() && llvm::all_of(engine.queue.front().after,
                                                              [&](Event event) { return happened.count(event) != 0; }));
  };
  for (;;) {
    changed.wait(lock, isReady);
    if (isClosed)
      return;
    Work work = std::move(engine.queue.front());
    engine.queue.pop_front();
    lock.unlock();
    std::this_thread::yield();
    work.run();
    lock.lock();
    happened.insert(work.event);
    changed.notify_all();
  }
}

std::shared_ptr<std::byte> StubDriver::allocate(StringRef name, int64_t bytes) {
  std::shared_ptr<std::byte> memory = interp::LateDriver().allocate("", bytes);
  std::scoped_lock lock(ofAllocations);
  allocations[memory.get()] = {bytes, name.str()};
  // The host may get the same addresses once these bytes are free.
  return {memory.get(), [this, memory](const std::byte *begin) {
            std::scoped_lock lock(ofAllocations);
            allocations.erase(begin);
          }};
}

std::string StubDriver::memoryOf(const interp::Tensor &tensor) const {
  std::scoped_lock lock(ofAllocations);
  auto after = allocations.upper_bound(tensor.data());
  if (after == allocations.begin())
    return host::hostMemory.str();
  const auto &[begin, allocation] = *std::prev(after);
  bool isInside = tensor.data() + tensor.sizeBytes() <= begin + allocation.bytes;
  return isInside ? allocation.memory : host::hostMemory.str();
}

void StubDriver::start(Event event, interp::Command command, ArrayRef<Event> after) {
  Work work{event, after.vec(), {}};
  bool isCopy = !command.kernel;
  if (isCopy) {
    interp::Tensor from = command.tensors[0], to = command.tensors[1];
    EXPECT_NE(memoryOf(from), memoryOf(to)) << "the engine copies from memory to memory";
    work.run = [from, to]() mutable { std::memcpy(to.mutableData(), from.data(), from.sizeBytes()); };
  } else {
    work.run = launchOf(command);
  }
  ++(isCopy ? copies : launches);
  {
    std::scoped_lock lock(mutex);
    happened.erase(event); // of the run before
    (isCopy ? copier : launcher).queue.push_back(std::move(work));
  }
  changed.notify_all();
}

LogicalResult StubDriver::wait(Event event) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return happened.count(event) != 0; });
  return success();
}
} // namespace perpend
