//===- VerifyDevices.cpp - that a machine can run a host program ------------===//
//
// Memories, devices and links are those of the machine's model. Kernels read and
// write the memories that their machine says, all else touches the host's.
//
//===----------------------------------------------------------------------===//

#include "graph/ErrorKind.h"
#include "graph/KernelSymbols.h"
#include "host/Arena.h"
#include "host/Devices.h"
#include "host/Events.h"
#include "host/VerifyProgram.h"
#include "tile/Attributes.h"

#include "perpend_module.h"

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
      LogicalResult fits =
          llvm::TypeSwitch<Operation *, LogicalResult>(op)
              .Case([&](LaunchOp launch) { return verifyLaunch(launch); })
              .Case([&](CopyOp copy) { return verifyCopy(copy); })
              .Default([&](Operation *other) { return verifyPlaces(other, onHost, onHost, "the host"); });
      return failed(fits) || failed(verifyMemories(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    return failure(result.wasInterrupted() || failed(verifySizes()));
  }

private:
  /// M1: every memory is one of main.
  LogicalResult verifyMemories(Operation *op) {
    std::vector<StringRef> known = machine.mainMemoryNames();
    for (Value result : op->getResults())
      if (StringRef memory = ::memoryOf(result); !llvm::is_contained(known, memory))
        return op->emitOpError("M1: expected one of the machine's memories ")
               << llvm::join(known, ", ") << ", got '" << memory << "'"
               << graph::Hint("the machine lists its memories of main");
    return success();
  }

  /// M2: an operation touches memories that who runs it reads or writes.
  static LogicalResult verifyPlaces(Operation *op, ArrayRef<std::string> reads, ArrayRef<std::string> writes,
                                    const Twine &who) {
    auto launch = dyn_cast<LaunchOp>(op);
    for (const Touched &touched : touchedBy(op)) {
      StringRef memory = ::memoryOf(touched.value);
      bool isScratch = launch && touched.value == launch.getScratch();
      for (bool writing : {false, true})
        if (ArrayRef<std::string> own = writing ? writes : reads;
            (isScratch || touched.isWritten == writing) && !llvm::is_contained(own, memory))
          return op->emitOpError("M2: expected a place in ")
                 << llvm::join(own, " or ") << ", where " << who.str() << (writing ? " writes" : " reads")
                 << ", got one in '" << memory << "'" << graph::Hint("host.copy brings a value there");
    }
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
      return verifyPlaces(launch, machine.reads, machine.writes, "the host");
    const target::Machine *device = runnerOf(launch, machine);
    if (!device)
      return launch.emitOpError("M3: the machine has no device '")
             << *launch.getDevice() << "'" << graph::Hint("let the host run it");
    if (launch.getEvent() && !device->hasQueue)
      return launch.emitOpError("M3: '") << device->name << "' has no queue, so the host waits for each launch"
                                         << graph::Hint("leave `async` out");
    if (failed(verifyExtents(launch, kernel)))
      return failure();
    return verifyPlaces(launch, device->reads, device->writes, "'" + device->name + "'");
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

  /// M5: what lies in a memory fits there, at offsets of the plan or where binding would put it.
  LogicalResult verifySizes() {
    return success(llvm::all_of(machine.mainMemories, [&](const target::Memory &memory) {
      return !memory.bytes || succeeded(verifySize(memory, liveRangesOf(entry)));
    }));
  }

  LogicalResult verifySize(const target::Memory &memory, const LiveRanges &ranges) {
    const int64_t constants = constantBytesIn(memory.name, entry->getParentOfType<ModuleOp>());
    auto refuse = [&](const Twine &what, const Twine &hint) {
      return entry.emitOpError("M5: ") << what << " in '" << memory.name << "', which has " << memory.bytes
                                       << " bytes, " << constants << " of these for constants"
                                       << graph::ErrorKind::Unsupported << graph::Hint(hint);
    };
    std::optional<Arena> arena = planArena(entry, memory.name, ranges, constantSizeOf);
    if (arena && arena->bytes < 0)
      return refuse("values need more than 2^62 bytes", "check the offsets and sizes of buffers");
    const uint64_t available = memory.bytes - std::min<uint64_t>(memory.bytes, constants);
    if (static_cast<uint64_t>(constants) > memory.bytes || (arena && static_cast<uint64_t>(arena->bytes) > available))
      return refuse("values need " + Twine(arena ? arena->bytes : 0) + " bytes",
                    "let the host run some of the kernels, or keep values in another memory");
    if (!arena && !isWithin(memory.name, available))
      return refuse("the values' sizes depend on symbols", "give dimensions as numbers (--dim)");
    return success();
  }

  /// Whether the buffers fit whatever the symbols are, beside each other.
  bool isWithin(StringRef memory, uint64_t available) {
    SymbolicInt rest(static_cast<int64_t>(available));
    for (auto buffer : entry.getBody().getOps<BufferOp>())
      if (::memoryOf(buffer.getMemory()) == memory)
        rest =
            rest - (buffer.getBytes().values()[0] + SymbolicInt(PERPEND_ALIGNMENT - 1)) * buffer.getParts().values()[0];
    return rest.knownNonNegative();
  }

  const std::vector<std::string> onHost{hostMemory.str()};
  EntryOp entry;
  const target::Machine &machine;
};
} // namespace

LogicalResult perpend::host::verifyDevices(ModuleOp module, const target::Machine &machine) {
  if (std::string flaw = machine.flaw(); !flaw.empty())
    return module.emitError("M1: the machine '") << machine.name << "': " << flaw;
  return success(llvm::all_of(module.getOps<EntryOp>(),
                              [&](EntryOp entry) { return succeeded(Devices(entry, machine).verify()); }));
}
