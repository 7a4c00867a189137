//! Which programs nodes can be: all families at once, each asked by itself.

use muster_core::run::node::{DEFAULT_PROFILE, Provider};
use serde::Serialize;

use super::{
    provider::{Probe, adapter},
    settings::RunsSettings,
};

/// A family of programs, as it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Surveyed {
    /// Its name.
    pub name: Provider,
    /// Its profiles.
    pub profiles: Vec<String>,
    /// What became of looking for it.
    #[serde(flatten)]
    pub probe: Probe,
}

/// Looks for all families of programs, at once. Asks no model.
pub async fn survey(settings: &RunsSettings) -> Vec<Surveyed> {
    let mut looking = Vec::new();
    for provider in Provider::ALL.iter().copied() {
        let of_family = settings.profiles.keys().filter(|(of, _)| *of == provider);
        let profiles: Vec<String> = of_family.map(|(_, name)| name.clone()).collect();
        let first = profiles.iter().find(|name| *name == DEFAULT_PROFILE).or(profiles.first());
        let profile = first.and_then(|name| settings.profile(provider, name)).cloned();
        let probing = tokio::spawn(async move {
            match profile {
                Some(profile) => adapter(provider, &profile).probe().await,
                None => Probe::absent("no profile of this provider is configured".to_owned()),
            }
        });
        looking.push((provider, profiles, probing));
    }
    let mut found = Vec::new();
    for (name, profiles, probing) in looking {
        let probe = probing.await.unwrap_or_else(|error| Probe::absent(error.to_string()));
        found.push(Surveyed { name, profiles, probe });
    }
    found
}
