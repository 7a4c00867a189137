//! Which programs nodes can be: all profiles of all families are probed concurrently, each on its
//! own.

use std::collections::BTreeMap;

use muster_core::run::node::{DEFAULT_PROFILE, Provider};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    provider::{Probe, adapter},
    settings::RunsSettings,
};

/// A family of programs that a node can be, as it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProviderEntry")]
pub struct ProviderFamily {
    /// Its name.
    pub name: Provider,
    /// Named commands of the server's configuration.
    pub profiles: Vec<String>,
    /// What became of looking for the program that its nodes are by default.
    #[serde(flatten)]
    pub probe: Probe,
    /// The same for each profile.
    pub by_profile: BTreeMap<String, Probe>,
}

impl ProviderFamily {
    fn of(name: Provider, by_profile: BTreeMap<String, Probe>) -> Self {
        let first = by_profile.get(DEFAULT_PROFILE).or(by_profile.values().next());
        let nothing = || Probe::absent("no profile of this provider is configured".to_owned());
        let probe = first.cloned().unwrap_or_else(nothing);
        Self { name, profiles: by_profile.keys().cloned().collect(), probe, by_profile }
    }
}

/// Probes all programs that nodes can be, concurrently. Calls no model.
pub async fn survey(settings: &RunsSettings) -> Vec<ProviderFamily> {
    let mut looking = Vec::new();
    for ((provider, name), profile) in settings.profiles.clone() {
        let probing =
            crate::background::spawn(async move { adapter(provider, &profile).probe().await });
        looking.push((provider, name, probing));
    }
    let mut found: BTreeMap<Provider, BTreeMap<String, Probe>> = BTreeMap::new();
    for (provider, name, probing) in looking {
        let probe = probing.await.unwrap_or_else(|error| Probe::absent(error.to_string()));
        found.entry(provider).or_default().insert(name, probe);
    }
    let of = |&name: &Provider| ProviderFamily::of(name, found.remove(&name).unwrap_or_default());
    Provider::ALL.iter().map(of).collect()
}
