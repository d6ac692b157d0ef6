// The options that all transfers have in common.
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

/// Sets the URL, the timeout and the safe options: HTTP only, no redirects, no alarms. Returns false if libcurl does
/// not support an option. The transfer must not be made in this case, because libcurl would ignore the option.
bool cs_curl_set_common(CURL *curl, const char *url, uint32_t timeout_ms);
