"""User data for the first boot, and the machine's SSH host key. The same as the other providers make."""
import base64
import hashlib
import hmac
import json
import re
import struct

from failure import Failure

SHORTEST_SECRET = 24
MOST_BYTES = 16_384
KINDS = [
    (r"#cloud-config\b", "text/cloud-config"),
    (r"#!", "text/x-shellscript"),
    (r"#cloud-boothook\b", "text/cloud-boothook"),
    (r"#include\b", "text/x-include-url"),
]


def make_host_key(secret, key):
    """Public and private half, derived from the account's secret and the machine's key: every attempt has the same."""
    if len(secret) < SHORTEST_SECRET:
        raise Failure("Invalid", f"hostKeySecret is too short: it must have at least {SHORTEST_SECRET} random characters, such as the output of: openssl rand -hex 32")
    # HKDF (RFC 5869) with the salt and the info that src/plugins/cloud-init uses.
    pseudo_random_key = hmac.digest(b"heddle host key", secret.encode(), "sha256")
    seed = hmac.digest(pseudo_random_key, key.encode() + b"\x01", "sha256")
    point = public_point(seed)
    blob = field(b"ssh-ed25519") + field(point)
    inner = point[:4] * 2 + field(b"ssh-ed25519") + field(point) + field(seed + point) + field(b"heddle")
    inner += bytes(range(1, 1 + -len(inner) % 8))
    whole = b"openssh-key-v1\0" + field(b"none") * 2 + field(b"") + struct.pack(">I", 1) + field(blob) + field(inner)
    text = base64.b64encode(whole).decode()
    lines = "\n".join(text[at : at + 70] for at in range(0, len(text), 70))
    private = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{lines}\n-----END OPENSSH PRIVATE KEY-----\n"
    return "ssh-ed25519 " + base64.b64encode(blob).decode(), private


def field(content):
    return struct.pack(">I", len(content)) + content


PRIME = 2**255 - 19
CURVE = -121665 * pow(121666, -1, PRIME) % PRIME
BASE = (
    15112221349535400772501151409588531511454012693041857206046113283949847762202,
    46316835694926478169428394003475163141307993866256225615783033603165251855960,
)


def public_point(seed):
    """The public half of an Ed25519 key (RFC 8032): Python's standard library has none."""
    digest = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(digest[:32], "little") & ((1 << 254) - 8) | (1 << 254)
    sum_, addend = (0, 1, 1), (*BASE, 1)
    while scalar > 0:
        if scalar & 1:
            sum_ = add(sum_, addend)
        addend = add(addend, addend)
        scalar >>= 1
    inverse = pow(sum_[2], -1, PRIME)
    x, y = sum_[0] * inverse % PRIME, sum_[1] * inverse % PRIME
    return (y | (x & 1) << 255).to_bytes(32, "little")


def add(one, other):
    """Adds points of the curve in projective coordinates."""
    x1, y1, z1 = one
    x2, y2, z2 = other
    a = z1 * z2 % PRIME
    b = a * a % PRIME
    c, d = x1 * x2 % PRIME, y1 * y2 % PRIME
    e = CURVE * c * d % PRIME
    f, g = b - e, b + e
    x = a * f * ((x1 + y1) * (x2 + y2) - c - d) % PRIME
    return x, a * g * (d + c) % PRIME, f * g % PRIME


def make_user_data(hostname, host_key, public_keys, own):
    """Host key, public keys, and the user's part after ours. Equal parts give equal text."""
    settings = {"hostname": hostname, "preserve_hostname": False}
    if public_keys:
        settings["ssh_authorized_keys"] = public_keys
    if host_key is not None:
        public, private = host_key
        settings["ssh_deletekeys"] = True
        settings["ssh_genkeytypes"] = []
        settings["ssh_keys"] = {"ed25519_private": private, "ed25519_public": f"{public} heddle"}
    # JSON is YAML too.
    ours = "#cloud-config\n" + json.dumps(settings, separators=(",", ":"), ensure_ascii=False) + "\n"
    text = ours if own is None or own.strip() == "" else joined(ours, own)
    size = len(text.encode())
    if size > MOST_BYTES:
        raise Failure("Invalid", f"the user data has {size} bytes including Heddle's part, but the limit is {MOST_BYTES}; move parts of userData into a service's script")
    return text


def joined(ours, own):
    kind = next((kind for first, kind in KINDS if re.match(first, own)), None)
    if kind is None:
        raise Failure("Invalid", "userData must begin with #cloud-config, #!, #cloud-boothook or #include, which cloud-init requires")
    boundary = "heddle-" + hashlib.sha256((ours + own).encode()).hexdigest()[:24]

    # Lists and maps of both parts are joined; where both set the same, ours stays.
    def part(type_, content):
        end = "" if content.endswith("\n") else "\n"
        return f'--{boundary}\nContent-Type: {type_}; charset="utf-8"\nMIME-Version: 1.0\nMerge-Type: list(append)+dict(no_replace,recurse_list)+str()\n\n{content}{end}'

    return f'Content-Type: multipart/mixed; boundary="{boundary}"\nMIME-Version: 1.0\n\n{part("text/cloud-config", ours)}{part(kind, own)}--{boundary}--\n'
