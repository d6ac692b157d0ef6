// Reads registers of the calling thread at the call site: cs_registers_here(), cs_thread_pointer().
#ifndef CS_REGISTERS_HERE_H
#define CS_REGISTERS_HERE_H

#include "registers_here_aarch64.h"
#include "registers_here_x86_64.h"

#endif
