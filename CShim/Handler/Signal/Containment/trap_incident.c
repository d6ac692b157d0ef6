// Records the incident of a contained trap.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "containment.h"

#include "../Capture/record.h"
#include "../Capture/registers.h"
#include "../Dispatch/trusted.h"
#include "../Images/images.h"
#include "../Kernel/system_call.h"

// The upper bits of the key of each incident of a contained trap.
#define KEY UINT64_C(0x8f1bbcdc00000000)

static uint32_t trap_count; // atomic: the number of traps since the start, which makes incident keys distinct

// Stores the registers of a trap in fields that other incidents use for other data: `address` contains the flags
// register, and `free_count` the number of registers.
static void add_registers(cs_ring_incident *incident, const cs_ring_registers *registers) SIGNAL_SAFE {
  incident->flags |= CS_RING_INCIDENT_TRAP;
  incident->address = registers->flags;
  incident->free_count = registers->general_count < CS_RING_INCIDENT_FRAME_LIMIT ? (uint32_t)registers->general_count
                                                                                 : CS_RING_INCIDENT_FRAME_LIMIT;
  uint64_t *const kept = incident->detail.trap.registers;
  memcpy(kept, registers->general, incident->free_count * sizeof *kept);
}

// Adds a frame of the trap. Returns false if the incident has no more space.
static bool add_frame(cs_ring_incident *incident, uint64_t pc) SIGNAL_SAFE {
  if (incident->use_count < CS_RING_INCIDENT_FRAME_LIMIT) {
    incident->use[incident->use_count++] = pc;
  } else {
    if (incident->origin_count == CS_RING_INCIDENT_FRAME_LIMIT) return false;
    incident->detail.trap.frames[incident->origin_count++] = pc;
  }
  return true;
}

bool cs_contained_record(uint32_t kind, int64_t amount, const cs_ring_registers *registers, const cs_ring_frame *frames,
                         uint32_t own, uint32_t count, cs_contained_message *ret_message) SIGNAL_SAFE {
  cs_ring_incident incident;
  cs_message_end said = {0};
  memset(&incident, 0, sizeof incident);
  // The key of each trap is different, so each trap becomes a separate incident.
  incident.key = KEY | (uint64_t)__atomic_fetch_add(&trap_count, 1, __ATOMIC_RELAXED) << 1 | 1;
  incident.source = CS_RING_INCIDENT_CONTAINED;
  incident.kind = kind;
  incident.amount = amount;
  incident.mode = CS_MODE_ABSORB;
  incident.flags = CS_RING_INCIDENT_EXACT;
  incident.use_tid = cs_gettid();
  incident.subject_bytes = cs_message_read(incident.subject, sizeof incident.subject, &said);
  if (incident.subject_bytes > 0 && incident.subject[incident.subject_bytes - 1] == '\n') incident.subject_bytes--;
  add_registers(&incident, registers);
  for (uint32_t index = 0; index < count; index++) {
    const cs_ring_frame *frame = &frames[index];
    if (index >= own && (frame->flags & CS_RING_FRAME_ASYNC) == 0) continue;
    const bool is_exact = (frame->flags & CS_RING_FRAME_EXACT) != 0;
    // In a list of frames, crashd treats all addresses except the first as return addresses: it symbolicates the byte
    // before the address. The address of an async caller, however, is the first byte of the code that it resumes. The
    // address is therefore increased by one, which cancels the subtraction.
    if (!add_frame(&incident, frame->pc + (index > 0 && is_exact))) break;
    cs_image_index(frame->pc - !is_exact); // has a side effect for crashd: adds the image to the ring if it was loaded
                                           // after the shield's start
  }
  if (!cs_incident_keep(&incident)) return false;
  cs_message_mark_recorded(said);
  if (ret_message != NULL) {
    ret_message->bytes = incident.subject_bytes;
    memcpy(ret_message->text, incident.subject, incident.subject_bytes);
  }
  return true;
}

#endif
