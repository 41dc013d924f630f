# pyright: basic, reportMissingImports=false, reportUndefinedVariable=false
# ruff: noqa: F821
"""What the tests' JupyterHub runs by: pods on the test's API server as KubeSpawner makes them, and no proxy."""

import asyncio
import json
import os
import ssl
import urllib.error
import urllib.request

from jupyterhub.proxy import Proxy
from jupyterhub.spawner import Spawner
from tornado.httpserver import HTTPServer
from tornado.web import Application, RequestHandler

API, TOKEN, NAMESPACE = (os.environ[f"TEST_{each}"] for each in ("API", "TOKEN", "NAMESPACE"))
PORT, NOTEBOOKS = int(os.environ["TEST_PORT"]), int(os.environ["TEST_NOTEBOOKS"])
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
TRUSTED = ssl.create_default_context(cafile=os.environ["TEST_CA"])
SLOW_S = 1.0


def call(method, path, body=None, kind="application/json"):
    """The API server's answer; None where there is no such object."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": kind}
    request = urllib.request.Request(API + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, context=TRUSTED, timeout=10) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        return None


class Notebook(RequestHandler):
    """What answers for every user's server."""

    def get(self, *_):
        self.set_header("X-JupyterHub-Version", "6.1.1")
        self.write("{}")


class Pods(Spawner):
    """As KubeSpawner: a pod a server, with its labels and annotations. Users whose name has `slow` wait."""

    @property
    def pod(self):
        return f"jupyter-{self.user.name}" + (f"--{self.name}" if self.name else "")

    async def start(self):
        if "slow" in self.user.name:
            await asyncio.sleep(SLOW_S)
        told = {"hub.jupyter.org/username": self.user.name, "hub.jupyter.org/servername": self.name}
        labels = {"app": "jupyterhub", "component": "singleuser-server", **told}
        metadata = {"name": self.pod, "labels": labels, "annotations": told}
        container = {"name": "notebook", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
        made = {"metadata": metadata, "spec": {"nodeName": "n1", "containers": [container]}}
        if await self.poll() is not None:  # else it is used again, as it is
            await asyncio.to_thread(call, "POST", PODS, made)
        return "127.0.0.1", NOTEBOOKS

    async def poll(self):
        return None if await asyncio.to_thread(call, "GET", f"{PODS}/{self.pod}") else 0

    async def stop(self, now=False):
        if "slow" in self.user.name:
            await asyncio.sleep(SLOW_S)
        if "stuck" not in self.user.name:
            await asyncio.to_thread(call, "DELETE", f"{PODS}/{self.pod}?gracePeriodSeconds=0")


class NoProxy(Proxy):
    """Nobody comes in by it: the API is asked where the Hub itself listens."""

    should_start = True

    async def start(self):
        self.routes = {}
        HTTPServer(Application([(r"/.*", Notebook)])).listen(NOTEBOOKS, "127.0.0.1")

    def stop(self):
        pass

    async def add_route(self, routespec, target, data):
        self.routes[routespec] = {"routespec": routespec, "target": target, "data": data}

    async def delete_route(self, routespec):
        self.routes.pop(routespec, None)

    async def get_all_routes(self):
        return dict(self.routes)


c = get_config()
c.JupyterHub.spawner_class, c.JupyterHub.proxy_class = Pods, NoProxy
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.hub_bind_url = f"http://127.0.0.1:{PORT}"
c.JupyterHub.db_url = "sqlite:///hub.sqlite"
c.JupyterHub.cookie_secret = b"x" * 32
c.JupyterHub.allow_named_servers = True
c.JupyterHub.tornado_settings = {"slow_spawn_timeout": 0.2, "slow_stop_timeout": 0.2}
c.JupyterHub.services = [
    {"name": name, "api_token": token}
    for name, token in (
        ("quartermaster", os.environ["TEST_OURS"]),
        ("people", os.environ["TEST_PEOPLE"]),
        ("readers", os.environ["TEST_READERS"]),
    )
]
c.JupyterHub.load_roles = [
    {"name": "quartermaster", "scopes": ["servers", "list:users"], "services": ["quartermaster"]},
    {"name": "people", "scopes": ["admin:users", "admin:servers"], "services": ["people"]},
    {"name": "readers", "scopes": ["list:users", "read:servers"], "services": ["readers"]},
]
