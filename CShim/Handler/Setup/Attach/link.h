// The descriptors of the thread that keeps the connection to crashd. They are in a separate descriptor table if the
// kernel supports this, else in the program's table.
#ifndef CS_LINK_H
#define CS_LINK_H

#include <stdbool.h>
#include <stdint.h>

// Gives the thread a separate descriptor table that contains only the ring and the connection. Precondition: this is
// the first call on the thread.
void cs_link_separate(void);

// Returns the connection in the program's table, or a negative number if there is none.
int cs_link_first_connection(void);

// Makes the socket the thread's connection. If the thread shares the program's table, the crash handler uses this
// connection, too. Returns the descriptor that the connection now has, or a negative number if the program has closed
// it.
int cs_link_use(int socket);
// Closes the connection if the thread has its own table. In the program's table, the connection stays open until the
// next one replaces the descriptor.
void cs_link_drop(void);
// Returns whether this descriptor still refers to the shield's connection. In the program's table, the program can have
// closed it.
bool cs_link_is_ours(int socket);
uint64_t cs_link_inode(int socket);

// Waits until a message can be received. Returns false on failure, after the timeout, or when the threads are
// dismissed. If `timeout_ms` is -1, there is no timeout.
bool cs_link_wait(int socket, int timeout_ms);
// Sleeps for the whole duration, even if signals arrive. Returns early when the threads are dismissed.
void cs_link_pause(uint64_t duration_ns);

// Sets whether this thread wakes crashd for new incidents, at most four times a second. The announcement includes
// incidents that were recorded before the call. The call has no effect if the thread shares the program's table.
void cs_link_announce_incidents(bool does);

// cs_link_wake: wakes the thread although no message has arrived, so that it notices a dismissal. cs_link_can_be_woken:
// returns whether this works, which needs a separate table.
bool cs_link_can_be_woken(void);
void cs_link_wake(void);

#endif
