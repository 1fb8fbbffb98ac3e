//===- Operators.cpp - functions that users bring ---------------------------===//

#include "Operators.h"

#include "graph/Graph.h"
#include "interp/Interpreter.h"
#include "target/Link.h"
#include "target/ScratchDirectory.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <dlfcn.h>

using namespace mlir;

namespace perpend {

std::vector<std::string> operatorObjects(ModuleOp module) {
  std::vector<std::string> paths;
  if (auto list = module->getAttrOfType<ArrayAttr>("graph.objects"))
    for (StringAttr path : list.getAsRange<StringAttr>())
      paths.push_back(path.str());
  return paths;
}

SmallVector<StringRef> libraryArchives(ModuleOp module) {
  if (module.lookupSymbol("perpend_image_decode"))
    return {"libperpend_library.a", "libperpend_images.a"};
  return {"libperpend_library.a"};
}

/// The functions that the module calls and no library of the runtime has.
static std::vector<std::string> missingFunctions(ModuleOp module) {
  std::vector<std::string> names;
  module.walk([&](graph::CallLibraryOp call) {
    std::string name = call.getFunction().str();
    if (!interp::hasFunction(name) && !llvm::is_contained(names, name))
      names.push_back(name);
  });
  return names;
}

LogicalResult loadOperators(ModuleOp module) {
  std::vector<std::string> names = missingFunctions(module), objects = operatorObjects(module);
  if (names.empty() || objects.empty())
    return success();
  auto fail = [&](const Twine &message) { return module.emitError(message.str()); };
  llvm::SmallString<128> folder;
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("perpend-operators", folder))
    return fail("cannot create a temporary folder: " + error.message());
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, "operators.so");
  target::LinkRequest request;
  request.objects = objects;
  request.output = path.str().str();
  llvm::Expected<target::TargetInfo> host = target::resolveTarget("host");
  llvm::Error error = host ? target::linkSharedLibrary(request, *host) : host.takeError();
  void *library = error ? nullptr : dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  (void)llvm::sys::fs::remove_directories(folder);
  if (error)
    return fail(llvm::toString(std::move(error)));
  if (!library)
    return fail(dlerror());
  for (const std::string &name : names) {
    auto [prefix, function] = StringRef(name).split('.');
    if (void *address = dlsym(library, ("perpend_" + prefix + "_" + function).str().c_str()))
      interp::addFunction(name, address);
  }
  return success();
}
} // namespace perpend
