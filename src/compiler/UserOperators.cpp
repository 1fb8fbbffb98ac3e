//===- UserOperators.cpp - functions supplied by users --------------------===//

#include "compiler/UserOperators.h"
#include "graph/Attributes.h"

#include "graph/Graph.h"
#include "interp/Interpreter.h"
#include "target/Link.h"
#include "target/ScratchDirectory.h"

#include "llvm/Support/FileSystem.h"

#include <dlfcn.h>
#include <mutex>

using namespace mlir;

namespace perpend {

std::vector<std::string> operatorObjects(ModuleOp module) {
  std::vector<std::string> paths;
  if (auto list = module->getAttrOfType<ArrayAttr>(graph::objectsAttribute))
    for (StringAttr path : list.getAsRange<StringAttr>())
      paths.push_back(path.str());
  return paths;
}

SmallVector<StringRef> libraryArchives(ModuleOp module) {
  if (module.lookupSymbol("perpend_image_decode"))
    return {"libperpend_library.a", "libperpend_images.a"};
  return {"libperpend_library.a"};
}

/// Functions that the module calls and the runtime does not define.
static std::vector<std::string> usersFunctions(ModuleOp module) {
  std::vector<std::string> names;
  module.walk([&](graph::CallLibraryOp call) {
    std::string name = call.getFunction().str();
    if (!interp::isRuntimeFunction(name) && !llvm::is_contained(names, name))
      names.push_back(name);
  });
  return names;
}

static llvm::Expected<void *> link(const std::vector<std::string> &objects) {
  llvm::Expected<target::ScratchDirectory> folder = target::ScratchDirectory::createTemporary();
  if (!folder)
    return folder.takeError();
  std::string path = folder->pathOf("operators.so");
  target::LinkRequest request;
  request.objects = objects;
  request.output = path;
  llvm::Expected<target::TargetInfo> host = target::resolveTarget("host");
  if (llvm::Error error = host ? target::linkSharedLibrary(request, *host) : host.takeError())
    return error;
  if (void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
    return library;
  return llvm::createStringError(dlerror());
}

/// Identifies the current contents of these files, so that a recompiled file counts as another.
static std::string versionOf(const std::vector<std::string> &objects) {
  std::string version;
  llvm::raw_string_ostream out(version);
  for (const std::string &path : objects) {
    llvm::sys::fs::file_status status;
    (void)llvm::sys::fs::status(path, status);
    out << path << '\0' << status.getUniqueID().getFile() << ' ' << status.getSize() << ' '
        << status.getLastModificationTime().time_since_epoch().count() << '\0';
  }
  return version;
}

/// The library is never unloaded: a run may be inside it.
static llvm::Expected<void *> libraryOf(const std::vector<std::string> &objects) {
  static std::mutex mutex;
  static llvm::StringMap<void *> libraries;
  std::lock_guard lock(mutex);
  void *&library = libraries[versionOf(objects)];
  if (library)
    return library;
  llvm::Expected<void *> linked = link(objects);
  if (linked)
    library = *linked;
  return linked;
}

LogicalResult loadOperators(ModuleOp module) {
  std::vector<std::string> names = usersFunctions(module), objects = operatorObjects(module);
  if (names.empty() || objects.empty())
    return success();
  llvm::Expected<void *> library = libraryOf(objects);
  if (!library)
    return module.emitError(llvm::toString(library.takeError()));
  for (const std::string &name : names) {
    auto [prefix, function] = StringRef(name).split('.');
    interp::addFunction(module->getAttr(graph::objectsAttribute), name,
                        dlsym(*library, ("perpend_" + prefix + "_" + function).str().c_str()));
  }
  return success();
}
} // namespace perpend
