//===- Emitters.cpp - the list of emitters --------------------------------===//

#include "target/vector/Emitters.h"

using namespace perpend;

llvm::ArrayRef<const tile::Emitter *> tile::emitters() {
  static const Emitter *const list[] = {&target::registersEmitter, &target::matricesEmitter, &target::groupsEmitter,
                                        &target::bytesEmitter,     &target::tilesEmitter,    &target::byteTilesEmitter,
                                        &target::bytePanelsEmitter};
  return list;
}
