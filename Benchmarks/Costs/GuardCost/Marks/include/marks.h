// Functions that mark the instructions of an operation for callgrind. If the program does not run under callgrind,
// these functions do nothing.
#ifndef MARKS_H
#define MARKS_H

// Begins to count instructions for the operation that the next call of mark_end() names.
void mark_begin(void);
void mark_end(const char *name);

#endif
