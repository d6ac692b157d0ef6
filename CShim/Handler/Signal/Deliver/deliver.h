// Delivers a committed crash to crashd.
#ifndef CS_DELIVER_H
#define CS_DELIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "../Dispatch/state.h"

// Wakes crashd through the existing connection. Without one, opens a connection; if that fails, writes the ring to the
// spool directory.
void cs_deliver(void) SIGNAL_SAFE;

// For the watchdog: like cs_deliver(). If another thread is already delivering, that thread delivers this crash too if
// it can.
void cs_deliver_for_others(void) SIGNAL_SAFE;

// Called after the last delivery: writes a copy of the ring to the spool directory, unless the ring is already there.
// crashd removes the copy when it has stored the report. If crashd is killed before, the next crashd reads the copy.
// Returns at once if another thread writes the copy.
void cs_deliver_copy(void) SIGNAL_SAFE;

// For the watchdog: like cs_deliver_copy(), without waiting for another thread.
void cs_deliver_copy_for_others(void) SIGNAL_SAFE;

// Returns whether a crashd has the ring.
bool cs_deliver_is_attached(void) SIGNAL_SAFE;

// Called after a record was withdrawn: removes the spool file, or rewrites it if another record needs it.
void cs_deliver_take_back(void) SIGNAL_SAFE;

// Returns a socket connected to crashd, without waiting. For a crash the function may use the reserved descriptor.
// Negative: -errno.
int cs_connection_open(bool is_crash) SIGNAL_SAFE;

// Sends the hello with the descriptors of the ring and the images. Negative: -errno.
long cs_hello_send(int socket) SIGNAL_SAFE;

// Returns whether `number` is still the connection, and not a file that the program has opened since.
bool cs_connection_is_ours(int number) SIGNAL_SAFE;

// Makes `socket` the connection for crashes. The socket takes the number of an earlier connection, so that a crashing
// thread never finds another file under that number.
void cs_connection_publish(int socket) SIGNAL_SAFE;

// Writes the ring to the spool directory. Precondition: one thread at a time.
bool cs_spool_write(void) SIGNAL_SAFE;

// Writes a copy of a delivered crash. The directory must be one that crashd clears, with enough free space. A partial
// copy is removed. Precondition: one thread at a time.
bool cs_spool_copy(void) SIGNAL_SAFE;

// Removes the file. Rewrites it instead if a crash, or another record that may be withdrawn, needs it. Precondition:
// one thread at a time.
void cs_spool_take_back(void) SIGNAL_SAFE;

// Writes bytes at an offset. Returns false if they cannot be written.
bool cs_spool_put(int file, const void *bytes, size_t size, uint64_t offset) SIGNAL_SAFE;

// Writes the ring, with holes for unused parts. Returns false if the file cannot take more bytes.
bool cs_spool_put_ring(int file) SIGNAL_SAFE;

// Writes a reduced ring for a file owner who must not read the process's data (docs/decisions/0122). It contains the
// program, the signal, and the frames as offsets in images. It contains no memory, registers, texts or addresses; each
// image gets an artificial base. Precondition: one thread at a time.
bool cs_spool_put_bare_ring(int file) SIGNAL_SAFE;

// Closes the reserved descriptor if `result` is EMFILE or ENFILE. Returns true if a retry may succeed.
bool cs_reserve_spend(long result) SIGNAL_SAFE;

// Like cs_reserve_spend(), for calls that must not fail. Another thread may take the closed descriptor number first. If
// that is the shield's connecting thread, it closes the number soon, so this function waits. `attempt` counts from 0.
bool cs_reserve_await(long result, int attempt) SIGNAL_SAFE;

#endif
