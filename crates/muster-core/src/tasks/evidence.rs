//! What counts as evidence: receipts, placeholders, substance (TASKS-EVD).

use serde_json::{Map, Value};

/// Tags of receipts.
const CMD: &str = "CMD:";
const LINK: &str = "LINK:";
/// Item keys without meaning on their own.
const SILENT_KEYS: [&str; 4] = ["kind", "title", "meta", "exit_code"];
/// Starts of a bare address.
const SCHEMES: [&str; 3] = ["http://", "https://", "file://"];

/// What was given as evidence.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Given {
    /// Artifacts.
    pub items: Vec<Map<String, Value>>,
    /// Check lines.
    pub checks: Vec<String>,
    /// Links and file names.
    pub attachments: Vec<String>,
}

/// Evidence without its placeholders.
#[derive(Clone, PartialEq, Debug)]
pub struct Sifted {
    /// What is left.
    pub kept: Given,
    /// Why it proves nothing: it shows a failure, or a file that does not exist (EASE-DONE-4).
    pub refuted: Vec<String>,
    /// Whether there were placeholders.
    pub held_placeholder: bool,
}

impl Given {
    /// Drops placeholders and blanks next to substantive entries; `None` when nothing substantive
    /// is left (TASKS-EVD-1). A substantive item is kept whole, even if a part of it is still a
    /// placeholder.
    pub fn sift(self) -> Option<Sifted> {
        let given = self.len();
        let to_fill = self.items.iter().flat_map(Map::values).any(holds_placeholder);
        let keep = |lines: Vec<String>| -> Vec<String> {
            lines.into_iter().filter(|line| is_substantive(line)).collect()
        };
        let kept = Given {
            items: self.items.into_iter().filter(|item| !item_is_placeholder(item)).collect(),
            checks: keep(self.checks),
            attachments: keep(self.attachments),
        };
        let any_item = kept.items.iter().any(item_is_substantive);
        if !any_item && kept.checks.is_empty() && kept.attachments.is_empty() {
            return None;
        }
        let held_placeholder = to_fill || kept.len() < given;
        Some(Sifted { refuted: kept.failures(), kept, held_placeholder })
    }

    /// Items that show a failed command.
    fn failures(&self) -> Vec<String> {
        let code = |item: &Map<String, Value>| item.get("exit_code").and_then(Value::as_i64);
        let codes = self.items.iter().enumerate().filter_map(|(at, item)| Some((at, code(item)?)));
        let failed = codes.filter(|(_, code)| *code != 0);
        failed.map(|(at, code)| format!("items[{at}] has exit code {code}")).collect()
    }

    /// Places on this machine that receipts and attachments link to.
    pub fn local_links(&self) -> impl Iterator<Item = &str> {
        let links = self.checks.iter().filter_map(|check| check.strip_prefix(LINK));
        let places = links.chain(self.attachments.iter().map(String::as_str)).map(str::trim);
        let is_relative = |place: &&str| place.starts_with("./") || place.starts_with("../");
        places.filter_map(move |place| {
            place.strip_prefix("file://").or_else(|| Some(place).filter(is_relative))
        })
    }

    fn len(&self) -> usize {
        self.items.len() + self.checks.len() + self.attachments.len()
    }

    /// Whether it contains a command (TASKS-EVD-3).
    pub fn has_command(&self) -> bool {
        self.checks.iter().any(|check| check.starts_with(CMD)) || self.items_have("command")
    }

    /// Whether it contains a link.
    pub fn has_link(&self) -> bool {
        self.checks.iter().any(|check| check.starts_with(LINK))
            || self.items_have("url")
            || self.attachments.iter().any(|attachment| starts_with_scheme(attachment))
    }

    fn items_have(&self, key: &str) -> bool {
        self.items.iter().any(|item| item.get(key).is_some_and(value_is_substantive))
    }
}

/// Lines of a proof shorthand as receipts (TASKS-EVD-4).
pub fn receipts(lines: &[String]) -> Vec<String> {
    let lines = lines.iter().flat_map(|text| text.lines()).map(str::trim);
    let receipt = |line: &str| {
        if line.starts_with(CMD) || line.starts_with(LINK) {
            line.to_owned()
        } else if starts_with_scheme(line) && !line.contains(char::is_whitespace) {
            format!("{LINK} {line}")
        } else {
            format!("{CMD} {line}")
        }
    };
    lines.filter(|line| !line.is_empty()).map(receipt).collect()
}

fn starts_with_scheme(line: &str) -> bool {
    SCHEMES.iter().any(|scheme| line.starts_with(scheme))
}

/// Whether a check or attachment is substantive: not blank, not a placeholder.
fn is_substantive(line: &str) -> bool {
    let body = line.strip_prefix(CMD).or_else(|| line.strip_prefix(LINK)).unwrap_or(line);
    !body.trim().is_empty() && !is_to_fill(body)
}

fn is_to_fill(text: &str) -> bool {
    let lower = text.to_lowercase();
    lower.find("<fill:").is_some_and(|at| lower[at..].contains('>'))
}

/// Whether a placeholder is anywhere inside a value.
fn holds_placeholder(value: &Value) -> bool {
    match value {
        Value::String(text) => is_to_fill(text),
        Value::Array(items) => items.iter().any(holds_placeholder),
        Value::Object(map) => map.values().any(holds_placeholder),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether an item has only blank strings and placeholders.
fn item_is_placeholder(item: &Map<String, Value>) -> bool {
    let mut texts = item.values().filter_map(Value::as_str);
    !item_is_substantive(item) && texts.any(|text| !is_substantive(text))
}

fn item_is_substantive(item: &Map<String, Value>) -> bool {
    let speaks = |(key, value): (&String, &Value)| {
        !SILENT_KEYS.contains(&key.as_str()) && value_is_substantive(value)
    };
    item.iter().any(speaks)
}

fn value_is_substantive(value: &Value) -> bool {
    match value {
        Value::String(text) => is_substantive(text),
        Value::Number(_) => true,
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Null | Value::Bool(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Given, receipts};

    fn checks(lines: &[&str]) -> Given {
        let checks = lines.iter().map(|line| (*line).to_owned()).collect();
        Given { checks, ..Given::default() }
    }

    #[test]
    fn placeholders_and_blanks_never_count() {
        for lines in [&["CMD: <fill: command>"][..], &["LINK: <FILL: x> "], &["", "CMD:  "], &[]] {
            assert_eq!(checks(lines).sift(), None, "{lines:?}");
        }
        let sifted = checks(&["CMD: make", "LINK: <fill: page>"]).sift().unwrap();
        assert!(sifted.held_placeholder);
        assert_eq!(sifted.kept.checks, ["CMD: make"]);
        assert!(sifted.kept.has_command() && !sifted.kept.has_link());
    }

    #[test]
    fn an_item_speaks_by_its_content_only() {
        let item = |value: serde_json::Value| Given {
            items: vec![value.as_object().unwrap().clone()],
            ..Given::default()
        };
        assert_eq!(item(json!({"kind": "log", "title": "t", "exit_code": 0})).sift(), None);
        assert_eq!(item(json!({"stdout": "<fill: output>"})).sift(), None);
        assert!(item(json!({"stdout": "ok"})).sift().is_some());
        assert!(item(json!({"lines": 3})).sift().is_some());
    }

    #[test]
    fn proof_lines_become_receipts() {
        let given = ["make check\n\nhttps://ci.example/7".to_owned(), "LINK: x".to_owned()];
        let lines = receipts(&given);
        assert_eq!(lines, ["CMD: make check", "LINK: https://ci.example/7", "LINK: x"]);
        assert_eq!(receipts(&["see https://x.example".to_owned()]), ["CMD: see https://x.example"]);
    }
}
