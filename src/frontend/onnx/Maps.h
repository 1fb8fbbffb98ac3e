//===- Maps.h - maps at the boundary of a model -----------------*- C++ -*-===//
//
// A sequence of maps from labels to numbers, as ZipMap makes it, is a matrix
// with a column for each label; only the interface of the model knows the
// labels. Therefore it can be an output of the model and nothing else.
//
// A map m that is an input of the model is two vectors of one length there,
// m.keys and m.values. The operators that take maps take these two.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_ONNX_MAPS_H
#define PERPEND_FRONTEND_ONNX_MAPS_H

#include "frontend/onnx/Model.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringMap.h"

namespace perpend::onnx {

/// The labels (integers or strings) by the names of outputs that are sequences of maps. nullopt: a node uses such a
/// sequence, as the error says.
std::optional<llvm::StringMap<mlir::ArrayAttr>> labelsOfMaps(mlir::MLIRContext &context, const GraphProto &graph,
                                                             std::string &error);

/// Puts two vectors in the place of every input that is a map, and in the place of its uses. Errors: false, and what is
/// wrong in `error`: a use by an operator that takes no maps, or as an output.
bool splitMapInputs(ModelProto &model, std::string &error);
} // namespace perpend::onnx

#endif
