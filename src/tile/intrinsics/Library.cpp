//===- Library.cpp - the intrinsics that schedules can name ---------------===//

#include "tile/intrinsics/Intrinsic.h"

#include "tile/Attributes.h"

#include "graph/ErrorKind.h"
#include "target/IntrinsicTexts.h"

#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

IntrinsicLibrary &IntrinsicLibrary::of(MLIRContext *context) {
  auto *dialect = context->getOrLoadDialect<TileDialect>();
  std::lock_guard lock(dialect->intrinsicsMutex);
  std::shared_ptr<IntrinsicLibrary> &library = dialect->intrinsics;
  if (!library) {
    auto read = std::make_shared<IntrinsicLibrary>();
    for (const target::IntrinsicText &text : target::intrinsicTexts())
      if (failed(read->add(context, text.file, text.text)))
        llvm::report_fatal_error("perpend bug: an intrinsic of the compiler cannot be read");
    library = std::move(read);
  }
  return *library;
}

/// The library until now, which `other` replaces.
static std::shared_ptr<IntrinsicLibrary> replaceLibrary(MLIRContext *context, std::shared_ptr<IntrinsicLibrary> other) {
  auto *dialect = context->getOrLoadDialect<TileDialect>();
  std::lock_guard lock(dialect->intrinsicsMutex);
  return std::exchange(dialect->intrinsics, std::move(other));
}

IntrinsicScope::IntrinsicScope(MLIRContext *context, std::shared_ptr<IntrinsicLibrary> library)
    : context(context), previous(replaceLibrary(context, std::move(library))) {}
IntrinsicScope::~IntrinsicScope() { replaceLibrary(context, std::move(previous)); }

/// The text may contain descriptions of intrinsics and functions that implement them, nothing else.
static LogicalResult checkContents(ModuleOp module, ArrayRef<std::shared_ptr<const Intrinsic>> read) {
  for (Operation &op : *module.getBody())
    if (!op.hasAttr(intrinsicAttribute) && llvm::none_of(read, [&](const auto &intrinsic) {
          return llvm::is_contained(intrinsic->functions(), dyn_cast<func::FuncOp>(op));
        }))
      return op.emitError("expected functions with the attribute tile.intrinsic, and their implementations")
             << graph::Hint("docs/howto/add-an-intrinsic.md shows one");
  if (read.empty())
    return module->emitError("expected a function with the attribute tile.intrinsic")
           << graph::Hint("docs/howto/add-an-intrinsic.md shows one");
  return success();
}

/// Lets a description load elements of narrower floating-point types: one entry for each buffer, a type, or "_" for the
/// one that it has.
static LogicalResult narrowBuffers(func::FuncOp description, Attribute stored) {
  auto types = dyn_cast<ArrayAttr>(stored);
  if (!types || types.size() != description.getNumArguments())
    return failure();
  SmallVector<Type> arguments(description.getArgumentTypes());
  for (auto [number, entry] : llvm::enumerate(types)) {
    auto buffer = dyn_cast<BufferType>(arguments[number]);
    auto narrow = isa<TypeAttr>(entry) ? dyn_cast<FloatType>(cast<TypeAttr>(entry).getValue()) : FloatType();
    auto wide = buffer ? dyn_cast<FloatType>(buffer.getElementType()) : FloatType();
    if (entry == StringAttr::get(entry.getContext(), "_"))
      continue;
    BlockArgument argument = description.getArgument(number);
    if (!narrow || !wide || narrow.getWidth() >= wide.getWidth() ||
        llvm::any_of(argument.getUsers(), [](Operation *user) { return !isa<LoadOp>(user); }))
      return failure();
    arguments[number] = BufferType::get(entry.getContext(), buffer.getShape(), narrow, buffer.getScope());
    argument.setType(arguments[number]);
    for (Operation *user : llvm::to_vector(argument.getUsers())) {
      OpBuilder builder(user->getContext());
      builder.setInsertionPointAfter(user);
      Value element = user->getResult(0);
      element.setType(narrow);
      auto widened = builder.create<arith::ExtFOp>(user->getLoc(), wide, element);
      element.replaceAllUsesExcept(widened, widened);
    }
  }
  description.setType(FunctionType::get(description.getContext(), arguments, {}));
  return success();
}

/// If the function is a declaration with the entry `like`, replaces it by the description of the intrinsic that this
/// names, with its strides, or with all of its entries if only the types that are stored differ; otherwise returns the
/// function.
static FailureOr<func::FuncOp> withDescription(func::FuncOp function,
                                               llvm::function_ref<const Intrinsic *(StringRef)> find) {
  auto entries = function->getAttrOfType<DictionaryAttr>(intrinsicAttribute);
  Attribute like = entries ? entries.get("like") : Attribute();
  if (!like)
    return function;
  auto name = dyn_cast<StringAttr>(like);
  const Intrinsic *other = name ? find(name.getValue()) : nullptr;
  if (!other || !function.isDeclaration() || function.getNumArguments() > 0)
    return function.emitError("intrinsic '")
           << function.getSymName()
           << "': like: expected the name of an intrinsic before this one, and a function without "
           << "arguments and body, got " << like << graph::Hint("docs/howto/add-an-intrinsic.md shows one");
  NamedAttrList own(entries);
  own.erase("like");
  Attribute stored = own.erase("stored");
  for (NamedAttribute entry : other->description->getAttrOfType<DictionaryAttr>(intrinsicAttribute))
    if (!own.get(entry.getName()) && (stored || entry.getName() == "strides"))
      own.append(entry);
  func::FuncOp description = other->description.clone();
  if (stored && failed(narrowBuffers(description, stored))) {
    function.emitError("intrinsic '") << function.getSymName() << "': stored: expected for each buffer of '"
                                      << name.getValue()
                                      << "' a narrower floating-point type, or \"_\" for the one that it has, got "
                                      << stored << graph::Hint("docs/howto/add-an-intrinsic.md shows one");
    description.erase();
    return failure();
  }
  description->setLoc(function.getLoc());
  description.setSymName(function.getSymName());
  description->setAttr(intrinsicAttribute, own.getDictionary(function.getContext()));
  function->getBlock()->getOperations().insert(function->getIterator(), description);
  function.erase();
  return description;
}

LogicalResult IntrinsicLibrary::add(MLIRContext *context, StringRef file, StringRef text, const target::Machine *target,
                                    bool needsCode) {
  auto module = std::make_shared<OwningOpRef<ModuleOp>>(parseSourceString<ModuleOp>(text, context, file));
  if (!*module)
    return failure();
  SmallVector<std::shared_ptr<const Intrinsic>> read;
  auto findAny = [&](StringRef name) {
    auto own = llvm::find_if(read, [&](const auto &intrinsic) { return intrinsic->name == name; });
    return own == read.end() ? find(name) : own->get();
  };
  for (auto declared : llvm::make_early_inc_range((*module)->getOps<func::FuncOp>())) {
    if (!declared->hasAttr(intrinsicAttribute))
      continue;
    FailureOr<func::FuncOp> function = withDescription(declared, findAny);
    if (failed(function))
      return failure();
    FailureOr<Intrinsic> intrinsic = readIntrinsic(*function, target, needsCode);
    if (failed(intrinsic))
      return failure();
    if (find(intrinsic->name))
      return function->emitError("intrinsic '")
             << intrinsic->name << "': there is one of this name already" << graph::Hint("give it another name");
    read.push_back(std::make_shared<Intrinsic>(std::move(*intrinsic)));
  }
  if (failed(checkContents(**module, read)))
    return failure();
  texts.push_back(std::move(module));
  intrinsics.append(read);
  return success();
}

const Intrinsic *IntrinsicLibrary::find(StringRef name) const {
  for (const std::shared_ptr<const Intrinsic> &intrinsic : intrinsics)
    if (intrinsic->name == name)
      return intrinsic.get();
  return nullptr;
}
