// Writes a line to a file, a terminal, a pipe or a socket, and never waits for a reader.
#ifndef CS_OUTPUT_H
#define CS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "cs_signal_safe.h"

// Writes the line with one call. `status` describes the descriptor's file. Returns false if the file did not get the
// whole line: the reader does not read, the file is full or has reached RLIMIT_FSIZE, or its type is another one. Only
// a terminal may then have a part of the line.
//
// clang-format off
// | file                     | how the call does not wait                                                            |
// |--------------------------|---------------------------------------------------------------------------------------|
// | regular file             | A write does not wait for a reader. If the size would exceed RLIMIT_FSIZE, nothing is |
// |                          | written.                                                                              |
// | socket (only AF_UNIX)    | MSG_DONTWAIT                                                                          |
// | pipe, FIFO, character    | RWF_NOWAIT, which pipes support since Linux 6.4. If the file does not support it, the |
// | device                   | function opens /proc/thread-self/fd/N with O_NONBLOCK, writes there, and closes it.   |
// |                          | If it cannot, it writes only if the descriptor itself has O_NONBLOCK.                 |
// clang-format on
//
// poll() would not do: it promises no page on a terminal, and another process may fill a pipe before the write. Setting
// O_NONBLOCK would not do either, because other processes share the open file description. Signal safety: system calls
// only. The function removes SIGPIPE and SIGXFSZ, which a write may cause.
bool cs_output_line(int descriptor, const struct stat *status, const void *line, size_t size) SIGNAL_SAFE;

#endif
