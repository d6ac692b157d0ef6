// Writes a line to a file, a terminal, a pipe or a local socket, and never waits for a reader.
#ifndef CS_OUTPUT_H
#define CS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "cs_signal_safe.h"

// Writes the line with one call. `status` describes the descriptor's file. Returns false if the file did not get the
// whole line. This happens if the reader does not read, if the file system is full, if the file has reached
// RLIMIT_FSIZE, or if the table below does not list the file's type. In this case, a terminal can have got a part of
// the line.
//
// clang-format off
// | file                     | how the call does not wait                                                            |
// |--------------------------|---------------------------------------------------------------------------------------|
// | regular file             | A write does not wait for a reader. If the size would exceed RLIMIT_FSIZE, nothing is |
// |                          | written.                                                                              |
// | socket (only AF_UNIX)    | MSG_DONTWAIT                                                                          |
// | pipe, FIFO, character    | RWF_NOWAIT (for pipes since Linux 6.4). If the file does not support this flag, the   |
// | device                   | function opens /proc/thread-self/fd/N with O_NONBLOCK, writes there, and closes it.   |
// |                          | If this open fails, it writes only if the descriptor itself has O_NONBLOCK.           |
// clang-format on
//
// The function does not rely on poll(). For a terminal, poll() does not guarantee space for a whole line, and another
// process can fill a pipe between poll() and the write. The function does not set O_NONBLOCK on the descriptor, because
// other processes share its open file description. Signal safety: the function makes only system calls. It removes
// SIGPIPE and SIGXFSZ, which a write can cause.
bool cs_output_line(int descriptor, const struct stat *status, const void *line, size_t size) SIGNAL_SAFE;

#endif
