// The system calls that a confined process may make.
#pragma once

enum cs_filter_kind {
  CS_FILTER_READ,  // what reading an open file and writing another one needs; anything else ends the process
  CS_FILTER_FETCH, // and what talking over sockets of the Internet needs; anything else is refused
};

/// Installs the filter for all threads of this process. 0, or an errno.
int cs_filter_install(enum cs_filter_kind kind);
