"""The task and the requests to the engine: lines of JSON on standard input and output."""
import json
import sys

from failure import Failure


class Engine:
    def __init__(self):
        # The input stays open for answers, so only the first line is read.
        self.task = json.loads(sys.stdin.readline())
        self._id = 0

    def take_call(self):
        """Returns when the account's API may be called once more."""
        self._id += 1
        self._print({"id": self._id, "request": "calls.take"})
        line = sys.stdin.readline()
        answer = json.loads(line) if line else {"cancel": "the worker ended"}
        if "cancel" in answer:
            raise Failure("Retryable", f"the call was cancelled: {answer['cancel']}")
        if "error" in answer:
            raise Failure(answer["error"]["kind"], answer["error"]["message"])

    def log(self, message):
        self._print({"log": "info", "message": message})

    def finish(self, outcome):
        self._print(outcome)

    @staticmethod
    def _print(document):
        print(json.dumps(document), flush=True)
