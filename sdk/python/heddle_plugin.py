"""Heddle plugins in Python, with only the standard library.

    from heddle_plugin import Provider, run

    class MyCloud(Provider):
        def create(self, given): ...
        def confirm(self, given): ...
        def delete(self, given): ...

    run(MyCloud)

A worker starts the program for each call, calls one method of a new object, and adds the folder of this file to
PYTHONPATH. docs/reference/plugins/sdks.md describes it, docs/reference/plugins/contract.md what the methods must do.
"""
import json
import logging
import os
import re
import sys
import threading
import traceback

__all__ = ["Automator", "PluginError", "Provider", "not_ready", "refusal", "run"]

# The versions of the protocol that this file speaks.
PROTOCOLS = (1,)

# The optional keys of an error.
ERROR_KEYS = ("retryAfterMs", "exitCode", "remedy", "stdout", "stderr")


class PluginError(Exception):
    """Fails the task. The kind determines the engine's reaction."""

    def __init__(self, kind, message, retry_after_ms=None, exit_code=None, remedy=None, stdout=None, stderr=None, result=None):
        super().__init__(message)
        self.kind = kind
        self.result = result
        more = zip(ERROR_KEYS, (retry_after_ms, exit_code, remedy, stdout, stderr))
        self.more = {name: value for name, value in more if value is not None}

    def answer(self):
        result = {} if self.result is None else {"result": self.result}
        return {"status": 1, "error": {"kind": self.kind, "message": str(self) or self.kind, **self.more}, **result}


def not_ready(message, again_ms):
    """The error of a task that the engine repeats after this delay."""
    return PluginError("NotReady", message, retry_after_ms=again_ms)


def refusal(status, message, retry_after=None, kind=None):
    """The error for an HTTP status, unless the code in the answer says which kind it is. Retry-After in seconds."""
    if kind is None:
        is_transient = status == 429 or status >= 500
        kind = "Auth" if status in (401, 403) else "Retryable" if is_transient else "Invalid"
    is_number = re.fullmatch(r"\d{1,6}", retry_after or "") is not None
    return PluginError(kind, message, retry_after_ms=int(retry_after) * 1000 if is_number else None)


class Plugin:
    """One object serves one call."""

    def __init__(self, task, link):
        self.task = task
        self.log = logging.getLogger(type(self).__name__)
        self.log.setLevel(logging.DEBUG)
        self.request = link.request


class Provider(Plugin):
    """Has create(given), confirm(given) and delete(given), which return the result, and may have list(tags), find(key)
    and other abilities, whose names the descriptor lists."""

    @property
    def fields(self):
        """The account's fields and the user's, with defaults and resolved secrets."""
        return self.task["provider"]["fields"]

    def take_call(self):
        """Waits until the account may be called once more; needs the request calls.take in the descriptor."""
        self.request("calls.take")


class Automator(Plugin):
    """Carries out actions on the node of the task. Without a method of its own an action is carried out by
    carry_out(action, script, data)."""

    def __init__(self, task, link):
        super().__init__(task, link)
        self.shell = Shell(link)

    @property
    def fields(self):
        """The fields of the service's action."""
        return self.task["service"]["action"]["fields"]

    def bootstrap(self, ssh_auth):
        """Prepares a node. Runs any number of times."""

    def carry_out(self, action, script, data):
        raise PluginError("Invalid", f"{type(self).__name__} does not implement {action}")

    def install(self, script, data):
        return self.carry_out("install", script, data)

    def configure(self, script, data):
        return self.carry_out("configure", script, data)

    def init(self, script, data):
        return self.carry_out("init", script, data)

    def start(self, script, data):
        return self.carry_out("start", script, data)

    def stop(self, script, data):
        return self.carry_out("stop", script, data)

    def remove(self, script, data):
        return self.carry_out("remove", script, data)


class Shell:
    """The task's node, by requests to the engine, which has the connection and the login."""

    def __init__(self, link):
        self._link = link

    def run(self, text, **options):
        """Runs a script once, also after a crash: a later attempt of the task gets the outcome of the same run. Returns
        exitCode, stdout, stderr and results."""
        return self._link.request("run", text=text, **options)

    def exec(self, *command, **options):
        """Runs a command. A later attempt runs it again, so it must be safe to repeat."""
        return self._link.request("exec", command=list(command), **options)

    def put_file(self, path, content, **options):
        self._link.request("putFile", path=path, content=content, **options)


class Link:
    """Messages to and from the engine. Standard input and output belong to them: the plugin and its children read
    nothing, and what they print goes to the log."""

    def __init__(self):
        self._input = os.fdopen(os.dup(0), encoding="utf-8")
        self._output = os.fdopen(os.dup(1), "w", encoding="utf-8")
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)
        self._sent = 0
        self._lock = threading.Lock()

    def receive(self):
        line = self._input.readline()
        if not line.strip():
            return {"cancel": "the engine closed the input"}
        message = json.loads(line)
        if not isinstance(message, dict):
            raise ValueError("a message of the engine is not a JSON object")
        return message

    def send(self, line):
        self._output.write(line + "\n")
        self._output.flush()

    def request(self, name, **keys):
        """Sends a request and returns its answer; options such as timeout_ms are sent as timeoutMs."""
        with self._lock:
            self._sent += 1
            given = {_camel(key): value for key, value in keys.items() if value is not None}
            self.send(_json({"id": self._sent, "request": name, **given}))
            answer = self.receive()
            # A request that was interrupted, such as by a signal, left its answer behind.
            while "cancel" not in answer and answer.get("id") != self._sent:
                answer = self.receive()
        if "cancel" in answer:
            raise PluginError("Retryable", f"the call was ended: {answer['cancel']}")
        if "error" in answer:
            raise _received(answer["error"])
        return answer["result"]


def _received(error):
    """The engine's own error, which is passed on with the keys that this file knows."""
    known = {_snake(name): error[name] for name in ERROR_KEYS if name in error}
    return PluginError(error["kind"], error["message"], **known)


def _camel(name):
    return re.sub(r"_(\w)", lambda found: found.group(1).upper(), name)


def _snake(name):
    return re.sub(r"[A-Z]", lambda found: "_" + found.group(0).lower(), name)


def _json(value):
    """A line of JSON. Bytes that Python kept in text as lone surrogates become U+FFFD."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise PluginError("Invalid", f"the value is not JSON: {error}") from None
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class _EngineLog(logging.Handler):
    """Log records as lines that the engine reads."""

    def emit(self, record):
        level = "error" if record.levelno >= 40 else "warn" if record.levelno >= 30 else "info" if record.levelno >= 20 else "debug"
        print(json.dumps({"level": level, "message": self.format(record)}), file=sys.stderr, flush=True)


def run(plugin_class):
    """Serves the call that the engine sends, and ends."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[_EngineLog()])
    link = Link()
    task = link.receive()
    try:
        line = _json(_call(plugin_class, task, link))
    except Exception as error:
        line = _failure(error)
    link.send(line)


def _failure(error):
    if isinstance(error, PluginError):
        try:
            return _json(error.answer())
        except PluginError as invalid:
            error = invalid
    # A defect of the plugin: the engine tries again, and then holds the operation.
    stack = traceback.format_exc()
    cause = {"name": type(error).__name__, "message": str(error), "stack": stack[-8000:]}
    return _json({"status": 1, "error": {"kind": "Internal", "message": str(error) or type(error).__name__, "cause": cause}})


def _call(plugin_class, task, link):
    if task.get("protocol") not in PROTOCOLS:
        raise PluginError("Invalid", f"{plugin_class.__name__} does not speak version {task.get('protocol')} of the protocol")
    call, given = task["call"], task["input"]
    method = None if call.startswith("_") else getattr(plugin_class(task, link), _snake(call), None)
    if method is None:
        raise PluginError("Invalid", f"{plugin_class.__name__} does not implement {call}")
    if call in ("create", "confirm", "delete"):
        result = method(given)
    elif call == "bootstrap":
        result = method(given["sshAuth"])
    elif "script" in given:
        result = method(given["script"], given["data"])
    else:
        return {"status": 0, "result": method(*_arguments(call, given))}
    if result is not None and not isinstance(result, dict):
        raise PluginError("Invalid", f"{call} returned a {type(result).__name__}, which is not a mapping")
    return {"status": 0, "result": result or {}}


def _arguments(call, given):
    if call in ("list", "find"):
        return [given["tags" if call == "list" else "key"]]
    return given["arguments"]
