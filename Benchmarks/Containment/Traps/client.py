"""A load client on the loopback interface. Counts the statuses and connection errors that a server's clients get."""

import asyncio
import collections
import random


async def exchange(reader, writer, path, keeps):
    """Sends a request and reads its response. Returns the status, or "empty" if the server closes the connection
    without a response, and whether the server closes the connection."""
    connection = "keep-alive" if keeps else "close"
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: {connection}\r\n\r\n".encode())
    await writer.drain()
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return "empty", True
    lines = head.lower().split(b"\r\n")
    status = int(lines[0].split()[1])
    length = next(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:"))
    await reader.readexactly(length)
    return status, not keeps or b"connection: close" in lines


class Connections:
    """Connections of HTTP/1, each with one request at a time. http2.Connections has the same functions."""

    def __init__(self, port, count, keeps=True):
        self.port, self.keeps = port, keeps
        self.streams = [None] * count

    async def exchange(self, index, path):
        """Sends a request on a connection. Returns the status, or the name of what went wrong."""
        try:
            if self.streams[index] is None:
                self.streams[index] = await asyncio.open_connection("127.0.0.1", self.port)
            status, closes = await exchange(*self.streams[index], path, self.keeps)
        except ConnectionRefusedError:
            status, closes = "refused", True
        except (ConnectionError, asyncio.IncompleteReadError):
            status, closes = "reset", True
        if closes and self.streams[index] is not None:
            self.streams[index][1].close()
            self.streams[index] = None
        return status

    async def request(self, path):
        """Sends one request on a separate connection."""
        return await Connections(self.port, 1, keeps=False).exchange(0, path)

    def close(self):
        for stream in self.streams:
            if stream is not None:
                stream[1].close()


class Load:
    """Clients, each of which sends one request after the other until `stop` is called."""

    def __init__(self, connections, count, path="/io", pause=0.0):
        self.seen = collections.Counter()
        self.connections, self.path, self.pause = connections, path, pause
        self.is_stopped = False
        self.tasks = [asyncio.create_task(self.run(index)) for index in range(count)]

    async def run(self, index):
        while not self.is_stopped:
            status = await self.connections.exchange(index, self.path)
            self.seen[status] += 1
            if status == "refused":
                # After the server's end, a client without this pause would try to connect ten thousand times a second.
                await asyncio.sleep(0.01)
            elif self.pause > 0:
                await asyncio.sleep(random.random() * 2 * self.pause)

    async def stop(self):
        self.is_stopped = True
        await asyncio.gather(*self.tasks)
        return self.seen
