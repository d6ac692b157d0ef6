// How incidents reach crashd while the process goes on (docs/decisions/0125). The thread that records the first one
// sends a signal to the listener, the thread of the connection. That wakes crashd, and then holds later ones back for a
// while.
#ifndef CS_NEWS_H
#define CS_NEWS_H

#include <stdbool.h>

#include "cs_signal_safe.h"

// An incident is in the ring. Concurrency: any thread, handlers too.
void cs_news_add(void) SIGNAL_SAFE;

// For the listener, when it holds nothing back: whether to wake crashd. true: what is recorded from now on sends no
// signal, until a later call returns false.
bool cs_news_take(void) SIGNAL_SAFE;

// Makes the thread `tid` the listener, and shows it in the ring: crashd need not poll. Precondition: the thread blocks
// CS_OWN_BELL.
void cs_news_listen(int tid) SIGNAL_SAFE;

// Ends that. Returns when no thread is about to send the signal: the listener may end, and its number may become
// another thread's.
void cs_news_ignore(void) SIGNAL_SAFE;

// In a forked child.
void cs_news_forget(void) SIGNAL_SAFE;

#endif
