//===- VerifyDevices.cpp - that a machine can run a host program ------------===//
//
// Memories, devices and links are those of the machine's model. The host reads
// and writes its own memory only, a device that of its kernels.
//
//===----------------------------------------------------------------------===//

#include "graph/ErrorKind.h"
#include "graph/KernelSymbols.h"
#include "host/Devices.h"
#include "host/Events.h"
#include "host/VerifyProgram.h"
#include "tile/Attributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::host;

static StringRef memoryOf(Value value) {
  if (auto place = dyn_cast<PlaceType>(value.getType()))
    return place.getMemory();
  auto memory = dyn_cast<MemoryType>(value.getType());
  return memory ? memory.getMemory().getValue() : StringRef(hostMemory);
}

namespace {
class Devices {
public:
  Devices(EntryOp entry, const target::Machine &machine) : entry(entry), machine(machine) {}

  LogicalResult verify() {
    WalkResult result = entry.walk([&](Operation *op) {
      LogicalResult fits = llvm::TypeSwitch<Operation *, LogicalResult>(op)
                               .Case([&](LaunchOp launch) { return verifyLaunch(launch); })
                               .Case([&](CopyOp copy) { return verifyCopy(copy); })
                               .Default([&](Operation *other) { return verifyOnHost(other, hostMemory, "the host"); });
      return failed(fits) || failed(verifyMemories(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    return failure(result.wasInterrupted() || failed(verifySizes()));
  }

private:
  /// M1: every memory is the host's or a device's.
  LogicalResult verifyMemories(Operation *op) {
    SmallVector<StringRef> known = memoriesOf(machine);
    for (Value result : op->getResults())
      if (StringRef memory = ::memoryOf(result); !llvm::is_contained(known, memory))
        return op->emitOpError("M1: expected one of the machine's memories ")
               << llvm::join(known, ", ") << ", got '" << memory << "'"
               << graph::Hint("the machine lists a device that has this memory");
    return success();
  }

  /// M2: an operation touches the memory of who runs it.
  LogicalResult verifyOnHost(Operation *op, StringRef own, const Twine &who) {
    for (const Touched &touched : touchedBy(op))
      if (StringRef memory = ::memoryOf(touched.value); memory != own)
        return op->emitOpError("M2: expected places in '")
               << own << "', where " << who.str() << " reads and writes, got one in '" << memory << "'"
               << graph::Hint("host.copy brings a value there");
    return success();
  }

  /// M3: a launch is one that its device does: for kernels of that device, with an extent for each level.
  LogicalResult verifyLaunch(LaunchOp launch) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(launch, launch.getKernelAttr());
    auto wanted = kernel->getAttrOfType<StringAttr>(tile::deviceAttribute);
    if (StringRef on = launch.getDevice().value_or(""); on != (wanted ? wanted.getValue() : StringRef()))
      return launch.emitOpError("M3: expected to run on ")
             << (wanted ? "'" + wanted.str() + "'" : "the host") << ", for which kernel '" << launch.getKernel()
             << "' is made, got " << (on.empty() ? "the host" : "'" + on.str() + "'")
             << graph::Hint("tile.device of a kernel names its device");
    if (!launch.getDevice())
      return verifyOnHost(launch, hostMemory, "the host");
    const target::Machine *device = machine.device(*launch.getDevice());
    if (!device)
      return launch.emitOpError("M3: the machine has no device '")
             << *launch.getDevice() << "'" << graph::Hint("let the host run it");
    if (launch.getEvent() && !device->hasQueue)
      return launch.emitOpError("M3: '") << device->name << "' has no queue, so the host waits for each launch"
                                         << graph::Hint("leave `async` out");
    if (failed(verifyExtents(launch, kernel)))
      return failure();
    return verifyOnHost(launch, device->global.name, "'" + device->name + "'");
  }

  static LogicalResult verifyExtents(LaunchOp launch, func::FuncOp kernel) {
    auto extents = kernel->getAttrOfType<ShapeAttr>(tile::extentAttribute);
    if (!extents)
      return success(); // not lowered
    graph::Shape wanted = extents.values();
    for (SymbolicInt &extent : wanted)
      extent = extent.substitute(launch.symbolsOf(kernel));
    if (llvm::equal(wanted, launch.getExtents()->values()))
      return success();
    std::string text =
        llvm::join(llvm::map_range(wanted, [](const SymbolicInt &extent) { return extent.str(); }), ", ");
    return launch.emitOpError("M3: expected the grid [")
           << text << "], as many instances as kernel '" << launch.getKernel() << "' has at each level"
           << graph::Hint("give these behind `over`");
  }

  /// M4: there is a link, which works by itself where the copy does.
  LogicalResult verifyCopy(CopyOp copy) {
    StringRef from = ::memoryOf(copy.getSource()), to = ::memoryOf(copy.getTarget());
    const target::Link *link = machine.link(from, to);
    if (!link && (from != hostMemory || to != hostMemory))
      return copy.emitOpError("M4: the machine has no link from '")
             << from << "' to '" << to << "'" << graph::Hint("copy by way of '" + hostMemory + "'");
    if (copy.getEvent() && !(link && link->isAsynchronous))
      return copy.emitOpError("M4: from '")
             << from << "' to '" << to << "' the host copies itself" << graph::Hint("leave `async` out");
    return success();
  }

  /// M5: what is planned in a device's memory fits there.
  LogicalResult verifySizes() {
    for (const target::Machine &device : machine.devices)
      for (auto buffer : entry.getBody().getOps<BufferOp>()) {
        std::optional<int64_t> bytes = buffer.getBytes().values()[0].constant();
        if (::memoryOf(buffer.getMemory()) != device.global.name || !device.global.bytes || !bytes)
          continue;
        uint64_t end = buffer.getOffset().value_or(0) + static_cast<uint64_t>(*bytes);
        if (end > device.global.bytes)
          return buffer.emitOpError("M5: ends at ")
                 << end << " in '" << device.global.name << "', which has " << device.global.bytes << " bytes"
                 << graph::ErrorKind::Unsupported << graph::Hint("let the host run some of the kernels");
      }
    return success();
  }

  EntryOp entry;
  const target::Machine &machine;
};
} // namespace

LogicalResult perpend::host::verifyDevices(ModuleOp module, const target::Machine &machine) {
  return success(llvm::all_of(module.getOps<EntryOp>(),
                              [&](EntryOp entry) { return succeeded(Devices(entry, machine).verify()); }));
}
