"""OpenStack with an application credential. Machines are marked by Nova's metadata. Flavors and images are ids."""
import re
from urllib.parse import urlsplit

from libcloud.compute.base import NodeImage, NodeSize
from libcloud.compute.drivers.openstack import OpenStack_2_Connection, OpenStack_2_ImageConnection, OpenStack_2_NodeDriver, OpenStackNetwork, OpenStackSecurityGroup

import api
from failure import Failure, is_missing

PAGE = 500


LOOPBACK = r"localhost|127\.\d+\.\d+\.\d+|::1"


class Endpoint:
    gateway = None
    insecure = False

    def get_endpoint(self):
        """The service's address in the catalogue; behind a gateway with the gateway's host."""
        address = urlsplit(super().get_endpoint())
        if self.gateway is not None:
            address = address._replace(scheme=self.gateway.scheme, netloc=self.gateway.netloc)
        if address.scheme != "https" and not self.insecure and not re.fullmatch(LOOPBACK, address.hostname or ""):
            raise Failure("Invalid", f"the catalogue has a service at {address.geturl()}: the network can read the credentials there. Set insecure of the account to allow it")
        return address.geturl()


class Connection(Endpoint, OpenStack_2_Connection):
    pass


class ImageConnection(Endpoint, OpenStack_2_ImageConnection):
    pass


class Driver(OpenStack_2_NodeDriver):
    connectionCls = Connection
    image_connectionCls = ImageConnection


class Cloud:
    def __init__(self, fields):
        options = {"ex_force_service_region": fields["region"]} if "region" in fields else {}
        # Libcloud adds the version of Keystone's API itself.
        address = fields["endpoint"].rstrip("/").removesuffix("/v3")
        self.driver = Driver(fields["key"], fields["secret"], ex_force_auth_url=address, ex_force_auth_version="3.x_appcred", timeout=api.TIMEOUT, **options)
        for connection in (self.driver.connection, self.driver.image_connection):
            connection.insecure = fields["insecure"]
            if fields["gateway"]:
                connection.gateway = urlsplit(address)

    def create(self, wanted):
        fields, driver = wanted.fields, self.driver
        return driver.create_node(
            name=wanted.hostname,
            size=NodeSize(wanted.flavor, wanted.flavor, None, None, None, None, driver),
            image=NodeImage(wanted.image, wanted.image, driver),
            ex_metadata=wanted.tags,
            ex_userdata=wanted.user_data,
            ex_keyname=fields.get("keyName"),
            networks=[OpenStackNetwork(name, name, None, driver) for name in fields.get("networks", [])],
            ex_security_groups=[OpenStackSecurityGroup(None, None, name, None, driver) for name in fields.get("securityGroups", [])],
        )

    def get(self, node_id):
        try:
            return self.node_of(self.driver.connection.request(f"/servers/{node_id}").object["server"])
        except Exception as error:
            if is_missing(error):
                return None
            raise

    is_absence = staticmethod(is_missing)

    def list(self, tags):
        """All pages: Libcloud's list_nodes reads the first, and Nova's tags need a newer version than it speaks."""
        nodes, parameters = [], {"limit": PAGE}
        while True:
            answer = self.driver.connection.request("/servers/detail", params=parameters).object
            nodes += [self.node_of(server) for server in answer["servers"]]
            if not any(link["rel"] == "next" for link in answer.get("servers_links", [])):
                return nodes
            parameters = {"limit": PAGE, "marker": nodes[-1].id}

    def node_of(self, server):
        """Libcloud tells public addresses by their numbers. In OpenStack a floating one is public, whatever its number."""
        node = self.driver._to_node(server)
        addresses = [address for network in server["addresses"].values() for address in network]
        node.public_ips = [address["addr"] for address in addresses if address.get("OS-EXT-IPS:type") == "floating"]
        node.private_ips = [address["addr"] for address in addresses if address.get("OS-EXT-IPS:type") != "floating"]
        return node

    def tags_of(self, node):
        return node.extra["metadata"]

    def state_of(self, node):
        if node.extra["task_state"] == "deleting":
            return "deleting"
        return {"running": "running", "stopped": "stopped", "suspended": "stopped", "error": "failed", "terminated": "gone"}.get(node.state, "starting")

    def destroy(self, node):
        self.driver.destroy_node(node)

    def power_of(self, node):
        if node.extra["task_state"] is not None:
            return None
        return {"running": "on", "stopped": "off"}.get(node.state)

    def switch(self, node, power):
        self.driver.start_node(node) if power == "on" else self.driver.stop_node(node)

    def force_off(self, node):
        """Nova itself ends a system that does not shut down."""

    def reset(self, node):
        self.driver.reboot_node(node)

    def is_resetting(self, node):
        return (node.extra["task_state"] or "").startswith("reboot")

    def console_of(self, node):
        return self.driver.ex_get_console_output(node, length=500)["output"]

    def refusal(self, kind, name):
        if kind == "flavor":
            answer = self.driver.connection.request("/flavors").object
            found, has_more = answer["flavors"], bool(answer.get("flavors_links"))
        else:
            found, has_more = self.driver.image_connection.request("/v2/images", params={"id": f'in:"{name}"'}).object["images"], False
        if has_more or any(one["id"] == name for one in found):
            return None
        return f"the project has no {kind} with the id {name}"
