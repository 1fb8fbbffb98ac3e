//===- Maps.h - maps at a model's interface ---------------------*- C++ -*-===//
//
// A sequence of maps from labels to numbers, as ZipMap makes it, is represented as a matrix with a column per label.
// Only the interface of the model knows the labels, so such a sequence can only be an output of the model.
//
// A map m that is an input of the model becomes two vectors of the same length, m.keys and m.values. Operators on maps
// take these two.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_ONNX_MAPS_H
#define PERPEND_FRONTEND_ONNX_MAPS_H

#include "frontend/onnx/Model.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringMap.h"

namespace perpend::onnx {

/// The labels (integers or strings) of outputs that are sequences of maps, by name. nullopt: a node uses such a
/// sequence, as the error says.
std::optional<llvm::StringMap<mlir::ArrayAttr>> labelsOfMaps(mlir::MLIRContext &context, const GraphProto &graph,
                                                             std::string &error);

/// Replaces every input that is a map, and its uses, by two vectors. False, with a message in `error`: an operator that
/// takes no maps uses it, or it is an output.
bool splitMapInputs(ModelProto &model, std::string &error);
} // namespace perpend::onnx

#endif
