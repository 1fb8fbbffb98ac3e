//===- Functions.h - operators that a model defines itself ------*- C++ -*-===//

#ifndef PERPEND_FRONTEND_ONNX_FUNCTIONS_H
#define PERPEND_FRONTEND_ONNX_FUNCTIONS_H

#include "frontend/onnx/Model.h"

namespace perpend::onnx {

/// Replaces every call of one of the model's functions by the function's nodes, in subgraphs and functions too.
/// Names inside a call get the name of the calling node in front. Errors: false, and what is wrong in `error`: a
/// function that calls itself, more arguments than it has, two functions of one name, operator sets that differ.
bool inlineFunctions(ModelProto &model, std::string &error);
} // namespace perpend::onnx

#endif
