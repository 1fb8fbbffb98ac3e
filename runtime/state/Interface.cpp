// The functions of perpend.h for states.
#include "Errors.h"
#include "Model.h"
#include "Tables.h"
#include "state/States.h"

using perpend::runtime::fail;

namespace {

// A session with states, in use by this call.
class Loan {
public:
  Loan(perpend_session *given, bool hasResult, const char *function) {
    if (!given || !hasResult) {
      status = fail(PERPEND_INVALID_ARGUMENT, "%s: expected a session and a result, got NULL", function);
      return;
    }
    status = perpend_session_lend(given, &loan);
    if (status != PERPEND_OK)
      return;
    session = given;
    if (!loan.states)
      status = fail(PERPEND_INVALID_ARGUMENT, "%s: expected a model with states, got one without", function);
  }
  Loan(const Loan &) = delete;
  Loan &operator=(const Loan &) = delete;
  ~Loan() {
    if (session)
      perpend_session_give_back(session);
  }

  template <typename Action> perpend_status then(Action action) {
    return status == PERPEND_OK ? static_cast<perpend_status>(action(*loan.functions, loan.states)) : status;
  }

  perpend_status status = PERPEND_OK;
  perpend_session_loan loan{};

private:
  perpend_session *session = nullptr;
};

} // namespace

int32_t perpend_model_state_count(const perpend_model *model) {
  return static_cast<int32_t>(model->tables.states.count);
}

const perpend_tensor_info *perpend_model_state(const perpend_model *model, int32_t index) {
  return index >= 0 && index < perpend_model_state_count(model) ? &model->tables.states.tensors[index] : nullptr;
}

perpend_status perpend_session_state(perpend_session *session, int32_t index, perpend_tensor *tensor) {
  return Loan(session, tensor != nullptr, "perpend_session_state").then([&](auto &functions, auto *states) {
    return functions.view(states, index, tensor);
  });
}

perpend_status perpend_session_reset(perpend_session *session) {
  return Loan(session, true, "perpend_session_reset").then([](auto &functions, auto *states) {
    return functions.reset(states);
  });
}

perpend_status perpend_session_truncate(perpend_session *session, int64_t length) {
  return Loan(session, true, "perpend_session_truncate").then([&](auto &functions, auto *states) {
    return functions.truncate(states, length);
  });
}

perpend_status perpend_session_fork(perpend_session *session, perpend_session **copy) {
  Loan original(session, copy != nullptr, "perpend_session_fork");
  return original.then([&](auto &functions, auto *states) {
    const perpend_session_options options{original.loan.threads};
    perpend_session *created = nullptr;
    perpend_session_loan loan{};
    perpend_status status = perpend_session_create(original.loan.model, &options, &created);
    if (status == PERPEND_OK)
      status = perpend_session_lend(created, &loan);
    if (status != PERPEND_OK)
      return status;
    status = static_cast<perpend_status>(functions.copy(loan.states, states));
    perpend_session_give_back(created);
    *copy = created;
    return status;
  });
}

perpend_status perpend_session_save(perpend_session *session, void *data, int64_t capacityBytes, int64_t *sizeBytes) {
  return Loan(session, sizeBytes != nullptr, "perpend_session_save").then([&](auto &functions, auto *states) {
    return functions.save(states, data, capacityBytes, sizeBytes);
  });
}

perpend_status perpend_session_load(perpend_session *session, const void *data, int64_t sizeBytes) {
  return Loan(session, data != nullptr, "perpend_session_load").then([&](auto &functions, auto *states) {
    return functions.load(states, data, sizeBytes);
  });
}
