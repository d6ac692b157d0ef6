// Sandboxes a process that handles untrusted input: reading a hostile image, talking to a server.
#pragma once

#include <stdint.h>

/// The limits of a job. An executable of 261 MB needs 0.6 GiB of addresses and 2 s of CPU time.
#define CS_CONFINE_MEMORY_BYTES (UINT64_C(2) << 30)
#define CS_CONFINE_FILE_BYTES   (UINT64_C(256) << 20)
#define CS_CONFINE_CPU_S        30

/// The limits of a job whose input is one image: a base, and more for each byte of the image, up to the above. A forged
/// image of 32 KiB costs no more than an honest one of a few MiB.
#define CS_CONFINE_BASE_CPU_S        2
#define CS_CONFINE_BYTES_PER_S       (UINT64_C(4) << 20)
#define CS_CONFINE_BASE_MEMORY_BYTES (UINT64_C(256) << 20)
#define CS_CONFINE_MEMORY_FACTOR     8

/// The CPU time of such a job, in units of the CPU time that starting the process took: a base, and one more unit for
/// so many bytes of the image. The unit measures the speed of the machine. Honest images need 5 to 10 % of it.
#define CS_CONFINE_STARTS          16
#define CS_CONFINE_BYTES_PER_START (UINT64_C(16) << 10)

/// Confines this process permanently. It has no descriptors but 0, 1 and 2, and can open none (a debug link of the
/// image leads nowhere). It has no core dump and gets no new privileges, and no process may trace it. Memory, CPU time
/// and file size are bounded. It can make only the system calls for reading and writing open files; any other one ends
/// it. Returns 0, or the errno of the first step that failed.
int cs_confine(void);

/// The same, with CPU time and memory linear in the size of the image that is open as `image`. Exceeding the CPU time
/// ends the process by SIGKILL. Precondition: called at the start of the process.
int cs_confine_image(int image);

/// The additional limits of a process that talks to servers: their sockets, CPU time for encryption.
#define CS_CONFINE_FETCH_DESCRIPTORS 32
#define CS_CONFINE_FETCH_CPU_S       60

/// Confines this process in the same way, except for connections: it can create Internet sockets and talk over them. It
/// cannot resolve a name or open a file. Other system calls are refused (EPERM), because network libraries try some and
/// work without them. An output file is limited to `file_bytes`. Returns 0, or the errno of the first step that failed.
int cs_confine_fetch(uint64_t file_bytes);
