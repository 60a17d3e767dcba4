//! Calls and reflectors of kube-rs: `kubers KUBECONFIG NAMESPACE RESOURCE …`, a resource as VERSION/RESOURCE or
//! GROUP/VERSION/RESOURCE. Each line of the input is answered by a line of JSON: `states` by what the reflectors have, by
//! resource, and `calls` by what typed and dynamic calls in the namespace returned.

use std::{collections::BTreeMap, env, fmt::Debug, future, hash::Hash, io};

use anyhow::{Context, Result};
use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, Config, Resource,
    api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::PartialObjectMeta,
    discovery::Discovery,
    runtime::{WatchStreamExt, reflector, reflector::store::Writer, watcher},
};
use serde_json::{Value, json};

type Versions = Box<dyn Fn() -> BTreeMap<String, String>>;

#[tokio::main]
async fn main() -> Result<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [file, namespace, names @ ..] = args.as_slice() else {
        anyhow::bail!("usage: kubers KUBECONFIG NAMESPACE RESOURCE …");
    };
    let config =
        Config::from_custom_kubeconfig(Kubeconfig::read_from(file)?, &KubeConfigOptions::default())
            .await?;
    let client = Client::try_from(config)?;
    let resources = discover(&client).await?;
    let mut caches = BTreeMap::new();
    for name in names {
        let resource = resources.get(name).context(name.clone())?;
        caches.insert(name, reflect(&client, resource));
    }
    for line in io::stdin().lines() {
        let answer = match line?.as_str() {
            "states" => states(&caches),
            "calls" => json!({
                "typed": typed_calls(&client, namespace).await?,
                "dynamic": dynamic_calls(&client, namespace, &resources).await?,
            }),
            other => anyhow::bail!("unknown: {other}"),
        };
        println!("{answer}");
    }
    Ok(())
}

async fn discover(client: &Client) -> Result<BTreeMap<String, ApiResource>> {
    let discovery = Discovery::new(client.clone()).run().await?;
    let resources = discovery
        .groups()
        .flat_map(|group| group.recommended_resources());
    Ok(resources
        .map(|(resource, _)| {
            (
                format!("{}/{}", resource.api_version, resource.plural),
                resource,
            )
        })
        .collect())
}

/// The resourceVersions in the caches of reflectors, by how they watch.
fn reflect(client: &Client, resource: &ApiResource) -> BTreeMap<&'static str, Versions> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), resource);
    let listed = watcher(api.clone(), watcher::Config::default());
    let paged = watcher(api.clone(), watcher::Config::default().page_size(2));
    let streamed = watcher(api, watcher::Config::default().streaming_lists());
    let partial: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(client.clone(), resource);
    let metadata = watcher(partial, watcher::Config::default());
    BTreeMap::from([
        ("listed", cache(resource, listed)),
        ("paged", cache(resource, paged)),
        ("streamed", cache(resource, streamed)),
        ("metadata", cache(resource, metadata)),
    ])
}

fn cache<K>(
    resource: &ApiResource,
    events: impl Stream<Item = watcher::Result<watcher::Event<K>>> + Send + 'static,
) -> Versions
where
    K: Resource<DynamicType = ApiResource> + Clone + Debug + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    let writer = Writer::new(resource.clone());
    let store = writer.as_reader();
    let reflected = reflector(writer, events.default_backoff());
    tokio::spawn(reflected.for_each(|_| future::ready(())));
    Box::new(move || {
        let objects = store.state();
        objects
            .iter()
            .map(|object| (name_of(object.as_ref()), version_of(object.as_ref())))
            .collect()
    })
}

fn name_of(object: &impl Resource) -> String {
    let meta = object.meta();
    format!(
        "{}/{}",
        meta.namespace.as_deref().unwrap_or(""),
        meta.name.as_deref().unwrap_or("")
    )
}

fn version_of(object: &impl Resource) -> String {
    object.meta().resource_version.clone().unwrap_or_default()
}

fn states(caches: &BTreeMap<&String, BTreeMap<&'static str, Versions>>) -> Value {
    let state_of = |caches: &BTreeMap<&'static str, Versions>| {
        let versions: BTreeMap<_, _> = caches
            .iter()
            .map(|(how, versions)| (*how, versions()))
            .collect();
        json!({ "versions": versions, "unequal": [] })
    };
    caches
        .iter()
        .map(|(name, caches)| ((*name).clone(), state_of(caches)))
        .collect()
}

async fn typed_calls(client: &Client, namespace: &str) -> Result<Value> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let body = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": "typed", "labels": { "app": "kubers" } },
        "data": { "a": "1" },
    });
    let created = maps
        .create(
            &PostParams::default(),
            &serde_json::from_value(body.clone())?,
        )
        .await?;
    let by_kubers = PatchParams::apply("kubers");
    let strategic = maps
        .patch(
            "typed",
            &by_kubers,
            &Patch::Strategic(json!({ "data": { "b": "2" } })),
        )
        .await?;
    let stale = maps
        .replace("typed", &PostParams::default(), &created)
        .await;
    let applied = maps
        .patch("typed", &by_kubers.clone().force(), &Patch::Apply(&body))
        .await?;
    let list = maps
        .list(&ListParams::default().labels("app=kubers"))
        .await?;
    maps.delete("typed", &DeleteParams::background()).await?;
    Ok(json!({
        "strategic": strategic.data,
        "stale": code_of(stale),
        "applied": applied.data,
        "listed": list.items.len(),
        "gone": maps.get_opt("typed").await?.is_none(),
    }))
}

async fn dynamic_calls(
    client: &Client,
    namespace: &str,
    resources: &BTreeMap<String, ApiResource>,
) -> Result<Value> {
    let resource = resources
        .get("clients.example.com/v1/widgets")
        .context("widgets")?;
    let widgets: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, resource);
    let of_size = |size: i64| {
        DynamicObject::new("dynamic", resource).data(json!({ "spec": { "size": size } }))
    };
    let refused = widgets.create(&PostParams::default(), &of_size(0)).await;
    widgets.create(&PostParams::default(), &of_size(1)).await?;
    let by_kubers = PatchParams::apply("kubers");
    let conflict = widgets
        .patch("dynamic", &by_kubers, &Patch::Apply(of_size(2)))
        .await;
    let applied = widgets
        .patch(
            "dynamic",
            &by_kubers.clone().force(),
            &Patch::Apply(of_size(2)),
        )
        .await?;
    let ready = Patch::Merge(json!({ "status": { "ready": true } }));
    let status = widgets
        .patch_status("dynamic", &PatchParams::default(), &ready)
        .await?;
    widgets.delete("dynamic", &DeleteParams::default()).await?;
    Ok(json!({
        "refused": code_of(refused),
        "conflict": code_of(conflict),
        "applied": applied.data["spec"],
        "status": status.data["status"],
        "gone": widgets.get_opt("dynamic").await?.is_none(),
    }))
}

fn code_of<T>(result: kube::Result<T>) -> Value {
    match result {
        Err(kube::Error::Api(status)) => json!([status.code, status.reason]),
        Err(error) => json!(error.to_string()),
        Ok(_) => Value::Null,
    }
}
