//===- Target.cpp - Quoin as a target of the compiler ---------------------===//
#include "target/Accelerator.h"
#include "target/quoin/Config.h"

using namespace llvm;

namespace perpend::target {

/// What the compiler calls the host's memory is DDR.
constexpr StringLiteral nearMemory = "llb";

/// Facts for the rules that schedule what the scalar core runs: it has no vectors and no cache.
static TargetInfo describe(StringRef configuration) {
  const quoin::Config config = *quoin::configNamed(("qn-" + configuration).str());
  TargetInfo target;
  target.features = {"rv64imfd"};
  target.levels = {{"thread"}};
  target.memories = {{"local"}};
  target.global.bytesPerSecond = 8e9;
  target.fusesMultiplyAdds = true;
  target.units = {productUnit.str(), windowUnit.str(), nestUnit.str()};
  target.fmaPerCycle = 1;
  target.cyclesPerSecond = 1e9;
  target.mainMemories = {{.name = nearMemory.str(), .bytes = config.llbBytes}};
  target.reads = target.writes = {nearMemory.str(), hostMemory.str()};
  target.links = {{hostMemory.str(), nearMemory.str()}, {nearMemory.str(), hostMemory.str()}};
  target.code = {"riscv64-unknown-elf", "generic-rv64", "+m,+f,+d"};
  return target;
}

/// A core adds 2048 products of matrices in a cycle.
static Rates ratesOf(StringRef configuration) {
  const quoin::Config config = *quoin::configNamed(("qn-" + configuration).str());
  return {.products = 2048.0 * config.numCores(), .farBytes = double(config.ddrBytesPerCycle) * config.clusters};
}

const Accelerator &quoin() {
  static constexpr StringLiteral configurations[] = {"t1", "c1", "c8", "c32"};
  static constexpr StringLiteral decisions[] = {
#define PERPEND_DECISION(name, member) name,
#include "target/quoin/compile/Decisions.def"
      partsDecision, residencyDecision};
  static const Accelerator accelerator{"quoin", configurations, ".qn", describe, decisions, ratesOf};
  return accelerator;
}

} // namespace perpend::target
