// Writes a line to a file, a terminal, a pipe or a socket, and never waits for a reader.
#ifndef CS_OUTPUT_H
#define CS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "cs_signal_safe.h"

// Writes the line with one call, or not at all. `status` describes the descriptor's file. Returns false if nothing was
// written: the reader does not read, the file is full or has reached RLIMIT_FSIZE, or its type is another one.
//
// clang-format off
// | file                     | how the call does not wait                                                            |
// |--------------------------|---------------------------------------------------------------------------------------|
// | regular file             | A write does not wait for a reader. If the size would exceed RLIMIT_FSIZE, nothing is |
// |                          | written.                                                                              |
// | socket                   | MSG_DONTWAIT                                                                          |
// | pipe, character device   | RWF_NOWAIT. If the file does not support it (pipes before Linux 6.4), poll() first    |
// |                          | says that one page is free. Another process may fill the page before the write. The   |
// |                          | watchdog then ends the process at its deadline.                                       |
// clang-format on
//
// A nonblocking descriptor would be no solution: O_NONBLOCK belongs to the open file description, which other processes
// share. Signal safety: system calls only. The function removes SIGPIPE and SIGXFSZ, which a write may cause.
bool cs_output_line(int descriptor, const struct stat *status, const void *line, size_t size) SIGNAL_SAFE;

#endif
