// The descriptors of the thread that keeps the connection. They are in a table of the thread's own if the kernel
// supports that, else in the program's table.
#ifndef CS_LINK_H
#define CS_LINK_H

#include <stdbool.h>
#include <stdint.h>

// Gives the thread a table that holds only the ring and the connection. Precondition: first call on the thread.
void cs_link_separate(void);

// The connection in the program's table. Negative: there is none.
int cs_link_first_connection(void);

// Makes the socket the thread's connection. If the thread shares the program's table, crashes use this connection too.
// Returns the connection's descriptor from now on. Negative: the program has closed it.
int cs_link_use(int socket);
// Closes the connection, unless the next connection replaces it.
void cs_link_drop(void);
// Returns whether the descriptor still stands for the connection.
bool cs_link_is_ours(int socket);
uint64_t cs_link_inode(int socket);

// Waits until a message can be received. Returns false on failure, after the timeout, and when the threads are
// dismissed. `timeout_ms` -1: no limit.
bool cs_link_wait(int socket, int timeout_ms);
// Sleeps for the duration even if signals arrive. Ends early when the threads are dismissed.
void cs_link_pause(uint64_t duration_ns);

// Sets whether incidents wake crashd, at most four times a second. This includes incidents from before the call. It has
// no effect if the thread shares the program's table.
void cs_link_announce_incidents(bool does);

// Wakes the thread without a message. This works only if the thread has its own table.
bool cs_link_can_be_woken(void);
void cs_link_wake(void);

#endif
