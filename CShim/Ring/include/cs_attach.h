// The messages between the program's process and crashd over the attach socket (a Unix socket of type SOCK_SEQPACKET).
// Control messages are crashd's requests to the process, for example to protect a class. A round is the set of requests
// that crashd sends together; each round has a number.
//
//   process → crashd   cs_attach_hello with the ring's memfd and the images' descriptors (SCM_RIGHTS)
//   crashd → process   cs_attach_reply, then as many control messages as the reply announces
//   process → crashd   one byte CS_ATTACH_CRASHED for each committed crash
//   process → crashd   one byte CS_ATTACH_INCIDENTS for incidents, if crashd accepts it
//   crashd → process   later control messages: cs_control_header and its payload
//   process → crashd   a cs_control_answer for each control message
//   either             closes the socket when it ends
//
// crashd identifies the process by SO_PEERCRED, and not by the contents of the hello. docs/attach-protocol.md describes
// the complete protocol.
#ifndef CS_ATTACH_H
#define CS_ATTACH_H

#include <stdint.h>

// Magic number of the hello and the reply: the characters "CSATTCH" and a zero byte.
#define CS_ATTACH_MAGIC   UINT64_C(0x0048435454415343)
#define CS_ATTACH_VERSION 2u

// The kernel passes at most 253 descriptors in one message (SCM_MAX_FD). The first descriptor is that of the ring,
// which leaves 252 for images.
#define CS_ATTACH_IMAGE_LIMIT      252
#define CS_ATTACH_TEXT_LIMIT_BYTES 232

// Magic numbers of control messages and of their answers: the characters "CSCONTR" and "CSANSWR", each with a zero
// byte.
#define CS_CONTROL_MAGIC            UINT64_C(0x0052544e4f435343)
#define CS_CONTROL_ANSWER_MAGIC     UINT64_C(0x005257534e415343)
#define CS_CONTROL_VERSION          1u
#define CS_CONTROL_LIMIT_BYTES      1024 // maximum size of a message
#define CS_CONTROL_NAME_LIMIT_BYTES 512
#define CS_CONTROL_ID_LIMIT_BYTES   64 // maximum size of a report's ID
// The maximum number of control messages on one connection that crashd has sent and that are not answered yet. Even the
// smallest socket buffer has space for so many messages.
#define CS_CONTROL_UNANSWERED_LIMIT 32u

// The bytes that the process sends to wake crashd.
#define CS_ATTACH_CRASHED   0x43u
#define CS_ATTACH_INCIDENTS 0x49u

// The bits of cs_attach_reply.flags.
#define CS_ATTACH_TAKES_INCIDENTS 1u // crashd accepts CS_ATTACH_INCIDENTS; otherwise, it closes the connection for it

// The last component of the attach socket's path, and the name of the spool directory next to the socket.
#define CS_ATTACH_SOCKET_NAME      "attach"
#define CS_ATTACH_SPOOL_NAME       "spool"
#define CS_ATTACH_SYSTEM_DIRECTORY "/run/crashd"
// The name of a spool file ends with the first suffix. While the crash handler writes the file, the second suffix
// follows.
#define CS_ATTACH_SPOOL_SUFFIX   ".ring"
#define CS_ATTACH_PARTIAL_SUFFIX ".partial"

typedef enum __attribute__((enum_extensibility(open))) cs_attach_status : uint32_t {
  CS_ATTACH_STATUS_ACCEPTED = 0,
  CS_ATTACH_STATUS_MALFORMED = 1, // the hello or the ring violates the format of its version
  CS_ATTACH_STATUS_VERSION = 2,   // crashd supports another version
  CS_ATTACH_STATUS_UNSEALED = 3,  // the memfd is not sealed, or the descriptor is not a memfd
  CS_ATTACH_STATUS_LIMIT = 4,     // there are too many processes or descriptors
} cs_attach_status;

typedef enum __attribute__((enum_extensibility(open))) cs_control_kind : uint32_t {
  CS_CONTROL_PROTECT = 1,  // quarantine deallocated objects of this class
  CS_CONTROL_RELEASE = 2,  // never quarantine objects of this class: overrides the program's request
  CS_CONTROL_SWEEP = 3,    // cancel the requests of other rounds
  CS_CONTROL_SETTINGS = 4, // settings for all classes
  CS_CONTROL_GUARDS = 5,   // guard modes
  CS_CONTROL_WITHHOLD = 6, // records contain no memory: overrides the program's setting
  // Tell the program about its last crash for which crashd has a report. crashd sends this message only if the process
  // has set takes_last_crash in its ring. It changes no setting and belongs to no round.
  CS_CONTROL_LAST_CRASH = 7,
} cs_control_kind;

#define CS_CONTROL_OPERATOR    1u // an operator's override: takes precedence over the program's request
#define CS_CONTROL_OWN_CLASSES 2u // the message applies to all classes of the program, and contains no name
#define CS_CONTROL_OFF         4u // for CS_CONTROL_SETTINGS: no class is protected, not even at the program's request

// An operator's override for one kind of guard. The numbers differ from those of cs_mode, because 0 means "no override"
// in a message.
typedef enum __attribute__((enum_extensibility(open))) cs_control_guard : uint8_t {
  CS_CONTROL_GUARD_PROGRAM = 0, // no override: the program's mode applies
  CS_CONTROL_GUARD_OFF = 1,
  CS_CONTROL_GUARD_OBSERVE = 2,
  CS_CONTROL_GUARD_ABSORB = 3,
} cs_control_guard;

// The number of kinds of guards for which a message contains modes. A process ignores the kinds that its version does
// not have.
#define CS_CONTROL_GUARD_KINDS 64

typedef enum __attribute__((enum_extensibility(open))) cs_control_result : uint32_t {
  CS_CONTROL_DONE = 0,
  CS_CONTROL_MALFORMED = 1,   // the message violates the format of its version
  CS_CONTROL_UNKNOWN = 2,     // the version or the kind is unknown
  CS_CONTROL_FORBIDDEN = 3,   // the program does not let crashd change settings
  CS_CONTROL_UNAVAILABLE = 4, // no library in this process can apply the message
  CS_CONTROL_OVERRULED = 5,   // the program's own request takes precedence
  CS_CONTROL_NOT_FOUND = 6,   // the class was not found
  CS_CONTROL_GENERIC = 7,     // the class is generic, and no concrete form of it exists in the process yet
  CS_CONTROL_FAILED = 8,      // the class cannot be protected
} cs_control_result;

#pragma clang diagnostic push
#pragma clang diagnostic error "-Wpadded"

typedef struct cs_attach_hello {
  uint64_t magic;
  uint32_t version;
  uint32_t ring_version;
  uint64_t ring_bytes;
  int32_t pid; // for information only: the process's pid in its own pid namespace
  uint32_t image_count;
  uint16_t images[CS_ATTACH_IMAGE_LIMIT]; // for each descriptor after the ring's: the index of its image in the ring's
                                          // image table
} cs_attach_hello;

typedef struct cs_attach_reply {
  uint64_t magic;
  uint32_t version;
  uint32_t status; // cs_attach_status
  uint32_t ring_version;
  uint32_t text_bytes;
  uint8_t text[CS_ATTACH_TEXT_LIMIT_BYTES]; // the reason of a refusal, for display
  uint32_t control_count;                   // number of messages that follow, at most CS_CONTROL_UNANSWERED_LIMIT
  uint32_t flags;
} cs_attach_reply;

typedef struct cs_control_header {
  uint64_t magic;
  uint32_t version;
  uint32_t kind;          // cs_control_kind
  uint32_t number;        // the process's answer contains the same number
  uint32_t payload_bytes; // the exact size of the rest of the message
} cs_control_header;

// The payload of CS_CONTROL_PROTECT and CS_CONTROL_RELEASE. The class's name follows.
typedef struct cs_control_class {
  uint32_t flags;
  uint32_t round;  // the round to which the request belongs; the sweep of another round cancels it
  uint32_t policy; // cs_mode: absorb, zero, diagnose
  uint32_t limit;  // the maximum number of the class's objects in quarantine
  uint32_t name_bytes;
  uint32_t reserved;
} cs_control_class;

// The payload of CS_CONTROL_SWEEP.
typedef struct cs_control_sweep {
  uint32_t round;
  uint32_t reserved;
} cs_control_sweep;

// The payload of CS_CONTROL_SETTINGS.
typedef struct cs_control_settings {
  uint64_t budget_bytes;
  uint32_t flags;
  uint32_t round;
  uint32_t stack_frames; // 0: releases record no stack; any other number: they record as many frames as fit
  uint32_t reserved;
} cs_control_settings;

// The payload of CS_CONTROL_GUARDS: a cs_control_guard for each kind of guard, indexed by the kind's number in the
// ring. Each element is an operator's override, which takes precedence over the program's mode.
typedef struct cs_control_guards {
  uint32_t round; // a CS_CONTROL_SWEEP of another round cancels the overrides
  uint32_t reserved;
  uint8_t modes[CS_CONTROL_GUARD_KINDS];          // for guards that are calls in the source
  uint8_t implicit_modes[CS_CONTROL_GUARD_KINDS]; // for implicit guards
} cs_control_guards;

// The payload of CS_CONTROL_WITHHOLD.
typedef struct cs_control_withhold {
  uint32_t round; // a CS_CONTROL_SWEEP of another round cancels the request
  uint32_t reserved;
} cs_control_withhold;

// The payload of CS_CONTROL_LAST_CRASH. The report's ID and the sentence of its diagnosis follow. They are UTF-8
// without control characters. If there was no crash, both strings are empty and the time is 0.
typedef struct cs_control_last_crash {
  uint64_t time_ns; // CLOCK_REALTIME
  uint32_t id_bytes;
  uint32_t sentence_bytes;
} cs_control_last_crash;

typedef struct cs_control_answer {
  uint64_t magic;
  uint32_t version;
  uint32_t number; // the number of the control message
  uint32_t result; // cs_control_result
  uint32_t count;  // the number of classes or guard kinds that the message changed
} cs_control_answer;

#pragma clang diagnostic pop
#endif
