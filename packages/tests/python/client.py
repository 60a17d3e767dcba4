"""Calls and informers of Python's official client: KUBECONFIG NAMESPACE RESOURCE ...

Each line of the input names a step, which is answered by a line of JSON. The step `states` answers what the informers on
the resources have.
"""

import json
import sys

from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError, UnprocessibleEntityError
from kubernetes.informer import SharedInformer

kubeconfig, namespace, *resources = sys.argv[1:]
api = config.new_client_from_config(kubeconfig)
core = client.CoreV1Api(api)
rbac = client.RbacAuthorizationV1Api(api)
admission = client.AdmissionregistrationV1Api(api)
flow_control = client.FlowcontrolApiserverV1Api(api)

lists = {
    "v1/configmaps": core.list_config_map_for_all_namespaces,
    "v1/events": core.list_event_for_all_namespaces,
    "v1/limitranges": core.list_limit_range_for_all_namespaces,
    "v1/namespaces": core.list_namespace,
    "v1/resourcequotas": core.list_resource_quota_for_all_namespaces,
    "v1/secrets": core.list_secret_for_all_namespaces,
    "v1/serviceaccounts": core.list_service_account_for_all_namespaces,
    "admissionregistration.k8s.io/v1/mutatingadmissionpolicies": admission.list_mutating_admission_policy,
    "admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings": admission.list_mutating_admission_policy_binding,
    "admissionregistration.k8s.io/v1/mutatingwebhookconfigurations": admission.list_mutating_webhook_configuration,
    "admissionregistration.k8s.io/v1/validatingadmissionpolicies": admission.list_validating_admission_policy,
    "admissionregistration.k8s.io/v1/validatingadmissionpolicybindings": admission.list_validating_admission_policy_binding,
    "admissionregistration.k8s.io/v1/validatingwebhookconfigurations": admission.list_validating_webhook_configuration,
    "apiextensions.k8s.io/v1/customresourcedefinitions": client.ApiextensionsV1Api(
        api
    ).list_custom_resource_definition,
    "apps/v1/controllerrevisions": client.AppsV1Api(api).list_controller_revision_for_all_namespaces,
    "certificates.k8s.io/v1/certificatesigningrequests": client.CertificatesV1Api(
        api
    ).list_certificate_signing_request,
    "coordination.k8s.io/v1/leases": client.CoordinationV1Api(api).list_lease_for_all_namespaces,
    "flowcontrol.apiserver.k8s.io/v1/flowschemas": flow_control.list_flow_schema,
    "flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations": flow_control.list_priority_level_configuration,
    "rbac.authorization.k8s.io/v1/clusterrolebindings": rbac.list_cluster_role_binding,
    "rbac.authorization.k8s.io/v1/clusterroles": rbac.list_cluster_role,
    "rbac.authorization.k8s.io/v1/rolebindings": rbac.list_role_binding_for_all_namespaces,
    "rbac.authorization.k8s.io/v1/roles": rbac.list_role_for_all_namespaces,
}
informers = {resource: SharedInformer(lists[resource]) for resource in resources}
for informer in informers.values():
    informer.start()


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


def states():
    def versions(objects):
        names = (item.metadata for item in objects)
        return {f"{meta.namespace or ''}/{meta.name}": meta.resource_version for meta in names}

    return {
        resource: {"versions": {"informer": versions(informer.cache.list())}, "unequal": []}
        for resource, informer in informers.items()
    }


steps = {step.__name__: step for step in (typed, pages, watched, dynamic, states)}
for line in sys.stdin:
    print(json.dumps(steps[line.strip()]()), flush=True)
