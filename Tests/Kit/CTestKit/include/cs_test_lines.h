// C functions for tests of the lines that the signal handler writes for a crash: the last words, which people read, and
// the record line, the whole record as one line of text.
#ifndef CS_TEST_LINES_H
#define CS_TEST_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Encode the record in `slot` of a ring in memory. `ret_line` has CS_RECORD_LINE_LIMIT_BYTES bytes. Return the size of
// the line. Precondition: only one thread at a time calls these functions, and the shield has not started in this
// process.
size_t cs_test_record_line(void *ring, uint32_t slot, bool is_bare, char *ret_line);
size_t cs_test_last_words(void *ring, uint32_t slot, bool is_bare, char *ret_line);

// Writes a line as the handler does. Returns false if the handler would write nothing.
bool cs_test_output_line(int descriptor, const void *line, size_t size);

// Runs a program that repairs 1,000 faults and then crashes (CS_TEST_CHANCE_THEN_CRASH). Its last words go to
// DIRECTORY/words. Returns the signal that ended the program.
int cs_test_run_repaired_with_words(const char *directory);

// Opens a pseudo-terminal, and stores two descriptors: that of the test, which reads, and that of the programs on the
// terminal.
bool cs_test_open_terminal(int *ret_ends);

// Runs a program that starts the shield, makes DIRECTORY/replaced its descriptor 2, and crashes. Its last words go to
// stderr. Returns its wait status, as waitpid() does.
int cs_test_run_with_replaced_stderr(const char *directory, bool appends);

// Encodes 64-bit words as one piece of a record line into a buffer with `limit` bytes, and returns the number of words
// that fit.
uint32_t cs_test_put_words(const uint64_t *words, uint32_t count, uint32_t step, uint8_t *ret_bytes, size_t limit,
                           size_t *ret_size);

#endif
