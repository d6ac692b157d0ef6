// Sandboxes a process that handles untrusted input, such as a hostile image or the response of a server.
#pragma once

#include <stdint.h>

/// The limits of a job, which is one run of a confined process. For comparison, reading an executable of 261 MB takes
/// 0.6 GiB of address space and 2 s of CPU time.
#define CS_CONFINE_MEMORY_BYTES (UINT64_C(2) << 30)
#define CS_CONFINE_FILE_BYTES   (UINT64_C(256) << 20)
#define CS_CONFINE_CPU_S        30

/// The limits of a job that reads one image: a base plus an amount per byte of the image, up to the limits above. A
/// forged image of 32 KiB can therefore not use more than a genuine image of a few MiB.
#define CS_CONFINE_BASE_CPU_S        2
#define CS_CONFINE_BYTES_PER_S       (UINT64_C(4) << 20)
#define CS_CONFINE_BASE_MEMORY_BYTES (UINT64_C(256) << 20)
#define CS_CONFINE_MEMORY_FACTOR     8

/// The limit of the CPU time of a job that reads one image. The unit is the CPU time that the start of this process
/// took, because this time shows the speed of the machine. The limit is CS_CONFINE_STARTS units, plus one unit per
/// CS_CONFINE_BYTES_PER_START bytes of the image. Genuine images need 5 to 10 % of the limit.
#define CS_CONFINE_STARTS          16
#define CS_CONFINE_BYTES_PER_START (UINT64_C(16) << 10)

/// Confines this process permanently. The process keeps only the descriptors 0, 1 and 2, and cannot open other files. A
/// debug link in the image has therefore no effect. The process does not write a core dump and cannot get new
/// privileges. Other processes cannot trace it. Memory, CPU time and file size are limited. Only the system calls for
/// reading and writing open files are allowed. Any other system call ends the process. Returns 0, or the errno of the
/// first step that failed.
int cs_confine(void);

/// Confines the process like cs_confine(), but with limits of CPU time and memory that are linear in the size of the
/// image open as `image`. SIGKILL ends a process that exceeds the CPU time. Precondition: the process calls this
/// function at its start, because the function measures the CPU time of the start.
int cs_confine_image(int image);

/// The limits of a process that connects to servers: more descriptors, for sockets, and more CPU time, for encryption.
#define CS_CONFINE_FETCH_DESCRIPTORS 32
#define CS_CONFINE_FETCH_CPU_S       60

/// Confines this process like cs_confine(), but lets it create and use Internet sockets. The process cannot resolve
/// host names or open files. Other system calls fail with EPERM instead of ending the process, because network
/// libraries try some of them and work without them. The size of the output file is limited to `file_bytes`. Returns 0,
/// or the errno of the first step that failed.
int cs_confine_fetch(uint64_t file_bytes);
