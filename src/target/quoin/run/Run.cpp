//===- Run.cpp - runs programs in the simulator ---------------------------===//
#include "target/quoin/run/Run.h"
#include "target/quoin/Simulator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace perpend::quoin {
namespace {

class SimulatedProgram : public target::Program {
public:
  SimulatedProgram(quoin::Program program, std::unique_ptr<Simulator> simulator)
      : program(std::move(program)), simulator(std::move(simulator)) {}

  StringRef tables() const override { return program.tables; }
  std::string runner() const override { return "simulated: a program for " + program.config.name; }
  Error run(ArrayRef<ArrayRef<char>> inputs, ArrayRef<MutableArrayRef<char>> outputs) override;

private:
  quoin::Program program;
  std::unique_ptr<Simulator> simulator;
};

Error SimulatedProgram::run(ArrayRef<ArrayRef<char>> inputs, ArrayRef<MutableArrayRef<char>> outputs) {
  for (auto [number, input] : enumerate(inputs))
    if (!input.empty())
      if (Error error = simulator->write(formatv("in{0}", number).str(),
                                         {reinterpret_cast<const uint8_t *>(input.data()), input.size()}))
        return error;
  if (std::optional<Trap> trap = simulator->run())
    return createStringError(trap->toString());
  for (auto [number, output] : enumerate(outputs))
    if (!output.empty())
      if (Error error = simulator->read(formatv("out{0}", number).str(),
                                        {reinterpret_cast<uint8_t *>(output.data()), output.size()}))
        return error;
  return Error::success();
}

} // namespace

Expected<std::unique_ptr<target::Program>> loadProgram(StringRef path) {
  auto file = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return createStringError("cannot read '" + path + "': " + file.getError().message());
  Expected<quoin::Program> program = readObject(**file);
  if (!program)
    return program.takeError();
  Expected<std::unique_ptr<Simulator>> simulator = Simulator::create(*program);
  if (!simulator)
    return simulator.takeError();
  return std::make_unique<SimulatedProgram>(std::move(*program), std::move(*simulator));
}

} // namespace perpend::quoin
