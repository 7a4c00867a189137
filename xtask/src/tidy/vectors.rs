//! Contract vectors: JSON that parses, and one for every operation of the reference page.

use serde_json::Value;

use super::{Finding, source::Source, tree::Tree};

/// The generated page with one heading per operation.
const REFERENCE: &str = "docs/reference/tools.md";

/// Where the vectors are.
const VECTORS: &str = "tests/contracts/";

/// Every JSON file is JSON.
pub(crate) fn valid_json(tree: &Tree) -> Vec<Finding> {
    let files = tree.files.iter().filter(|file| file.path.ends_with(".json"));
    let parse = |file: &Source| {
        let error = serde_json::from_str::<Value>(&file.text).err()?;
        Some(Finding::new(&file.path, error.to_string()))
    };
    files.filter_map(parse).collect()
}

/// No operation without a contract vector.
pub(crate) fn every_operation(tree: &Tree) -> Vec<Finding> {
    let page = tree.file(REFERENCE).map_or("", |file| file.text.as_str());
    let vectors: Vec<&Source> =
        tree.files.iter().filter(|file| file.path.starts_with(VECTORS)).collect();
    let is_called = |operation: &str| {
        let name = format!("\"{operation}\"");
        vectors.iter().any(|vector| vector.text.contains(&name))
    };
    let operations = page.lines().filter_map(|line| line.strip_prefix("## "));
    operations
        .filter(|operation| !is_called(operation))
        .map(|operation| Finding::new(VECTORS, format!("no vector calls {operation}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        let files = files.iter().map(|(path, text)| Source::new(*path, *text)).collect();
        Tree { files, ..Tree::default() }
    }

    #[test]
    fn broken_json_is_found() {
        assert!(valid_json(&tree(&[("tests/contracts/a.json", "{\"a\": 1}")])).is_empty());
        assert_eq!(valid_json(&tree(&[("tests/contracts/a.json", "{\"a\": 1,}")])).len(), 1);
    }

    #[test]
    fn an_operation_without_a_vector_is_found() {
        let page = (REFERENCE, "# Operations\n\n## tasks_create\n\n## tasks_note\n");
        let both = ("tests/contracts/a.json", "[\"tasks_create\", \"tasks_note\"]");
        assert!(every_operation(&tree(&[page, both])).is_empty());
        let one = ("tests/contracts/a.json", "[\"tasks_create\", \"tasks_notes\"]");
        assert_eq!(every_operation(&tree(&[page, one])).len(), 1);
    }
}
