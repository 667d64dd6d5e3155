"""Provider libcloud, one program for each call: docs/reference/plugins/programs.md, docs/reference/providers/libcloud.md."""
import importlib
import time
from dataclasses import dataclass

import api
from cloud_init import make_host_key, make_user_data
from engine import Engine
from failure import Failure, failure_of

# Delay before the next check of a machine that boots or is being deleted, in ms.
LOOK_AGAIN_MS = 3_000

# How long a call waits for a machine to be switched, in seconds; below callDeadlineMs.
SWITCH_SECONDS = 15

KEY_TAG = "heddle-key"
# The public half, so that CONFIRM knows it even after the account's secret changed.
HOST_KEY_TAG = "heddle-host-key"


@dataclass
class Wanted:
    """A machine to be created."""

    hostname: str
    flavor: str
    image: str
    tags: dict
    token: str
    user_data: str
    fields: dict


class Provider:
    def __init__(self, engine, cloud, fields):
        self.engine, self.cloud, self.fields = engine, cloud, fields

    def create(self, given):
        fields, tags = self.fields, dict(given["tags"])
        secret = fields.get("hostKeySecret")
        host_key = None if secret is None else make_host_key(secret, given["key"])
        if host_key is not None:
            tags[HOST_KEY_TAG] = host_key[0]
        user_data = make_user_data(given["hostname"], host_key, fields.get("publicKeys", []), fields.get("userData"))
        node = self.cloud.create(Wanted(given["hostname"], given["flavor"], given["image"], tags, given["token"], user_data, fields))
        self.engine.log(f"machine {node.id} is on its way")
        return self.created(node)

    def created(self, node):
        return {"providerid": str(node.id), "ssh-auth": {"user": self.fields["user"]}}

    def confirm(self, given):
        nodes = self.nodes_of(given)
        name = given.get("providerid", f"of key {given['key']}")
        if not nodes:
            raise Failure("NotReady", f"machine {name} is not seen", LOOK_AGAIN_MS)
        node = nodes[0]
        state = self.cloud.state_of(node)
        if state in ("failed", "deleting", "gone"):
            raise Failure("MachineFailed", f"machine {node.id} is {state}. Replace the node.")
        if state != "running":
            raise Failure("NotReady", f"machine {node.id} is {state}", LOOK_AGAIN_MS)
        address = self.address_of(node)
        if address is None:
            raise Failure("NotReady", f"machine {node.id} has no {self.fields['reachBy']} address yet; reachBy of the account names the kind", LOOK_AGAIN_MS)
        login = {"user": self.fields["user"]}
        if "privateKey" in self.fields:
            login["key"] = self.fields["privateKey"]
        result = {"providerid": str(node.id), "ipaddress": address, "ssh-port": self.fields["sshPort"], "ssh-auth": login}
        host_key = self.cloud.tags_of(node).get(HOST_KEY_TAG)
        return result if host_key is None else {**result, "ssh-host-key": host_key}

    def delete(self, given):
        """Succeeds when absence was observed."""
        for node in self.nodes_of(given):
            if self.cloud.state_of(node) != "deleting":
                self.destroy(node)
        left = self.nodes_of(given)
        if left:
            raise Failure("NotReady", f"machine {', '.join(str(node.id) for node in left)} is being deleted", LOOK_AGAIN_MS)
        return {}

    def destroy(self, node):
        try:
            self.cloud.destroy(node)
        except Exception as error:
            # An earlier DELETE has ended in the meantime.
            if not self.cloud.is_absence(error):
                raise

    def list(self, given):
        return [self.described(node) for node in self.listed(given["tags"])]

    def find(self, given):
        return [{**self.described(node), "created": self.created(node)} for node in self.listed({KEY_TAG: given["key"]})]

    def offers(self, wanted):
        """What the API refuses; what cannot be looked up is not refused."""
        refused = {name: self.cloud.refusal(name, wanted[name]) for name in ("flavor", "image")}
        return {"refused": {name: why for name, why in refused.items() if why is not None}}

    def powerStatus(self, given):
        power = self.cloud.power_of(self.machine_of(given))
        return {"power": power} if power is not None else {"power": "unknown", "why": "the machine is being switched"}

    def powerOn(self, given):
        return self.switch(given, "on")

    def powerOff(self, given):
        return self.switch(given, "off")

    def powerReset(self, given):
        node = self.machine_of(given)
        power = self.cloud.power_of(node)
        if power is None and not self.cloud.is_resetting(node):
            return {"answer": "unknown", "why": f"machine {node.id} is being switched, and was not reset"}
        if power == "on":
            self.cloud.reset(node)
        return self.switch(given, "on")

    def consoleOutput(self, given):
        return self.cloud.console_of(self.machine_of(given))

    def switch(self, given, wanted):
        """Commands a machine that is in the other state, and waits. A machine between the states gets no command."""
        node, end, commanded = self.machine_of(given), time.monotonic() + SWITCH_SECONDS, False
        while True:
            power = self.cloud.power_of(node)
            if power == wanted:
                return {"answer": "done"}
            if power is not None and not commanded:
                self.cloud.switch(node, wanted)
                commanded = True
            elif time.monotonic() > end:
                if power is not None and wanted == "off":
                    self.cloud.force_off(node)
                return {"answer": "unknown", "why": f"machine {node.id} is not yet {wanted}"}
            time.sleep(1)
            node = self.machine_of(given)

    def machine_of(self, given):
        nodes = self.nodes_of(given)
        if not nodes:
            raise Failure("Invalid", f"the machine of key {given['key']} does not exist")
        return nodes[0]

    def listed(self, tags):
        """Filters of the APIs are wider than their words, so all tags are compared."""
        found = [node for node in self.cloud.list(tags) if self.cloud.state_of(node) != "gone"]
        return [node for node in found if tags.items() <= self.cloud.tags_of(node).items()]

    def nodes_of(self, given):
        """The machine of an id, or those of the key. An id alone is not enough: the machine must carry the key."""
        if "providerid" not in given:
            return self.listed({KEY_TAG: given["key"]})
        node = self.cloud.get(given["providerid"])
        if node is None:
            return []
        carried = self.cloud.tags_of(node).get(KEY_TAG)
        if carried != given["key"]:
            raise Failure("Invalid", f"machine {node.id} carries the key {carried}, not {given['key']}: it belongs to another node, and is left alone")
        return [node]

    def described(self, node):
        tags = self.cloud.tags_of(node)
        machine = {"providerid": str(node.id), "tags": {name: value for name, value in tags.items() if name != HOST_KEY_TAG}, "state": self.cloud.state_of(node)}
        if KEY_TAG in tags:
            machine["key"] = tags[KEY_TAG]
        if node.created_at is not None:
            machine["createdAt"] = node.created_at.isoformat()
        address = self.address_of(node)
        return machine if address is None else {**machine, "address": address}

    def address_of(self, node):
        addresses = node.public_ips if self.fields["reachBy"] == "public" else node.private_ips
        # IPv4 first; the order of an API's list may change.
        return min(addresses, key=lambda address: (":" in address, address), default=None)


def carry_out(engine):
    task = engine.task
    call, given, fields = task["call"], task["input"], task["provider"]["fields"]
    # Methods other than the basic ones and list and find get their arguments in order.
    given = given["arguments"][0] if "arguments" in given else given
    subject = f" (flavor {given['flavor']}, image {given['image']})" if call == "create" else ""
    api.load(fields.get("venv"))
    requests = api.Requests(engine.take_call)
    try:
        cloud = importlib.import_module(fields["driver"]).Cloud(fields)
        return getattr(Provider(engine, cloud, fields), call)(given)
    except Exception as error:
        raise failure_of(error, requests.answer, f"{fields['driver']}: {call}{subject}") from error


def main():
    engine = Engine()
    try:
        engine.finish({"status": 0, "result": carry_out(engine)})
    except Failure as failure:
        engine.finish({"status": 1, "error": failure.error})


if __name__ == "__main__":
    main()
