// How a committed crash reaches crashd.
#ifndef CS_DELIVER_H
#define CS_DELIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "../Dispatch/state.h"

// Wakes crashd over the connection that is there; else makes one; else leaves the ring in the spool directory.
void cs_deliver(void) SIGNAL_SAFE;

// For the watchdog: the same, but a thread that is delivering is left to serve this one, too, if it still can.
void cs_deliver_for_others(void) SIGNAL_SAFE;

// After the last delivery: leaves a copy of the ring in the spool directory, unless the ring is there. crashd removes
// it when it has stored the report; a crashd that is killed before has it from there. Returns when another thread does
// it.
void cs_deliver_copy(void) SIGNAL_SAFE;

// For the watchdog: the same, without waiting for another thread.
void cs_deliver_copy_for_others(void) SIGNAL_SAFE;

// Whether a crashd has the ring.
bool cs_deliver_is_attached(void) SIGNAL_SAFE;

// A record was withdrawn: removes the file, or writes it anew where another record needs it.
void cs_deliver_take_back(void) SIGNAL_SAFE;

// A socket connected to crashd, without waiting for anything; for a crash the reserved descriptor may go.
// Negative: -errno.
int cs_connection_open(bool is_crash) SIGNAL_SAFE;

// Introduces the process with the ring's descriptor and those of its images. Negative: -errno.
long cs_hello_send(int socket) SIGNAL_SAFE;

// Whether `number` still stands for the connection, and not for a file that the program opened since.
bool cs_connection_is_ours(int number) SIGNAL_SAFE;

// Makes `socket` the connection that crashes are announced on. A connection of ours before it is replaced in place, so
// that a crashing thread never sees its number stand for another file.
void cs_connection_publish(int socket) SIGNAL_SAFE;

// Writes the ring into the spool directory. Precondition: one thread at a time.
bool cs_spool_write(void) SIGNAL_SAFE;

// The same for a crash that was delivered: only into a directory that crashd clears, where there is room to spare,
// and what does not fit leaves nothing. Precondition: one thread at a time.
bool cs_spool_copy(void) SIGNAL_SAFE;

// Removes the file, or writes it anew where a crash or another record that may be withdrawn needs it. Precondition: one
// thread at a time.
void cs_spool_take_back(void) SIGNAL_SAFE;

// Writes bytes at an offset. false: the file does not take them.
bool cs_spool_put(int file, const void *bytes, size_t size, uint64_t offset) SIGNAL_SAFE;

// Writes the ring; what was never used stays a hole. false: the file takes no more.
bool cs_spool_put_ring(int file) SIGNAL_SAFE;

// The same for a file whose owner must not know what the process knew (docs/decisions/0122): which program crashed, by
// which signal, and its frames as offsets in images. No memory, no registers, no texts, and no address: each image is
// moved to a place of its own. Precondition: one thread at a time.
bool cs_spool_put_bare_ring(int file) SIGNAL_SAFE;

// Gives the reserved descriptor back when `result` says that there are none left; true when a second try may help.
bool cs_reserve_spend(long result) SIGNAL_SAFE;

// The same for what must not fail: another thread may have taken the descriptor that was given back, our own one that
// looks for crashd too, and gives it back in a moment. `attempt` counts from 0.
bool cs_reserve_await(long result, int attempt) SIGNAL_SAFE;

#endif
