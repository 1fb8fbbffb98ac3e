//===- BareProgram.cpp - objects without a runtime, to run ----------------===//

#include "target/BareProgram.h"
#include "target/Link.h"
#include "target/LinkBare.h"
#include "target/ScratchDirectory.h"
#include "target/TargetInfo.h"
#include "target/cpu/Architecture.h"
#include "target/cpu/BareEntry.h"
#include "target/cpu/EmitObject.h"

#include "perpend_tables.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <cstdlib>
#include <cstring>

using namespace llvm;

namespace perpend::target {
namespace {

/// In place of the emulator: any program that starts images (cli/Runner.h).
constexpr const char *runnerVariable = "PERPEND_RUNNER";
/// Exit statuses of runtime/bare/Runner.c: that of the model is added to the first one.
constexpr int refusedStatus = 16, mostStatus = 127, inputsStatus = 2, faultStatus = 3;

class BareProgram : public Program {
public:
  BareProgram(StringRef path, std::string tables, TargetInfo target, const Board *board)
      : path(path), bytesOfTables(std::move(tables)), target(std::move(target)), board(board) {}

  StringRef tables() const override { return bytesOfTables; }
  std::string runner() const override;
  Error checkRunner() const override;
  Error run(ArrayRef<ArrayRef<char>> inputs, MutableArrayRef<ProgramOutput> outputs) override;
  Expected<ProgramTimes> measure(ArrayRef<ArrayRef<char>>) override;

private:
  Expected<std::vector<std::string>> command() const;
  Expected<SmallVector<char, 0>> emitCall(ArrayRef<size_t> inputs, ArrayRef<size_t> outputs) const;
  Error link(ArrayRef<size_t> inputs, ArrayRef<size_t> outputs);
  Error execute(StringRef input, StringRef output) const;

  std::string path, bytesOfTables;
  TargetInfo target;
  const Board *board;                     ///< null: nothing here runs it
  std::optional<ScratchDirectory> folder; ///< once it is linked
};

StringRef givenRunner() {
  const char *given = std::getenv(runnerVariable);
  return given ? given : "";
}

std::string BareProgram::runner() const {
  if (StringRef given = givenRunner(); !given.empty())
    return formatv("runs through {0}: code for {1}", given.split(' ').first, target.name);
  if (!board)
    return formatv("nothing here runs it: code for {0}", target.name);
  return formatv("emulated by {0} ({1}): code for {2}", architectureOf(target.code)->emulator, board->machine,
                 target.name);
}

/// Behind it comes the image.
Expected<std::vector<std::string>> BareProgram::command() const {
  const Architecture &architecture = *architectureOf(target.code);
  SmallVector<StringRef> words;
  givenRunner().split(words, ' ', -1, /*KeepEmpty=*/false);
  if (words.empty()) {
    words = {architecture.emulator, "-M", board->machine};
    append_range(words, architecture.imageOptions);
  }
  ErrorOr<std::string> program = sys::findProgramByName(words.front());
  if (!program)
    return createStringError(formatv("the {0} '{1}' is not installed\nhint: apt-get install {2}, or name another "
                                     "runner with --runner",
                                     givenRunner().empty() ? "emulator" : "runner", words.front(),
                                     architecture.emulatorPackages));
  std::vector<std::string> command = {*program};
  for (StringRef word : ArrayRef(words).drop_front())
    command.push_back(word.str());
  return command;
}

/// What runtime/bare/Runner.c expects of a model: its memory, and a call without arguments.
class CallEmitter {
public:
  explicit CallEmitter(Module &module)
      : module(module), builder(module.getContext()), pointer(PointerType::getUnqual(module.getContext())) {}

  void addBuffers(StringRef name, ArrayRef<size_t> sizes);
  void addCall(StringRef name);

private:
  Module &module;
  IRBuilder<> builder;
  PointerType *pointer;
  SmallVector<Value *> arguments;
};

/// An array of addresses and sizes, the last of which is null.
void CallEmitter::addBuffers(StringRef name, ArrayRef<size_t> sizes) {
  Type *word = builder.getInt32Ty();
  auto *record = StructType::get(pointer, word);
  SmallVector<Constant *> records;
  for (size_t size : sizes) {
    auto *type = ArrayType::get(builder.getInt8Ty(), std::max<size_t>(size, 1));
    auto *memory = new GlobalVariable(module, type, /*isConstant=*/false, GlobalValue::InternalLinkage,
                                      ConstantAggregateZero::get(type), "buffer");
    memory->setAlignment(Align(8));
    arguments.push_back(memory);
    records.push_back(ConstantStruct::get(record, {memory, ConstantInt::get(word, size)}));
  }
  records.push_back(ConstantAggregateZero::get(record));
  auto *type = ArrayType::get(record, records.size());
  new GlobalVariable(module, type, /*isConstant=*/true, GlobalValue::ExternalLinkage, ConstantArray::get(type, records),
                     name);
}

void CallEmitter::addCall(StringRef name) {
  Type *status = builder.getInt32Ty();
  SmallVector<Type *> types(arguments.size(), pointer);
  auto *function =
      Function::Create(FunctionType::get(status, false), GlobalValue::ExternalLinkage, "perpend_runner_call", module);
  builder.SetInsertPoint(BasicBlock::Create(module.getContext(), "", function));
  builder.CreateRet(
      builder.CreateCall(module.getOrInsertFunction(name, FunctionType::get(status, types, false)), arguments));
}

/// A text of the tables.
StringRef textOf(StringRef tables, uint32_t position) { return tables.substr(position).split('\0').first; }

perpend_tables headOf(StringRef tables) {
  perpend_tables head;
  std::memcpy(&head, tables.data(), sizeof head);
  return head;
}

Expected<SmallVector<char, 0>> BareProgram::emitCall(ArrayRef<size_t> inputs, ArrayRef<size_t> outputs) const {
  LLVMContext context;
  Module module("call", context);
  CallEmitter emitter(module);
  emitter.addBuffers("perpend_runner_inputs", inputs);
  emitter.addBuffers("perpend_runner_outputs", outputs);
  emitter.addCall((bareRunPrefix + textOf(bytesOfTables, headOf(bytesOfTables).name)).str());
  SmallVector<char, 0> object;
  raw_svector_ostream stream(object);
  if (Error error = emitObject(module, target, 1, stream))
    return std::move(error);
  return object;
}

constexpr StringLiteral imageName = "image.elf";

Error BareProgram::link(ArrayRef<size_t> inputs, ArrayRef<size_t> outputs) {
  Expected<SmallVector<char, 0>> call = emitCall(inputs, outputs);
  if (!call)
    return call.takeError();
  Expected<ScratchDirectory> scratch = ScratchDirectory::createTemporary();
  if (!scratch)
    return scratch.takeError();
  Expected<std::string> object = scratch->write("call.o", StringRef(call->data(), call->size()));
  if (!object)
    return object.takeError();
  if (Error error = linkBareImage({*object, path}, target, *board, *scratch, scratch->pathOf(imageName)))
    return error;
  folder.emplace(std::move(*scratch));
  return Error::success();
}

std::string fileText(StringRef path) {
  auto file = MemoryBuffer::getFile(path);
  return file ? (*file)->getBuffer().str() : "";
}

Error BareProgram::execute(StringRef input, StringRef output) const {
  Expected<std::vector<std::string>> words = command();
  if (!words)
    return words.takeError();
  words->push_back(folder->pathOf(imageName));
  const std::string errors = folder->pathOf("errors");
  const std::optional<StringRef> streams[] = {input, output, StringRef(errors)};
  std::string problem;
  SmallVector<StringRef> arguments(words->begin(), words->end());
  const int status = sys::ExecuteAndWait(words->front(), arguments, std::nullopt, streams, 0, 0, &problem);
  if (status == 0)
    return Error::success();
  if (status >= refusedStatus && status <= mostStatus)
    return createStringError(formatv("the model refused its inputs with status {0}", status - refusedStatus));
  std::string text = problem.empty() ? StringRef(fileText(errors)).trim().split('\n').first.str() : problem;
  StringRef what = status == faultStatus    ? "the processor took a fault"
                   : status == inputsStatus ? "the image could not read its inputs"
                                            : "it ended";
  return createStringError(formatv("'{0}': {1}, status {2}{3}{4}\nhint: does the model fit the memory of its board?",
                                   words->front(), what, status, text.empty() ? "" : ": ", text));
}

Error BareProgram::run(ArrayRef<ArrayRef<char>> inputs, MutableArrayRef<ProgramOutput> outputs) {
  if (Error error = checkRunner())
    return error;
  SmallVector<size_t> inputSizes, outputSizes;
  std::string given;
  for (ArrayRef<char> input : inputs) {
    inputSizes.push_back(input.size());
    given.append(input.begin(), input.end());
  }
  for (const ProgramOutput &output : outputs) {
    size_t size = output.elementBytes;
    for (int64_t extent : output.shape)
      size *= static_cast<size_t>(extent);
    outputSizes.push_back(size);
  }
  if (!folder)
    if (Error error = link(inputSizes, outputSizes))
      return error;
  Expected<std::string> input = folder->write("input", given);
  if (!input)
    return input.takeError();
  const std::string output = folder->pathOf("output");
  if (Error error = execute(*input, output))
    return error;
  const std::string result = fileText(output);
  size_t position = 0;
  for (auto [output, size] : zip_equal(outputs, outputSizes)) {
    if (result.size() - position < size)
      return createStringError("the image wrote fewer bytes than the outputs have");
    output.bytes.assign(result.begin() + position, result.begin() + position + size);
    position += size;
  }
  return Error::success();
}

Error BareProgram::checkRunner() const {
  if (board)
    return Error::success();
  return createStringError(formatv("target '{0}': nothing here runs or measures its objects\n"
                                   "hint: link the object into a program there; `perpend inspect` shows its interface",
                                   target.name));
}

Expected<ProgramTimes> BareProgram::measure(ArrayRef<ArrayRef<char>>) {
  return createStringError(formatv("the model is for {0}, which an emulator runs: its times say nothing of the "
                                   "processor\nhint: link the object into a program there, and measure that",
                                   target.name));
}

/// Null: the file is none of these.
const Architecture *bareArchitectureOf(const object::ObjectFile &file) {
  const auto *elf = dyn_cast<object::ELFObjectFileBase>(&file);
  const Architecture *architecture =
      elf ? architectureOfElf(elf->getEMachine()) : architectureOf({file.makeTriple().str(), "", ""});
  return architecture && !architecture->hasRuntime ? architecture : nullptr;
}

Error noModel(StringRef path) {
  return createStringError("'" + path + "' has no tables of a model\nhint: compile the model again");
}

Expected<std::string> tablesIn(const object::ObjectFile &file, StringRef path) {
  const Architecture *architecture = bareArchitectureOf(file);
  StringRef wanted = architecture ? architecture->tablesSection : StringRef();
  if (file.isMachO()) // segment,section,type,attributes
    wanted = wanted.split(',').second.split(',').first;
  for (const object::SectionRef &section : file.sections()) {
    Expected<StringRef> name = section.getName();
    if (!name)
      return name.takeError();
    if (*name != wanted)
      continue;
    Expected<StringRef> content = section.getContents();
    if (!content)
      return content.takeError();
    if (content->size() >= sizeof(perpend_tables))
      return content->str();
  }
  return noModel(path);
}

} // namespace

bool isBareObject(StringRef path) {
  auto file = object::ObjectFile::createObjectFile(path);
  if (!file)
    return consumeError(file.takeError()), false;
  return bareArchitectureOf(*file->getBinary());
}

Expected<std::unique_ptr<Program>> loadBareProgram(StringRef path) {
  auto file = object::ObjectFile::createObjectFile(path);
  if (!file)
    return file.takeError();
  Expected<std::string> tables = tablesIn(*file->getBinary(), path);
  if (!tables)
    return tables.takeError();
  Expected<TargetInfo> target = resolveTarget(textOf(*tables, headOf(*tables).target));
  if (!target)
    return joinErrors(noModel(path), target.takeError());
  const Board *board = boardOf(target->code);
  return std::make_unique<BareProgram>(path, std::move(*tables), std::move(*target), board);
}

} // namespace perpend::target
