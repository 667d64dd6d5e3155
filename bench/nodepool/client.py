"""Asks Nodepool for nodes as Zuul does: a request, the wait, the lock, in use, used, and the wait until they are gone.

Usage: python client.py PORT TLS-FOLDER PART [COUNT]
Writes one JSON object a line; "building" when half of the machines are being made.
"""
import json
import sys
import time

import nodepool.zk.zookeeper as zk
from nodepool.zk import ZooKeeperClient

PORT, TLS, PART = sys.argv[1:4]
COUNT = int(sys.argv[4]) if len(sys.argv) > 4 else None
LOOK = 0.01

connection = ZooKeeperClient(f"127.0.0.1:{PORT}", timeout=60.0, tls_cert=f"{TLS}/client.pem", tls_key=f"{TLS}/client.key", tls_ca=f"{TLS}/ca.pem")
connection.connect()
store = zk.ZooKeeper(connection)


def say(**figures):
    print(json.dumps(figures), flush=True)


def until(check, limit=600):
    end = time.monotonic() + limit
    while not check():
        if time.monotonic() > end:
            return False
        time.sleep(LOOK)
    return True


def ask(label):
    request = zk.NodeRequest()
    request.state = zk.REQUESTED
    request.node_types = [label]
    request.requestor = "bench"
    request.created_time = time.time()
    store.storeNodeRequest(request)
    return request


def take(request):
    """What a job does: it locks its node, uses it, and gives it back."""
    current = store.getNodeRequest(request.id)
    if current.state != zk.FULFILLED:
        raise SystemExit(f"request {request.id} is {current.state}")
    for node_id in current.nodes:
        node = store.getNode(node_id)
        store.lockNode(node, timeout=30)
        node.state = zk.IN_USE
        store.storeNode(node)
        node.state = zk.USED
        store.storeNode(node)
        store.unlockNode(node)
    store.deleteNodeRequest(current)


def ended(open_requests):
    """Those that are over, from the cache that follows ZooKeeper; so a look costs next to nothing."""
    states = {request.id: request.state for request in store.nodeRequestIterator(cached=True, cached_ids=True)}
    return [request for request in open_requests if states.get(request.id) in (zk.FULFILLED, zk.FAILED)]


def obtain_all(count, label, limit):
    """Asks for all at once, and gives each back as soon as it is had. When each was had, in seconds."""
    began = time.monotonic()
    waiting = {request.id: request for request in [ask(label) for _ in range(count)]}
    times = []
    while waiting and time.monotonic() - began < limit:
        for request in ended(list(waiting.values())):
            times.append(time.monotonic() - began)
            take(request)
            del waiting[request.id]
        time.sleep(LOOK)
    return began, times


def ready(label):
    return [node for node in store.nodeIterator(cached=True, cached_ids=True) if node.state == zk.READY and label in node.type and not node.allocated_to]


def made():
    """Ids are given once and count up, so the highest says how many machines were asked for."""
    return max([int(each) for each in store.getNodes()], default=-1) + 1


def latencies(count, before):
    took = []
    for _ in range(count):
        before()
        began = time.monotonic()
        request = ask("a")
        until(lambda: ended([request]))
        took.append(time.monotonic() - began)
        take(request)
    took.sort()
    return took[len(took) // 2]


def single():
    say(what="fresh", value=latencies(COUNT or 10, lambda: None))


def warm():
    until(lambda: len(ready("a")) >= 3)
    say(what="ready", value=latencies(COUNT or 10, lambda: until(lambda: len(ready("a")) >= 3)))


def burst():
    began, times = obtain_all(COUNT, "a", 900)
    say(what=f"burst {COUNT}", value=len(times) / max(times), last=max(times), done=len(times))
    until(lambda: not store.getNodes())
    say(what=f"gone {COUNT}", value=COUNT / (time.monotonic() - began))


def queue():
    began, times = obtain_all(COUNT or 100, "a", 240)
    say(what="queue", value=len(times) / (time.monotonic() - began), done=len(times))


def kill():
    requests = [ask("a") for _ in range(50)]
    until(lambda: len(store.getNodes()) >= 25)
    killed = time.monotonic()
    print("building", flush=True)
    waiting = list(requests)
    while waiting and time.monotonic() - killed < 300:
        over = ended(waiting)
        waiting = [request for request in waiting if request not in over]
        time.sleep(LOOK)
    say(what="killed", value=time.monotonic() - killed, done=50 - len(waiting))
    say(what="thrown away", value=made() - 50)


def evict():
    until(lambda: len(ready("a")) >= 5)
    before = {node.id for node in ready("a")}
    request = ask("b")
    until(lambda: ended([request]))
    say(what="evicted", value=len(before - {node.id for node in ready("a")}))


def idle():
    began = time.monotonic()
    until(lambda: len(ready("a")) >= (COUNT or 1000), 900)
    say(what="made ready", value=time.monotonic() - began)
    for line in sys.stdin:
        if line.strip() == "end":
            break


{"single": single, "warm": warm, "burst": burst, "queue": queue, "kill": kill, "evict": evict, "idle": idle}[PART]()
connection.disconnect()
