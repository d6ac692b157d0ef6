// A preloaded library that installs backward-cpp's handler with libdw, as its README recommends.
#define BACKWARD_HAS_DW 1
#include <backward.hpp>

static backward::SignalHandling handling;
