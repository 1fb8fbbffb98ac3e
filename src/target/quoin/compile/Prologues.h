//===- Prologues.h - what is computed of a left factor ----------*- C++ -*-===//
//
// A step that computes each element of a value from elements beside it, such as a normalisation of channels with its
// relu, needs no kernel of its own if only a product reads the value: the vector unit computes tiles of the left factor
// between their loads and their feeds (MatrixPrologue.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_PROLOGUES_H
#define PERPEND_TARGET_QUOIN_COMPILE_PROLOGUES_H

#include "target/quoin/compile/Decisions.h"
#include "target/quoin/compile/MainProgram.h"

namespace perpend::quoin {

/// A step whose result is read only as the left factor of one product becomes part of that product's step, where that
/// is estimated to take no longer, and memory holds what it reads for as long.
void joinPrologues(MainProgram &main, const Config &config, const Decisions &decisions);

/// Whether the scalar core runs a step whose nests do more than its kernel.
bool hasRefusedPrologues(const MainProgram &main);

} // namespace perpend::quoin

#endif
