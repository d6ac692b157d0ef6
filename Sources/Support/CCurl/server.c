#include "server.h"
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADDRESS_LIMIT = 8 };

static bool is_address(const char *host) {
  struct in6_addr address;
  // An IPv6 address in a URL is in brackets, which curl's URL parser does not remove.
  return host[0] == '[' || inet_pton(AF_INET, host, &address) == 1;
}

/// Returns an entry for CURLOPT_RESOLVE, `+HOST:PORT:ADDRESS,…`, or NULL if memory is exhausted.
static char *entry(const char *host, const char *port, const struct addrinfo *list) {
  char *text = NULL;
  size_t length = 0;
  FILE *stream = open_memstream(&text, &length);
  if (!stream) return NULL;
  (void)fprintf(stream, "%s:%s:", host, port);
  int count = 0;
  for (const struct addrinfo *item = list; item && count < ADDRESS_LIMIT; item = item->ai_next) {
    char name[INET6_ADDRSTRLEN + 2];
    if (getnameinfo(item->ai_addr, item->ai_addrlen, name, sizeof name, NULL, 0, NI_NUMERICHOST) != 0) continue;
    (void)fprintf(stream, item->ai_family == AF_INET6 ? "%s[%s]" : "%s%s", count ? "," : "", name);
    count++;
  }
  if (fclose(stream) == 0 && count > 0) return text;
  free(text);
  return NULL;
}

static bool find(struct cs_fetch_server *server, const char *host, const char *port) {
  if (is_address(host)) return true;
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
  struct addrinfo *list = NULL;
  const int code = getaddrinfo(host, port, &hints, &list);
  if (code != 0) {
    (void)snprintf(server->problem.text, sizeof server->problem.text, "cannot find '%s': %s", host, gai_strerror(code));
    return false;
  }
  char *text = entry(host, port, list);
  freeaddrinfo(list);
  if (text) server->addresses = curl_slist_append(NULL, text);
  free(text);
  if (!server->addresses)
    (void)snprintf(server->problem.text, sizeof server->problem.text, "'%s' has no address", host);
  return server->addresses != NULL;
}

void cs_fetch_server_find(struct cs_fetch_server *server, const char *url) {
  *server = (struct cs_fetch_server){.url = url};
  CURLU *parts = curl_url();
  char *scheme = NULL;
  char *host = NULL;
  char *port = NULL;
  if (parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
      curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
      (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0) &&
      curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
      curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK)
    server->is_usable = find(server, host, port);
  else
    (void)snprintf(server->problem.text, sizeof server->problem.text, "not a URL of a server");
  curl_free(scheme);
  curl_free(host);
  curl_free(port);
  curl_url_cleanup(parts);
}
