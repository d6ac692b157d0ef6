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


async def request(port, path):
    """Sends one request on a connection of its own. Returns the status, or the name of what went wrong."""
    writer = None
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        return (await exchange(reader, writer, path, False))[0]
    except ConnectionRefusedError:
        return "refused"
    except (ConnectionError, asyncio.IncompleteReadError):
        return "reset"
    finally:
        if writer is not None:
            writer.close()


class Load:
    """Connections that each send a request after the other until `stop` is called."""

    def __init__(self, port, connections, path="/io", keeps=True, pause=0.0):
        self.seen = collections.Counter()
        self.port, self.path, self.keeps, self.pause = port, path, keeps, pause
        self.is_stopped = False
        self.tasks = [asyncio.create_task(self.run()) for _ in range(connections)]

    async def run(self):
        stream = None
        while not self.is_stopped:
            try:
                if stream is None:
                    stream = await asyncio.open_connection("127.0.0.1", self.port)
                status, closes = await exchange(*stream, self.path, self.keeps)
            except ConnectionRefusedError:
                status, closes = "refused", True
            except (ConnectionError, asyncio.IncompleteReadError):
                status, closes = "reset", True
            self.seen[status] += 1
            if closes and stream is not None:
                stream[1].close()
                stream = None
            if status == "refused":
                # Without this pause, the client would try to connect ten thousand times a second after the server's
                # end.
                await asyncio.sleep(0.01)
            elif self.pause > 0:
                await asyncio.sleep(random.random() * 2 * self.pause)
        if stream is not None:
            stream[1].close()

    async def stop(self):
        self.is_stopped = True
        await asyncio.gather(*self.tasks)
        return self.seen
