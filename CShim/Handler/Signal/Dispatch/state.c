#include "state.h"

cs_state cs_process;
int cs_started_pid;
cs_connection cs_connection_now = {.number = -1};
