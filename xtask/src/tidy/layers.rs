//! Layers: which crate may depend on which, and where outside crates may be used.
//!
//! ```text
//!   core <- store <- engine <- agents <- api <- mcp <- http <- muster          testkit: tests only
//! ```

use super::{
    Finding,
    tree::{Dependency, Package, Tree},
};

/// What each of our crates may depend on, from the bottom up. A crate without a row is a finding.
const LAYERS: [(&str, &[&str]); 10] = [
    ("muster-core", &[]),
    ("muster-store", &["muster-core"]),
    ("muster-engine", &["muster-core", "muster-store"]),
    ("muster-agents", &["muster-core", "muster-store", "muster-engine"]),
    ("muster-api", &["muster-core", "muster-store", "muster-engine", "muster-agents"]),
    ("muster-mcp", &["muster-core", "muster-api"]),
    ("muster-http", &["muster-core", "muster-api", "muster-mcp"]),
    (
        "muster",
        &[
            "muster-core",
            "muster-store",
            "muster-engine",
            "muster-agents",
            "muster-api",
            "muster-mcp",
            "muster-http",
        ],
    ),
    (
        "muster-testkit",
        &[
            "muster-core",
            "muster-store",
            "muster-engine",
            "muster-agents",
            "muster-api",
            "muster-mcp",
            "muster-http",
        ],
    ),
    ("xtask", &[]),
];

/// Outside crates that the pure core may use: data shapes, hashes and searches, nothing with side
/// effects.
const CORE_MAY_USE: [&str; 6] = ["schemars", "serde", "serde_json", "sha2", "strsim", "uuid"];

/// Outside crates with a fixed place. The first column ends in `*` if it names a family.
const HOMES: [(&str, &[&str]); 14] = [
    ("rusqlite", &["muster-store", "muster-testkit"]),
    ("libsqlite3-sys", &["muster-store", "muster-testkit"]),
    ("tokio-postgres", &["muster-store"]),
    ("tokio-postgres-rustls", &["muster-store"]),
    ("rustls*", &["muster-store", "muster"]),
    ("rmcp", &["muster-mcp", "muster-testkit"]),
    ("axum", &["muster-mcp", "muster-http", "muster-testkit"]),
    ("tower*", &["muster-mcp", "muster-http", "muster-testkit"]),
    ("hyper*", &["muster-http", "muster-testkit"]),
    (
        "tokio",
        &[
            // Only a thread that reads and writes the connections to PostgreSQL.
            "muster-store",
            "muster-engine",
            "muster-agents",
            "muster-mcp",
            "muster-http",
            "muster",
            "muster-testkit",
        ],
    ),
    ("clap", &["muster", "xtask"]),
    ("anyhow", &["muster", "xtask"]),
    ("toml*", &["muster", "muster-agents"]),
    ("tracing-subscriber", &["muster"]),
];

const TESTKIT: &str = "muster-testkit";

/// Dependencies between our crates point downwards; the test kit is for tests.
pub(crate) fn layers(tree: &Tree) -> Vec<Finding> {
    tree.packages.iter().flat_map(package_layers).collect()
}

fn package_layers(package: &Package) -> Vec<Finding> {
    let name = package.name.as_str();
    let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| *layer == name) else {
        return vec![Finding::new(name, "has no row in the table of layers".to_owned())];
    };
    let is_ours = |wanted: &str| LAYERS.iter().any(|(layer, _)| *layer == wanted);
    let dependencies = package.dependencies.iter().filter(|line| is_ours(&line.name));
    dependencies
        .filter(|line| !line.dev && !allowed.contains(&line.name.as_str()))
        .map(|line| match line.name.as_str() {
            TESTKIT => Finding::new(name, format!("{TESTKIT} is a dev-dependency or none")),
            other => Finding::new(name, format!("must not depend on {other}")),
        })
        .collect()
}

/// Outside crates stay in the crate that is about them.
pub(crate) fn homes(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &tree.packages {
        for line in package.dependencies.iter().filter(|line| !line.dev) {
            findings.extend(misplaced(&package.name, line));
        }
    }
    findings
}

fn misplaced(package: &str, line: &Dependency) -> Option<Finding> {
    let dependency = line.name.as_str();
    if package == "muster-core" && !CORE_MAY_USE.contains(&dependency) {
        let what = format!("the core stays pure: {dependency} is not among {CORE_MAY_USE:?}");
        return Some(Finding::new(package, what));
    }
    let names = |pattern: &str| match pattern.strip_suffix('*') {
        Some(family) => dependency.starts_with(family),
        None => dependency == pattern,
    };
    let (_, homes) = HOMES.iter().find(|(pattern, _)| names(pattern))?;
    let what = || format!("{dependency} belongs to {}", homes.join(", "));
    (!homes.contains(&package)).then(|| Finding::new(package, what()))
}

/// No cargo features and no procedural macros of our own.
pub(crate) fn plain_crates(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &tree.packages {
        let features = package.features.iter().map(|feature| format!("cargo feature {feature:?}"));
        let macros = package.targets.iter().filter(|kind| *kind == "proc-macro");
        let macros = macros.map(|_| "a procedural macro".to_owned());
        findings.extend(features.chain(macros).map(|what| Finding::new(&package.name, what)));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[(&str, bool)]) -> Tree {
        let dependencies = dependencies
            .iter()
            .map(|(name, dev)| Dependency { name: (*name).to_owned(), dev: *dev })
            .collect();
        let package = Package { name: name.to_owned(), dependencies, ..Package::default() };
        Tree { packages: vec![package], ..Tree::default() }
    }

    #[test]
    fn dependencies_point_downwards() {
        assert!(layers(&package("muster-api", &[("muster-core", false)])).is_empty());
        assert_eq!(layers(&package("muster-core", &[("muster-store", false)])).len(), 1);
        assert_eq!(layers(&package("muster-mcp", &[("muster-http", false)])).len(), 1);
        assert!(layers(&package("muster-http", &[("muster-mcp", false)])).is_empty());
        assert_eq!(layers(&package("xtask", &[("muster-api", false)])).len(), 1);
    }

    #[test]
    fn the_test_kit_is_for_tests_only() {
        assert!(layers(&package("muster", &[(TESTKIT, true)])).is_empty());
        assert_eq!(layers(&package("muster", &[(TESTKIT, false)])).len(), 1);
    }

    #[test]
    fn an_unknown_crate_needs_a_row() {
        assert_eq!(layers(&package("muster-extra", &[])).len(), 1);
    }

    #[test]
    fn outside_crates_stay_at_home() {
        for (name, dependency) in [
            ("muster-core", "tokio"),
            ("muster-core", "thiserror"),
            ("muster-api", "tokio"),
            ("muster-api", "rusqlite"),
            ("muster-engine", "axum"),
            ("muster-api", "tower-http"),
            ("muster-http", "rmcp"),
            ("muster-store", "anyhow"),
        ] {
            assert_eq!(homes(&package(name, &[(dependency, false)])).len(), 1, "{dependency}");
            assert!(homes(&package(name, &[(dependency, true)])).is_empty(), "{dependency}");
        }
        assert!(homes(&package("muster-store", &[("rusqlite", false)])).is_empty());
        assert!(homes(&package("muster-core", &[("serde", false)])).is_empty());
    }

    #[test]
    fn features_and_procedural_macros_are_refused() {
        let mut tree = package("muster-core", &[]);
        tree.packages[0].features.push("fast".to_owned());
        tree.packages[0].targets.push("proc-macro".to_owned());
        assert_eq!(plain_crates(&tree).len(), 2);
    }
}
