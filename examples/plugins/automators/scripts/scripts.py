#!/usr/bin/env python3
"""An automator as a program: the task is the first line of standard input, as JSON. The program sends requests to the
engine as lines of JSON on standard output and reads each answer from standard input; its last line is the result.

It needs nothing but Python's standard library. Each call is a process of its own.
"""
import json
import sys

# Where the node records what was carried out.
RECORD = '"$HOME/.scripts"'


class Failure(Exception):
    """Fails the task. The kind determines the engine's reaction; see docs/plugin-contract.md."""

    def __init__(self, kind, message, **more):
        super().__init__(message)
        self.error = {"kind": kind, "message": message, **more}


class Node:
    """The task's node, by requests to the engine, which holds the connection and the credentials."""

    def __init__(self):
        self.sent = 0

    def run(self, script, data):
        """Runs a script once, also after a crash: a later attempt of the task gets the outcome of the same run."""
        return self.ask("run", text=script, stdin=data)

    def execute(self, *words):
        """Runs a command. A later attempt runs it again, so it must be safe to repeat."""
        outcome = self.ask("exec", command=list(words))
        if outcome["exitCode"] != 0:
            raise Failure("Retryable", f"{words[0]} ended with exit code {outcome['exitCode']} on the node")
        return outcome

    def ask(self, request, **keys):
        self.sent += 1
        print(json.dumps({"id": self.sent, "request": request, **keys}), flush=True)
        answer = json.loads(sys.stdin.readline() or '{"cancel": "the engine is gone"}')
        if "cancel" in answer:
            raise Failure("Retryable", f"the call was ended: {answer['cancel']}")
        # The engine's own error is passed on unchanged.
        if "error" in answer:
            raise Failure(**answer["error"])
        return answer["result"]


def bootstrap(node, _given):
    """Prepares a node. Runs any number of times."""
    node.execute("sh", "-c", f"mkdir -p {RECORD}")
    return {}


def carry_out(action):
    def run(node, given):
        outcome = node.run(given["script"], given.get("data") or "")
        if outcome["exitCode"] != 0:
            raise Failure("ScriptFailed", f"the {action} script ended with exit code {outcome['exitCode']}")
        node.execute("sh", "-c", f"echo {action} >>{RECORD}/done")
        return outcome.get("results", {})

    return run


CALLS = {"bootstrap": bootstrap}
CALLS.update({action: carry_out(action) for action in ("install", "configure", "init", "start", "stop", "remove")})


def log(level, message):
    print(json.dumps({"level": level, "message": message}), file=sys.stderr, flush=True)


def main():
    task = json.loads(sys.stdin.readline())
    call = task["call"]
    log("debug", f"carries out {call}")
    try:
        if call not in CALLS:
            raise Failure("Invalid", f"there is no call {call}")
        answer = {"status": 0, "result": CALLS[call](Node(), task["input"])}
    except Failure as failure:
        answer = {"status": 1, "error": failure.error}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
