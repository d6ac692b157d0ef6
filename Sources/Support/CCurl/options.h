// Common options of all transfers.
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

/// Sets the URL, the time-out and the safe options: HTTP only, no redirects, no alarms. False when libcurl does not
/// know one of them: the transfer would not be the requested one.
bool cs_curl_set_common(CURL *curl, const char *url, uint32_t timeout_ms);
