// Assigns instructions to operations for callgrind. Without callgrind these functions do nothing.
#ifndef MARKS_H
#define MARKS_H

// Instructions from here on belong to the operation that mark_end() names.
void mark_begin(void);
void mark_end(const char *name);

#endif
