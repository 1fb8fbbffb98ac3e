//===- Library.cpp - the intrinsics that schedules can name --------------===//

#include "tile/intrinsics/Intrinsic.h"

#include "tile/Attributes.h"

#include "target/Intrinsics.h"

#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

static std::shared_ptr<IntrinsicLibrary> &libraryOf(MLIRContext *context) {
  return context->getOrLoadDialect<TileDialect>()->intrinsics;
}

IntrinsicLibrary &IntrinsicLibrary::of(MLIRContext *context) {
  std::shared_ptr<IntrinsicLibrary> &library = libraryOf(context);
  if (!library) {
    library = std::make_shared<IntrinsicLibrary>();
    for (const target::IntrinsicText &text : target::intrinsicTexts())
      if (failed(library->add(context, text.file, text.text)))
        llvm::report_fatal_error("perpend bug: an intrinsic of the compiler cannot be read");
  }
  return *library;
}

IntrinsicScope::IntrinsicScope(MLIRContext *context, std::shared_ptr<IntrinsicLibrary> library)
    : context(context), previous(std::exchange(libraryOf(context), std::move(library))) {}
IntrinsicScope::~IntrinsicScope() { libraryOf(context) = std::move(previous); }

/// The text may contain descriptions of intrinsics and functions that implement them, nothing else.
static LogicalResult checkContents(ModuleOp module, ArrayRef<std::shared_ptr<const Intrinsic>> read) {
  for (Operation &op : *module.getBody())
    if (!op.hasAttr(intrinsicAttribute) && llvm::none_of(read, [&](const auto &intrinsic) {
          return llvm::is_contained(intrinsic->functions(), dyn_cast<func::FuncOp>(op));
        }))
      return op.emitError("expected functions with the attribute tile.intrinsic, and their implementations\n"
                          "hint: docs/howto/add-an-intrinsic.md shows one");
  if (read.empty())
    return module->emitError("expected a function with the attribute tile.intrinsic\n"
                             "hint: docs/howto/add-an-intrinsic.md shows one");
  return success();
}

LogicalResult IntrinsicLibrary::add(MLIRContext *context, StringRef file, StringRef text,
                                    const target::TargetInfo *target) {
  auto module = std::make_shared<OwningOpRef<ModuleOp>>(parseSourceString<ModuleOp>(text, context, file));
  if (!*module)
    return failure();
  SmallVector<std::shared_ptr<const Intrinsic>> read;
  for (auto function : (*module)->getOps<func::FuncOp>()) {
    if (!function->hasAttr(intrinsicAttribute))
      continue;
    FailureOr<Intrinsic> intrinsic = readIntrinsic(function, target);
    if (failed(intrinsic))
      return failure();
    if (find(intrinsic->name))
      return function.emitError("intrinsic '") << intrinsic->name << "': there is one of this name already\n"
                                               << "hint: give it another name";
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
