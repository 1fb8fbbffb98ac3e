//===- UserIntrinsics.cpp - tensor intrinsics supplied by users -----------===//
//
// Before an implementation is used, it is compared with its description: it is compiled with a wrapper that takes all
// arguments by address, linked, loaded, and called on random data; the interpreter computes the expected results. Both
// LLVM and the compiled code run in child processes, because either may crash.
//
//===----------------------------------------------------------------------===//

#include "compiler/UserIntrinsics.h"

#include "Pipeline.h"
#include "compiler/IntrinsicDraws.h"
#include "graph/ErrorKind.h"
#include "support/ChildProcess.h"
#include "target/Link.h"
#include "target/ScratchDirectory.h"
#include "target/UserObjects.h"
#include "target/cpu/EmitObject.h"
#include "target/cpu/FunctionEmitter.h"
#include "tile/intrinsics/ObjectCall.h"
#include "tile/kernel/KernelEmitter.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>
#include <csignal>
#include <dlfcn.h>
#include <sys/mman.h>

using namespace mlir;

namespace perpend {
using tile::Intrinsic;

namespace {
constexpr unsigned secondsToCompile = 60, secondsToRun = 2;
constexpr StringLiteral featuresHint = "\nhint: features names every instruction set that the implementation needs";
constexpr StringLiteral entryName = "perpend_module_call";
/// Takes the addresses of the buffers, then their bases, strides and extents.
using Entry = void(void *const *buffers, const int64_t *numbers);

/// An implementation that is still to be compared with its description.
class Implementation {
public:
  Implementation(const Intrinsic &intrinsic, StringRef file) : intrinsic(intrinsic), file(file) {}

  LogicalResult verify(const target::TargetInfo &target, const target::TargetInfo &host);

private:
  LogicalResult fail(const Twine &message, Location loc) {
    return emitError(loc, "intrinsic '") << intrinsic.name << "': " << message.str();
  }
  LogicalResult fail(const Twine &message) { return fail(message, intrinsic.implementation.getLoc()); }

  OwningOpRef<ModuleOp> moduleWithEntry();
  std::string emitObject(const target::TargetInfo &machine);
  LogicalResult compile(const target::TargetInfo &machine, const Twine &where = "");
  LogicalResult link(const target::TargetInfo &machine);
  LogicalResult compare();
  LogicalResult compare(const IntrinsicDraw &draw, ArrayRef<std::byte *> before, ArrayRef<std::byte *> after);

  const Intrinsic &intrinsic;
  StringRef file;
  std::optional<target::ScratchDirectory> folder;
};
} // namespace

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

OwningOpRef<ModuleOp> Implementation::moduleWithEntry() {
  Location loc = intrinsic.implementation.getLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  Type pointer = target::FunctionEmitter::pointerType(*module);
  target::FunctionEmitter f(*module, entryName, FunctionType::get(module->getContext(), {pointer, pointer}, {}), loc);
  int64_t read = 0;
  auto numbers = [&](size_t count) {
    SmallVector<Value> list;
    for (size_t i = 0; i < count; ++i)
      list.push_back(f.toIndex(f.load(f.i64, f.argument(1), read++)));
    return list;
  };
  SmallVector<Value> buffers;
  size_t ranks = 0;
  for (unsigned i = 0; i < intrinsic.strides.size(); ++i) {
    ranks += intrinsic.rank(i);
    MemRefType type = tile::bufferType(intrinsic.bufferType(i).getElementType());
    buffers.push_back(f.memory(f.loadPointer(f.argument(0), i), type));
  }
  SmallVector<Value> bases = numbers(buffers.size()), strides = numbers(ranks),
                     extents = numbers(intrinsic.parameters.size());
  f.builder.create<tile::CallIntrinsicOp>(loc, intrinsic.name, buffers, bases, strides, extents, /*ahead=*/Value(),
                                          /*parts=*/IntegerAttr());
  f.builder.create<func::ReturnOp>(loc);
  return module;
}

namespace {
/// Another process gives it back as text: "LINE COLUMN KIND text", of the place in the file.
std::string placedError(unsigned line, unsigned column, std::optional<graph::ErrorKind> kind, const Twine &text) {
  return llvm::formatv("{0} {1} {2} {3}", line, column, kind ? int(*kind) : -1, text.str()).str();
}

/// The first error of a context while it lives, as placedError() has it.
class FirstError {
public:
  explicit FirstError(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>();
          if (text.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
            text = placedError(place ? place.getLine() : 0, place ? place.getColumn() : 0, graph::kindOf(diagnostic),
                               diagnostic.str());
          return success();
        }) {}
  std::string text;

private:
  ScopedDiagnosticHandler handler;
};
} // namespace

namespace {
struct ReadError {
  Location place;
  std::optional<graph::ErrorKind> kind;
  StringRef text;
};
} // namespace

/// What placedError() made, with `otherwise` for no place.
static ReadError readError(StringRef error, StringRef file, Location otherwise) {
  int numbers[3] = {0, 0, -1}; // line, column, kind
  for (int &number : numbers) {
    auto [digits, rest] = error.split(' ');
    (void)digits.getAsInteger(10, number);
    error = rest;
  }
  Location place =
      numbers[0] > 0 ? Location(FileLineColLoc::get(otherwise.getContext(), file, numbers[0], numbers[1])) : otherwise;
  return {place, numbers[2] < 0 ? std::nullopt : std::optional(graph::ErrorKind(numbers[2])), error};
}

/// Runs the phase `lower`, then LLVM. Returns an error, or nothing.
std::string Implementation::emitObject(const target::TargetInfo &machine) {
  MLIRContext *context = intrinsic.description.getContext();
  FirstError first(context);
  std::string &error = first.text;
  OwningOpRef<ModuleOp> module = moduleWithEntry();
  PassManager passes(context);
  phases().back().build(passes, {machine});
  if (failed(passes.run(*module)) || failed(phases().back().check(*module, {machine})))
    return error.empty() ? placedError(0, 0, {}, "it cannot be lowered") : error;
  registerBuiltinDialectTranslation(*context);
  registerLLVMDialectTranslation(*context);
  llvm::LLVMContext llvmContext;
  llvmContext.setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo *info, void *text) {
        llvm::raw_string_ostream out(*static_cast<std::string *>(text));
        if (llvm::DiagnosticPrinterRawOStream printer(out); info->getSeverity() == llvm::DS_Error) {
          out << (out.str().empty() ? placedError(0, 0, {}, "") : "; ");
          info->print(printer);
        }
      },
      &error);
  std::unique_ptr<llvm::Module> ir = translateModuleToLLVMIR(*module, llvmContext);
  if (!ir || !error.empty())
    return error.empty() ? placedError(0, 0, {}, "it has no translation to LLVM") : error;
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  if (llvm::Error failed = target::emitObject(*ir, machine, /*optLevel=*/3, stream))
    return placedError(0, 0, {}, llvm::toString(std::move(failed)));
  std::error_code code;
  llvm::raw_fd_ostream(folder->pathOf("code.o"), code) << stream.str();
  return code ? placedError(0, 0, {}, code.message()) : error;
}

LogicalResult Implementation::compile(const target::TargetInfo &machine, const Twine &where) {
  support::ChildResult result = support::runInChild(secondsToCompile, [&] { return emitObject(machine); });
  if (result.isDone && result.text.empty())
    return success();
  std::string title = ("its implementation does not compile for " + machine.name + where + ": ").str();
  if (!result.isDone)
    return fail(title + "LLVM stops: " + StringRef(result.text).trim() + featuresHint);
  ReadError error = readError(result.text, file, intrinsic.implementation.getLoc());
  error.text.consume_front("perpend bug: ");
  return fail(title + error.text.split("\nhint: ").first, error.place);
}

/// The text of a linker error, without the list of searched paths.
static std::string linkerText(std::string text) {
  text = StringRef(text).split("\nhint: ").first;
  auto [title, lines] = StringRef(text).split(":\n  ");
  return (lines.empty() ? title : lines).str();
}

LogicalResult Implementation::link(const target::TargetInfo &machine) {
  target::LinkRequest request;
  request.objects = {folder->pathOf("code.o")};
  request.objects.insert(request.objects.end(), intrinsic.objects.begin(), intrinsic.objects.end());
  request.output = folder->pathOf("code.so");
  request.exports = {entryName.str()};
  for (StringRef name : target::builtinArchives(machine)) {
    llvm::Expected<std::string> path = target::runtimeArchivePath(machine, name);
    if (!path)
      return fail(llvm::toString(path.takeError()));
    request.lazyArchives.push_back(*path);
  }
  llvm::Error error = target::linkSharedLibrary(request, machine);
  if (!error)
    return success();
  return fail("its implementation cannot be linked: " + linkerText(llvm::toString(std::move(error))) +
              "\nhint: objects are compiled with -fPIC, and list every object file and archive that is needed; of the "
              "C library, there is what src/target/LibcSymbols.def lists");
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

namespace {
/// Memory shared with child processes.
class SharedMemory {
public:
  explicit SharedMemory(size_t bytes) : bytes(bytes) {
    void *address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    start = address == MAP_FAILED ? nullptr : static_cast<std::byte *>(address);
  }
  SharedMemory(const SharedMemory &) = delete;
  ~SharedMemory() {
    if (start)
      munmap(start, bytes);
  }
  std::byte *start;

private:
  size_t bytes;
};

double valueAt(interp::ElementFormat format, const std::byte *memory) {
  float single = 0;
  double twice = 0;
  if (format.kind == interp::RegisterKind::Single)
    return interp::readElements(format, memory, 1, &single), single;
  return interp::readElements(format, memory, 1, &twice), twice;
}

std::string textAt(interp::ElementFormat format, const std::byte *memory) {
  int64_t whole = 0;
  if (format.isFloat())
    return llvm::formatv("{0}", llvm::format("%.6g", valueAt(format, memory)));
  interp::readElements(format, memory, 1, &whole);
  return std::to_string(whole);
}

/// Tolerance for floating-point results. Each step of a sum rounds in proportion to the largest element, and another
/// order of summation rounds differently; on random data these errors grow with the square root of the number of terms.
/// Functions may be approximations.
double toleranceOf(const IntrinsicDraw &draw) {
  interp::ElementFormat format = draw.expected.format();
  if (!format.isFloat())
    return 0;
  int digits = format.width == 64 ? 53 : format.width == 32 ? 24 : format.isBrain ? 8 : 11;
  double roundings = 2 * std::sqrt(draw.depth) + (format.width < 32 ? 4 : 128);
  double largest = 1;
  for (int64_t i = 0; i < draw.expected.elementCount(); ++i)
    if (double value = std::abs(valueAt(format, draw.expected.data() + i * format.bytes())); std::isfinite(value))
      largest = std::max(largest, value);
  return std::ldexp(roundings * largest, -digits);
}

bool areEqual(interp::ElementFormat format, const std::byte *got, const std::byte *expected, double tolerance) {
  if (!format.isFloat())
    return std::memcmp(got, expected, format.bytes()) == 0;
  double a = valueAt(format, got), b = valueAt(format, expected);
  return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance;
}
} // namespace

static std::string indexText(ArrayRef<int64_t> shape, int64_t position) {
  std::string text;
  for (int64_t extent : llvm::reverse(shape)) {
    text = std::to_string(position % extent) + (text.empty() ? "" : ", ") + text;
    position /= extent;
  }
  return "[" + text + "]";
}

/// Checks that the last buffer holds the expected elements and that all other memory is unchanged.
LogicalResult Implementation::compare(const IntrinsicDraw &draw, ArrayRef<std::byte *> before,
                                      ArrayRef<std::byte *> after) {
  std::string with = draw.text.empty() ? "" : " " + draw.text;
  double tolerance = toleranceOf(draw);
  std::string within = tolerance > 0 ? llvm::formatv(" to within {0}", llvm::format("%.2g", tolerance)).str() : "";
  for (auto [number, buffer] : llvm::enumerate(draw.buffers)) {
    interp::ElementFormat format = buffer.tensor.format();
    bool isLast = number + 1 == draw.buffers.size();
    std::vector<int64_t> positions = buffer.positions();
    std::vector<bool> isWritten(static_cast<size_t>(buffer.memory));
    for (size_t i = 0; isLast && i < positions.size(); ++i) {
      const std::byte *got = after[number] + positions[i] * format.bytes(),
                      *expected = draw.expected.data() + static_cast<int64_t>(i) * format.bytes();
      isWritten[static_cast<size_t>(positions[i])] = true;
      if (!areEqual(format, got, expected, tolerance))
        return fail(
            llvm::formatv("its implementation does not compute what its description says{0}: expected element "
                          "{1} of buffer {2} to be {3}{4}, got {5}\nhint: data are random, and so are strides and "
                          "base addresses that the description leaves open",
                          with, indexText(buffer.tensor.shape, static_cast<int64_t>(i)), number + 1,
                          textAt(format, expected), within, textAt(format, got))
                .str());
    }
    for (int64_t i = 0; i < buffer.memory; ++i)
      if (!isWritten[static_cast<size_t>(i)] &&
          std::memcmp(before[number] + i * format.bytes(), after[number] + i * format.bytes(), format.bytes()) != 0)
        return fail(llvm::formatv("its implementation writes{0} where nothing is to be written: {1} elements {2} the "
                                  "first of buffer {3}\nhint: only the elements of the last buffer are written",
                                  with, std::abs(i - buffer.base), i < buffer.base ? "before" : "behind", number + 1)
                        .str());
  }
  return success();
}

static std::vector<int64_t> numbersOf(const IntrinsicDraw &draw) {
  std::vector<int64_t> numbers;
  for (const IntrinsicDraw::Buffer &buffer : draw.buffers)
    numbers.push_back(buffer.base);
  for (const IntrinsicDraw::Buffer &buffer : draw.buffers)
    numbers.insert(numbers.end(), buffer.strides.begin(), buffer.strides.end());
  numbers.insert(numbers.end(), draw.extents.begin(), draw.extents.end());
  return numbers;
}

/// Bytes of a buffer's memory, padded so that the next buffer is aligned.
static int64_t bytesOf(const IntrinsicDraw::Buffer &buffer) {
  constexpr int64_t alignment = 64;
  return (buffer.memory * buffer.tensor.format().bytes() + alignment - 1) / alignment * alignment;
}

/// Lays out the memory of a draw's buffers from `start` on, and advances `start`.
static SmallVector<std::byte *> placesOf(const IntrinsicDraw &draw, std::byte *&start) {
  SmallVector<std::byte *> places;
  for (const IntrinsicDraw::Buffer &buffer : draw.buffers) {
    places.push_back(start);
    start += bytesOf(buffer);
  }
  return places;
}

/// Writes the elements to their positions, and other values around them.
static void fillMemory(const IntrinsicDraw &draw, ArrayRef<std::byte *> places) {
  for (auto [buffer, place] : llvm::zip(draw.buffers, places)) {
    unsigned bytes = buffer.tensor.format().bytes();
    std::fill_n(place, buffer.memory * bytes, std::byte{0x3c});
    for (auto [i, position] : llvm::enumerate(buffer.positions()))
      std::memcpy(place + position * bytes, buffer.tensor.data() + i * bytes, bytes);
  }
}

LogicalResult Implementation::compare() {
  FailureOr<std::vector<IntrinsicDraw>> draws = drawCalls(intrinsic);
  if (failed(draws))
    return failure();
  size_t bytes = 0;
  for (const IntrinsicDraw &draw : *draws)
    for (const IntrinsicDraw::Buffer &buffer : draw.buffers)
      bytes += static_cast<size_t>(bytesOf(buffer));
  SharedMemory memory(bytes), count(sizeof(int64_t));
  std::vector<std::byte> copy(bytes);
  if (!memory.start || !count.start)
    return fail("no memory to compare its implementation with its description");
  auto *done = reinterpret_cast<int64_t *>(count.start);
  std::vector<SmallVector<std::byte *>> before, after;
  std::byte *inCopy = copy.data(), *inMemory = memory.start;
  for (const IntrinsicDraw &draw : *draws) {
    before.push_back(placesOf(draw, inCopy));
    after.push_back(placesOf(draw, inMemory));
    fillMemory(draw, before.back());
    fillMemory(draw, after.back());
  }
  // Loading runs code as well (constructors), so it happens in the child.
  support::ChildResult result = support::runInChild(secondsToRun, [&]() -> std::string {
    void *library = dlopen(folder->pathOf("code.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    auto *entry = library ? reinterpret_cast<Entry *>(dlsym(library, entryName.data())) : nullptr;
    if (!entry)
      return dlerror();
    for (size_t i = 0; i < draws->size(); ++i) {
      entry(reinterpret_cast<void *const *>(after[i].data()), numbersOf((*draws)[i]).data());
      *done = static_cast<int64_t>(i) + 1;
    }
    return "";
  });
  // The code may have overwritten anything, this counter included.
  const auto finished = static_cast<size_t>(std::clamp<int64_t>(*done, 0, static_cast<int64_t>(draws->size())));
  for (size_t i = 0; i < finished; ++i)
    if (failed(compare((*draws)[i], before[i], after[i])))
      return failure();
  if (result.isDone && !result.text.empty())
    return fail("its implementation cannot be loaded: " + result.text);
  if (finished == draws->size())
    return result.isDone ? success() : fail("its implementation changes the state of the process: " + result.text);
  const std::string &text = (*draws)[finished].text;
  return fail("its implementation does not return" + (text.empty() ? "" : " " + text) + ": " +
              (result.isDone ? "it ends the process" : result.text) +
              (result.signal == SIGILL
                   ? featuresHint
                   : "\nhint: elements are aligned to their own size only; strides and base addresses are random"));
}

LogicalResult Implementation::verify(const target::TargetInfo &target, const target::TargetInfo &host) {
  llvm::Expected<target::ScratchDirectory> created = target::ScratchDirectory::createTemporary();
  if (!created)
    return fail(llvm::toString(created.takeError()));
  folder.emplace(std::move(*created));
  if (llvm::Error error = intrinsic.objects.empty()
                              ? llvm::Error::success()
                              : target::checkObjects(intrinsic.objects, tile::nameInObjects(intrinsic), target))
    return fail(llvm::toString(std::move(error)));
  if (failed(compile(target)))
    return failure();
  const bool isForeign = target.code.triple != host.code.triple;
  std::string needed = intrinsic.missingOn(host);
  if (needed.empty() && isForeign && !intrinsic.objects.empty())
    needed = target.features.front(); // its objects are of another architecture
  if (!needed.empty()) {
    emitWarning(intrinsic.implementation.getLoc())
        << file << ": intrinsic '" << intrinsic.name << "' is not compared with its description: this machine has no "
        << needed;
    return success();
  }
  auto isMissing = [&](const std::string &feature) { return !host.hasFeature(feature); };
  std::string missing = llvm::join(llvm::make_filter_range(target.features, isMissing), ", ");
  if (!missing.empty() && failed(compile(host, ", which is this machine and has no " + missing)))
    return failure();
  const target::TargetInfo *machine = missing.empty() ? &target : &host;
  return success(succeeded(link(*machine)) && succeeded(compare()));
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Reports a file of another kind; empty if it looks like intrinsics.
static StringRef wrongKind(StringRef text) {
  if (text.contains("\nschedule @") || text.starts_with("schedule @"))
    return "expected tensor intrinsics, got schedules of kernels\nhint: --schedules FILE takes them";
  if (text.contains('\0') || !llvm::json::isUTF8(text))
    return "expected tensor intrinsics, got a file that is no text\nhint: a model has no option in front of it: "
           "perpend "
           "compile MODEL --intrinsics FILE";
  return "";
}

FailureOr<std::shared_ptr<tile::IntrinsicLibrary>> readIntrinsics(MLIRContext *context, StringRef file,
                                                                  const target::TargetInfo &target) {
  auto text = llvm::MemoryBuffer::getFile(file, /*IsText=*/true);
  if (!text)
    return emitError(UnknownLoc::get(context))
           << "cannot read '" << file << "', the intrinsics: " << text.getError().message()
           << "\nhint: --intrinsics FILE, which docs/howto/add-an-intrinsic.md describes";
  if (StringRef wrong = wrongKind((*text)->getBuffer()); !wrong.empty())
    return emitError(FileLineColLoc::get(context, file, 1, 1)) << wrong;
  context->loadAllAvailableDialects(); // the wrappers of implementations use other dialects
  llvm::Expected<target::TargetInfo> host = target::resolveTarget("host");
  if (!host)
    return emitError(UnknownLoc::get(context)) << llvm::toString(host.takeError());
  auto library = std::make_shared<tile::IntrinsicLibrary>(tile::IntrinsicLibrary::of(context));
  // MLIR's parser and verifiers may crash or corrupt memory on invalid text, so a child process reads it first.
  support::ChildResult reading = support::runInChild(secondsToCompile, [&] {
    FirstError error(context);
    (void)tile::IntrinsicLibrary(*library).add(context, file, (*text)->getBuffer(), &target);
    return error.text;
  });
  Location start = FileLineColLoc::get(context, file, 1, 1);
  if (!reading.isDone)
    return emitError(start) << "MLIR's parser fails on this text: " << reading.text
                            << "\nhint: values are defined before they are used; mlir-opt-19 may say more";
  if (!reading.text.empty()) {
    ReadError error = readError(reading.text, file, start);
    InFlightDiagnostic diagnostic = emitError(error.place) << error.text;
    if (error.kind)
      return diagnostic << *error.kind;
    return diagnostic << graph::Hint("docs/howto/add-an-intrinsic.md shows what such a file has");
  }
  size_t known = library->list().size();
  if (failed(library->add(context, file, (*text)->getBuffer(), &target)))
    return failure();
  tile::IntrinsicScope scope(context, library);
  for (const auto &intrinsic : library->list().drop_front(known))
    if (intrinsic->missingOn(target).empty() && failed(Implementation(*intrinsic, file).verify(target, *host)))
      return failure();
  return library;
}
} // namespace perpend
