// Finds the error messages of the Swift runtime that no crash record contains yet, in strings that a test constructs.
#ifndef CS_TEST_MESSAGES_H
#define CS_TEST_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#define CS_TEST_MESSAGE_READERS 2

// Makes `string` the runtime's string of error messages. The string must stay valid.
void cs_test_message_set(const char *string);

// Reads the messages that are not marked, as a thread that traps. Returns the number of bytes. `reader` identifies the
// thread.
size_t cs_test_message_read(uint32_t reader, char *ret_text, size_t limit);

// Marks the messages that the reader read last as recorded, as after a trap that the process survived.
void cs_test_message_mark(uint32_t reader);

#endif
