#include <elfutils/libdw.h>
