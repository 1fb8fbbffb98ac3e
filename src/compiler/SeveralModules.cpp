//===- SeveralModules.cpp - modules of WebAssembly for several engines ----===//
//
// Each machine gets a whole module; what they have in common, weights above all, is in the file once.
//
//===----------------------------------------------------------------------===//

#include "compiler/Compilation.h"
#include "compiler/SeveralMachines.h"
#include "target/Link.h"
#include "target/WasmVariants.h"
#include "target/cpu/Architecture.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace perpend {
namespace {

class ModuleCompilations {
public:
  ModuleCompilations(ModuleOp module, const CompileOptions &options, StringRef output, CompileReport *report)
      : module(module), options(options), output(output), report(report) {}

  LogicalResult compileOne(const target::TargetInfo &machine);
  LogicalResult join();

private:
  LogicalResult fail(llvm::Error error) { return module.emitError(llvm::toString(std::move(error))); }
  LogicalResult checkWeights(StringRef path);
  void describeOne(const target::TargetInfo &machine, const CompileReport &own);
  std::string nameOf(const target::ScratchDirectory &folder) const {
    return folder.pathOf(llvm::sys::path::filename(output));
  }

  ModuleOp module;
  const CompileOptions &options;
  const StringRef output;
  CompileReport *report;
  std::vector<target::ScratchDirectory> folders; ///< one for each machine
  std::vector<target::WasmVariant> modules;
};

} // namespace

LogicalResult ModuleCompilations::compileOne(const target::TargetInfo &machine) {
  auto folder = target::ScratchDirectory::createBeside(output);
  if (!folder)
    return fail(folder.takeError());
  folders.push_back(std::move(*folder));
  const std::string path = nameOf(folders.back());
  CompileOptions one = options;
  one.target = machine.name;
  if (!one.dumpPhases.empty())
    one.dumpPhases += "/" + machine.name;
  CompileReport own;
  OwningOpRef<ModuleOp> copy = module.clone();
  if (failed(compile(*copy, one, ArtifactKind::SharedLibrary, path, &own)))
    return failure();
  modules.push_back({path, target::extensionsOf(machine)});
  describeOne(machine, own);
  return checkWeights(pathBeside(path, ".weights"));
}

/// The file beside the artifact is the same for all.
LogicalResult ModuleCompilations::checkWeights(StringRef path) {
  const std::string first = pathBeside(modules.front().path, ".weights");
  if (path == first || !llvm::sys::fs::exists(path))
    return success();
  auto one = llvm::MemoryBuffer::getFile(first), other = llvm::MemoryBuffer::getFile(path);
  if (!one || !other || (*one)->getBuffer() != (*other)->getBuffer())
    return module.emitError("the machines of '")
           << options.target << "' pack weights differently, and there is one "
           << "file of weights\nhint: compile for one of them, or --weights embed";
  return success();
}

void ModuleCompilations::describeOne(const target::TargetInfo &machine, const CompileReport &own) {
  if (!report)
    return;
  std::vector<MachineReport> machines = std::move(report->machines);
  std::vector<PhaseTime> times = std::move(report->times);
  std::vector<RecordUse> uses = std::move(report->recordUses);
  for (const PhaseTime &time : own.times)
    times.push_back({machine.name + ": " + time.phase, time.seconds});
  for (const RecordUse &use : own.recordUses)
    uses.push_back({use.kind, use.kernel + " for " + machine.name, use.reason});
  *report = own; // of the machine that any engine can be, which comes last
  report->times = std::move(times);
  report->recordUses = std::move(uses);
  const bool isEmbedded = own.weightsFiles.empty();
  MachineReport one;
  one.target = machine.name;
  one.kernels = own.kernels;
  one.weightsBytes = own.weightsBytes;
  one.addedWeightsBytes = machines.empty() ? own.weightsBytes : 0;
  one.arenaBytes = own.arenaBytes;
  one.codeBytes = own.artifactBytes - (isEmbedded ? own.weightsBytes : 0);
  machines.push_back(std::move(one));
  report->machines = std::move(machines);
}

LogicalResult ModuleCompilations::join() {
  const target::WasmVariant base = modules.back(); // what any engine can run comes last
  const std::string unfinished = folders.front().pathOf("joined");
  if (llvm::Error error = target::joinWasmModules(base.path, llvm::ArrayRef(modules).drop_back(), unfinished))
    return fail(std::move(error));
  if (llvm::Error error = target::moveIntoPlace(unfinished, output))
    return fail(std::move(error));
  const std::string weights = pathBeside(base.path, ".weights");
  if (llvm::sys::fs::exists(weights))
    if (llvm::Error error = target::moveIntoPlace(weights, pathBeside(output, ".weights")))
      return fail(std::move(error));
  const llvm::SmallString<128> folder(llvm::sys::path::parent_path(output));
  for (StringRef name : target::wasmLoaderFiles) {
    llvm::SmallString<128> place(folder);
    llvm::sys::path::append(place, name);
    if (llvm::Error error = target::moveIntoPlace(folders.back().pathOf(name), place))
      return fail(std::move(error));
  }
  if (!report)
    return success();
  for (auto &[path, bytes] : report->weightsFiles)
    if (path == weights)
      path = pathBeside(output, ".weights");
  (void)llvm::sys::fs::file_size(output, report->artifactBytes);
  return success();
}

LogicalResult compileForEngines(ModuleOp module, const CompileOptions &options,
                                llvm::ArrayRef<target::TargetInfo> machines, StringRef output, CompileReport *report) {
  ModuleCompilations compilations(module, options, output, report);
  for (const target::TargetInfo &machine : machines)
    if (failed(compilations.compileOne(machine)))
      return failure();
  return compilations.join();
}

} // namespace perpend
