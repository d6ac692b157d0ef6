// Marks a function that is allowed to run in a signal handler. clang checks that the function calls only functions with
// this mark (-Wfunction-effects). Other compilers ignore the mark.
#ifndef CS_SIGNAL_SAFE_H
#define CS_SIGNAL_SAFE_H

#if defined(__has_attribute)
#if __has_attribute(nonblocking)
#define SIGNAL_SAFE __attribute__((nonblocking))
#endif
#endif
#ifndef SIGNAL_SAFE
#define SIGNAL_SAFE
#endif

#endif
