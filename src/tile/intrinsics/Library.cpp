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

LogicalResult IntrinsicLibrary::add(MLIRContext *context, StringRef file, StringRef text, const target::Machine *target,
                                    bool needsCode) {
  auto module = std::make_shared<OwningOpRef<ModuleOp>>(parseSourceString<ModuleOp>(text, context, file));
  if (!*module)
    return failure();
  SmallVector<std::shared_ptr<const Intrinsic>> read;
  for (auto function : (*module)->getOps<func::FuncOp>()) {
    if (!function->hasAttr(intrinsicAttribute))
      continue;
    FailureOr<Intrinsic> intrinsic = readIntrinsic(function, target, needsCode);
    if (failed(intrinsic))
      return failure();
    if (find(intrinsic->name))
      return function.emitError("intrinsic '")
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
