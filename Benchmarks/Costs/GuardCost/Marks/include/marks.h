// Says to callgrind which instructions are whose. Without callgrind nothing happens.
#ifndef MARKS_H
#define MARKS_H

// From here on they are of the operation that is named at the end.
void mark_begin(void);
void mark_end(const char *name);

#endif
