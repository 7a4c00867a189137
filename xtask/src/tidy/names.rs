//! Names: words that say nothing, `mod.rs`, and the line each file opens with.

use super::{
    Finding,
    source::{Item, Source},
    tree::Tree,
};

/// Words that stand in the place of a name that was not found yet.
const EMPTY_WORDS: [&str; 13] = [
    "manager", "helper", "util", "common", "misc", "service", "handler", "impl", "data", "info",
    "legacy", "v2", "v3",
];

/// Names that someone else chose, alone or in longer names, each with the reason to keep it.
const EXCEPTIONS: [(&str, &str); 2] = [
    ("data_version", "SQLite's own name for its change counter"),
    ("contract_data", "an argument that the task contract names"),
];

/// Files, types, functions and modules are named for what they are.
pub(crate) fn empty_words(tree: &Tree) -> Vec<Finding> {
    tree.rust().flat_map(|file| file_name(file).into_iter().chain(item_names(file))).collect()
}

fn file_name(file: &Source) -> Option<Finding> {
    let word = empty_word(file.stem())?;
    Some(Finding::new(&file.path, format!("the file name says {word:?}")))
}

fn item_names(file: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let tests = file.test_lines();
    // A test's name is a sentence about behaviour, and may need any word.
    let is_test = |item: &Item<'_>| {
        let inside = || tests.iter().any(|range| range.contains(item.lines.start()));
        item.keyword == "fn" && (file.is_test() || inside())
    };
    for item in file.items().into_iter().filter(|item| !item.named_by_trait && !is_test(item)) {
        if let Some(word) = empty_word(item.name) {
            let place = format!("{}:{}", file.path, item.lines.start());
            let what = format!("`{} {}` says {word:?}", item.keyword, item.name);
            findings.push(Finding::new(&place, what));
        }
    }
    findings
}

fn empty_word(name: &str) -> Option<&'static str> {
    if name.starts_with("new_") {
        return Some("new_");
    }
    let words = EXCEPTIONS
        .iter()
        .fold(words(name).join("_"), |name, (exception, _)| name.replace(exception, ""));
    let words: Vec<&str> = words.split('_').collect();
    let is_in = |empty: &&str| words.iter().any(|word| word.trim_end_matches('s') == *empty);
    EMPTY_WORDS.into_iter().find(is_in)
}

/// `TaskHandler`, `task_handler` and `TASK_HANDLER` are all `task`, `handler`.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut after_small = false;
    for character in name.chars() {
        let starts = character.is_uppercase() && after_small;
        if (starts || !character.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        after_small = character.is_lowercase() || character.is_numeric();
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// A module is `foo.rs` with `foo/` beside it, never `foo/mod.rs`.
pub(crate) fn no_mod_files(tree: &Tree) -> Vec<Finding> {
    let found = tree.rust().filter(|file| file.stem() == "mod");
    found.map(|file| Finding::new(&file.path, "use foo.rs beside foo/".to_owned())).collect()
}

/// Each Rust file says first what it is for.
pub(crate) fn opening_line(tree: &Tree) -> Vec<Finding> {
    let silent = tree.rust().filter(|file| !file.text.trim_start().starts_with("//! "));
    silent.map(|file| Finding::new(&file.path, "does not open with `//!`".to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(path: &str, text: &str) -> Tree {
        Tree { files: vec![Source::new(path, text)], ..Tree::default() }
    }

    const PATH: &str = "crates/muster-core/src/a.rs";

    #[test]
    fn empty_words_are_found_in_every_spelling() {
        for bad in [
            "struct TaskManager;",
            "fn load_data() {}",
            "fn call_impl() {}",
            "trait Handlers {}",
            "const SERVICE_NAME: &str = \"\";",
            "mod utils;",
            "fn new_session() {}",
            "enum WireV2 {}",
        ] {
            assert_eq!(empty_words(&tree(PATH, bad)).len(), 1, "{bad}");
        }
        assert_eq!(empty_words(&tree("crates/muster-core/src/helpers.rs", "")).len(), 1);
    }

    #[test]
    fn whole_words_count_not_parts() {
        for good in ["struct Metadata;", "fn informed() {}", "fn new() {}", "fn database() {}"] {
            assert!(empty_words(&tree(PATH, good)).is_empty(), "{good}");
        }
    }

    #[test]
    fn names_that_others_chose_stay() {
        let of_a_trait = "impl Server for Muster { fn get_info(&self) {} }";
        assert!(empty_words(&tree(PATH, of_a_trait)).is_empty());
        for good in ["fn data_version() {}", "const CONTRACT_DATA_CHARS_MAX: usize = 1;"] {
            assert!(empty_words(&tree(PATH, good)).is_empty(), "{good}");
        }
        assert_eq!(empty_words(&tree(PATH, "impl Muster { fn get_info(&self) {} }")).len(), 1);
    }

    #[test]
    fn tests_are_named_by_sentences() {
        let inside = "#[cfg(test)]\nmod tests {\n#[test]\nfn the_data_folder_is_private() {}\n}";
        assert!(empty_words(&tree(PATH, inside)).is_empty());
        let types = "#[cfg(test)]\nmod tests {\nstruct Helper;\n}";
        assert_eq!(empty_words(&tree(PATH, types)).len(), 1);
    }

    #[test]
    fn mod_files_are_refused() {
        assert_eq!(no_mod_files(&tree("crates/muster-core/src/a/mod.rs", "")).len(), 1);
        assert!(no_mod_files(&tree(PATH, "")).is_empty());
    }

    #[test]
    fn a_file_opens_with_its_purpose() {
        assert!(opening_line(&tree(PATH, "//! What it is for.\n")).is_empty());
        for bad in ["", "use a;\n//! Late.", "// Not documentation."] {
            assert_eq!(opening_line(&tree(PATH, bad)).len(), 1, "{bad:?}");
        }
    }
}
