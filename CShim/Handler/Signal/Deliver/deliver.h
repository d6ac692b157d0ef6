// Delivers a crash, whose record in the ring is complete, to crashd. The spool directory contains copies of rings as
// files.
#ifndef CS_DELIVER_H
#define CS_DELIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "../Dispatch/state.h"

// Wakes crashd through the existing connection. If there is no connection, opens one. If crashd cannot be reached,
// writes the ring to the spool directory.
void cs_deliver(void) SIGNAL_SAFE;

// For the watchdog: like cs_deliver(), but does not wait for another thread that is delivering. That thread also
// delivers this crash if it can.
void cs_deliver_for_others(void) SIGNAL_SAFE;

// Called after the last delivery: writes a copy of the ring to the spool directory, unless the directory already
// contains the ring with all crashes. crashd removes the copy when it has stored the report. If crashd is killed before
// it has stored the report, the next crashd reads the copy. If another thread is writing the copy, waits for the copy,
// at most 500 ms.
void cs_deliver_copy(void) SIGNAL_SAFE;

// For the watchdog: like cs_deliver_copy(), but without waiting for another thread.
void cs_deliver_copy_for_others(void) SIGNAL_SAFE;

// Returns whether the last delivery has failed: neither crashd nor the spool directory has the crash.
bool cs_deliver_has_failed(void) SIGNAL_SAFE;

// Makes the spool directory and writes the ring there, after both a delivery and the record line have failed.
void cs_deliver_to_new_directory(void) SIGNAL_SAFE;

// Returns whether the process is connected to crashd, which then has the ring.
bool cs_deliver_is_attached(void) SIGNAL_SAFE;

// Removes the spool file after a pending record (crasher.h) was withdrawn, because the program survived the fault. If
// another record needs the spool file, writes the file again instead.
void cs_deliver_take_back(void) SIGNAL_SAFE;

// Returns a socket connected to crashd, or -errno. Does not wait for crashd. If `is_crash` is true and no descriptor is
// free, closes the reserved descriptor, and retries for at most 100 ms.
int cs_connection_open(bool is_crash) SIGNAL_SAFE;

// Sends the hello, the first message on a connection, with the descriptors of the ring and the image files. Returns a
// negative errno value on failure.
long cs_hello_send(int socket) SIGNAL_SAFE;

// Returns whether `number` still refers to the connection, and not to a file that the program has opened under the same
// number.
bool cs_connection_is_ours(int number) SIGNAL_SAFE;

// Makes `socket` the connection that crashing threads use. The socket gets the number of the previous connection, so
// that this number never becomes free for a file of the program.
void cs_connection_publish(int socket) SIGNAL_SAFE;

// Writes the ring to the spool directory. Precondition: only one thread at a time calls this function.
bool cs_spool_write(void) SIGNAL_SAFE;

// Makes the spool directory and its parent, if they are missing.
void cs_spool_make_directory(void) SIGNAL_SAFE;

// Writes the copy of cs_deliver_copy(). Writes the copy only if crashd deletes old files in the directory, and if
// enough space stays free. If writing fails, removes the partial copy. Precondition: only one thread at a time calls
// this function.
bool cs_spool_copy(void) SIGNAL_SAFE;

// Removes the spool file. If it must contain a crash or another pending record, writes the file again instead.
// Precondition: only one thread at a time calls this function.
void cs_spool_take_back(void) SIGNAL_SAFE;

// Writes bytes at an offset of the file. Returns false if the write fails.
bool cs_spool_put(int file, const void *bytes, size_t size, uint64_t offset) SIGNAL_SAFE;

// Writes the ring. Unused parts of the ring become holes of the file. Returns false if writing fails.
bool cs_spool_put_ring(int file) SIGNAL_SAFE;

// Writes a reduced ring, for a file whose owner must not read the process's data (docs/decisions/0122). The reduced
// ring contains the program's identity, the signal, and the frames as offsets in images. The reduced ring contains no
// memory, registers, messages, annotations, breadcrumbs or addresses. Each image gets an artificial base address,
// because its real address is secret. Precondition: only one thread at a time calls this function.
bool cs_spool_put_bare_ring(int file) SIGNAL_SAFE;

// If the result of a system call is -EMFILE or -ENFILE, closes the descriptor that the shield keeps in reserve, and
// possibly a standard stream in the thread's own table. Returns true if a descriptor was closed and the caller should
// retry its system call.
bool cs_reserve_spend(long result) SIGNAL_SAFE;

// Like cs_reserve_spend(), for system calls that must not fail. Another thread can get the number of the closed
// descriptor before the caller retries. If that thread is the shield's connection thread, it soon closes its new
// descriptor. If no further descriptor can be closed, this function therefore sleeps 1 ms and returns true, in the
// first 100 attempts. `attempt` is the number of earlier attempts.
bool cs_reserve_await(long result, int attempt) SIGNAL_SAFE;

#endif
