//! Rust: cargo test or nextest, and the linters that CI runs.

use serde::Deserialize;
use toml::Table;

use super::{RepositoryFiles, Suggestion, workflow};

const MANIFEST: &str = "Cargo.toml";
const NEXTEST: &str = ".config/nextest.toml";
/// Compiling takes its time.
const MINUTES: u64 = 20;

/// The settings of nextest that matter.
#[derive(Default, Deserialize)]
struct NextestSettings {
    #[serde(default)]
    profile: NextestProfiles,
}

#[derive(Default, Deserialize)]
struct NextestProfiles {
    ci: Option<NextestProfile>,
    default: Option<NextestProfile>,
}

#[derive(Deserialize)]
struct NextestProfile {
    junit: Option<NextestJunit>,
}

#[derive(Deserialize)]
struct NextestJunit {
    path: Option<String>,
}

pub(super) fn suggest(files: &RepositoryFiles) -> Vec<Suggestion> {
    let Some(manifest) = files.text(MANIFEST) else { return Vec::new() };
    let is_workspace =
        toml::from_str::<Table>(manifest).is_ok_and(|table| table.contains_key("workspace"));
    let scope = if is_workspace { " --workspace" } else { "" };
    let nextest = files.text(NEXTEST);
    let tests = match (nextest, workflow::line(files, "cargo nextest run")) {
        (Some(settings), _) => nextest_tests(settings, scope),
        (None, Some(_)) => Suggestion::tests(MANIFEST, format!("cargo nextest run{scope}")),
        (None, None) => Suggestion::tests(MANIFEST, format!("cargo test{scope}")),
    };
    let style = [
        ("clippy", "cargo clippy", "cargo clippy --all-targets -- -D warnings"),
        ("fmt", "cargo fmt", "cargo fmt --all --check"),
    ];
    let style = workflow::style(files, &style).into_iter();
    let mut all: Vec<Suggestion> = std::iter::once(tests).chain(style).collect();
    for suggestion in &mut all {
        suggestion.minutes = MINUTES;
    }
    all
}

/// The profile for CI if there is one: it does not stop at the first failure.
fn nextest_tests(settings: &str, scope: &str) -> Suggestion {
    let NextestSettings { profile } = toml::from_str(settings).unwrap_or_default();
    let (name, flag, chosen) = match (profile.ci, profile.default) {
        (Some(ci), _) => ("ci", " --profile ci", Some(ci)),
        (None, default) => ("default", "", default),
    };
    let path = chosen.and_then(|profile| profile.junit?.path);
    Suggestion {
        report: path.map(|path| format!("target/nextest/{name}/{path}")),
        ..Suggestion::tests(NEXTEST, format!("cargo nextest run{scope}{flag}"))
    }
}
