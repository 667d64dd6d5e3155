#!/usr/bin/env python3
"""A provider as a program: the task comes as JSON on standard input, the result goes as JSON to standard output.

It needs nothing but Python's standard library. Each call is a process of its own, so there is nothing to keep in mind
between calls; what goes wrong is said by raising Failure.
"""
import http.client
import json
import sys
import urllib.error
import urllib.parse
import urllib.request

# Delay before the next check of a machine that boots or is being deleted, in ms.
LOOK_AGAIN_MS = 300


class Failure(Exception):
    """Fails the task. The kind determines the engine's reaction; see docs/plugin-contract.md."""

    def __init__(self, kind, message, retry_after_ms=None):
        super().__init__(message)
        self.error = {"kind": kind, "message": message}
        if retry_after_ms is not None:
            self.error["retryAfterMs"] = retry_after_ms


class MachineService:
    """The service's HTTP API. Every call can be repeated: CREATE carries a token, and no other call creates anything."""

    def __init__(self, fields):
        self.endpoint = fields["endpoint"].rstrip("/")
        self.api_key = fields["apiKey"]

    def call(self, method, path, body=None):
        """Returns the status and the answer; 404 and 410 are answers too."""
        request = urllib.request.Request(self.endpoint + path, method=method)
        request.add_header("authorization", "Bearer " + self.api_key)
        request.add_header("content-type", "application/json")
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(request, data, timeout=10) as response:
                return response.status, json.loads(response.read())
        except urllib.error.HTTPError as refusal:
            return self.refused(method, path, refusal)
        except (OSError, ValueError, http.client.HTTPException) as lost:
            raise Failure("Retryable", f"{method} {path}: the machine service at {self.endpoint} did not answer: {lost}")

    def refused(self, method, path, refusal):
        if refusal.code in (404, 410):
            return refusal.code, {}
        try:
            error = json.loads(refusal.read())["error"]
        except (ValueError, KeyError, TypeError):
            error = {"code": "", "message": "no reason given"}
        kind = {"QuotaExceeded": "Quota", "InsufficientCapacity": "Capacity"}.get(error["code"])
        if kind is None:
            kind = {401: "Auth", 429: "Retryable"}.get(refusal.code, "Retryable" if refusal.code >= 500 else "Invalid")
        after = refusal.headers.get("retry-after")
        raise Failure(kind, f"{method} {path}: {error['message']}", None if after is None else int(after) * 1000)

    def machines(self, query):
        """All machines of a query, page by page."""
        found, page = [], None
        while True:
            parameters = urllib.parse.urlencode(query + [("limit", 200)] + ([] if page is None else [("page", page)]))
            _, answer = self.call("GET", "/v1/machines?" + parameters)
            found += read(answer, "machines")
            page = answer.get("next")
            if page is None:
                return found


def create(service, given):
    body = {name: given[name] for name in ("key", "token", "hostname", "flavor", "image", "tags")}
    _, machine = service.call("POST", "/v1/machines", body)
    if read(machine, "state") == "gone":
        raise Failure("Invalid", f"the machine of key {given['key']} was deleted; a key never gets a second machine")
    log("info", f"machine {read(machine, 'id')} is on its way")
    return created(machine)


def created(machine):
    return {"providerid": read(machine, "id"), "ssh-auth": {"user": read(machine, "user")}}


def confirm(service, given):
    status, machine = service.call("GET", path_of(given["providerid"], given["key"]))
    if status == 410:
        raise Failure("MachineFailed", f"machine {given['providerid']} was deleted at the machine service; replace the node")
    state = "not seen yet" if status == 404 else read(machine, "state")
    if state in ("failed", "deleting"):
        raise Failure("MachineFailed", f"machine {given['providerid']} is {state}; replace the node")
    if state != "running":
        raise Failure("NotReady", f"machine {given['providerid']} is {state}", LOOK_AGAIN_MS)
    return {
        "ipaddress": read(machine, "address"),
        "ssh-port": read(machine, "port"),
        "ssh-auth": {"user": read(machine, "user"), "password": read(machine, "password")},
        "ssh-host-key": read(machine, "hostKey"),
    }


def delete(service, given):
    """Succeeds when absence was observed. Without an id the machine is found by its key."""
    if "providerid" in given:
        ids = [given["providerid"]]
    else:
        ids = [machine["id"] for machine in service.machines([("key", given["key"])])]
    statuses = [service.call("DELETE", path_of(machine, given["key"]))[0] for machine in ids]
    if any(status < 300 for status in statuses):
        raise Failure("NotReady", f"machine {', '.join(ids)} is being deleted", LOOK_AGAIN_MS)
    return {}


def list_machines(service, given):
    return [described(machine) for machine in service.machines([("tag", f"{name}={value}") for name, value in given["tags"].items()])]


def find(service, given):
    """Each with the result of CREATE, so that it can be adopted. Only `describe` returns the login."""
    found = []
    for machine in service.machines([("key", given["key"])]):
        status, details = service.call("GET", path_of(read(machine, "id"), given["key"]))
        found.append({**described(machine), "state": "gone"} if status >= 400 else {**described(machine), "created": created(details)})
    return found


def described(machine):
    state = {"pending": "starting", "booting": "starting"}.get(read(machine, "state"), machine["state"])
    return {"providerid": read(machine, "id"), "key": read(machine, "key"), "tags": read(machine, "tags"), "state": state, "createdAt": read(machine, "createdAt")}


def read(answer, name):
    """A part of an answer. A missing part is an error: it must not look like an absent machine."""
    if isinstance(answer, dict) and name in answer:
        return answer[name]
    raise Failure("Invalid", f"the machine service gave an answer without {name}; is the endpoint its address?")


def path_of(machine, key):
    """The id comes from the node's payload. With the key, the service refuses a machine that has another key."""
    return "/v1/machines/" + urllib.parse.quote(machine, safe="") + "?" + urllib.parse.urlencode({"key": key})


def log(level, message):
    """A line for the task's log."""
    print(json.dumps({"level": level, "message": message}), file=sys.stderr, flush=True)


CALLS = {"create": create, "confirm": confirm, "delete": delete, "list": list_machines, "find": find}


def main():
    task = json.load(sys.stdin)
    try:
        answer = CALLS[task["call"]](MachineService(task["provider"]["fields"]), task["input"])
        print(json.dumps({"status": 0, "result": answer}))
    except Failure as failure:
        print(json.dumps({"status": 1, "error": failure.error}))


if __name__ == "__main__":
    main()
