//===- Evaluation.h - runs the interpreter for Python -----------*- C++ -*-===//
//
// Behind plain C++ types, like Program.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_PYTHON_EVALUATION_H
#define PERPEND_PYTHON_EVALUATION_H

#include "python/Program.h"

#include "perpend.h"

namespace perpend::python {

class Evaluation {
public:
  ~Evaluation();
  /// The program must outlive it. Null (with an error): no function main, or one with another number of inputs.
  static std::unique_ptr<Evaluation> of(Program &program, size_t inputCount, std::string &error);

  /// The program's declarations: names, types and elements of lists.
  const std::vector<perpend_tensor_info> &inputs() const;
  /// False, with an error, if the inputs do not fit or the interpreter fails. `given` must outlive the outputs.
  bool run(const std::vector<perpend_tensor> &given, std::string &error);
  /// Ownership: by this object and the inputs.
  const std::vector<perpend_tensor> &outputs() const;

private:
  struct State;
  explicit Evaluation(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};
} // namespace perpend::python

#endif
