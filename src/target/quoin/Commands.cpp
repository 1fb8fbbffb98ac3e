//===- Commands.cpp - quoin-as, quoin-dis and quoin-sim --------------------===//

#include "target/quoin/Commands.h"
#include "target/quoin/CommandLine.h"
#include "target/quoin/Verifier.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

namespace perpend::quoin {
namespace {
constexpr llvm::StringLiteral assemblerUsage = "usage: quoin-as FILE.s [--scalar=LINKED.elf] --output=FILE.qn";
constexpr llvm::StringLiteral disassemblerUsage = "usage: quoin-dis FILE.qn";
constexpr llvm::StringLiteral verifierUsage = "usage: quoin-verify FILE";
constexpr llvm::StringLiteral simulatorUsage =
    "usage: quoin-sim FILE [--input=NAME=FILE]... [--output=NAME=FILE]... [--print=NAME:TYPE]... "
    "[--mode=func|cycle|time] [--serial] [--no-llb] [--report] "
    "[--json=FILE] [--trace=FILE] [--seed=N] [--max-scalar=N] [--max-instructions=N] [--scalar-cycles=N] [--no-checks] "
    "[--trap-nan]";

llvm::Error assembleFile(CommandLine &line) {
  std::optional<std::string> output = line.takeOption("output"), scalar = line.takeOption("scalar");
  std::optional<std::string> input = line.takeFile();
  if (llvm::Error error = line.finish(assemblerUsage))
    return error;
  if (!input || !output)
    return llvm::createStringError(assemblerUsage);
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(*input);
  if (!buffer)
    return llvm::createStringError(*input + ": " + buffer.getError().message());
  ScalarCode code;
  if (scalar) {
    auto elf = llvm::MemoryBuffer::getFile(*scalar);
    if (!elf)
      return llvm::createStringError(*scalar + ": " + elf.getError().message());
    llvm::Expected<ScalarCode> read = readScalarCode(**elf);
    if (!read)
      return read.takeError();
    code = std::move(*read);
  }
  llvm::Expected<Program> program = assemble(**buffer, std::move(code));
  return program ? writeBytes(*output, writeObject(*program)) : program.takeError();
}

llvm::Error disassembleFile(CommandLine &line) {
  std::optional<std::string> input = line.takeFile();
  if (llvm::Error error = line.finish(disassemblerUsage))
    return error;
  if (!input)
    return llvm::createStringError(disassemblerUsage);
  llvm::Expected<Program> program = readProgram(*input);
  if (!program)
    return program.takeError();
  llvm::outs() << disassemble(*program);
  return llvm::Error::success();
}

void printElement(const uint8_t *bytes, DType type, llvm::raw_ostream &out) {
  float value;
  std::memcpy(&value, bytes, sizeof(value));
  int32_t word;
  std::memcpy(&word, bytes, sizeof(word));
  switch (type) {
  case DType::F32:
    out << llvm::format("%.9g", double(value));
    return;
  case DType::I32:
    out << word;
    return;
  case DType::I16:
    out << int16_t(word);
    return;
  case DType::I8:
    out << int(int8_t(word));
    return;
  case DType::U8:
  case DType::Pred8:
    out << (word & 255);
    return;
  default: // f16 and bf16 as bits
    out << llvm::format_hex(word & 0xffff, 6);
  }
}

/// NAME:TYPE
llvm::Error printSymbol(const Simulator &simulator, const Program &program, llvm::StringRef request) {
  auto [name, typeName] = request.split(':');
  const Symbol *symbol = program.find(name);
  std::optional<DType> type = dtypeNamed(typeName);
  if (!symbol || !type || *type == DType::None)
    return llvm::createStringError("--print=" + request + ": no such symbol or type");
  std::vector<uint8_t> bytes(symbol->sizeBytes);
  if (llvm::Error error = simulator.read(name, bytes))
    return error;
  bytes.resize(bytes.size() + 4); // whole words are read below
  llvm::outs() << name << ":";
  for (uint64_t at = 0; at + sizeOf(*type) <= symbol->sizeBytes; at += sizeOf(*type))
    printElement(&bytes[at], *type, llvm::outs() << " ");
  llvm::outs() << "\n";
  return llvm::Error::success();
}

struct SimulatorArguments {
  std::string file, json, trace;
  bool hasReport = false;
  std::vector<std::string> inputs, outputs, prints;
  SimulatorOptions options;
};

std::vector<std::string> takeAll(CommandLine &line, llvm::StringRef key) {
  std::vector<std::string> values;
  while (std::optional<std::string> value = line.takeOption(key))
    values.push_back(std::move(*value));
  return values;
}

llvm::Error parseMode(llvm::StringRef text, SimulatorMode &mode) {
  if (text != "func" && text != "cycle" && text != "time")
    return llvm::createStringError("--mode=" + text + "; hint: func, cycle or time");
  mode = text == "func" ? SimulatorMode::Functional : text == "cycle" ? SimulatorMode::Cycle : SimulatorMode::Time;
  return llvm::Error::success();
}

llvm::Expected<SimulatorArguments> parseSimulatorArguments(CommandLine &line) {
  SimulatorArguments arguments;
  arguments.inputs = takeAll(line, "input");
  arguments.outputs = takeAll(line, "output");
  arguments.prints = takeAll(line, "print");
  arguments.json = line.takeOption("json").value_or("");
  arguments.trace = line.takeOption("trace").value_or("");
  arguments.hasReport = line.takeFlag("report");
  bool isTimed = arguments.hasReport || !arguments.json.empty() || !arguments.trace.empty();
  if (llvm::Error error =
          parseMode(line.takeOption("mode").value_or(isTimed ? "cycle" : "func"), arguments.options.mode))
    return std::move(error);
  for (auto [key, value] :
       {std::pair("seed", &arguments.options.seed), std::pair("max-scalar", &arguments.options.maxScalarInstructions),
        std::pair("max-instructions", &arguments.options.maxInstructions)})
    if (std::optional<std::string> text = line.takeOption(key); text && llvm::StringRef(*text).getAsInteger(10, *value))
      return llvm::createStringError("--" + llvm::Twine(key) + "=" + *text + " is no number");
  if (std::optional<std::string> text = line.takeOption("scalar-cycles")) {
    uint64_t cycles = 0;
    if (llvm::StringRef(*text).getAsInteger(10, cycles))
      return llvm::createStringError("--scalar-cycles=" + *text + " is no number");
    arguments.options.scalarCallCycles = cycles;
  }
  if (line.takeFlag("no-checks"))
    arguments.options.checkRaces = arguments.options.checkUninitialised = false;
  arguments.options.trapNaN = line.takeFlag("trap-nan");
  arguments.options.isSerial = line.takeFlag("serial");
  arguments.options.hasNoLlb = line.takeFlag("no-llb");
  std::optional<std::string> file = line.takeFile();
  if (llvm::Error error = line.finish(simulatorUsage))
    return std::move(error);
  if (!file)
    return llvm::createStringError(simulatorUsage);
  arguments.file = std::move(*file);
  return arguments;
}

llvm::Error writeInputs(Simulator &simulator, const SimulatorArguments &arguments) {
  for (llvm::StringRef request : arguments.inputs) {
    auto [name, path] = request.split('=');
    llvm::Expected<std::vector<uint8_t>> bytes = readBytes(path);
    if (!bytes)
      return bytes.takeError();
    if (llvm::Error error = simulator.write(name, *bytes))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error readOutputs(const Simulator &simulator, const Program &program, const SimulatorArguments &arguments) {
  for (llvm::StringRef request : arguments.outputs) {
    auto [name, path] = request.split('=');
    const Symbol *symbol = program.find(name);
    std::vector<uint8_t> bytes(symbol ? symbol->sizeBytes : 0);
    if (llvm::Error error = simulator.read(name, bytes))
      return error;
    if (llvm::Error error = writeBytes(path, bytes))
      return error;
  }
  for (const std::string &request : arguments.prints)
    if (llvm::Error error = printSymbol(simulator, program, request))
      return error;
  return llvm::Error::success();
}

llvm::ArrayRef<uint8_t> bytesOf(llvm::StringRef text) { return llvm::ArrayRef(text.bytes_begin(), text.bytes_end()); }

llvm::Error writeReports(const Simulator &simulator, const Program &program, const SimulatorArguments &arguments) {
  if (arguments.hasReport)
    llvm::outs() << reportText(simulator.counters(), program);
  if (!arguments.json.empty())
    if (llvm::Error error = writeBytes(arguments.json, bytesOf(reportJson(simulator.counters(), program))))
      return error;
  return arguments.trace.empty() ? llvm::Error::success()
                                 : writeBytes(arguments.trace, bytesOf(chromeTrace(simulator.counters(), program)));
}

llvm::Expected<int> simulateFile(CommandLine &line) {
  llvm::Expected<SimulatorArguments> arguments = parseSimulatorArguments(line);
  if (!arguments)
    return arguments.takeError();
  llvm::Expected<Program> program = readProgram(arguments->file);
  if (!program)
    return program.takeError();
  llvm::Expected<std::unique_ptr<Simulator>> simulator = Simulator::create(*program, arguments->options);
  if (!simulator)
    return simulator.takeError();
  if (llvm::Error error = writeInputs(**simulator, *arguments))
    return std::move(error);
  if (std::optional<Trap> trap = (*simulator)->run()) {
    llvm::errs() << trap->toString() << "\n";
    return 2;
  }
  if (llvm::Error error = readOutputs(**simulator, *program, *arguments))
    return std::move(error);
  if (llvm::Error error = writeReports(**simulator, *program, *arguments))
    return std::move(error);
  return 0;
}

llvm::Expected<int> verifyFile(CommandLine &line) {
  std::optional<std::string> file = line.takeFile();
  if (llvm::Error error = line.finish(verifierUsage))
    return std::move(error);
  if (!file)
    return llvm::createStringError(verifierUsage);
  llvm::Expected<Program> program = readProgram(*file);
  if (!program)
    return program.takeError();
  Verification result = verify(*program);
  for (const Finding &finding : result.findings)
    llvm::errs() << finding.trap.toString() << (finding.choices.empty() ? "" : "\n  if " + finding.choices) << "\n";
  for (const std::string &limit : result.limits)
    llvm::errs() << "not verified: " << limit << "\n";
  if (result.findings.empty())
    llvm::outs() << "verified\n";
  return result.findings.empty() ? 0 : 2;
}
} // namespace

int runAssembler(llvm::ArrayRef<llvm::StringRef> arguments) {
  CommandLine line(arguments);
  llvm::Error error = assembleFile(line);
  return error ? report("quoin-as", std::move(error)) : 0;
}

int runDisassembler(llvm::ArrayRef<llvm::StringRef> arguments) {
  CommandLine line(arguments);
  llvm::Error error = disassembleFile(line);
  return error ? report("quoin-dis", std::move(error)) : 0;
}

int runVerifier(llvm::ArrayRef<llvm::StringRef> arguments) {
  CommandLine line(arguments);
  llvm::Expected<int> status = verifyFile(line);
  return status ? *status : report("quoin-verify", status.takeError());
}

int runSimulator(llvm::ArrayRef<llvm::StringRef> arguments) {
  CommandLine line(arguments);
  llvm::Expected<int> status = simulateFile(line);
  return status ? *status : report("quoin-sim", status.takeError());
}

} // namespace perpend::quoin
