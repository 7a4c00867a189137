//! Settings files that are nearly right: each is read, or refused with a short message.

use std::{ffi::OsString, fs};

use muster_testkit::fuzz::{Chance, Input, Target, fuzz, odd_text, repeats_little};
use serde_json::json;
use tempfile::TempDir;

use super::{ALL, Settings};
use crate::{arguments::GlobalFlags, run_settings};

/// The file of the program's own settings.
const OWN: &str = "config.toml";
/// The file of runs, in the storage folder.
const RUNS: &str = "runs.toml";
/// Longest error, in characters: a path, what is allowed, and a shortened value, whose characters
/// may all be escaped.
const REFUSAL_CHARS_MAX: usize = 2_500;

const OWN_LINES: [&str; 24] = [
    "# settings",
    "workspace = 'acme/rocket'",
    "profile = 'breadboard'",
    "[storage]",
    "dir = 'store'",
    "[log]",
    "filter = 'debug'",
    "format = 'json'",
    "[server]",
    "addr = \"127.0.0.1:0\"",
    "auth = false",
    "allow_hosts = ['a.example.org', 'b.example.org:443']",
    "allowed_origins = ['http://localhost:3000']",
    "[mcp]",
    "toolset = 'full'",
    "[client]",
    "url = 'https://muster.example.org/'",
    "[ctrees]",
    "enabled = false",
    "summary = true",
    "max_chars = 8_000",
    "[todo]",
    "follow = true",
    "preview_max_rows = 3",
];

const RUN_LINES: [&str; 18] = [
    "max_parallel_turns = 2",
    "resume_on_start = true",
    "default_permissions_mode = 'skip'",
    "delta_flush_ms = 50",
    "trash_days = 7",
    "templates_dir = 'templates'",
    "roots = ['/tmp']",
    "[profiles.custom.default]",
    "command = ['cat']",
    "protocol = 'raw'",
    "tools = 'own'",
    "start_timeout_seconds = 5",
    "per_turn_process = true",
    "contain = 'off'",
    "[profiles.custom.default.env]",
    "A = 'b'",
    "[profiles.codex.own]",
    "sandbox = 'workspace-write'",
];

/// Values of every kind that TOML has, and some invalid ones.
const VALUES: [&str; 18] = [
    "true",
    "0",
    "-1",
    "0xffff_ffff_ffff_ffff",
    "9223372036854775808",
    "1e999",
    "nan",
    "2031-04-02T09:15:07Z",
    "25:61:61",
    "[]",
    "['a', 1, [true]]",
    "{ a = 1 }",
    "''",
    "\"\\ud800\"",
    "\"\\U0010ffff\"",
    "\"\"\"\nlines\n\"\"\"",
    "'https://name:word@example.org/'",
    "",
];

/// A folder with one settings file.
struct SettingsFile {
    folder: TempDir,
}

impl Target for SettingsFile {
    fn open() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn play(&mut self, inputs: &[Input]) -> Result<(), String> {
        for input in inputs {
            let path = self.folder.path().join(&input.kind);
            fs::write(&path, &input.bytes).unwrap();
            let complaints = if input.kind == OWN { self.own() } else { self.of_runs() };
            let written = String::from_utf8_lossy(&input.bytes);
            for complaint in complaints {
                if complaint.chars().count() > REFUSAL_CHARS_MAX {
                    return Err(format!("a long refusal: {complaint}"));
                }
                let values = json!(written.split(['\'', '"', '\n', ' ']).collect::<Vec<_>>());
                repeats_little(&values, &json!(complaint))?;
            }
        }
        Ok(())
    }
}

impl SettingsFile {
    /// Reads every setting; returns the errors.
    fn own(&self) -> Vec<String> {
        let own: OsString = self.folder.path().join(OWN).into();
        let home: OsString = self.folder.path().into();
        let variables = move |name: &str| match name {
            "MUSTER_CONFIG" => Some(own.clone()),
            "HOME" => Some(home.clone()),
            _ => None,
        };
        let shared = GlobalFlags { storage_dir: None, database: None, log_format: None };
        let settings = match Settings::of(shared, Box::new(variables)) {
            Ok(settings) => settings,
            Err(error) => return vec![format!("{error:#}")],
        };
        let bad = ALL.iter().filter_map(|entry| entry.shown(&settings).err());
        bad.map(|bad| bad.to_string()).chain(settings.warnings()).collect()
    }

    /// Reads the runs file; returns its error.
    fn of_runs(&self) -> Vec<String> {
        let read = run_settings::read(self.folder.path());
        read.err().map(|error| format!("{error:#}")).into_iter().collect()
    }
}

/// Lines of a valid file, some of them changed, left out, repeated or moved.
fn file(chance: &mut Chance, lines: &[&str]) -> Vec<u8> {
    let mut text = String::new();
    for line in lines {
        let line = match chance.below(12) {
            0 => continue,
            1 => lines[chance.below(lines.len() as u64) as usize].to_owned(),
            2 => changed(chance, line),
            3 if chance.one_in(3) => format!("{line}\n{line}"),
            _ => (*line).to_owned(),
        };
        text += &line;
        text += if chance.one_in(20) { "\r\n" } else { "\n" };
    }
    let mut bytes = text.into_bytes();
    if chance.one_in(10) {
        let at = chance.below(bytes.len() as u64 + 1) as usize;
        let pieces: [&[u8]; 6] = [b"\xff", b"\0", b"\xef\xbb\xbf", b"[[", b"'''", b"= "];
        let piece = pieces[chance.below(6) as usize];
        bytes.splice(at..at, piece.iter().copied());
    }
    bytes
}

/// The line with another value or name.
fn changed(chance: &mut Chance, line: &str) -> String {
    let name = line.split(" = ").next().unwrap_or_default();
    match chance.below(5) {
        0 => format!("{name} = '{}'", odd_text(chance)),
        1 => format!("{name} = {}", json!(odd_text(chance))),
        2 => format!("{} = 1", odd_text(chance)),
        3 if chance.one_in(8) => format!("{name} = {}", "[".repeat(50_000)),
        _ => format!("{name} = {}", VALUES[chance.below(VALUES.len() as u64) as usize]),
    }
}

#[test]
fn any_file_of_settings_is_read_or_refused_in_a_few_words() {
    fuzz::<SettingsFile>("settings_file", |chance| {
        if chance.one_in(3) {
            vec![Input::new(RUNS, file(chance, &RUN_LINES))]
        } else {
            vec![Input::new(OWN, file(chance, &OWN_LINES))]
        }
    });
}
