// Sends to a Unix datagram socket, as journald's and systemd's are.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum cs_datagram_form {
  CS_DATAGRAM_PLAIN = 0, // the bytes themselves
  CS_DATAGRAM_FILE = 1,  // an empty datagram with a sealed memfd that holds them
};

/// Sends `count` bytes to the socket at `path` (`@` begins an abstract address), as a file where they are too many for
/// a datagram and `file_name` is not NULL. Waits at most `timeout_ms` for room. Returns 0, or what errno says.
int cs_datagram_send(const char *path, const void *bytes, size_t count, const char *file_name, uint32_t timeout_ms,
                     enum cs_datagram_form *ret_form);
