"""Amazon EC2 and what speaks its API. Machines are marked by EC2's tags."""
import xml.etree.ElementTree as ET
from urllib.parse import urlencode

from libcloud.common.types import MalformedResponseError
from libcloud.compute.base import NodeImage, NodeSize
from libcloud.compute.drivers.ec2 import NAMESPACE, EC2Connection, EC2NetworkSubnet, EC2NodeDriver, EC2Response

import api
from failure import Failure, words_of

LIVING = ["pending", "running", "shutting-down", "stopping", "stopped"]


class Response(EC2Response):
    def parse_body(self):
        """Libcloud finds no machines in any other document, such as a page of a proxy: it must not pass for an answer."""
        body = super().parse_body()
        if not getattr(body, "tag", "").endswith("Response"):
            raise MalformedResponseError("The response is not from EC2", body=self.body[:200], driver=self.connection.driver)
        # Services other than Amazon's have other versions in their namespace, and Libcloud would find nothing.
        for element in body.iter():
            element.tag = f"{{{NAMESPACE}}}{local_name(element)}"
        if any(element.tag.endswith("}nextToken") and element.text for element in body):
            raise MalformedResponseError("The list has further pages, which Libcloud does not read", body="", driver=self.connection.driver)
        return body

    def parse_error(self):
        """The reason, wherever it is in the document. It decides together with the status: see failure.py."""
        try:
            document = ET.XML(self.body)
        except ET.ParseError:
            return self.body[:500]
        return ": ".join(element.text or "" for element in document.iter() if local_name(element) in ("Code", "Message"))


def local_name(element):
    return element.tag.rpartition("}")[2]


class Connection(EC2Connection):
    responseCls = Response

    def request(self, action, params=None, **options):
        """By POST: addresses are too short for user data, and logs of proxies keep them."""
        data = urlencode({**(params or {}), "Version": self.version})
        headers = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
        return super().request(action, data=data, headers=headers, method="POST")


class Driver(EC2NodeDriver):
    connectionCls = Connection


class Cloud:
    def __init__(self, fields):
        region = fields["region"]
        known = EC2NodeDriver.list_regions()
        if region not in known:
            raise Failure("Invalid", f"Libcloud knows no region {region} of EC2; it knows {', '.join(known)}")
        driver = Driver(fields["key"], fields["secret"], region=region, signature_version="4")
        self.driver = api.redirect(driver, fields.get("endpoint"))

    def create(self, wanted):
        fields = wanted.fields
        groups, networks = fields.get("securityGroups"), fields.get("networks", [])
        if len(networks) > 1:
            raise Failure("Invalid", "networks has more than one subnet: an instance of EC2 is in one")
        place = {} if networks == [] else {"ex_subnet": EC2NetworkSubnet(networks[0], networks[0], "available")}
        if groups:
            place["ex_security_group_ids" if networks else "ex_security_groups"] = groups
        return self.driver.create_node(
            name=wanted.hostname,
            size=NodeSize(wanted.flavor, wanted.flavor, None, None, None, None, self.driver),
            image=NodeImage(wanted.image, wanted.image, self.driver),
            ex_metadata=wanted.tags,
            ex_userdata=wanted.user_data,
            ex_clienttoken=wanted.token,
            ex_keyname=fields.get("keyName"),
            ex_assign_public_ip=bool(networks) and fields["reachBy"] == "public",
            **place,
        )

    def get(self, node_id):
        try:
            found = self.driver.list_nodes(ex_node_ids=[node_id])
        except Exception as error:
            if self.is_absence(error):
                return None
            raise
        return next((node for node in found if self.state_of(node) != "gone"), None)

    @staticmethod
    def is_absence(error):
        return "InvalidInstanceID.NotFound" in words_of(error)

    def list(self, tags):
        filters = {f"tag:{name}": value for name, value in tags.items()}
        return self.driver.list_nodes(ex_filters={**filters, "instance-state-name": LIVING})

    def tags_of(self, node):
        return {name: value for name, value in node.extra["tags"].items() if name != "Name"}

    def state_of(self, node):
        # Libcloud's own states do not tell machines that stop from those that are deleted.
        return {"pending": "starting", "running": "running", "stopping": "stopped", "stopped": "stopped", "shutting-down": "deleting", "terminated": "gone"}[node.extra["status"]]

    def destroy(self, node):
        self.driver.destroy_node(node)

    def power_of(self, node):
        return {"running": "on", "stopped": "off"}.get(node.extra["status"])

    def switch(self, node, power):
        self.driver.start_node(node) if power == "on" else self.driver.stop_node(node)

    def force_off(self, node):
        """EC2 itself ends a system that does not shut down."""

    def reset(self, node):
        self.driver.reboot_node(node)

    def is_resetting(self, node):
        """EC2 shows an instance that reboots as running."""
        return False

    def console_of(self, node):
        return self.driver.ex_get_console_output(node)["output"]

    def refusal(self, kind, name):
        action, code = {
            "flavor": ({"Action": "DescribeInstanceTypes", "InstanceType.1": name}, "InvalidInstanceType"),
            "image": ({"Action": "DescribeImages", "ImageId.1": name}, "InvalidAMIID"),
        }[kind]
        try:
            self.driver.connection.request("/", params=action)
        except Exception as error:
            said = words_of(error)
            if code in said:
                return f"EC2 refuses the {kind} {name}: {said}"
            # CREATE needs no permission to describe.
            if "UnauthorizedOperation" not in said:
                raise
        return None
