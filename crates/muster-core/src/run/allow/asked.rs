//! What a call would do, as far as rules are concerned. Programs describe their calls in their own
//! ways; a call with any argument that is not known here is unclear, and no rule allows it.

use std::{borrow::Cow, collections::BTreeSet};

use serde_json::{Map, Value};

use super::shell::{self, UnclearLine};
use crate::{
    redact::REDACTED,
    run::{
        approval::{Approval, ApprovalKind},
        turn::Tool,
    },
};

/// Tools that run a command of a shell.
const COMMAND_TOOLS: [&str; 12] = [
    "Bash",
    "bash",
    "command",
    "shell",
    "local_shell",
    "exec_command",
    "execute",
    "execute_command",
    "run_command",
    "run_shell_command",
    "run_terminal_command",
    "terminal",
];
/// Tools that write files.
const FILE_TOOLS: [&str; 14] = [
    "Edit",
    "MultiEdit",
    "NotebookEdit",
    "Write",
    "apply_patch",
    "delete",
    "delete_file",
    "edit",
    "move",
    "multiedit",
    "patch",
    "replace",
    "write",
    "write_file",
];
/// Names that say nothing about what a tool does.
const VAGUE_TOOLS: [&str; 6] = ["fetch", "other", "switch_mode", "think", "tool", "unknown"];
/// Arguments of commands that change nothing about what runs.
const COMMAND_NOTES: [&str; 8] = [
    "description",
    "justification",
    "run_in_background",
    "timeout",
    "timeoutSeconds",
    "timeout_ms",
    "timeout_seconds",
    "yield_time_ms",
];
const DIRECTORIES: [&str; 4] = ["cwd", "directory", "dir_path", "workdir"];
const PATHS: [&str; 5] = ["file_path", "filePath", "filename", "notebook_path", "path"];
/// Arguments that hold the new content of a file.
const CONTENTS: [&str; 17] = [
    "cell_id",
    "cell_type",
    "content",
    "edit_mode",
    "edits",
    "expected_replacements",
    "file_text",
    "instruction",
    "newString",
    "new_source",
    "new_string",
    "oldString",
    "old_string",
    "replaceAll",
    "replace_all",
    "title",
    "description",
];
/// Arguments that hold a patch with the names of its files.
const PATCHES: [&str; 3] = ["command", "input", "patch"];

/// What a call would do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AskedCall {
    /// Run a command.
    Command {
        line: String,
        /// Its words, if it is nothing but words.
        words: Result<Vec<String>, UnclearLine>,
        /// Where, if it says so.
        directory: Option<String>,
    },
    /// Write or delete files.
    Files { paths: Vec<String> },
    /// Call another tool.
    Tool { name: String },
    /// Something that no rule may be about.
    Unclear { reason: Cow<'static, str> },
}

fn unclear(reason: impl Into<Cow<'static, str>>) -> AskedCall {
    AskedCall::Unclear { reason: reason.into() }
}

impl AskedCall {
    /// What an approval is about.
    pub fn of(approval: &Approval) -> Self {
        match approval.kind {
            ApprovalKind::Tool => Self::of_tool(&approval.tool),
            ApprovalKind::Spawn | ApprovalKind::Edge | ApprovalKind::Mode => {
                unclear("changes of the run itself are approved one by one")
            }
        }
    }

    /// What a call of a tool would do.
    pub fn of_tool(tool: &Tool) -> Self {
        let Tool { name, args, .. } = tool;
        if args.values().any(holds_secret) {
            return unclear("it holds what looks like a secret, which is not stored");
        }
        if COMMAND_TOOLS.contains(&name.as_str()) {
            return command(args);
        }
        if FILE_TOOLS.contains(&name.as_str()) {
            return files(args);
        }
        let is_name = !name.is_empty() && !name.chars().any(|c| c.is_control() || c == ' ');
        if VAGUE_TOOLS.contains(&name.as_str()) || !is_name {
            return unclear("the agent does not say which tool it is");
        }
        Self::Tool { name: name.clone() }
    }

    /// Whether a tool may be allowed as a whole.
    pub fn is_plain_tool(name: &str) -> bool {
        let known: [&[&str]; 3] = [&COMMAND_TOOLS, &FILE_TOOLS, &VAGUE_TOOLS];
        !name.is_empty() && known.iter().all(|names| !names.contains(&name))
    }
}

/// A call, with its paths relative to the directory of its node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlacedCall {
    pub call: AskedCall,
    /// The files that it would change, or the directory of a command; empty for the node's own.
    pub places: Vec<String>,
}

impl PlacedCall {
    /// The call of an approval; `None` if a path of it leads out of the directory.
    pub fn of(approval: &Approval, workdir: &str) -> Option<Self> {
        Self::new(AskedCall::of(approval), workdir)
    }

    /// A call of a node that works in a directory.
    pub fn new(call: AskedCall, workdir: &str) -> Option<Self> {
        let places = match &call {
            AskedCall::Command { directory, .. } => {
                let directory = directory.as_deref().unwrap_or(workdir);
                vec![relative(directory, workdir)?]
            }
            AskedCall::Files { paths } => {
                let places = paths.iter().map(|path| {
                    relative(path, workdir).filter(|place| !place.is_empty() && !is_guarded(place))
                });
                places.collect::<Option<Vec<String>>>()?
            }
            AskedCall::Tool { .. } | AskedCall::Unclear { .. } => Vec::new(),
        };
        Some(Self { call, places })
    }

    /// Whether none of its paths leads through a link; the runtime has looked.
    pub fn is_clear(&self, clear: &BTreeSet<String>) -> bool {
        self.places.iter().all(|place| place.is_empty() || clear.contains(place))
    }
}

/// A path relative to a directory, by its text alone; `None` if it is not below it.
fn relative(path: &str, directory: &str) -> Option<String> {
    if path.is_empty() || path.chars().any(char::is_control) {
        return None;
    }
    let inside = match path.starts_with('/') {
        false => path,
        true => {
            let rest = path.strip_prefix(directory.trim_end_matches('/'))?;
            if !rest.is_empty() && !rest.starts_with('/') {
                return None;
            }
            rest
        }
    };
    let names: Vec<&str> =
        inside.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
    (!names.contains(&"..")).then(|| names.join("/"))
}

/// Whether what is written there is executed or trusted later.
fn is_guarded(place: &str) -> bool {
    place.split('/').any(|name| {
        let name = name.to_ascii_lowercase();
        name == ".git" || name == ".muster"
    })
}

/// Whether a part of a value was replaced before it was stored: the call is not known completely.
fn holds_secret(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(REDACTED),
        Value::Array(values) => values.iter().any(holds_secret),
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| name.contains(REDACTED) || holds_secret(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The name of an argument that is not known here.
fn stranger<'a>(args: &'a Map<String, Value>, known: &[&[&str]]) -> Option<&'a String> {
    args.keys().find(|name| !known.iter().any(|names| names.contains(&name.as_str())))
}

fn command(args: &Map<String, Value>) -> AskedCall {
    if let Some(name) = stranger(args, &[&["command", "cmd"], &COMMAND_NOTES, &DIRECTORIES]) {
        return unclear(format!("it has the argument {name}, which rules do not know"));
    }
    let lines: Vec<&Value> = ["command", "cmd"].iter().filter_map(|name| args.get(*name)).collect();
    let [line] = lines[..] else { return unclear("it does not say which command") };
    let directories: Vec<&Value> = DIRECTORIES.iter().filter_map(|name| args.get(*name)).collect();
    let directory = match directories[..] {
        [] => None,
        [directory] => match directory.as_str() {
            Some(directory) => Some(directory.to_owned()),
            None => return unclear("its directory is not a string"),
        },
        [..] => return unclear("it names more than one directory"),
    };
    match line {
        Value::String(line) => of_line(line, directory),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            words.map_or_else(
                || unclear("a word is not a string"),
                |words| of_list(&words, directory),
            )
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            unclear("its command is not a string")
        }
    }
}

/// A command that a shell reads.
fn of_line(line: &str, directory: Option<String>) -> AskedCall {
    let words = shell::words(line);
    match words.as_deref() {
        Ok([shell, option, inner]) if is_wrapped(shell, option) => of_line(inner, directory),
        Ok(_) | Err(_) => AskedCall::Command { line: line.trim().to_owned(), words, directory },
    }
}

/// A command as a list of words, which no shell reads.
fn of_list(words: &[&str], directory: Option<String>) -> AskedCall {
    if let [shell, option, line] = words
        && is_wrapped(shell, option)
    {
        return of_line(line, directory);
    }
    let line = words.iter().map(|word| shell::quote(word)).collect::<Vec<_>>().join(" ");
    // Through the text and back, so that a list and its line are the same to a rule.
    of_line(&line, directory)
}

/// Whether two words are those with which programs start a shell for one line.
fn is_wrapped(shell: &str, option: &str) -> bool {
    let shells = ["sh", "bash", "zsh", "/bin/sh", "/bin/bash", "/bin/zsh", "/usr/bin/bash"];
    shells.contains(&shell) && ["-c", "-lc"].contains(&option)
}

fn files(args: &Map<String, Value>) -> AskedCall {
    let known: [&[&str]; 5] = [&PATHS, &CONTENTS, &PATCHES, &["changes"], &DIRECTORIES];
    if let Some(name) = stranger(args, &known) {
        return unclear(format!("it has the argument {name}, which rules do not know"));
    }
    let mut paths = Vec::new();
    for name in PATHS {
        match args.get(name) {
            None => {}
            Some(Value::String(path)) => paths.push(path.clone()),
            Some(_) => return unclear("a path is not a string"),
        }
    }
    let patches = PATCHES.iter().filter_map(|name| args.get(*name));
    let found = patches.map(in_patch).chain(args.get("changes").map(in_changes));
    for more in found {
        match more {
            Some(more) => paths.extend(more),
            None => return unclear("its patch cannot be read completely"),
        }
    }
    let elsewhere = DIRECTORIES.iter().filter_map(|name| args.get(*name));
    if elsewhere.into_iter().any(|_| paths.iter().any(|path| !path.starts_with('/'))) {
        return unclear("its paths are relative to another directory");
    }
    match paths.is_empty() {
        true => unclear("it does not say which files"),
        false => AskedCall::Files { paths },
    }
}

/// The files of a list of changes, or of changes by path.
fn in_changes(changes: &Value) -> Option<Vec<String>> {
    match changes {
        Value::Array(changes) => {
            let each = changes.iter().map(|change| in_change(change.as_object()?, None));
            Some(each.collect::<Option<Vec<_>>>()?.concat())
        }
        Value::Object(changes) => {
            let each =
                changes.iter().map(|(path, change)| in_change(change.as_object()?, Some(path)));
            Some(each.collect::<Option<Vec<_>>>()?.concat())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// The files of one change: its path, and where the file goes if it is moved.
fn in_change(change: &Map<String, Value>, path: Option<&String>) -> Option<Vec<String>> {
    const KNOWN: [&str; 11] = [
        "add",
        "content",
        "delete",
        "diff",
        "kind",
        "newText",
        "oldText",
        "path",
        "type",
        "unified_diff",
        "update",
    ];
    const MOVES: [&str; 2] = ["move_path", "movePath"];
    if stranger(change, &[&KNOWN, &MOVES]).is_some() {
        return None;
    }
    let mut paths: Vec<String> = path.cloned().into_iter().collect();
    let inner = ["add", "delete", "update", "kind"].iter().filter_map(|name| change.get(*name));
    for fields in inner.filter_map(Value::as_object).chain([change]) {
        if stranger(fields, &[&KNOWN, &MOVES]).is_some() {
            return None;
        }
        for name in ["path", MOVES[0], MOVES[1]] {
            match fields.get(name) {
                None | Some(Value::Null) => {}
                Some(Value::String(path)) => paths.push(path.clone()),
                Some(_) => return None,
            }
        }
    }
    (!paths.is_empty()).then_some(paths)
}

/// The files of a patch in the format of `apply_patch`. Programs read it with some tolerance, so
/// any line that could be a header and is not exactly one makes it unclear.
fn in_patch(patch: &Value) -> Option<Vec<String>> {
    let lines: Vec<&str> = patch.as_str()?.trim().lines().collect();
    let ["*** Begin Patch", body @ .., "*** End Patch"] = &lines[..] else { return None };
    let mut paths = Vec::new();
    for line in body.iter().filter(|line| line.trim().starts_with("***")) {
        const HEADERS: [&str; 4] =
            ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
        if *line == "*** End of File" {
            continue;
        }
        let path = HEADERS.iter().find_map(|header| line.strip_prefix(header))?;
        if path.is_empty() || path != path.trim() {
            return None;
        }
        paths.push(path.to_owned());
    }
    Some(paths)
}
