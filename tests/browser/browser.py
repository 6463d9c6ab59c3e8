# SPDX-License-Identifier: Apache-2.0
"""Drives Chromium without a window through its debugging pipe: JSON, each message ended by a zero octet. Needs nothing beside Python."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe")


class Browser:
    """One page. Everything that the page complains about is kept in `complaints`, every address that it asks for in `requests`."""

    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="ondeloc-browser.")
        to_child, self.out = os.pipe()
        self.into, from_child = os.pipe()
        # A pipe's end may have number 3 or 4 itself, which the child overwrites: copies with high numbers do not.
        high = [os.dup2(fd, 200 + i) for i, fd in enumerate((to_child, from_child))]
        command = ["chromium", *FLAGS, f"--user-data-dir={self.home}", "about:blank"]
        shell = 'exec 3<&200 4>&201 200<&- 201>&-; exec "$@"'
        places = {"HOME": self.home, "TMPDIR": self.home}  # Chromium leaves files in both
        self.process = subprocess.Popen(["bash", "-c", shell, "browser", *command], pass_fds=high, env={**os.environ, **places},
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for fd in (*high, to_child, from_child):
            os.close(fd)
        self.number, self.buffer, self.session = 0, b"", None
        self.complaints, self.requests, self.loaded = [], [], False
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.call(domain + ".enable")

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.into)
        shutil.rmtree(self.home, ignore_errors=True)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive(120)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self, seconds):
        while b"\0" not in self.buffer:
            if not select.select([self.into], [], [], seconds)[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self.into, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has ended")
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        self.note(message)
        return message

    def note(self, message):
        method, told = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(told["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.complaints.append(told["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def open(self, path, width=1280, height=900, dark=False):
        self.complaints.clear()
        self.requests.clear()
        self.loaded = False
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        end = time.monotonic() + 120
        while not self.loaded and time.monotonic() < end:
            self.receive(120)

    def value(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def key(self, name, code):
        for kind in "rawKeyDown", "keyUp":
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)

    def screenshot(self, whole=True):
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"])

    def print_pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])
