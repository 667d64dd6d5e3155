#!/usr/bin/env python3
"""A provider in Python with heddle_plugin, which workers add to PYTHONPATH. Each call is a process of its own."""
import http.client
import json
import urllib.error
import urllib.parse
import urllib.request

from heddle_plugin import PluginError, Provider, not_ready, refusal, run

# Delay before the next check of a machine that boots or is being deleted, in ms.
LOOK_AGAIN_MS = 300


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
        except urllib.error.HTTPError as answer:
            return self.refused(method, path, answer)
        except (OSError, ValueError, http.client.HTTPException) as lost:
            raise PluginError("Retryable", f"{method} {path}: the machine service at {self.endpoint} did not answer: {lost}")

    def refused(self, method, path, answer):
        if answer.code in (404, 410):
            return answer.code, {}
        try:
            error = json.loads(answer.read())["error"]
        except (ValueError, KeyError, TypeError):
            error = {"code": "", "message": "no reason given"}
        kind = {"QuotaExceeded": "Quota", "InsufficientCapacity": "Capacity"}.get(error["code"])
        raise refusal(answer.code, f"{method} {path}: {error['message']}", answer.headers.get("retry-after"), kind)

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


class Machines(Provider):
    def __init__(self, task, link):
        super().__init__(task, link)
        self.service = MachineService(self.fields)

    def create(self, given):
        body = {name: given[name] for name in ("key", "token", "hostname", "flavor", "image", "tags")}
        _, machine = self.service.call("POST", "/v1/machines", body)
        if read(machine, "state") == "gone":
            raise PluginError("Invalid", f"the machine of key {given['key']} was deleted; a key never gets a second machine")
        self.log.info(f"machine {read(machine, 'id')} is on its way")
        return created(machine)

    def confirm(self, given):
        """Checks once. Without an id, the machine is found by its key."""
        machine_id = given.get("providerid") or next((read(one, "id") for one in self.service.machines([("key", given["key"])])), "-")
        status, machine = self.service.call("GET", path_of(machine_id, given["key"]))
        state = {404: "not seen yet", 410: "deleted"}.get(status) or read(machine, "state")
        if state in ("deleted", "failed", "deleting"):
            raise PluginError("MachineFailed", f"machine {machine_id} is {state}; replace the node")
        if state != "running":
            raise not_ready(f"machine {machine_id} is {state}", LOOK_AGAIN_MS)
        return {
            "ipaddress": read(machine, "address"),
            "ssh-port": read(machine, "port"),
            "ssh-auth": {"user": read(machine, "user"), "password": read(machine, "password")},
            "ssh-host-key": read(machine, "hostKey"),
        }

    def delete(self, given):
        """Succeeds when absence was observed. Without an id the machine is found by its key."""
        if "providerid" in given:
            ids = [given["providerid"]]
        else:
            ids = [read(machine, "id") for machine in self.service.machines([("key", given["key"])])]
        statuses = [self.service.call("DELETE", path_of(machine, given["key"]))[0] for machine in ids]
        if any(status < 300 for status in statuses):
            raise not_ready(f"machine {', '.join(ids)} is being deleted", LOOK_AGAIN_MS)

    def list(self, tags):
        return [described(machine) for machine in self.service.machines([("tag", f"{name}={value}") for name, value in tags.items()])]

    def find(self, key):
        """Each with the result of CREATE, so that it can be adopted. Only `describe` returns the login."""
        found = []
        for machine in self.service.machines([("key", key)]):
            status, details = self.service.call("GET", path_of(read(machine, "id"), key))
            found.append({**described(machine), "state": "gone"} if status >= 400 else {**described(machine), "created": created(details)})
        return found


def created(machine):
    return {"providerid": read(machine, "id"), "ssh-auth": {"user": read(machine, "user")}}


def described(machine):
    state = {"pending": "starting", "booting": "starting"}.get(read(machine, "state"), machine["state"])
    return {"providerid": read(machine, "id"), "key": read(machine, "key"), "tags": read(machine, "tags"), "state": state, "createdAt": read(machine, "createdAt")}


def read(answer, name):
    """A part of an answer. A missing part is an error: it must not look like an absent machine."""
    if isinstance(answer, dict) and name in answer:
        return answer[name]
    raise PluginError("Invalid", f"the machine service gave an answer without {name}; is the endpoint its address?")


def path_of(machine, key):
    """The id comes from the node's payload. With the key, the service refuses a machine that has another key."""
    return "/v1/machines/" + urllib.parse.quote(machine, safe="") + "?" + urllib.parse.urlencode({"key": key})


if __name__ == "__main__":
    run(Machines)
