// What a thread that did not crash does when a sweep asks where it is.
#ifndef CS_SWEEP_ANSWER_H
#define CS_SWEEP_ANSWER_H

#include <signal.h>
#include <stdbool.h>

#include "cs_signal_safe.h"

// The handler of SIGPROF while a sweep is under way.
void cs_sweep_answer(int signal, siginfo_t *information, void *context) SIGNAL_SAFE;

// Whether the thread is writing its answer: then a fault of it is ours.
bool cs_sweep_is_answering(int tid) SIGNAL_SAFE;

// Counts a thread that did not wait for anything.
void cs_sweep_note_running(void) SIGNAL_SAFE;
void cs_sweep_forget_running(void) SIGNAL_SAFE;

// Whether a sweep met a running thread, which may be about to crash as well, or may have overlooked one.
bool cs_sweep_found_running(void) SIGNAL_SAFE;

// In a forked child.
void cs_sweep_forget_answers(void) SIGNAL_SAFE;

#endif
