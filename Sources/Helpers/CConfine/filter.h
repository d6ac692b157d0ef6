// The system calls that a confined process is allowed to make.
#pragma once

enum cs_filter_kind {
  CS_FILTER_READ,  // allows only reading and writing open files; any other call ends the process
  CS_FILTER_FETCH, // also allows Internet sockets; any other call fails with an errno
};

/// Installs the filter for all threads of this process. Returns 0, or an errno.
int cs_filter_install(enum cs_filter_kind kind);
