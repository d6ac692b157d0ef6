// Takes from a process what it does not need for what nobody trusts: reading a hostile image, talking to a server.
#pragma once

#include <stdint.h>

/// What a job may use. An executable of 261 MB needs 0.6 GiB of addresses and 2 s of CPU time.
#define CS_CONFINE_MEMORY_BYTES (UINT64_C(2) << 30)
#define CS_CONFINE_FILE_BYTES   (UINT64_C(256) << 20)
#define CS_CONFINE_CPU_S        30

/// What a job may use whose input is one image: so much, and more for each byte of the image, up to the above. A forged
/// image of 32 KiB may cost no more than what is read of it would cost in an honest one of a few MiB.
#define CS_CONFINE_BASE_CPU_S        2
#define CS_CONFINE_BYTES_PER_S       (UINT64_C(4) << 20)
#define CS_CONFINE_BASE_MEMORY_BYTES (UINT64_C(256) << 20)
#define CS_CONFINE_MEMORY_FACTOR     8

/// CPU time of such a job, in units of the CPU time that the start of its process took: so many units, and one more for
/// so many bytes of the image. The unit shows how fast the machine is. Honest images need 5 to 10 % of that.
#define CS_CONFINE_STARTS          16
#define CS_CONFINE_BYTES_PER_START (UINT64_C(16) << 10)

/// Confines this process for good: no descriptors but 0, 1 and 2, and none can be opened (a debug link of the image
/// leads nowhere); no core dump, no new privileges, nobody may trace it; memory, CPU time and file size are bounded; no
/// system calls but the few that reading and writing open files needs, any other one ends the process.
/// 0, or the errno of the first step that failed.
int cs_confine(void);

/// The same with CPU time and memory in a linear relation to the size of the image that is open as `image`. More CPU
/// time ends the process by SIGKILL. Precondition: called at the start of the process.
int cs_confine_image(int image);

/// What a process that talks to servers may use besides: their sockets, processor time for encryption.
#define CS_CONFINE_FETCH_DESCRIPTORS 32
#define CS_CONFINE_FETCH_CPU_S       60

/// Confines this process in the same way, but for connections: it may make sockets of the Internet and talk over them.
/// No name can be looked up, no file opened. Other system calls are refused (EPERM): libraries for networks try some
/// and do without. No output file can be longer than `file_bytes`. 0, or the errno of the first step that failed.
int cs_confine_fetch(uint64_t file_bytes);
