"""Reads the pages of `crash-fleet web`, as a browser does."""

import http.client
import sys
import urllib.parse

import programs


class Reader:
    """Reads the pages of one tenant after the login by the link."""

    def __init__(self, program, tenant, environment):
        self.process, link = programs.start(
            [program, "web", "--tenant", tenant], environment, awaited="http://", stream="stdout")
        self.place = urllib.parse.urlsplit(link.split()[-1])
        self.connection = self.connect()
        self.connection.request("GET", f"{self.place.path}?{self.place.query}")
        response = self.connection.getresponse()
        response.read()
        self.cookie = response.headers["Set-Cookie"].split(";")[0]

    def connect(self):
        return http.client.HTTPConnection(self.place.hostname, self.place.port)

    def get(self, path):
        """Returns the body of a page."""
        self.connection.request("GET", path, headers={"Cookie": self.cookie})
        response = self.connection.getresponse()
        body = response.read()
        if response.status != 200:
            sys.exit(f"pages.py: {path}: {response.status} {body[:400]!r}")
        return body

    def changes(self):
        """Yields whenever the server announces a change to an open page."""
        connection = self.connect()
        connection.request("GET", "/changes", headers={"Cookie": self.cookie})
        response = connection.getresponse()
        if response.status != 200:
            sys.exit(f"pages.py: /changes: {response.status}")
        while line := response.readline():
            if line.startswith(b"data:"):
                yield
