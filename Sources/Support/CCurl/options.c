#include "options.h"

enum { CONNECT_MS = 10000 };

bool cs_curl_set_common(CURL *curl, const char *url, uint32_t timeout_ms) {
  const long limit_ms = (long)timeout_ms;
  return curl_easy_setopt(curl, CURLOPT_URL, url) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_USERAGENT, "swift-crash-shield") == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, limit_ms) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, limit_ms < CONNECT_MS ? limit_ms : (long)CONNECT_MS) ==
             CURLE_OK;
}
