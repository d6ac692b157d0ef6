// A server with its URL and its addresses, which were resolved before the process was confined.
#pragma once

#include "cs_fetch.h"
#include <curl/curl.h>

struct cs_fetch_server {
  const char *url;
  struct curl_slist *addresses; // for CURLOPT_RESOLVE; NULL if the host is a numeric address
  struct cs_fetch_problem problem;
  bool is_usable;
};

/// Fills in `server` for this URL. On a failure, sets `server->problem`. A server with a problem must not be used.
void cs_fetch_server_find(struct cs_fetch_server *server, const char *url);
