//! `muster providers`: which agents are installed and logged in, and what each can do.

use std::{collections::BTreeMap, process::ExitCode};

use anyhow::Context as _;
use clap::Args;
use muster_api::runs::{Probe, ProviderFamily, survey};
use muster_core::run::{
    node::DEFAULT_PROFILE,
    provider::{ModifyAbility, ProviderCaps, SandboxAbility},
};
use tokio::runtime;

use crate::{
    config::Settings,
    people::Look,
    run_settings,
    screen::{Screen, Tone, fill},
    storage,
};

const NAME_COLUMNS: usize = 15;

/// Show which agents are installed and what each can do
///
/// Asks the programs themselves, all at once: their version, and whether they are logged in if
/// they report it. No model is called and no server has to run.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster providers
  muster providers --json | jq '.providers[] | select(.available) | .name'")]
pub(crate) struct Providers {
    #[command(flatten)]
    look: Look,
}

/// Looks for the agents.
pub(crate) fn run(settings: &Settings, providers: &Providers) -> anyhow::Result<ExitCode> {
    let runs = run_settings::read(&storage::directory(settings)?)?;
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the event loop")?;
    let found = runtime.block_on(survey(&runs.settings));
    providers.look.print(&BTreeMap::from([("providers", &found)]), |screen| {
        Ok(found.iter().map(|family| all_lines(screen, family)).collect())
    })?;
    Ok(ExitCode::SUCCESS)
}

/// A family with each of its profiles.
fn all_lines(screen: Screen, family: &ProviderFamily) -> String {
    let name = family.name.name();
    if family.by_profile.is_empty() {
        return lines(screen, name, &family.probe);
    }
    let one = |(profile, probe): (&String, &Probe)| match profile.as_str() {
        DEFAULT_PROFILE => lines(screen, name, probe),
        profile => lines(screen, &format!("{name} {profile}"), probe),
    };
    family.by_profile.iter().map(one).collect()
}

fn lines(screen: Screen, name: &str, probe: &Probe) -> String {
    let name = screen.paint(Tone::Strong, &fill(name, NAME_COLUMNS));
    if !probe.available {
        let missing = screen.paint(Tone::Faint, &probe.detail);
        return format!("{name}  {missing}\n");
    }
    let version = probe.version.as_deref().unwrap_or("version unknown");
    let login = match probe.logged_in {
        Some(true) => screen.paint(Tone::Good, ", logged in"),
        Some(false) => screen.paint(Tone::Bad, ", not logged in"),
        None => String::new(),
    };
    let mut text = format!("{name}  {version}{login}\n");
    let indent = " ".repeat(NAME_COLUMNS + 2);
    let abilities = probe.caps.map(abilities).unwrap_or_default();
    for line in [probe.detail.as_str(), &abilities].into_iter().filter(|line| !line.is_empty()) {
        text += &format!("{indent}{}\n", screen.paint(Tone::Faint, line));
    }
    text
}

/// What an agent can do, in words.
fn abilities(caps: ProviderCaps) -> String {
    let modify = match caps.modify {
        ModifyAbility::None => "",
        ModifyAbility::Native => "accepts changed arguments",
        ModifyAbility::Hook => "accepts changed arguments through a hook",
        ModifyAbility::Emulated => "is asked to repeat the call with changed arguments",
    };
    let sandbox = match caps.sandbox {
        SandboxAbility::Full => "has a sandbox",
        SandboxAbility::Flags => "limits itself by its modes",
        SandboxAbility::None => "",
    };
    let when = |can: bool, words: &'static str| if can { words } else { "" };
    let words = [
        when(caps.resume, "resumes"),
        when(caps.interrupt, "can be interrupted"),
        when(caps.approvals, "asks"),
        modify,
        when(caps.mcp, "uses Muster's tools"),
        when(caps.cost, "reports its cost"),
        sandbox,
    ];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
}
