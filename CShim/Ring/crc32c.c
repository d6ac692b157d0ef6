// Filled by the commit that follows.
#include "cs_ring_access.h"
