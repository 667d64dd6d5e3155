"""DigitalOcean's droplets, marked by tags. Flavors are slugs of sizes, images slugs or ids."""
import json
import re
from urllib.parse import quote

from libcloud.compute.base import NodeImage, NodeLocation, NodeSize
from libcloud.compute.drivers.digitalocean import DigitalOceanNodeDriver

import api
from failure import Failure, is_missing


class Cloud:
    def __init__(self, fields):
        self.region = fields["region"]
        self.driver = api.redirect(DigitalOceanNodeDriver(fields["key"]), fields.get("endpoint"))

    def create(self, wanted):
        fields, driver = wanted.fields, self.driver
        if fields.get("networks") or fields.get("securityGroups"):
            raise Failure("Invalid", "Libcloud's driver digitalocean takes neither networks nor securityGroups. Remove them from the account")
        image = int(wanted.image) if wanted.image.isdigit() else wanted.image
        return driver.create_node(
            name=wanted.hostname,
            size=NodeSize(wanted.flavor, wanted.flavor, None, None, None, None, driver),
            image=NodeImage(image, wanted.image, driver),
            location=NodeLocation(self.region, self.region, "", driver),
            ex_create_attr={"tags": [encoded(name, value) for name, value in wanted.tags.items()], "ssh_keys": [fields["keyName"]] if "keyName" in fields else []},
            ex_user_data=wanted.user_data,
        )

    def get(self, node_id):
        try:
            return self.driver.ex_get_node_details(node_id)
        except Exception as error:
            if is_missing(error):
                return None
            raise

    is_absence = staticmethod(is_missing)

    def list(self, tags):
        return self.driver.list_nodes()

    def tags_of(self, node):
        """Other tags of the account have no colon, or not this form."""
        pairs = [tag.partition(":") for tag in node.extra["tags"]]
        return {decoded(name): decoded(value) for name, colon, value in pairs if colon}

    def state_of(self, node):
        return {"pending": "starting", "running": "running", "stopped": "stopped", "terminated": "gone"}.get(node.state, "starting")

    def destroy(self, node):
        self.driver.destroy_node(node)

    def power_of(self, node):
        # A droplet is locked while an action is carried out.
        if node.extra.get("locked"):
            return None
        return {"running": "on", "stopped": "off"}.get(node.state)

    def switch(self, node, power):
        self.driver.ex_power_on_node(node) if power == "on" else self.driver.ex_shutdown_node(node)

    def force_off(self, node):
        """Libcloud has no method for this action."""
        self.driver.connection.request(f"/v2/droplets/{node.id}/actions", data=json.dumps({"type": "power_off"}), method="POST")

    def reset(self, node):
        self.driver.ex_hard_reboot(node)

    def is_resetting(self, node):
        """A lock does not tell which action is carried out."""
        return False

    def console_of(self, node):
        """The API shows a console in a browser only."""

    def refusal(self, kind, name):
        if kind == "flavor":
            sizes = [size.id for size in self.driver.list_sizes(NodeLocation(self.region, self.region, "", self.driver))]
            return None if name in sizes else f"region {self.region} has no size {name}; it has {', '.join(sizes)}"
        try:
            self.driver.connection.request(f"/v2/images/{quote(name, safe='')}")
        except Exception as error:
            if is_missing(error):
                return f"DigitalOcean has no image {name}"
            raise
        return None


def encoded(name, value):
    """A tag of DigitalOcean: letters, digits, hyphens, underscores and colons. All else is written as _ and its code."""
    tag = ":".join(re.sub(r"[^A-Za-z0-9-]", lambda found: "".join(f"_{byte:02x}" for byte in found[0].encode()), part) for part in (name, value))
    if len(tag) > 255:
        raise Failure("Invalid", f"tag {name} is too long for DigitalOcean: {len(tag)} characters with its value, and 255 are allowed")
    return tag


def decoded(text):
    raw = re.sub(rb"_([0-9a-f]{2})", lambda found: bytes.fromhex(found[1].decode()), text.encode())
    return raw.decode(errors="replace")
