// What zero leaves in the fields of an object: the empty value of each field's type.
#ifndef CS_QUARANTINE_EMPTIES_H
#define CS_QUARANTINE_EMPTIES_H

#include "class.h"

#pragma GCC visibility push(hidden)

bool cs_empties_make(cs_class *class); // false: no memory
void cs_empties_fill(const cs_class *class, cs_object *object);
bool cs_empties_are(const cs_class *class, const cs_object *object);

#pragma GCC visibility pop

#endif
