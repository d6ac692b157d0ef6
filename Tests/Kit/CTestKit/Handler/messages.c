#include "cs_test_messages.h"

#include "../../../../CShim/Handler/Signal/Capture/record.h"
#include "../../../../CShim/Handler/Signal/Dispatch/state.h"

// The pointer of the Swift runtime to its string of error messages.
static const char *current;
static cs_message_end ends[CS_TEST_MESSAGE_READERS];

void cs_test_message_set(const char *string) {
  current = string;
  cs_process.swift_message = (uint64_t)&current;
}

size_t cs_test_message_read(uint32_t reader, char *ret_text, size_t limit) {
  return cs_message_read((uint8_t *)ret_text, limit, &ends[reader]);
}

void cs_test_message_mark(uint32_t reader) {
  cs_message_mark_recorded(ends[reader]);
}
