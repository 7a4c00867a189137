//! Traces of one machine: absolute paths of a person's folders, private package hosts.

use super::{Finding, source::Source, tree::Tree};

/// Top folders that only exist on someone's own machine.
const PERSONAL_FOLDERS: [&str; 3] = ["root", "Users", "work"];

/// Where a lock file or a tool's settings may fetch packages from.
const PUBLIC_SOURCES: [&str; 3] = [
    "https://github.com/rust-lang/crates.io-index",
    "https://registry.npmjs.org/",
    "https://files.pythonhosted.org/",
];

/// Marks of a line that states where packages come from.
const SOURCE_MARKS: [&str; 7] = [
    "registry+",
    "sparse+",
    "\"resolved\":",
    "index-url",
    "replace-with",
    "npm_config_registry",
    "registry=",
];

/// No file names a folder of the machine it was written on.
pub(crate) fn machine_paths(tree: &Tree) -> Vec<Finding> {
    each_line(tree, |line| {
        let folder = PERSONAL_FOLDERS.into_iter().find(|folder| names_folder(line, folder))?;
        Some(format!("a path below /{folder}/ means nothing on another machine"))
    })
}

fn names_folder(line: &str, folder: &str) -> bool {
    let wanted = format!("/{folder}/");
    line.match_indices(&wanted).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|before| before.is_whitespace() || "\"'`(=:[,<>".contains(before))
    })
}

/// Packages come from the public registries; mirrors are a matter of the machine.
pub(crate) fn package_sources(tree: &Tree) -> Vec<Finding> {
    // Rust files only talk about sources; lock files and settings choose them.
    let settings = tree.files.iter().filter(|file| !file.is_rust() && !file.path.ends_with(".md"));
    lines_of(settings, |line| {
        let chooses = SOURCE_MARKS.iter().any(|mark| line.contains(mark));
        let public = PUBLIC_SOURCES.iter().any(|source| line.contains(source));
        (chooses && !public).then(|| format!("packages from elsewhere: {}", line.trim()))
    })
}

fn each_line(tree: &Tree, judge: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    lines_of(tree.files.iter(), judge)
}

fn lines_of<'a>(
    files: impl Iterator<Item = &'a Source>,
    judge: impl Fn(&str) -> Option<String>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        for (at, line) in file.text.lines().enumerate() {
            let found = judge(line);
            findings
                .extend(found.map(|what| Finding::new(&format!("{}:{}", file.path, at + 1), what)));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(path: &str, text: &str) -> Tree {
        Tree { files: vec![Source::new(path, text)], ..Tree::default() }
    }

    #[test]
    fn personal_paths_are_found() {
        for folder in PERSONAL_FOLDERS {
            let bad = format!("see `/{folder}/muster/x`");
            assert_eq!(machine_paths(&tree("docs/a.md", &bad)).len(), 1, "{bad}");
        }
        for good in ["docs/work/plan", "https://example.org/home/", "at /workspace/acme", "~/x"] {
            assert!(machine_paths(&tree("docs/a.md", good)).is_empty(), "{good}");
        }
    }

    #[test]
    fn private_package_sources_are_found() {
        let public = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
        assert!(package_sources(&tree("Cargo.lock", public)).is_empty());
        for bad in [
            "source = \"sparse+https://mirror.example/index/\"",
            "\"resolved\": \"https://mirror.example/a.tgz\"",
            "replace-with = \"mirror\"",
            "registry=https://mirror.example/",
        ] {
            assert_eq!(package_sources(&tree("config", bad)).len(), 1, "{bad}");
        }
    }
}
