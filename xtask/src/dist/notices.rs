//! The licences of everything in the program, word for word, as most of them require. Equal ones
//! are printed once.

use std::collections::BTreeMap;

use super::linked::LinkedPackage;

/// The name of the file.
pub(crate) const FILE: &str = "LICENSES-OF-OTHERS";
const LINE: &str = "------------------------------------------------------------------------";

/// The file for a program with these packages.
pub(crate) fn text(packages: &[LinkedPackage]) -> String {
    let mut by_terms: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for package in packages {
        for terms in &package.terms {
            let name = format!("{} {}", package.name, package.version);
            by_terms.entry(terms.trim()).or_default().push(name);
        }
    }
    let mut parts: Vec<_> = by_terms.into_iter().map(|(terms, names)| (names, terms)).collect();
    parts.sort();
    let heading = "Muster contains packages of others. Their licences:\n".to_owned();
    parts.into_iter().fold(heading, |text, (names, terms)| {
        format!("{text}\n{LINE}\n{}\n{LINE}\n\n{terms}\n", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::linked::Registry;

    #[test]
    fn equal_terms_are_printed_once_for_all_their_packages() {
        let package = |name: &str, terms: &str| LinkedPackage {
            registry: Registry::Cargo,
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: None,
            terms: vec![terms.to_owned()],
        };
        let text = text(&[package("a", "as is\n"), package("b", "own"), package("c", "as is")]);
        assert_eq!(text.matches("as is").count(), 1, "{text}");
        assert!(text.contains("\na 1.0.0, c 1.0.0\n") && text.contains("\nb 1.0.0\n"), "{text}");
    }
}
