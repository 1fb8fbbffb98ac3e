//===- Emitters.cpp - intrinsics whose code is made in C++ ----------------===//

#include "tile/intrinsics/Emitters.h"

using namespace perpend::tile;

static const Emitter *const emitters[] = {&registersEmitter};

const Emitter *perpend::tile::findEmitter(llvm::StringRef name) {
  auto known = llvm::find_if(emitters, [&](const Emitter *emitter) { return emitter->name == name; });
  return known == std::end(emitters) ? nullptr : *known;
}

std::string perpend::tile::emitterNames() {
  return llvm::join(llvm::map_range(emitters, [](const Emitter *emitter) { return emitter->name; }), ", ");
}
