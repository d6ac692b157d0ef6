// Delivers a committed crash to crashd.
#ifndef CS_DELIVER_H
#define CS_DELIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "../Dispatch/state.h"

// Wakes crashd over the existing connection; else opens one; else writes the ring to the spool directory.
void cs_deliver(void) SIGNAL_SAFE;

// For the watchdog: the same, but lets a thread that is delivering deliver this crash, too, if it still can.
void cs_deliver_for_others(void) SIGNAL_SAFE;

// After the last delivery: writes a copy of the ring to the spool directory, unless the ring is there. crashd removes
// it when it has stored the report; if crashd is killed before, the next one reads it. Returns at once if another
// thread writes it.
void cs_deliver_copy(void) SIGNAL_SAFE;

// For the watchdog: the same, without waiting for another thread.
void cs_deliver_copy_for_others(void) SIGNAL_SAFE;

// Whether a crashd has the ring.
bool cs_deliver_is_attached(void) SIGNAL_SAFE;

// After a record was withdrawn: removes the file, or rewrites it if another record needs it.
void cs_deliver_take_back(void) SIGNAL_SAFE;

// Returns a socket connected to crashd, without waiting; for a crash it may use the reserved descriptor. Negative:
// -errno.
int cs_connection_open(bool is_crash) SIGNAL_SAFE;

// Sends the hello with the descriptors of the ring and the images. Negative: -errno.
long cs_hello_send(int socket) SIGNAL_SAFE;

// Whether `number` is still the connection, and not a file that the program opened since.
bool cs_connection_is_ours(int number) SIGNAL_SAFE;

// Makes `socket` the connection for crashes. It replaces an earlier connection of ours in place, so that a crashing
// thread never finds another file under its number.
void cs_connection_publish(int socket) SIGNAL_SAFE;

// Writes the ring to the spool directory. Precondition: one thread at a time.
bool cs_spool_write(void) SIGNAL_SAFE;

// Writes a copy for a delivered crash: only to a directory that crashd clears, and with room to spare; a partial copy
// is removed. Precondition: one thread at a time.
bool cs_spool_copy(void) SIGNAL_SAFE;

// Removes the file, or rewrites it if a crash or another record that may be withdrawn needs it. Precondition: one
// thread at a time.
void cs_spool_take_back(void) SIGNAL_SAFE;

// Writes bytes at an offset. Returns false if the file refuses them.
bool cs_spool_put(int file, const void *bytes, size_t size, uint64_t offset) SIGNAL_SAFE;

// Writes the ring; unused parts stay holes. Returns false if the file refuses more.
bool cs_spool_put_ring(int file) SIGNAL_SAFE;

// Writes a ring for a file owner who must not know the process's data (docs/decisions/0122): the program, the signal,
// and its frames as offsets in images. No memory, registers, texts or addresses: each image gets an artificial base.
// Precondition: one thread at a time.
bool cs_spool_put_bare_ring(int file) SIGNAL_SAFE;

// Releases the reserved descriptor if `result` says that none is left; returns true if a retry may succeed.
bool cs_reserve_spend(long result) SIGNAL_SAFE;

// The same for calls that must not fail. Another thread may have taken the released descriptor: the shield's thread
// that connects to crashd does so too, and releases it in a moment. `attempt` counts from 0.
bool cs_reserve_await(long result, int attempt) SIGNAL_SAFE;

#endif
