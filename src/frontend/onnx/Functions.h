//===- Functions.h - inlines functions defined by a model -------*- C++ -*-===//

#ifndef PERPEND_FRONTEND_ONNX_FUNCTIONS_H
#define PERPEND_FRONTEND_ONNX_FUNCTIONS_H

#include "frontend/onnx/Model.h"

namespace perpend::onnx {

/// Replaces every call of one of the model's functions by the function's nodes, also in subgraphs and functions. Names
/// inside a call are prefixed with the calling node's name. False, with a message in `error`: a function that calls
/// itself, too many arguments, two functions of the same name, operator sets that differ.
bool inlineFunctions(ModelProto &model, std::string &error);
} // namespace perpend::onnx

#endif
