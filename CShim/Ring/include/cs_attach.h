// What a host process and crashd say to each other over the attach socket (Unix, SOCK_SEQPACKET).
//
//   process → crashd   cs_attach_hello with the ring's memfd and the images' descriptors (SCM_RIGHTS)
//   crashd → process   cs_attach_reply
//   process → crashd   one byte CS_ATTACH_CRASHED for each committed crash
//   either             closes the socket: the process ended, or crashd did
//
// Who the process is comes from SO_PEERCRED, never from the hello.
#ifndef CS_ATTACH_H
#define CS_ATTACH_H

#include <stdint.h>

// "CSATTCH" and a zero.
#define CS_ATTACH_MAGIC   UINT64_C(0x0048435454415343)
#define CS_ATTACH_VERSION 1u

// The kernel passes at most 253 descriptors in one message (SCM_MAX_FD); the first is the ring.
#define CS_ATTACH_IMAGE_LIMIT      252
#define CS_ATTACH_TEXT_LIMIT_BYTES 232

// The wake-up byte.
#define CS_ATTACH_CRASHED 0x43u

// The last component of the attach socket's path, beside it the spool directory.
#define CS_ATTACH_SOCKET_NAME      "attach"
#define CS_ATTACH_SPOOL_NAME       "spool"
#define CS_ATTACH_SYSTEM_DIRECTORY "/run/crashd"
// A spool file is written as NAME + this, then renamed.
#define CS_ATTACH_SPOOL_SUFFIX   ".ring"
#define CS_ATTACH_PARTIAL_SUFFIX ".partial"

typedef enum __attribute__((enum_extensibility(open))) cs_attach_status : uint32_t {
  CS_ATTACH_STATUS_ACCEPTED = 0,
  CS_ATTACH_STATUS_MALFORMED = 1, // the hello or the ring is not what the version says
  CS_ATTACH_STATUS_VERSION = 2,   // versions differ
  CS_ATTACH_STATUS_UNSEALED = 3,  // the memfd lacks seals, or is no memfd
  CS_ATTACH_STATUS_LIMIT = 4,     // too many processes or descriptors
} cs_attach_status;

#pragma clang diagnostic push
#pragma clang diagnostic error "-Wpadded"

typedef struct cs_attach_hello {
  uint64_t magic;
  uint32_t version;
  uint32_t ring_version;
  uint64_t ring_bytes;
  int32_t pid; // informative: as the process sees itself
  uint32_t image_count;
  uint16_t images[CS_ATTACH_IMAGE_LIMIT]; // index in the ring's image table of each descriptor after the first
} cs_attach_hello;

typedef struct cs_attach_reply {
  uint64_t magic;
  uint32_t version;
  uint32_t status; // cs_attach_status
  uint32_t ring_version;
  uint32_t text_bytes;
  uint8_t text[CS_ATTACH_TEXT_LIMIT_BYTES]; // why not, for people
} cs_attach_reply;

#pragma clang diagnostic pop
#endif
