// The version of the ring, the limits of its tables and strings, and the states of its entries.
#ifndef CS_RING_LIMITS_H
#define CS_RING_LIMITS_H

#include <stdint.h>

// The characters "CSRING" and two zero bytes: the first eight bytes of each ring.
#define CS_RING_MAGIC   UINT64_C(0x0000474e49525343)
#define CS_RING_VERSION 6u

// crashd also reads version 5 (docs/decisions/0136-requests-in-flight.md). A ring of version 5 ends after `threads`.
// Its breadcrumbs have no field `request`, and their field `text` is 8 bytes longer.
#define CS_RING_EARLIER_VERSION                5u
#define CS_RING_EARLIER_BYTES                  9998336
#define CS_RING_EARLIER_BREADCRUMB_LIMIT_BYTES 232

// The limits of all tables and strings in the ring.
#define CS_RING_IMAGE_LIMIT                512
#define CS_RING_ANNOTATION_LIMIT           64
#define CS_RING_BREADCRUMB_LIMIT           128
#define CS_RING_SLOT_LIMIT                 64
#define CS_RING_FRAME_LIMIT                256
#define CS_RING_THREAD_LIMIT               1024
#define CS_RING_REQUEST_LIMIT              4096 // in flight
#define CS_RING_HANDLER_LIMIT              8
#define CS_RING_THREAD_FRAME_LIMIT         150 // with this limit, the entry of a thread fills one page
#define CS_RING_INCIDENT_LIMIT             256
#define CS_RING_INCIDENT_FRAME_LIMIT       16
#define CS_RING_CLASS_LIMIT                512
#define CS_RING_SUBJECT_LIMIT_BYTES        128
#define CS_RING_PATH_LIMIT_BYTES           320
#define CS_RING_BUILD_ID_LIMIT_BYTES       32
#define CS_RING_NAME_LIMIT_BYTES           64
#define CS_RING_KEY_LIMIT_BYTES            64
#define CS_RING_VALUE_LIMIT_BYTES          440
#define CS_RING_BREADCRUMB_LIMIT_BYTES     224
#define CS_RING_CATEGORY_LIMIT_BYTES       64 // maximum size of a breadcrumb's category
#define CS_RING_MESSAGE_LIMIT_BYTES        2048
#define CS_RING_ABORT_LIMIT_BYTES          1024
#define CS_RING_EXCEPTION_LIMIT_BYTES      256
#define CS_RING_EXCEPTION_TEXT_LIMIT_BYTES 512
#define CS_RING_TASK_NAME_LIMIT_BYTES      64
#define CS_RING_MEMORY_LIMIT               17 // on x86-64, one memory range for each register
#define CS_RING_MEMORY_LIMIT_BYTES         128
#define CS_RING_THREAD_NAME_LIMIT_BYTES    16
#define CS_RING_INSTRUCTION_LIMIT_BYTES    16
#define CS_RING_STACK_LIMIT_BYTES          65536
#define CS_RING_REGISTER_LIMIT             34
#define CS_RING_NO_IMAGE                   0xffffu
#define CS_RING_OPERATION_LIMIT_BYTES      96
#define CS_RING_REQUEST_ID_LIMIT_BYTES     64
#define CS_RING_REQUEST_TAG_LIMIT_BYTES    256
#define CS_RING_RECORD_PADDING_BYTES       2820 // padding before the stack, which begins at the offset 16 KiB of a slot

// The state of a slot is in the lowest two bits of cs_ring_slot.state. The higher bits contain the slot's generation
// (cs_ring.h).
#define CS_RING_STATE_FREE      0u
#define CS_RING_STATE_WRITING   1u
#define CS_RING_STATE_COMMITTED 2u
#define CS_RING_STATE_ASKED     3u // only in cs_ring_thread: the thread has not begun to answer the sweep
#define CS_RING_STATE_PENDING   3u // only in cs_ring_slot: complete, but the record may still be withdrawn
#define CS_RING_STATE_MASK      3u

// The state of a request, in the low byte of cs_ring_request.state. The bits above this byte contain the generation.
#define CS_RING_REQUEST_FREE    0u
#define CS_RING_REQUEST_CLAIMED 1u // being written
#define CS_RING_REQUEST_RUNNING 2u
#define CS_RING_REQUEST_TRAPPED 3u // a trap ended the request; the entry stays until the process ends
#define CS_RING_REQUEST_MASK    0xffu

#endif
