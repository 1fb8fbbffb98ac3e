//===- FewChannels.h - depthwise convolutions of few channels ---*- C++ -*-===//
//
// A depthwise convolution of floats with two or three channels leaves vectors of channels empty, where a convolution of
// one channel fills them with positions:
//
//   conv(x : [n, 3, h, w]) groups 3  =>  concat(conv(x[:, 0:1]), conv(x[:, 1:2]), conv(x[:, 2:3])) axis 1
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_PRIMITIVES_FEWCHANNELS_H
#define PERPEND_GRAPH_PRIMITIVES_FEWCHANNELS_H

#include "graph/Graph.h"

namespace perpend::graph {

/// Replaces such a convolution, if it is channels-first. Returns those in its place, or the one given.
llvm::SmallVector<ConvOp> separateFewChannels(ConvOp conv);
} // namespace perpend::graph

#endif
