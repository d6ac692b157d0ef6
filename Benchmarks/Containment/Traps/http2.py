"""Clients of HTTP/2, over TLS or with gRPC. Each of their connections carries several requests at a time."""

import asyncio
import random
import ssl

import h2.config
import h2.connection
import h2.events
import h2.exceptions

FRAME_HEAD_BYTES = 9
GOAWAY = 7
# Maps statuses of gRPC to statuses of HTTP.
GRPC_STATUSES = {"0": 200, "13": 500}


class Stream:
    """One request: the status of its response, and a future that completes when the request ends."""

    def __init__(self):
        self.status = None
        self.end = asyncio.get_running_loop().create_future()

    def finish(self, outcome):
        if not self.end.done():
            self.end.set_result(outcome)


class Connection:
    """One connection. `exchange` sends a request, and returns its status, or the name of what went wrong."""

    def __init__(self, reader, writer, scheme, is_grpc):
        self.reader, self.writer, self.scheme, self.is_grpc = reader, writer, scheme, is_grpc
        self.streams = {}
        self.is_open = True
        self.protocol = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self.protocol.initiate_connection()
        self.flush()
        self.task = asyncio.create_task(self.read())

    @classmethod
    async def open(cls, port, tls, is_grpc):
        name = "localhost" if tls else None
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls, server_hostname=name)
        return cls(reader, writer, "https" if tls else "http", is_grpc)

    def flush(self):
        self.writer.write(self.protocol.data_to_send())

    async def exchange(self, path):
        number = self.protocol.get_next_available_stream_id()
        stream = self.streams[number] = Stream()
        head = [(":scheme", self.scheme), (":authority", "localhost")]
        if self.is_grpc:
            message = path.encode()
            head += [(":method", "POST"), (":path", "/load.Load/Answer"), ("content-type", "application/grpc"),
                     ("te", "trailers")]
            self.protocol.send_headers(number, head)
            # The prefix of a gRPC message: a zero byte (not compressed), and the length of the message.
            self.protocol.send_data(number, b"\0" + len(message).to_bytes(4, "big") + message, end_stream=True)
        else:
            self.protocol.send_headers(number, head + [(":method", "GET"), (":path", path)], end_stream=True)
        self.flush()
        try:
            return await stream.end
        finally:
            self.streams.pop(number, None)

    async def read(self):
        """Reads frames until the server closes the connection, and then ends the requests that have no response."""
        try:
            while True:
                head = await self.reader.readexactly(FRAME_HEAD_BYTES)
                frame = head + await self.reader.readexactly(int.from_bytes(head[:3], "big"))
                if head[3] == GOAWAY:
                    self.go_away(int.from_bytes(frame[9:13], "big") & 0x7fffffff)
                else:
                    for event in self.protocol.receive_data(frame):
                        self.handle(event)
                    self.flush()
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            outcome = "reset"
        except h2.exceptions.ProtocolError as error:
            outcome = str(error)
        self.is_open = False
        self.writer.close()
        for stream in list(self.streams.values()):
            stream.finish(outcome)

    def go_away(self, last):
        """Handles the frame GOAWAY. h2 would refuse the frames after it, although the server still sends responses."""
        self.is_open = False
        for number, stream in list(self.streams.items()):
            if number > last:
                stream.finish("refused")

    def handle(self, event):
        number = getattr(event, "stream_id", None)
        if isinstance(event, h2.events.DataReceived):
            self.protocol.acknowledge_received_data(event.flow_controlled_length, number)
        stream = self.streams.get(number)
        if stream is None:
            return
        if isinstance(event, h2.events.ResponseReceived) and not self.is_grpc:
            stream.status = int(dict(event.headers)[":status"])
        elif isinstance(event, (h2.events.ResponseReceived, h2.events.TrailersReceived)):
            # The gRPC status is in the trailers, or in the headers of a response without a message.
            status = dict(event.headers).get("grpc-status")
            stream.status = GRPC_STATUSES.get(status, status)
        elif isinstance(event, h2.events.StreamEnded):
            stream.finish("empty" if stream.status is None else stream.status)
        elif isinstance(event, h2.events.StreamReset):
            stream.finish("reset")

    def close(self):
        self.task.cancel()
        self.writer.close()


class Connections:
    """A fixed number of connections, which are opened again when the server has closed them, or after each request."""

    def __init__(self, port, count, keeps=True, certificate=None, is_grpc=False):
        self.port, self.keeps, self.certificate, self.is_grpc = port, keeps, certificate, is_grpc
        self.connections = [None] * count
        self.locks = [asyncio.Lock() for _ in range(count)]
        self.tls = None
        if certificate is not None:
            self.tls = ssl.create_default_context(cafile=certificate)
            self.tls.set_alpn_protocols(["h2"])

    async def exchange(self, index, path):
        """Sends a request on a connection, which other requests may share."""
        index %= len(self.connections)
        try:
            async with self.locks[index]:
                connection = self.connections[index]
                if connection is None or not connection.is_open:
                    connection = await Connection.open(self.port, self.tls, self.is_grpc)
                    self.connections[index] = connection
            outcome = await connection.exchange(path)
            if not self.keeps:
                connection.close()
                self.connections[index] = None
            return outcome
        except ConnectionRefusedError:
            return "refused"
        except (ConnectionError, ssl.SSLError):
            return "reset"

    async def request(self, path):
        """Sends a request on one of the connections, beside their other requests, or on a connection of its own."""
        if not self.keeps:
            return await Connections(self.port, 1, False, self.certificate, self.is_grpc).exchange(0, path)
        return await self.exchange(random.randrange(len(self.connections)), path)

    def close(self):
        for connection in self.connections:
            if connection is not None:
                connection.close()
