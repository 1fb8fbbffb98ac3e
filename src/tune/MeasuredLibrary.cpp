//===- MeasuredLibrary.cpp - a library under measurement ------------------===//

#include "tune/MeasuredLibrary.h"

#include "tune/MeasureProgram.h"

#include <csignal>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace perpend::tune {

bool isolateFrom(pid_t parent) {
  constexpr rlim_t mostBytes = rlim_t{mostGiB} << 30;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGINT, SIG_IGN); // the parent stops this process
  rlimit noCore = {0, 0}, memory = {mostBytes, mostBytes};
  setrlimit(RLIMIT_CORE, &noCore);
  setrlimit(RLIMIT_DATA, &memory);
  return getppid() == parent;
}
} // namespace perpend::tune
