//! Names: meaningless words, types that share a name, `mod.rs`, and the line each file opens with.

use std::collections::BTreeMap;

use super::{
    Finding,
    sizes::{Measure, against_ratchet},
    source::{Item, Source},
    tree::Tree,
};

/// Words that fit any type and so describe none.
const EMPTY_WORDS: [&str; 5] = ["manager", "helper", "util", "common", "misc"];

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
    let words = words(name);
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

/// A public type name is unique, so that a search finds it and a sentence can use it without its
/// path.
pub(crate) fn unique_types(tree: &Tree) -> Vec<Finding> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in tree.rust().filter(|file| file.is_product()) {
        let tests = file.test_lines();
        let in_tests =
            |item: &Item<'_>| tests.iter().any(|range| range.contains(item.lines.start()));
        for item in file.items().into_iter().filter(|item| item.is_public_type() && !in_tests(item))
        {
            let place = format!("{}:{}", file.path, item.lines.start());
            places.entry(item.name).or_default().push(place);
        }
    }
    let measures = places.into_iter().map(|(name, places)| Measure {
        subject: name.to_owned(),
        place: places.join(", "),
        value: places.len(),
        limit: 1,
    });
    against_ratchet(tree, "unique-types", "public types of one name", measures)
}

/// A module is `foo.rs` with `foo/` next to it, never `foo/mod.rs`.
pub(crate) fn no_mod_files(tree: &Tree) -> Vec<Finding> {
    let found = tree.rust().filter(|file| file.stem() == "mod");
    found.map(|file| Finding::new(&file.path, "use foo.rs beside foo/".to_owned())).collect()
}

/// Each Rust file opens with what it is for.
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
            "trait Helpers {}",
            "fn common_rows() {}",
            "const MANAGER_NAME: &str = \"\";",
            "mod utils;",
        ] {
            assert_eq!(empty_words(&tree(PATH, bad)).len(), 1, "{bad}");
        }
        assert_eq!(empty_words(&tree("crates/muster-core/src/helpers.rs", "")).len(), 1);
    }

    #[test]
    fn whole_words_count_not_parts() {
        for good in ["struct Utility;", "fn commonly() {}", "fn manage() {}"] {
            assert!(empty_words(&tree(PATH, good)).is_empty(), "{good}");
        }
    }

    #[test]
    fn names_that_others_chose_stay() {
        let of_a_trait = "impl Server for Muster { fn get_common(&self) {} }";
        assert!(empty_words(&tree(PATH, of_a_trait)).is_empty());
        assert_eq!(empty_words(&tree(PATH, "impl Muster { fn get_common(&self) {} }")).len(), 1);
    }

    #[test]
    fn a_public_type_name_is_used_once() {
        let twice = "pub struct Line;\nmod other {\n    pub(crate) enum Line {}\n}";
        assert_eq!(unique_types(&tree(PATH, twice)).len(), 1);
        let private = "pub struct Line;\nmod other {\n    struct Line;\n}";
        assert!(unique_types(&tree(PATH, private)).is_empty());
        let in_tests = "pub struct Line;\n#[cfg(test)]\nmod tests {\n    pub struct Line;\n}";
        assert!(unique_types(&tree(PATH, in_tests)).is_empty());
        assert!(unique_types(&tree("crates/muster-testkit/src/a.rs", twice)).is_empty());
    }

    #[test]
    fn tests_are_named_by_sentences() {
        let inside = "#[cfg(test)]\nmod tests {\n#[test]\nfn the_common_folder_is_private() {}\n}";
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
