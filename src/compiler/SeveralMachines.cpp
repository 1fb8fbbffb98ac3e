//===- SeveralMachines.cpp - one artifact for several machines ------------===//
//
// Phases that do not depend on the machine run once. From then on each machine has its own copy of the module, with
// its own kernels, memory plan and functions. Machines are compiled one after another, so that only one copy of the
// constants is in memory at a time; the artifact stores equal constants once. Finally an object with the tables of all
// machines is added, from which the runtime chooses one at load time
// (docs/decisions/0030-several-machines-in-one-artifact.md).
//
// Modules of WebAssembly are compiled apart, all phases of each, and joined afterwards (SeveralModules.cpp).
//
//===----------------------------------------------------------------------===//

#include "compiler/SeveralMachines.h"
#include "compiler/Compilation.h"

#include "graph/Graph.h"
#include "host/Segments.h"
#include "target/cpu/Architecture.h"
#include "target/cpu/EmitObject.h"
#include "target/cpu/ModuleTable.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <chrono>

using namespace mlir;

namespace perpend {

/// After `plan`: moves constants to their offsets in the artifact, and writes their bytes.
void Compilation::shareWeights() {
  description.table.suffix = "." + description.table.name + "." + std::to_string(number);
  std::map<int64_t, int64_t> offsets;
  for (const target::WeightBlob &blob : description.blobs()) {
    int64_t &offset = offsets[static_cast<int64_t>(blob.offset)]; // without bytes: any offset
    if (!blob.bytes.empty())
      offset = static_cast<int64_t>(shared->place(blob.bytes));
  }
  moveConstants([&](int64_t offset) {
    auto found = offsets.find(offset);
    if (found == offsets.end()) // modules of users cannot start this late
      llvm::report_fatal_error("perpend bug: the plan has a constant where none lies");
    return found->second;
  });
}

/// Size of the sections that are loaded into a process.
static uint64_t loadedBytes(StringRef path) {
  auto object = llvm::object::ObjectFile::createObjectFile(path);
  if (!object)
    return llvm::consumeError(object.takeError()), 0;
  uint64_t bytes = 0;
  for (const llvm::object::SectionRef &section : object->getBinary()->sections())
    if (section.isText() || section.isData())
      bytes += section.getSize();
  return bytes;
}

/// Phases from which on a module is specific to one machine.
static bool isOfMachine(StringRef phase) {
  auto numberOf = [](StringRef name) {
    return llvm::find_if(phases(), [&](const Phase &other) { return other.name == name; });
  };
  return numberOf(phase) != phases().end() && numberOf(phase) >= numberOf(firstPhaseOfMachine);
}

/// Refuses options that make sense for one machine only.
static LogicalResult checkForMachines(ModuleOp module, const CompileOptions &options, size_t count) {
  auto refuse = [&](StringRef option, const Twine &why) {
    return module.emitError("the option ") << option << " is for one machine, but --target names " << count << ": "
                                           << why.str() << "\nhint: compile for one of them";
  };
  StringRef overridden = StringRef(options.overridePhase).split(':').first;
  if (options.weights == "as-is")
    return refuse("--weights as-is", "each packs other tensors");
  if (!options.schedules.empty())
    return refuse("--schedules", "a schedule is of one machine");
  for (auto [option, phase] :
       {std::pair("--stop-after", StringRef(options.stopAfter)), {"--override-phase", overridden}})
    if (isOfMachine(phase))
      return refuse(option, "from the phase '" + firstPhaseOfMachine + "' on each machine has its own module");
  if (options.startFrom != firstPhaseOfMachine && isOfMachine(options.startFrom))
    return refuse("--start-from", "after the phase '" + firstPhaseOfMachine + "' a module is for one of them");
  return success();
}

static constexpr StringLiteral weightsName = "common.weights"; ///< in the scratch directory

/// The compilations of one artifact, one per machine.
class MachineCompilations {
public:
  MachineCompilations(ModuleOp module, const CompileOptions &options, std::vector<target::TargetInfo> machines,
                      CompileReport *report)
      : options(options), machines(std::move(machines)), report(report),
        start(module, options, this->machines.front(), report) {}

  LogicalResult prepare();
  LogicalResult write(ArtifactKind kind, StringRef output);

private:
  LogicalResult compileOne(const target::TargetInfo &machine, const target::ScratchDirectory &scratch);
  void describeOne(const Compilation &one, const CompileReport &own, ArrayRef<std::string> objects,
                   uint64_t weightsBytesBefore);
  LogicalResult join(const target::ScratchDirectory &scratch, ArtifactKind kind, StringRef output);
  void releaseConstants();

  const CompileOptions &options;
  std::vector<target::TargetInfo> machines;
  CompileReport *report;
  Compilation start; ///< the phases common to all machines
  std::optional<target::SharedWeights> weights;
  bool isPacked = false; ///< weights lie beside the artifact
  ArtifactParts parts;
  std::vector<ModelDescription> descriptions;
  std::vector<MachineDescription> facts;
};

/// Runs the phases common to all machines.
LogicalResult MachineCompilations::prepare() {
  if (failed(start.prepareModule()) || failed(start.prepareGiven()))
    return failure();
  for (const target::TargetInfo &machine : machines) // fail early; with files of intrinsics, compileOne checks
    if (options.intrinsics.empty() && failed(checkPrecision(start.module, options.precision, machine)))
      return failure();
  if (isOfMachine(start.first))
    return success();
  StringRef last;
  for (const Phase &phase : phases())
    if (!isOfMachine(phase.name))
      last = phase.name;
  return start.runTo(options.stopAfter.empty() ? last : StringRef(options.stopAfter));
}

LogicalResult MachineCompilations::compileOne(const target::TargetInfo &machine,
                                              const target::ScratchDirectory &scratch) {
  OwningOpRef<ModuleOp> copy = start.module.clone();
  CompileReport own;
  Compilation one(*copy, options, machine, &own);
  one.first = isOfMachine(start.first) ? start.first : StringRef(firstPhaseOfMachine);
  one.shared = &*weights;
  one.number = descriptions.size();
  if (!one.dumpFolder.empty())
    one.dumpFolder += "/" + machine.name;
  const uint64_t weightsBytesBefore = weights->byteCount();
  auto begin = std::chrono::steady_clock::now();
  if (failed(one.prepareMachine()) || failed(one.runTo("")))
    return failure();
  one.description.releaseWeights(one.original);
  const size_t known = parts.objects.size();
  auto emitting = std::chrono::steady_clock::now();
  if (failed(one.writeCode(scratch, parts)))
    return failure();
  auto end = std::chrono::steady_clock::now();
  own.times.push_back({"emit", std::chrono::duration<double>(end - emitting).count()});
  own.times.push_back({"all", std::chrono::duration<double>(end - begin).count()});
  describeOne(one, own, ArrayRef(parts.objects).drop_front(known), weightsBytesBefore);
  descriptions.push_back(std::move(one.description));
  return success();
}

void MachineCompilations::describeOne(const Compilation &one, const CompileReport &own, ArrayRef<std::string> objects,
                                      uint64_t weightsBytesBefore) {
  const target::ModuleTable &table = one.description.table;
  MachineReport machine;
  machine.target = one.target.name;
  machine.kernels = own.kernels;
  machine.weightsBytes = table.weightsBytes;
  machine.addedWeightsBytes = weights->byteCount() - weightsBytesBefore;
  machine.arenaBytes = one.description.arenaBytes();
  for (const std::string &object : objects)
    machine.codeBytes += loadedBytes(object);
  facts.push_back({one.target, machine.codeBytes, machine.weightsBytes});
  if (!report)
    return;
  for (const PhaseTime &time : own.times)
    report->times.push_back({one.target.name + ": " + time.phase, time.seconds});
  for (const RecordUse &use : own.recordUses)
    report->recordUses.push_back({use.kind, use.kernel + " for " + one.target.name, use.reason});
  if (report->machines.empty()) {
    report->precision = own.precision;
    report->arenaBytes = machine.arenaBytes;
  }
  report->arenaBytes =
      std::min(report->arenaBytes, machine.arenaBytes) < 0 ? -1 : std::max(report->arenaBytes, machine.arenaBytes);
  report->machines.push_back(std::move(machine));
}

/// Releases constants that the common phases created; the copies for machines no longer need them.
void MachineCompilations::releaseConstants() {
  start.module.walk(
      [&](graph::ConstantOp constant) { start.description.weights.emplace_back(0, constant.getValue()); });
  start.description.releaseWeights(start.original);
}

/// Writes the object with the tables, for the base level of the architecture, so that every processor can run it.
LogicalResult MachineCompilations::join(const target::ScratchDirectory &scratch, ArtifactKind kind, StringRef output) {
  const std::string name = descriptions.front().table.name;
  llvm::Expected<target::WeightsSummary> written = weights->finish(name);
  if (!written)
    return start.fail(written.takeError());
  if (written->byteCount && isPacked) {
    parts.packedWeights = scratch.pathOf(weightsName);
    parts.add(ArrayRef<StringRef>{"libperpend_segments.a"});
  } else if (written->byteCount) {
    parts.objects.push_back(scratch.pathOf(weightsName));
  }
  std::vector<target::VariantTable> variants;
  for (auto [machine, description] : llvm::zip_equal(machines, descriptions)) {
    target::ModuleTable &table = description.table;
    table.isMain = kind != ArtifactKind::StaticLibrary;
    table.weightsBytes = written->byteCount;
    if (isPacked) {
      description.addPackedWeights(pathBeside(output, ".weights"), *written);
      table.areWeightsInFiles = !description.parts.empty();
    } else if (written->byteCount) {
      table.weightsSymbol = written->symbol;
      description.checksum = llvm::formatv("{0:x-8}", written->checksum).str();
    }
    if (description.needsHandles)
      table.texts = description.texts;
    table.descriptor = descriptorOf(description, machine, facts);
    if (llvm::Error error = writeTables(description, machine))
      return start.fail(std::move(error));
    variants.push_back({table, machine.name, target::extensionsOf(machine)});
  }
  llvm::LLVMContext context;
  llvm::Module tables(name, context);
  target::addVariantTables(tables, variants);
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  if (llvm::Error error = target::emitObject(tables, target::baselineTarget(machines.front().code), 2, stream))
    return start.fail(std::move(error));
  llvm::Expected<std::string> path = scratch.write("tables.o", StringRef(object.data(), object.size()));
  if (!path)
    return start.fail(path.takeError());
  parts.objects.push_back(*path);
  parts.add(ArrayRef<StringRef>{"libperpend_variants.a"});
  return success();
}

LogicalResult MachineCompilations::write(ArtifactKind kind, StringRef output) {
  auto scratch = target::ScratchDirectory::createBeside(output);
  if (!scratch)
    return start.fail(scratch.takeError());
  isPacked = options.weights == "auto" ? constantBytesOf(start.module) > mostEmbeddedBytes : options.weights != "embed";
  auto file = target::WeightsFile::create(scratch->pathOf(weightsName), machines.front(),
                                          isPacked ? target::WeightsForm::Packed : target::WeightsForm::Object);
  if (!file)
    return start.fail(file.takeError());
  weights.emplace(std::move(*file));
  for (const target::TargetInfo &machine : machines)
    if (failed(compileOne(machine, *scratch)))
      return failure();
  releaseConstants();
  auto joining = std::chrono::steady_clock::now();
  start.description = descriptions.front();
  if (failed(join(*scratch, kind, output)) || failed(start.finish(*scratch, parts, kind, output)))
    return failure();
  if (!report)
    return success();
  report->times.push_back({"join", std::chrono::duration<double>(std::chrono::steady_clock::now() - joining).count()});
  report->descriptor = descriptions.front().table.descriptor;
  report->weightsBytes = descriptions.front().table.weightsBytes;
  report->weightsFiles = descriptions.front().filePaths();
  (void)llvm::sys::fs::file_size(output, report->artifactBytes);
  return success();
}

/// Where a library holds one for each machine.
static LogicalResult compileLibraries(ModuleOp module, const CompileOptions &options,
                                      ArrayRef<target::TargetInfo> machines, ArtifactKind kind, StringRef output,
                                      CompileReport *report) {
  if (kind == ArtifactKind::SharedLibrary)
    return compileForEngines(module, options, machines, output, report);
  return module.emitError("target '") << options.target
                                      << "': expected one machine for a static library\nhint: compile "
                                      << "one for each, or '-o model"
                                      << target::architectureOf(machines.front().code)->libraryEnding << "'";
}

LogicalResult compileForMachines(ModuleOp module, const CompileOptions &options,
                                 std::vector<target::TargetInfo> machines, ArtifactKind kind, StringRef output,
                                 CompileReport *report) {
  if (failed(checkForMachines(module, options, machines.size())))
    return failure();
  if (options.stopAfter.empty() && target::architectureOf(machines.front().code)->joinsLibraries)
    return compileLibraries(module, options, machines, kind, output, report);
  MachineCompilations compilations(module, options, std::move(machines), report);
  if (failed(compilations.prepare()))
    return failure();
  return options.stopAfter.empty() ? compilations.write(kind, output) : success();
}
} // namespace perpend
