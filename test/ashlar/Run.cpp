// Runs programs in the simulator, for the commands.
#include "Ashlar.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstring>

using namespace llvm;
using perpend::target::ProgramOutput;
using perpend::target::ProgramTimes;

namespace ashlar {
namespace {

class Simulated : public perpend::target::Program {
public:
  explicit Simulated(ashlar::Program program) : program(std::move(program)) {}

  StringRef tables() const override { return program.tables; }
  std::string runner() const override { return "simulated: a program for ashlar"; }
  Error run(ArrayRef<ArrayRef<char>> inputs, MutableArrayRef<ProgramOutput> outputs) override;
  Expected<ProgramTimes> measure(ArrayRef<ArrayRef<char>>) override {
    return createStringError("the simulator of ashlar has no times");
  }

private:
  /// What calls of the library have left (struct Run of runtime/scalar/Run.h).
  Error readStatus(const std::vector<uint8_t> &memory) const;

  ashlar::Program program;
};

Error Simulated::readStatus(const std::vector<uint8_t> &memory) const {
  constexpr size_t messageByte = 24, messageBytes = 512;
  if (!program.run || memory[*program.run] == 0)
    return Error::success();
  StringRef text(reinterpret_cast<const char *>(memory.data() + *program.run + messageByte), messageBytes);
  return createStringError(text.split('\0').first);
}

Error Simulated::run(ArrayRef<ArrayRef<char>> inputs, MutableArrayRef<ProgramOutput> outputs) {
  std::vector<uint8_t> memory(program.memoryBytes);
  for (const Data &datum : program.data)
    std::copy(datum.bytes.begin(), datum.bytes.end(), memory.begin() + static_cast<ptrdiff_t>(datum.byte));
  for (auto [input, place] : zip_equal(inputs, program.inputs))
    std::memcpy(memory.data() + place.first, input.data(), place.second);
  Error trapped = ashlar::run(program, memory);
  if (Error refused = readStatus(memory)) {
    consumeError(std::move(trapped));
    return refused;
  }
  if (trapped)
    return trapped;
  for (auto [output, place] : zip_equal(outputs, program.outputs)) {
    const auto *begin = reinterpret_cast<const char *>(memory.data() + place.first);
    output.bytes.assign(begin, begin + place.second);
  }
  return Error::success();
}

} // namespace

Expected<std::unique_ptr<perpend::target::Program>> loadProgram(StringRef path) {
  auto file = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return createStringError("cannot read '" + path + "': " + file.getError().message());
  Expected<ashlar::Program> program = read((*file)->getBuffer());
  if (!program)
    return createStringError("'" + path + "': " + toString(program.takeError()));
  return std::make_unique<Simulated>(std::move(*program));
}

} // namespace ashlar
