//===- Driver.cpp - devices of the interpreter ----------------------------===//

#include "interp/Driver.h"

#include <cstdlib>

using namespace mlir;

namespace perpend::interp {

std::shared_ptr<std::byte> LateDriver::allocate(StringRef, int64_t bytes) {
  constexpr size_t alignment = 64;
  size_t size = llvm::alignTo(std::max<uint64_t>(1, static_cast<uint64_t>(bytes)), alignment);
  auto *data = static_cast<std::byte *>(std::aligned_alloc(alignment, size));
  return data ? std::shared_ptr<std::byte>(data, std::free) : nullptr;
}

void LateDriver::start(Event event, Command command, ArrayRef<Event> after) {
  commands[event] = {std::move(command), llvm::to_vector(after)};
}

/// Those that it begins behind run first, the latest of them first.
LogicalResult LateDriver::wait(Event event) {
  auto found = commands.find(event);
  if (found == commands.end())
    return success();
  Waiting waiting = std::move(found->second);
  commands.erase(found);
  for (Event before : llvm::reverse(waiting.after))
    if (failed(wait(before)))
      return failure();
  return waiting.command.interpret();
}
} // namespace perpend::interp
