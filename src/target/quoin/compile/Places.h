//===- Places.h - which values lie in LLB, and where ------------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_PLACES_H
#define PERPEND_TARGET_QUOIN_COMPILE_PLACES_H

#include "target/quoin/compile/Decisions.h"
#include "target/quoin/compile/MainProgram.h"

namespace perpend::quoin {

/// Gives results the places of operands in LLB that are read no later, where the kernels allow that, and brings more
/// values there, which then have space. False: nothing is as before, or nothing has changed.
bool sharePlaces(MainProgram &main, const Config &config, const Decisions &decisions);

/// Whether the scalar core runs a step whose results lie where its operands do, which only nests are known to allow.
bool hasRefusedOverwrites(const MainProgram &main);

} // namespace perpend::quoin

#endif
