// Ways to wait in which an interrupted call must not end a program well: faults_waits.c has a thread crash beside each.
#ifndef CS_WAITS_H
#define CS_WAITS_H

#define CS_LONG_WAIT_S 60

typedef struct cs_wait {
  const char *name;
  void (*wait)(void);
} cs_wait;

// A call each, for anything but signals.
#define CS_PLAIN_WAIT_COUNT 24
extern const cs_wait cs_plain_waits[CS_PLAIN_WAIT_COUNT];

// Those that wait for signals.
#define CS_SIGNAL_WAIT_COUNT 13
extern const cs_wait cs_signal_waits[CS_SIGNAL_WAIT_COUNT];

#endif
