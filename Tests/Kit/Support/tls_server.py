"""An HTTPS server that accepts each POST, and an HTTP proxy that supports only CONNECT, on separate ports.

Usage: tls_server.py CERTIFICATE KEY REQUESTS [CA]. With CA, clients need a certificate of this authority. Prints the two
ports, "SERVER PROXY". Writes a line for each request to the file REQUESTS: "POST PATH BYTES", with " resumed" if a client
resumed a TLS session, or "CONNECT HOST:PORT AUTHORIZATION". Runs until a signal ends it.
"""

import http.server
import signal
import socket
import ssl
import sys
import threading


class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        resumed = ["resumed"] if getattr(self.connection, "session_reused", False) else []
        print("POST", self.path, len(body), *resumed, file=requests, flush=True)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *arguments):
        pass


class Proxy(Server):
    def do_CONNECT(self):
        print("CONNECT", self.path, self.headers.get("Proxy-Authorization", "-"), file=requests, flush=True)
        host, port = self.path.rsplit(":", 1)
        with socket.create_connection((host, int(port))) as server:
            self.send_response(200)
            self.end_headers()
            back = threading.Thread(target=self.carry, args=(server, self.connection), daemon=True)
            back.start()
            self.carry(self.connection, server)
            back.join()
        self.close_connection = True

    @staticmethod
    def carry(source, target):
        try:
            while piece := source.recv(65536):
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # The other side has closed the connection.


certificate, key, path, *authorities = sys.argv[1:]
requests = open(path, "w")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
for authority in authorities:
    context.load_verify_locations(authority)
    context.verify_mode = ssl.CERT_REQUIRED
# The thread of a connection, and not the accepting thread, performs the TLS handshake. So a failed handshake ends only
# its connection.
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
server.handle_error = lambda *arguments: None
proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
for one in (server, proxy):
    one.daemon_threads = True
    threading.Thread(target=one.serve_forever, daemon=True).start()
print(server.server_address[1], proxy.server_address[1], flush=True)
signal.pause()
