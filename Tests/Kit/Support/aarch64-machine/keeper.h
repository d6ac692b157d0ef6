// Stands for crashd on the emulated machine: accepts the processes that attach, and keeps their rings.
#ifndef KEEPER_H
#define KEEPER_H

#include <signal.h>
#include <stdbool.h>
#include <time.h>

#define ATTACH_SOCKET "/run/attach"

// Listens at ATTACH_SOCKET. Returns false with errno if it cannot.
bool keeper_start(void);

// Handles what the processes send, until a signal arrives that is not in `blocked`, or until `limit`.
void keeper_wait(const struct timespec *limit, const sigset_t *blocked);

// Calls `send` with the path and the name of the ring of each process that has announced a crash. Forgets all rings.
// Precondition: the processes have ended.
void keeper_send(void (*send)(const char *path, const char *name));

#endif
