//===- Run.cpp - runs programs in the simulator ---------------------------===//
#include "target/quoin/run/Run.h"
#include "target/quoin/Counters.h"
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
  Error run(ArrayRef<ArrayRef<char>> inputs, MutableArrayRef<target::ProgramOutput> outputs) override;
  Expected<target::ProgramTimes> measure(ArrayRef<ArrayRef<char>> inputs) override;

private:
  Expected<std::vector<uint64_t>> words(StringRef symbol);
  /// What calls have left (struct Run of runtime/scalar/Run.h). Errors: one has refused its data.
  Error readStatus();
  Error readExtents(MutableArrayRef<target::ProgramOutput> outputs);
  Error readOutput(size_t number, target::ProgramOutput &output);

  quoin::Program program;
  std::unique_ptr<Simulator> simulator;
};

Expected<std::vector<uint64_t>> SimulatedProgram::words(StringRef symbol) {
  std::vector<uint64_t> words(program.find(symbol)->sizeBytes / sizeof(uint64_t));
  if (Error error =
          simulator->read(symbol, {reinterpret_cast<uint8_t *>(words.data()), words.size() * sizeof(uint64_t)}))
    return std::move(error);
  return words;
}

Error SimulatedProgram::readStatus() {
  constexpr size_t status = 0, got = 1, hasGot = 2, message = 3, messageWords = 64;
  Expected<std::vector<uint64_t>> run = words("run");
  if (!run)
    return run.takeError();
  if ((*run)[status] == 0)
    return Error::success();
  StringRef bytes(reinterpret_cast<const char *>(&(*run)[message]), messageWords * sizeof(uint64_t));
  auto [text, hint] = bytes.split('\0').first.split('\n');
  std::string number = (*run)[hasGot] ? formatv(", got {0}", static_cast<int64_t>((*run)[got])).str() : "";
  return createStringError(formatv("{0}{1}{2}{3}", text, number, hint.empty() ? "" : "\n", hint));
}

Error SimulatedProgram::readExtents(MutableArrayRef<target::ProgramOutput> outputs) {
  Expected<std::vector<uint64_t>> extents = words("extents");
  if (!extents)
    return extents.takeError();
  size_t next = 0;
  for (target::ProgramOutput &output : outputs)
    for (int64_t &extent : output.shape)
      extent = static_cast<int64_t>((*extents)[next++]);
  return Error::success();
}

Error SimulatedProgram::readOutput(size_t number, target::ProgramOutput &output) {
  uint64_t bytes = output.elementBytes;
  for (int64_t extent : output.shape)
    bytes *= static_cast<uint64_t>(extent);
  output.bytes.resize(bytes);
  if (bytes == 0)
    return Error::success();
  MutableArrayRef<uint8_t> place(reinterpret_cast<uint8_t *>(output.bytes.data()), bytes);
  const std::string name = formatv("out{0}", number);
  if (program.find(name))
    return simulator->read(name, place);
  Expected<std::vector<uint64_t>> growing = words("growing");
  if (!growing)
    return growing.takeError();
  return simulator->read("heap", place, (*growing)[2 * number] - scalarDdrBase - program.find("heap")->byte);
}

/// Runs once.
static Error runWith(Simulator &simulator, ArrayRef<ArrayRef<char>> inputs) {
  for (auto [number, input] : enumerate(inputs))
    if (!input.empty())
      if (Error error = simulator.write(formatv("in{0}", number).str(),
                                        {reinterpret_cast<const uint8_t *>(input.data()), input.size()}))
        return error;
  if (std::optional<Trap> trap = simulator.run())
    return createStringError(trap->toString());
  return Error::success();
}

Expected<target::ProgramTimes> SimulatedProgram::measure(ArrayRef<ArrayRef<char>> inputs) {
  SimulatorOptions options;
  options.mode = SimulatorMode::Cycle;
  Expected<std::unique_ptr<Simulator>> timed = Simulator::create(program, options);
  if (!timed)
    return timed.takeError();
  if (Error error = runWith(**timed, inputs))
    return std::move(error);
  const Counters &counters = (*timed)->counters();
  return target::ProgramTimes{reportText(counters, program), reportJson(counters, program)};
}

Error SimulatedProgram::run(ArrayRef<ArrayRef<char>> inputs, MutableArrayRef<target::ProgramOutput> outputs) {
  Error trapped = runWith(*simulator, inputs);
  if (program.find("run"))
    if (Error refused = readStatus()) { // then what others do with its results says nothing
      consumeError(std::move(trapped));
      return refused;
    }
  if (trapped)
    return trapped;
  if (program.find("extents"))
    if (Error error = readExtents(outputs))
      return error;
  for (auto [number, output] : enumerate(outputs))
    if (Error error = readOutput(number, output))
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
