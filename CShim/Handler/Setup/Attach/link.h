// The descriptors of the thread that keeps the connection: in a table of its own where the kernel has such tables, else
// in the program's.
#ifndef CS_LINK_H
#define CS_LINK_H

#include <stdbool.h>
#include <stdint.h>

// On the thread, first of all: a table that has the ring and the connection, and nothing else.
void cs_link_separate(void);

// The connection of the program's table, if it is there; negative: none.
int cs_link_first_connection(void);

// Makes the socket the thread's; a thread without a table of its own also announces crashes on it. Returns the number
// that stands for it from now on; negative: none does, the program has closed it.
int cs_link_use(int socket);
// Closes it, unless the next one takes its place.
void cs_link_drop(void);
// Whether the number stands for it still.
bool cs_link_is_ours(int socket);
uint64_t cs_link_inode(int socket);

// Waits until there is something to receive: false on failure, after the time, and when the threads are dismissed.
// -1: for ever.
bool cs_link_wait(int socket, int timeout_ms);
// Sleeps that long, whatever signals come, or until the threads are dismissed.
void cs_link_pause(uint64_t duration_ns);

// Sets whether incidents wake crashd, those from before the call too: four times a second at most. They never do where
// the thread has no table of its own.
void cs_link_announce_incidents(bool does);

// Wakes the thread, for no message. It cannot be woken where it has no table of its own.
bool cs_link_can_be_woken(void);
void cs_link_wake(void);

#endif
