//===- Emitters.cpp - questions to emitters -------------------------------===//

#include "tile/intrinsics/Emitters.h"

using namespace perpend::tile;

const Emitter *perpend::tile::findEmitter(llvm::StringRef name) {
  auto known = llvm::find_if(emitters(), [&](const Emitter *emitter) { return emitter->name == name; });
  return known == emitters().end() ? nullptr : *known;
}

std::string perpend::tile::emitterNames() {
  return llvm::join(llvm::map_range(emitters(), [](const Emitter *emitter) { return emitter->name; }), ", ");
}

int64_t perpend::tile::rowsAtOnce(const Intrinsic &intrinsic, int64_t panel, std::optional<int64_t> rows,
                                  const target::Machine &target) {
  const Emitter *emitter = findEmitter(intrinsic.emitter);
  return (emitter ? emitter : emitters().front())->rowsAtOnce(intrinsic, panel, rows, target);
}

int64_t perpend::tile::blocksAtOnce(const Intrinsic &intrinsic) {
  const Emitter *emitter = findEmitter(intrinsic.emitter);
  return emitter ? emitter->blocksAtOnce : 1;
}

int64_t perpend::tile::linesAtOnce(const Intrinsic &intrinsic) {
  const Emitter *emitter = findEmitter(intrinsic.emitter);
  return emitter ? emitter->linesAtOnce : 1;
}

bool perpend::tile::sharesUnpacking(const Intrinsic &intrinsic) {
  const Emitter *emitter = findEmitter(intrinsic.emitter);
  return emitter && emitter->sharesUnpacking;
}
