// The options that all transfers have in common.
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

/// Sets the URL, the timeouts and safe options: only HTTP and HTTPS, no redirects, no signals. Returns false if libcurl
/// does not support an option. The caller must then not make the transfer, because libcurl would ignore the option.
bool cs_curl_set_common(CURL *curl, const char *url, uint32_t timeout_ms);
