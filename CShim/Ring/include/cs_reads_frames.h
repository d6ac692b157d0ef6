// READS_FRAMES: what walks a thread's stack reads words of other functions' frames, or what lies there now. They are
// mapped, but red to a sanitizer: where a function once had its frame, another may have the rim of an array by now.
#ifndef CS_READS_FRAMES_H
#define CS_READS_FRAMES_H

#define READS_FRAMES __attribute__((no_sanitize("address", "thread")))

#endif
