// A server of a run: its URL, and its addresses, resolved before the process was confined.
#pragma once

#include "cs_fetch.h"
#include <curl/curl.h>

struct cs_fetch_server {
  const char *url;
  struct curl_slist *addresses; // as CURLOPT_RESOLVE wants them; NULL where the host is an address itself
  struct cs_fetch_problem problem;
  bool is_usable;
};

/// Fills `server` for its URL; on failure it is not usable and has a problem.
void cs_fetch_server_find(struct cs_fetch_server *server, const char *url);
