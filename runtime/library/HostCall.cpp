// host.call(...): calls a function of the process that compiled the model, for example one that calls Python. The
// parameters perpend.process and perpend.function identify that process (perpend_process_number) and the function's
// address.
#include "include/perpend_operator.h"
#include "include/perpend_process.h"

extern "C" perpend_status perpend_host_call(perpend_call *call) {
  if (perpend_call_integer(call, "perpend.process", -1) != perpend_process_number())
    return perpend_call_fail(call, "its function is part of the process that compiled the model, which is another one; "
                                   "hint: compile the model in this process, or bring the operator as a C function");
  int64_t address = perpend_call_integer(call, "perpend.function", 0);
  return reinterpret_cast<perpend_operator>(address)(call);
}
