#include "state.h"

cs_state cs_process;
cs_connection cs_connection_now = {.number = -1};
