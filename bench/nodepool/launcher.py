"""Nodepool's launcher as it comes, but for the quota of its simulated cloud, which is 20 machines.

Usage: python launcher.py CONFIG
"""
import logging
import sys

import nodepool.launcher
from nodepool.driver.fake.adapter import FakeOpenStackCloud

FakeOpenStackCloud._get_quota = staticmethod(lambda: (10**6, 10**6, 10**9))
logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
pool = nodepool.launcher.NodePool(None, sys.argv[1])
pool.start()
print("ready", flush=True)
for _ in sys.stdin:
    pass
