// Calls in which a program can wait. If a crash interrupted such a call, the program would end with success, which must
// not happen. faults_waits.c makes a thread crash during each call.
#ifndef CS_WAITS_H
#define CS_WAITS_H

#define CS_LONG_WAIT_S 60

typedef struct cs_wait {
  const char *name;
  void (*wait)(void);
} cs_wait;

// The number of waits for anything except signals.
#define CS_PLAIN_WAIT_COUNT 24
extern const cs_wait cs_plain_waits[CS_PLAIN_WAIT_COUNT];

// The number of waits for signals.
#define CS_SIGNAL_WAIT_COUNT 13
extern const cs_wait cs_signal_waits[CS_SIGNAL_WAIT_COUNT];

#endif
