"""Chromium without a window, controlled through the DevTools protocol."""

import base64
import contextlib
import json
import os
import pathlib
import select
import subprocess

PATIENCE_S = 60


class Browser:
    """A Chromium with one page, which reads commands from a pipe and writes to another.

    As root it runs without its sandbox.
    """

    def __init__(self, folder: str):
        (self.input, output), (source, self.output) = os.pipe(), os.pipe()
        # Chromium reads commands from descriptor 3, and writes its answers to descriptor 4.
        command = ("exec chromium --headless=new --remote-debugging-pipe --no-first-run --disable-background-networking "
                   f"--disable-gpu --user-data-dir='{folder}' {'--no-sandbox' if os.getuid() == 0 else ''} "
                   f"3<&{source} 4>&{output}")
        self.process = subprocess.Popen(["bash", "-c", command], pass_fds=[source, output], stdin=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(source)
        os.close(output)
        self.buffer, self.number, self.events, self.session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")

    def message(self) -> dict:
        while b"\0" not in self.buffer:
            if not select.select([self.input], [], [], PATIENCE_S)[0]:
                raise ConnectionError("Chromium does not answer")
            piece = os.read(self.input, 1 << 20)
            if not piece:
                raise ConnectionError("Chromium has ended")
            self.buffer += piece
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def call(self, method: str, **parameters) -> dict:
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while (reply := self.message()).get("id") != self.number:
            self.events.append(reply)
        if "error" in reply:
            raise RuntimeError(f"{method}: {reply['error']['message']}")
        return reply["result"]

    def evaluate(self, script: str):
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"])[:500])
        return result["result"].get("value")

    def open(self, address: str) -> list[dict]:
        """Opens a page, and returns the events until it is loaded."""
        self.events = []
        self.call("Page.navigate", url=address)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message())
        return self.events

    def shape(self, width: int, is_dark: bool):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        scheme = "dark" if is_dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def shot(self, path: pathlib.Path):
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self):
        with contextlib.suppress(ConnectionError, RuntimeError, BrokenPipeError):
            self.session = None
            self.call("Browser.close")
        self.process.wait(PATIENCE_S)
