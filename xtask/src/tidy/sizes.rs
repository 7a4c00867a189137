//! Sizes: file length, function length, line width; each with the ratchet.
//!
//! The ratchet list names what is over its limit today. A measure above its entry fails, and so
//! does an entry above its measure: the list only goes down.

use std::collections::BTreeMap;

use super::{Finding, source::Source, tree::Tree};

const FILE_LINES_MAX: usize = 400;
const TEST_FILE_LINES_MAX: usize = 800;
const FUNCTION_LINES_MAX: usize = 70;
const LINE_COLUMNS_MAX: usize = 100;

/// Where the ratchet list lives: lines of `rule subject value`, `#` for remarks.
pub(crate) const RATCHET: &str = "xtask/ratchet.txt";

/// A size that has a limit.
pub(super) struct Measure {
    /// What the ratchet list calls it.
    pub(super) subject: String,
    /// Where it is, for people.
    pub(super) place: String,
    pub(super) value: usize,
    pub(super) limit: usize,
}

/// Files end at 400 lines of code; test code at 800.
pub(crate) fn file_length(tree: &Tree) -> Vec<Finding> {
    let measures = tree.rust().flat_map(|file| {
        let lines = file.text.lines().count();
        let tests: usize = file.test_lines().iter().map(|range| range.clone().count()).sum();
        let (code, tests) = if file.is_test() { (0, lines) } else { (lines - tests, tests) };
        [("", code, FILE_LINES_MAX), ("#tests", tests, TEST_FILE_LINES_MAX)].map(
            |(part, value, limit)| Measure {
                subject: format!("{}{part}", file.path),
                place: file.path.clone(),
                value,
                limit,
            },
        )
    });
    against_ratchet(tree, "file-length", "lines", measures)
}

/// Functions end at 70 lines, from `fn` to the closing brace; tests may be longer.
pub(crate) fn function_length(tree: &Tree) -> Vec<Finding> {
    let measures = tree.rust().filter(|file| !file.is_test()).flat_map(functions);
    against_ratchet(tree, "function-length", "lines", measures)
}

fn functions(file: &Source) -> Vec<Measure> {
    let tests = file.test_lines();
    let measure = |item: super::source::Item<'_>| Measure {
        subject: format!("{}::{}", file.path, item.name),
        place: format!("{}:{}", file.path, item.lines.start()),
        value: item.length(),
        limit: FUNCTION_LINES_MAX,
    };
    file.items()
        .into_iter()
        .filter(|item| item.keyword == "fn")
        .filter(|item| !tests.iter().any(|range| range.contains(item.lines.start())))
        .map(measure)
        .collect()
}

/// Lines end at column 100, comments and strings included.
pub(crate) fn line_width(tree: &Tree) -> Vec<Finding> {
    let measures = tree.rust().map(|file| {
        let wide = |line: &str| line.chars().count() > LINE_COLUMNS_MAX;
        let first = file.text.lines().position(wide).map_or(0, |at| at + 1);
        Measure {
            subject: file.path.clone(),
            place: format!("{}:{first}", file.path),
            value: file.text.lines().filter(|line| wide(line)).count(),
            limit: 0,
        }
    });
    against_ratchet(tree, "line-width", "lines over 100 columns", measures)
}

/// Compares measures with their limits and with the list of what is known to be over.
pub(super) fn against_ratchet(
    tree: &Tree,
    rule: &'static str,
    unit: &str,
    measures: impl Iterator<Item = Measure>,
) -> Vec<Finding> {
    let mut known = entries(tree, rule);
    let mut findings = Vec::new();
    for measure in measures {
        let Measure { subject, place, value, limit } = measure;
        let entry = known.remove(&subject);
        let what = match entry {
            None if value > limit => format!("{value} {unit}, the limit is {limit}"),
            Some(_) if value <= limit => {
                format!("within its limit now: remove `{rule} {subject}` from {RATCHET}")
            }
            Some(entry) if value > entry => {
                format!("{value} {unit}, {RATCHET} knows {entry}: it only goes down")
            }
            Some(entry) if value < entry => {
                format!("down to {value} {unit}: lower its entry in {RATCHET}")
            }
            None | Some(_) => continue,
        };
        findings.push(Finding::new(&place, what));
    }
    let gone = |subject| Finding::new(RATCHET, format!("`{rule} {subject}` no longer exists"));
    findings.extend(known.into_keys().map(gone));
    findings
}

fn entries(tree: &Tree, rule: &str) -> BTreeMap<String, usize> {
    let list = tree.file(RATCHET).map_or("", |file| file.text.as_str());
    let entry = |line: &str| {
        let mut words = line.split_whitespace();
        let is_ours = words.next() == Some(rule);
        let subject = words.next().filter(|_| is_ours)?;
        Some((subject.to_owned(), words.next()?.parse().ok()?))
    };
    list.lines().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(path: &str, text: &str, ratchet: &str) -> Tree {
        let files = vec![Source::new(path, text), Source::new(RATCHET, ratchet)];
        Tree { files, ..Tree::default() }
    }

    fn function(lines: usize) -> String {
        format!("fn long() {{\n{}}}\n", "    work();\n".repeat(lines - 2))
    }

    fn texts(findings: &[Finding]) -> Vec<String> {
        findings.iter().map(ToString::to_string).collect()
    }

    const PATH: &str = "crates/muster-core/src/a.rs";

    #[test]
    fn a_function_of_71_lines_is_too_long() {
        assert_eq!(texts(&function_length(&tree(PATH, &function(70), ""))), [""; 0]);
        assert_eq!(
            texts(&function_length(&tree(PATH, &function(71), ""))),
            ["crates/muster-core/src/a.rs:1: 71 lines, the limit is 70"]
        );
    }

    #[test]
    fn test_functions_may_be_long() {
        let inline = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function(90));
        assert!(function_length(&tree(PATH, &inline, "")).is_empty());
        assert!(function_length(&tree("crates/muster/tests/a.rs", &function(90), "")).is_empty());
    }

    #[test]
    fn code_and_tests_of_a_file_are_counted_apart() {
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "\n".repeat(500));
        let good = format!("{}{tests}", "\n".repeat(400));
        assert!(file_length(&tree(PATH, &good, "")).is_empty());
        let bad = format!("{}{tests}", "\n".repeat(401));
        assert_eq!(texts(&file_length(&tree(PATH, &bad, ""))).len(), 1);
        let path = "crates/muster/tests/a.rs";
        assert!(file_length(&tree(path, &"\n".repeat(800), "")).is_empty());
        assert_eq!(file_length(&tree(path, &"\n".repeat(801), "")).len(), 1);
    }

    #[test]
    fn width_counts_characters_in_comments_too() {
        let fits = format!("// {}", "ä".repeat(97));
        assert!(line_width(&tree(PATH, &fits, "")).is_empty());
        assert_eq!(line_width(&tree(PATH, &format!("{fits}ä"), "")).len(), 1);
    }

    #[test]
    fn the_ratchet_only_goes_down() {
        let cases = [
            ("80", 80, ""),
            ("80", 81, "knows 80"),
            ("80", 79, "lower its entry"),
            ("80", 70, "remove `function-length"),
        ];
        for (entry, lines, expected) in cases {
            let ratchet = format!("# known\nfunction-length {PATH}::long {entry}\n");
            let found = texts(&function_length(&tree(PATH, &function(lines), &ratchet)));
            match expected {
                "" => assert!(found.is_empty(), "{found:?}"),
                _ => assert!(found.len() == 1 && found[0].contains(expected), "{found:?}"),
            }
        }
        let stale = tree(PATH, "", "function-length crates/muster-core/src/b.rs::gone 90\n");
        assert!(texts(&function_length(&stale))[0].contains("no longer exists"));
    }
}
