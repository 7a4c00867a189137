//! What a request would do, on one line: the command line, the file with its counts, or all
//! arguments.

use muster_core::run::turn::Tool;
use serde_json::{Map, Value};

use super::line::whole_call;

/// Arguments that hold a path, most telling first.
const PATHS: [&str; 4] = ["file_path", "path", "notebook_path", "filename"];
/// Arguments that hold a directory.
const DIRECTORIES: [&str; 3] = ["cwd", "workdir", "directory"];

type Arguments = Map<String, Value>;

/// A request as people judge it; what is neither a command nor a file is shown as it was called.
pub(super) fn headline(tool: &Tool) -> String {
    command(&tool.args).or_else(|| file(&tool.args)).unwrap_or_else(|| whole_call(tool))
}

fn command(args: &Arguments) -> Option<String> {
    let line = match args.get("command").or_else(|| args.get("cmd"))? {
        Value::String(line) => line.clone(),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            words?.into_iter().map(word).collect::<Vec<_>>().join(" ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    let directory = first(args, &DIRECTORIES).map(|dir| format!(" (in {dir})")).unwrap_or_default();
    Some(format!("Run {line}{directory}"))
}

/// A word as a shell needs it.
fn word(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&byte);
    match !word.is_empty() && word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn file(args: &Arguments) -> Option<String> {
    let path = first(args, &PATHS)?;
    if let Some(content) = args.get("content").and_then(Value::as_str) {
        return Some(format!("Write {path} +{}", content.lines().count()));
    }
    let edits = match args.get("edits").and_then(Value::as_array) {
        Some(edits) => edits.iter().map(Value::as_object).collect::<Option<Vec<_>>>()?,
        None => vec![args],
    };
    let mut added = 0;
    let mut removed = 0;
    for edit in edits {
        added += edit.get("new_string")?.as_str()?.lines().count();
        removed += edit.get("old_string")?.as_str()?.lines().count();
    }
    Some(format!("Edit {path} +{added} −{removed}"))
}

fn first<'a>(args: &'a Arguments, names: &[&str]) -> Option<&'a str> {
    let mut texts = names.iter().filter_map(|name| args.get(*name)?.as_str());
    texts.find(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    fn line(name: &str, args: &Value) -> String {
        let id = "00000000-0000-0000-0000-0000000000ab";
        let tool = json!({"id": id, "name": name, "args": args});
        super::headline(&serde_json::from_value(tool).unwrap())
    }

    #[test]
    fn a_request_says_what_would_happen() {
        let shell = json!({"command": "make release", "description": "Build it"});
        assert_eq!(line("Bash", &shell), "Run make release");
        let words = json!({"cmd": ["git", "commit", "-m", "it's done"], "cwd": "/work"});
        assert_eq!(line("shell", &words), r"Run git commit -m 'it'\''s done' (in /work)");
        let write = json!({"file_path": "src/a.rs", "content": "one\ntwo\n"});
        assert_eq!(line("Write", &write), "Write src/a.rs +2");
        let edit = json!({"file_path": "a.rs", "old_string": "x", "new_string": "x\ny"});
        assert_eq!(line("Edit", &edit), "Edit a.rs +2 −1");
        let edits = json!({"path": "a.rs", "edits": [{"old_string": "x", "new_string": "y"}]});
        assert_eq!(line("MultiEdit", &edits), "Edit a.rs +1 −1");
    }

    #[test]
    fn any_other_request_is_shown_with_all_of_its_arguments() {
        let issue = json!({"number": 12, "comment": "fixed"});
        assert_eq!(line("close_issue", &issue), r#"close_issue {"number":12,"comment":"fixed"}"#);
        let strange = json!({"file_path": "a.rs", "old_string": 1, "new_string": "y"});
        assert!(line("Edit", &strange).contains("old_string"));
        assert!(line("Bash", &json!({"command": [1, 2]})).contains("[1,2]"));
    }
}
