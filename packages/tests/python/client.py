"""Calls of Python's official client: each line of the input names a step, which is answered by a line of JSON."""

import json
import sys

from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError, UnprocessibleEntityError

kubeconfig, namespace = sys.argv[1:]
api = config.new_client_from_config(kubeconfig)
core = client.CoreV1Api(api)


def config_map(name, **data):
    metadata = client.V1ObjectMeta(name=name, labels={"app": "python"})
    return client.V1ConfigMap(metadata=metadata, data=data)


def code_of(error, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except error as refused:
        return [refused.status, refused.reason]
    return None


def typed():
    created = core.create_namespaced_config_map(namespace, config_map("typed", a="1"))
    strategic = core.patch_namespaced_config_map("typed", namespace, {"data": {"b": "2"}})
    json_patch = [{"op": "replace", "path": "/data/a", "value": "3"}]
    patched = core.patch_namespaced_config_map("typed", namespace, json_patch)
    stale = code_of(ApiException, core.replace_namespaced_config_map, "typed", namespace, created)
    patched.data["c"] = "4"
    replaced = core.replace_namespaced_config_map("typed", namespace, patched)
    core.delete_namespaced_config_map("typed", namespace, body=client.V1DeleteOptions(grace_period_seconds=0))
    gone = code_of(ApiException, core.read_namespaced_config_map, "typed", namespace)
    return {
        "created": created.metadata.creation_timestamp.tzname(),
        "strategic": strategic.data,
        "patched": patched.metadata.uid == created.metadata.uid,
        "stale": stale,
        "replaced": replaced.data,
        "gone": gone,
    }


def pages():
    for number in range(5):
        core.create_namespaced_config_map(namespace, config_map(f"page-{number}"))
    names, token = [], None
    while True:
        page = core.list_namespaced_config_map(namespace, label_selector="app=python", limit=2, _continue=token)
        names.append([item.metadata.name for item in page.items])
        token = page.metadata._continue
        if not token:
            break
    core.delete_collection_namespaced_config_map(namespace, label_selector="app=python")
    return {"pages": names, "left": len(core.list_namespaced_config_map(namespace, label_selector="app=python").items)}


def watched():
    start = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, config_map("watched", a="1"))
    core.patch_namespaced_config_map("watched", namespace, {"data": {"a": "2"}})
    core.delete_namespaced_config_map("watched", namespace)
    seen = []
    watcher = watch.Watch()
    for event in watcher.stream(
        core.list_namespaced_config_map, namespace, resource_version=start, label_selector="app=python"
    ):
        seen.append([event["type"], type(event["object"]).__name__, event["object"].data])
        if event["type"] == "DELETED":
            watcher.stop()
    return seen


def dynamic():
    kinds = DynamicClient(api)
    widgets = kinds.resources.get(api_version="clients.example.com/v1", kind="Widget")
    body = {
        "apiVersion": "clients.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "dynamic"},
        "spec": {"size": 1},
    }
    created = widgets.create(body=body, namespace=namespace)
    merged = widgets.patch(
        name="dynamic", namespace=namespace, body={"spec": {"size": 2}}, content_type="application/merge-patch+json"
    )
    invalid = {**body, "metadata": {"name": "invalid"}, "spec": {"size": 0}}
    refused = code_of(UnprocessibleEntityError, widgets.create, body=invalid, namespace=namespace)
    applied_body = {**body, "spec": {"size": 3}}
    conflict = code_of(
        ConflictError, widgets.server_side_apply, body=applied_body, namespace=namespace, field_manager="python"
    )
    applied = widgets.server_side_apply(
        body=applied_body, namespace=namespace, field_manager="python", force_conflicts=True
    )
    ready = {"metadata": {"name": "dynamic"}, "status": {"ready": True}}
    status = widgets.status.patch(
        name="dynamic", namespace=namespace, body=ready, content_type="application/merge-patch+json"
    )
    listed = widgets.get(namespace=namespace)
    widgets.delete(name="dynamic", namespace=namespace)
    seen = []
    watcher = watch.Watch()
    for event in widgets.watch(
        namespace=namespace, resource_version=created.metadata.resourceVersion, watcher=watcher
    ):
        seen.append([event["type"], event["object"].spec.size])
        if event["type"] == "DELETED":
            watcher.stop()
    return {
        "merged": merged.spec.size,
        "refused": refused,
        "conflict": conflict,
        "applied": applied.spec.size,
        "status": status.status.to_dict(),
        "listed": [[item.kind, item.metadata.name] for item in listed.items],
        "seen": seen,
        "gone": code_of(NotFoundError, widgets.get, name="dynamic", namespace=namespace),
    }


steps = {step.__name__: step for step in (typed, pages, watched, dynamic)}
for line in sys.stdin:
    print(json.dumps(steps[line.strip()]()), flush=True)
