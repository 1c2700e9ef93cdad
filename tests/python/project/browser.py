"""A browser without a window: Chromium over the DevTools protocol, through a pair of pipes."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

OPTIONS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",  # a container has no right to make one; the pages are our own
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--hide-scrollbars",
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def program() -> str | None:
    """The path of an installed browser."""
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


class Browser:
    """One page of one browser. `faults` has what went wrong on it since the last `open`."""

    def __init__(self, path: str) -> None:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        from_us, self._to = os.pipe()
        self._from, to_us = os.pipe()
        # The protocol's pipes are descriptors 3 and 4 of the browser; a shell puts them there.
        shell = ["bash", "-c", f'exec "$@" 3<&{from_us} 4>&{to_us}', "bash"]
        self._process = subprocess.Popen(
            [*shell, path, *OPTIONS, f"--user-data-dir={self._profile.name}", "about:blank"],
            pass_fds=(from_us, to_us),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(from_us)
        os.close(to_us)
        self._received = b""
        self._last_id = 0
        self._session: str | None = None
        self._addresses: dict[str, str] = {}
        self._loaded = False
        self.faults: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(30)
        os.close(self._to)
        os.close(self._from)
        self._profile.cleanup()

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, method: str, **parameters: Any) -> Any:
        """A method of the protocol, and its result."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        answers: list[Any] = []

        def answered(received: Any) -> bool:
            if received.get("id") == message["id"]:
                answers.append(received)
            return bool(answers)

        self._read_until(answered, method)
        if "error" in answers[0]:
            raise RuntimeError(f"{method}: {answers[0]['error']['message']}")
        return answers[0]["result"]

    def open(self, address: str, width: int, height: int = 900) -> None:
        """Opens a page, `width` pixels wide, and waits until all that it asked for has come."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        # From an empty page: an address that differs only in its fragment would not be loaded.
        for page in ("about:blank", address):
            self._loaded = False
            self.faults.clear()
            self.call("Page.navigate", url=page)
            if not self._loaded:
                self._read_until(lambda _: self._loaded, page)

    def value(self, script: str) -> Any:
        """What a JavaScript expression is on the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['result'].get('description')}")
        return result["result"].get("value")

    def wait_for(self, script: str, seconds: float = 20) -> Any:
        """The expression's value, as soon as it is true; its last value after `seconds`."""
        end = time.monotonic() + seconds
        while not (value := self.value(script)) and time.monotonic() < end:
            time.sleep(0.05)
        return value

    def picture(self, path: Path) -> None:
        """What the window shows, as a PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def _read_until(self, done: Callable[[Any], bool], what: str, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while True:
            while b"\0" not in self._received:
                ready, _, _ = select.select([self._from], [], [], max(0, end - time.monotonic()))
                read = os.read(self._from, 1 << 20) if ready else b""
                if not read:
                    raise RuntimeError(f"{what}: the browser does not answer")
                self._received += read
            line, _, self._received = self._received.partition(b"\0")
            message = json.loads(line)
            self._note(message.get("method"), message.get("params", {}))
            if done(message):
                return

    def _note(self, event: str | None, of: Any) -> None:
        if event == "Page.loadEventFired":
            self._loaded = True
        elif event == "Network.requestWillBeSent":
            self._addresses[of["requestId"]] = of["request"]["url"]
        elif event == "Network.responseReceived" and of["response"]["status"] >= 400:
            self.faults.append(f"{of['response']['status']} {of['response']['url']}")
        elif event == "Network.loadingFailed" and not of.get("canceled"):
            self.faults.append(f"{of['errorText']} {self._addresses.get(of['requestId'])}")
        elif event == "Log.entryAdded" and of["entry"]["level"] == "error":
            self.faults.append(of["entry"]["text"])
        elif event == "Runtime.exceptionThrown":
            self.faults.append(of["exceptionDetails"]["text"])
        elif event == "Runtime.consoleAPICalled" and of["type"] in ("error", "assert"):
            self.faults.append(" ".join(str(arg.get("value")) for arg in of["args"]))
