//! Node and its relatives: scripts of package.json, run by the package manager of the lock file.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{RepositoryFiles, Suggestion};

const MANIFEST: &str = "package.json";
/// Test runners watch for changes unless they think that no terminal is there.
const ENV: &[(&str, &str)] = &[("CI", "true")];
/// What `npm init` writes.
const PLACEHOLDER: &str = "no test specified";
/// Lock files and the package managers that write them.
const LOCKS: [(&str, PackageRunner); 6] = [
    ("pnpm-lock.yaml", PackageRunner::Pnpm),
    ("yarn.lock", PackageRunner::Yarn),
    ("bun.lock", PackageRunner::Bun),
    ("bun.lockb", PackageRunner::Bun),
    ("package-lock.json", PackageRunner::Npm),
    ("npm-shrinkwrap.json", PackageRunner::Npm),
];
/// Scripts that check without testing, and the names of their checks; the first of a name counts.
const STYLE_SCRIPTS: [(&str, &str); 5] = [
    ("lint", "lint"),
    ("typecheck", "types"),
    ("type-check", "types"),
    ("check-types", "types"),
    ("format:check", "format"),
];

#[derive(Clone, Copy)]
enum PackageRunner {
    Npm,
    Pnpm,
    Yarn,
    Bun,
}

impl PackageRunner {
    fn of(files: &RepositoryFiles, manifest: &PackageManifest) -> Self {
        let by_lock = LOCKS.iter().find(|(lock, _)| files.has(lock)).map(|(_, manager)| *manager);
        let named = manifest.package_manager.as_deref().unwrap_or_default();
        by_lock.unwrap_or(match named.split('@').next() {
            Some("pnpm") => Self::Pnpm,
            Some("yarn") => Self::Yarn,
            Some("bun") => Self::Bun,
            Some(_) | None => Self::Npm,
        })
    }

    fn test(self) -> &'static str {
        match self {
            Self::Npm => "npm test",
            Self::Pnpm => "pnpm test",
            Self::Yarn => "yarn test",
            Self::Bun => "bun run test",
        }
    }

    fn script(self, name: &str) -> String {
        match self {
            Self::Npm => format!("npm run {name}"),
            Self::Pnpm => format!("pnpm run {name}"),
            Self::Yarn => format!("yarn run {name}"),
            Self::Bun => format!("bun run {name}"),
        }
    }

    /// A program that the project depends on.
    fn execute(self) -> &'static str {
        match self {
            Self::Npm => "npx --no-install",
            Self::Pnpm => "pnpm exec",
            Self::Yarn => "yarn run",
            Self::Bun => "bunx --no-install",
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PackageManifest {
    #[serde(default)]
    scripts: BTreeMap<String, String>,
    package_manager: Option<String>,
    workspaces: Option<serde_json::Value>,
}

pub(super) fn suggest(files: &RepositoryFiles) -> Vec<Suggestion> {
    let Some(text) = files.text(MANIFEST) else { return Vec::new() };
    let manifest: PackageManifest = serde_json::from_str(text).unwrap_or_default();
    let manager = PackageRunner::of(files, &manifest);
    let own = manifest.scripts.get("test").filter(|script| !script.contains(PLACEHOLDER));
    let tests = match own {
        Some(_) => Some(Suggestion::tests(MANIFEST, manager.test())),
        None => workspace_tests(files, &manifest, manager),
    };
    let mut all: Vec<Suggestion> = tests.into_iter().collect();
    for (script, name) in STYLE_SCRIPTS {
        let is_new = all.iter().all(|known| known.name != name);
        if is_new && manifest.scripts.contains_key(script) {
            all.push(Suggestion::style(name, MANIFEST, manager.script(script)));
        }
    }
    for suggestion in &mut all {
        suggestion.env = ENV;
    }
    all
}

/// The tests of all packages, by the tool that knows them.
fn workspace_tests(
    files: &RepositoryFiles,
    manifest: &PackageManifest,
    manager: PackageRunner,
) -> Option<Suggestion> {
    let tools = [
        ("turbo.json", "turbo run test"),
        ("nx.json", "nx run-many --target=test"),
        ("lerna.json", "lerna run test"),
    ];
    if let Some((file, line)) = tools.into_iter().find(|(file, _)| files.has(file)) {
        return Some(Suggestion::tests(file, format!("{} {line}", manager.execute())));
    }
    if files.has("pnpm-workspace.yaml") {
        return Some(Suggestion::tests("pnpm-workspace.yaml", "pnpm --recursive test"));
    }
    manifest.workspaces.as_ref()?;
    match manager {
        PackageRunner::Npm => {
            Some(Suggestion::tests(MANIFEST, "npm test --workspaces --if-present"))
        }
        PackageRunner::Bun => Some(Suggestion::tests(MANIFEST, "bun run --filter '*' test")),
        // Its commands for workspaces differ between versions.
        PackageRunner::Yarn | PackageRunner::Pnpm => None,
    }
}
