#include "support/InternalError.h"

char perpend::support::InternalError::ID = 0;
