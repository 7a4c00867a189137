//! Precedence, sources and complaints, with an environment and files made for each test.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use muster_core::{todo::view::Strategy, watched::WatchPolicy};
use tempfile::TempDir;

use super::{
    ALL, LOG_FORMAT, SERVER_ADDR, STORAGE_DIR, Settings, TOOLSET, ValueSource, WATCH, WORKSPACE,
    database_of,
    entries::{
        ALLOW_HOSTS, ALLOWED_ORIGINS, AUTH, CLIENT_TOKEN, CLIENT_URL, CTREES_ENABLED,
        CTREES_MAX_CHARS, CTREES_SUMMARY, CTREES_TASK_NODE, LOG_FILTER, NOTIFY_COMMAND,
        NOTIFY_MIN_AGE, NOTIFY_QUIET, NOTIFY_WEBHOOK, PROFILE, TODO_FOLLOW, TODO_PREVIEW_MAX_ROWS,
        TODO_PREVIEW_STRATEGY,
    },
    forget_database, remember_database,
};
use crate::{
    arguments::{GlobalFlags, LogFormat},
    local_server::WrittenDown,
};

/// A home folder and its settings.
struct Home {
    folder: TempDir,
}

impl Home {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes the file of settings.
    fn configure(&self, text: &str) {
        self.write("own.toml", text);
    }

    /// A line of the file of settings.
    fn line(&self, line: usize) -> ValueSource {
        ValueSource::File { path: self.path("own.toml"), line }
    }

    fn try_settings(&self, pairs: &[(&str, &str)]) -> anyhow::Result<Settings> {
        let mut variables: Vec<(String, OsString)> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), value.into())).collect();
        variables.push(("HOME".to_owned(), self.folder.path().into()));
        let own = self.path("own.toml");
        if own.exists() {
            variables.push(("MUSTER_CONFIG".to_owned(), own.into()));
        }
        let shared = GlobalFlags { storage_dir: None, database: None, log_format: None };
        Settings::of(
            shared,
            Box::new(move |name| {
                let found = variables.iter().find(|(known, _)| known == name);
                found.map(|(_, value)| value.clone())
            }),
        )
    }

    fn settings(&self, pairs: &[(&str, &str)]) -> Settings {
        self.try_settings(pairs).unwrap()
    }
}

#[test]
fn flags_win_over_variables_and_variables_over_the_file() {
    let home = Home::new();
    let plain = home.settings(&[]).get(&SERVER_ADDR).unwrap();
    assert_eq!(
        (plain.value.to_string().as_str(), plain.source),
        ("127.0.0.1:7717", ValueSource::Default)
    );
    home.configure("# here\n[server]\naddr = \"127.0.0.1:1\"\n");
    let of_file = home.settings(&[]).get(&SERVER_ADDR).unwrap();
    assert_eq!((of_file.value.port(), of_file.source), (1, home.line(3)));
    let settings = home.settings(&[("MUSTER_ADDR", "127.0.0.1:2")]);
    let of_variable = settings.get(&SERVER_ADDR).unwrap();
    let source = ValueSource::Environment("MUSTER_ADDR");
    assert_eq!((of_variable.value.port(), of_variable.source), (2, source));
    let flag = Some("127.0.0.1:3".parse().unwrap());
    let of_flag = settings.get_over(&SERVER_ADDR, flag).unwrap();
    assert_eq!((of_flag.value.port(), of_flag.source), (3, ValueSource::Flag("--addr")));
}

#[test]
fn flags_of_every_command_are_known_to_the_settings() {
    let shared = GlobalFlags {
        storage_dir: Some("here".into()),
        database: Some("sqlite:there".parse().unwrap()),
        log_format: Some(LogFormat::Json),
    };
    let variables = |name: &str| (name == "MUSTER_STORAGE_DIR").then(|| OsString::from("there"));
    let settings = Settings::of(shared, Box::new(variables)).unwrap();
    let folder = settings.get(&STORAGE_DIR).unwrap();
    assert_eq!(
        (folder.value, folder.source),
        (Some("here".into()), ValueSource::Flag("--storage-dir"))
    );
    assert_eq!(settings.get(&LOG_FORMAT).unwrap().value, LogFormat::Json);
}

#[test]
fn a_remembered_database_is_used_and_one_that_cannot_be_read_is_not_passed_over() {
    let home = Home::new();
    let settings = home.settings(&[]);
    let found = |folder: &Path| database_of(&settings, folder).map(|found| found.to_string());
    let folder = home.path("store");
    assert_eq!(found(&folder), Ok("sqlite:".to_owned()), "there is no folder");
    fs::create_dir(&folder).unwrap();
    remember_database(&folder, "postgres://ann@db.example/muster").unwrap();
    assert_eq!(found(&folder), Ok("postgres://ann@db.example:5432/muster".to_owned()));
    forget_database(&folder).unwrap();
    fs::create_dir(folder.join("database")).unwrap();
    let error = found(&folder).unwrap_err().to_string();
    assert!(error.contains("the value of database cannot be read (Is a directory"), "{error}");
    assert_eq!(found(Path::new(&"long".repeat(10_000))), Ok("sqlite:".to_owned()));
}

#[test]
fn every_setting_is_read_from_the_file() {
    let home = Home::new();
    home.configure(
        "workspace = 'acme/rocket'\nprofile = 'breadboard'\nwatch = 'titles'\n\
         [storage]\ndir = 'store'\n\
         [log]\nfilter = 'debug'\nformat = 'json'\n\
         [server]\nauth = false\nallow_hosts = ['a.example.org', 'b.example.org:443']\n\
         allowed_origins = ['http://localhost:3000']\n\
         tls_cert = 'cert.pem'\ntls_key = 'key.pem'\ntrust_proxy = ['10.0.0.0/8']\n\
         [limits]\nrequests_per_second = 5\nstreams = 6\nbody_bytes = 7_000\n\
         [mcp]\ntoolset = 'full'\n\
         [client]\nurl = 'https://muster.example.org/'\nca = 'ca.pem'\n\
         [ctrees]\nenabled = false\nsummary = true\ntask_node = true\nmax_chars = 8_000\n\
         [proof]\nlog_days = 7\n\
         [notify]\ndesktop = false\ncommand = ['tell', 'me, now']\n\
         webhook = 'http://127.0.0.1:8080/x'\nmin_age = '5m'\nquiet = '22:00-07:00'\n\
         [todo]\nfollow = true\npreview = { max_rows = 3, strategy = 'first_n' }\n",
    );
    let settings = home.settings(&[]);
    assert_eq!(settings.warnings(), Vec::<String>::new());
    let is_of_file = |source: ValueSource| matches!(source, ValueSource::File { .. });
    for entry in ALL {
        let shown = entry.shown(&settings).unwrap();
        let elsewhere = [
            "database",
            "server.addr",
            "client.token",
            "client.passphrase_file",
            "node.token",
            "agent.name",
        ];
        let expected = !elsewhere.contains(&entry.row().name);
        assert_eq!(is_of_file(shown.source), expected, "{}", entry.row().name);
    }
    let workspace = settings.get(&WORKSPACE).unwrap().value.unwrap();
    assert_eq!(workspace.to_string(), "acme/rocket");
    assert_eq!(settings.get(&STORAGE_DIR).unwrap().value, Some(home.path("store")));
    assert_eq!(settings.get(&LOG_FILTER).unwrap().value.as_deref(), Some("debug"));
    assert!(!settings.get(&AUTH).unwrap().value);
    let origins = settings.get(&ALLOWED_ORIGINS).unwrap().value;
    assert_eq!(origins, ["http://localhost:3000".parse().unwrap()]);
    let hosts = settings.get(&ALLOW_HOSTS).unwrap().value;
    let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
    assert_eq!(hosts, ["a.example.org", "b.example.org:443"]);
    assert_eq!(settings.get(&TOOLSET).unwrap().value.name(), "full");
    let url = settings.get(&CLIENT_URL).unwrap().value;
    assert_eq!(url.as_deref(), Some("https://muster.example.org"));
    assert_eq!(settings.get(&PROFILE).unwrap().value, "breadboard_v1");
    assert_eq!(settings.get(&CTREES_MAX_CHARS).unwrap().value, 8_000);
    assert_eq!(settings.get(&TODO_PREVIEW_MAX_ROWS).unwrap().value, 3);
    assert_eq!(settings.get(&TODO_PREVIEW_STRATEGY).unwrap().value, Strategy::FirstN);
    assert!(settings.get(&TODO_FOLLOW).unwrap().value);
    assert_eq!(settings.get(&WATCH).unwrap().value, WatchPolicy::Titles);
    let gate = settings.gate().unwrap();
    assert!(!gate.enabled.value && gate.summary.value && !gate.summary_visible());
}

/// HOST-NOTE-1.
#[test]
fn notifications_are_read_from_file_and_variables() {
    let home = Home::new();
    home.configure(
        "[notify]\ncommand = ['tell', 'me, now']\nmin_age = '5m'\nwebhook = 'https://x'\n",
    );
    let settings = home.settings(&[("MUSTER_NOTIFY_QUIET", "22:00-7:00")]);
    assert_eq!(settings.get(&NOTIFY_COMMAND).unwrap().value, ["tell", "me, now"]);
    assert_eq!(settings.get(&NOTIFY_MIN_AGE).unwrap().value.as_secs(), 300);
    let refused = settings.get(&NOTIFY_WEBHOOK).unwrap_err().to_string();
    assert!(refused.contains("line 4") && refused.contains("\"curl\""), "{refused}");
    let refused = settings.get(&NOTIFY_QUIET).unwrap_err().to_string();
    assert!(refused.contains("22:00-07:00"), "{refused}");
    let words = home.settings(&[("MUSTER_NOTIFY_COMMAND", "[\"other\"]")]);
    assert_eq!(words.get(&NOTIFY_COMMAND).unwrap().value, ["other"]);
}

#[test]
fn bad_values_are_refused_with_place_key_and_what_is_allowed() {
    let home = Home::new();
    home.configure("workspace = 7\n[server]\naddr = 'localhost'\n[todo.preview]\nmax_rows = 8\n");
    let settings = home.settings(&[("MUSTER_TOOLSET", "all"), ("MUSTER_AUTH", "yes")]);
    let complaint = |name: &str| {
        let entry = ALL.iter().find(|entry| entry.row().name == name).unwrap();
        entry.shown(&settings).unwrap_err().to_string()
    };
    let file = home.path("own.toml").display().to_string();
    for (name, parts) in [
        ("workspace", &[&*file, "line 1", "\"7\"", "my-project"][..]),
        ("server.addr", &[&*file, "line 3", "\"localhost\"", "127.0.0.1:7717"]),
        ("todo.preview.max_rows", &[&*file, "line 5", "\"8\"", "from 1 to 7"]),
        ("mcp.toolset", &["MUSTER_TOOLSET", "\"all\"", "core, daily or full"]),
        ("server.auth", &["MUSTER_AUTH", "\"yes\"", "true or false"]),
    ] {
        let text = complaint(name);
        for part in parts.iter().chain(&[name]) {
            assert!(text.contains(part), "{name} does not say {part:?}: {text}");
        }
    }
    // Others are not touched by it.
    assert_eq!(settings.get(&CTREES_MAX_CHARS).unwrap().value, 32_000);
}

#[test]
fn a_blank_variable_is_no_value_but_for_places_of_work() {
    let home = Home::new();
    let blank = [
        ("MUSTER_ADDR", " "),
        ("MUSTER_URL", "\t"),
        ("BREADBOARD_API_URL", "http://127.0.0.1:9"),
        ("MUSTER_WORKSPACE", ""),
        ("MUSTER_STORAGE_DIR", ""),
    ];
    let settings = home.settings(&blank);
    assert_eq!(settings.get(&SERVER_ADDR).unwrap().source, ValueSource::Default);
    let url = settings.get(&CLIENT_URL).unwrap();
    assert_eq!(url.source, ValueSource::Environment("BREADBOARD_API_URL"));
    assert!(settings.get(&WORKSPACE).is_err() && settings.get(&STORAGE_DIR).is_err());
}

#[test]
fn unknown_keys_are_warned_about_with_the_nearest_name() {
    let home = Home::new();
    home.configure(
        "worksapce = 'w'\n[todo.preview]\nrows = 3\n[client]\ntoken = 'hunter2'\n\
         [server.addr]\nport = 1\n",
    );
    let settings = home.settings(&[]);
    let warnings = settings.warnings();
    assert_eq!(warnings.len(), 4, "{warnings:?}");
    let warned = |parts: &[&str]| {
        let says = |warning: &String| parts.iter().all(|part| warning.contains(part));
        assert!(warnings.iter().any(says), "{parts:?}: {warnings:?}");
    };
    warned(&["line 1", "worksapce", "did you mean workspace?"]);
    warned(&["line 3", "todo.preview.rows", "did you mean todo.preview.max_rows?"]);
    warned(&["line 5", "client.token", "MUSTER_TOKEN"]);
    warned(&["line 7", "server.addr.port", "did you mean server.addr?"]);
    assert!(warnings.iter().all(|warning| !warning.contains("hunter2")));
    assert!(settings.get(&CLIENT_TOKEN).unwrap().value.is_none());
    assert_eq!(settings.get(&SERVER_ADDR).unwrap().source, ValueSource::Default);
}

#[test]
fn a_broken_or_missing_named_file_is_an_error_with_its_place() {
    let home = Home::new();
    let complaint = |home: &Home, pairs: &[(&str, &str)]| {
        format!("{:#}", home.try_settings(pairs).err().unwrap())
    };
    let missing = complaint(&home, &[("MUSTER_CONFIG", "/nowhere/own.toml")]);
    assert!(missing.contains("MUSTER_CONFIG") && missing.contains("/nowhere"), "{missing}");
    home.configure("workspace = 'w'\nserver = [\n");
    let broken = complaint(&home, &[]);
    assert!(broken.contains("own.toml line ") && broken.contains("not valid TOML"), "{broken}");
    home.configure("a = 1\na = 2\n");
    assert!(complaint(&home, &[]).contains("line 2"), "{}", complaint(&home, &[]));
    home.configure(&"[".repeat(100_000));
    assert!(home.try_settings(&[]).is_err());
}

#[test]
fn the_switches_follow_environment_own_file_and_shared_file() {
    let home = Home::new();
    let shared = home.write(
        ".breadboard/config.json",
        r#"{"ctrees": {"enabled": true, "showSummary": false, "showTaskNode": false}}"#,
    );
    home.configure("[ctrees]\ntask_node = true\n");
    let settings = home.settings(&[("BREADBOARD_CTREES_SUMMARY", "1")]);
    let enabled = settings.get(&CTREES_ENABLED).unwrap();
    assert_eq!((enabled.value, enabled.source), (true, ValueSource::UserFile(shared)));
    let summary = settings.get(&CTREES_SUMMARY).unwrap();
    let source = ValueSource::Environment("BREADBOARD_CTREES_SUMMARY");
    assert_eq!((summary.value, summary.source), (true, source));
    let task_node = settings.get(&CTREES_TASK_NODE).unwrap();
    assert_eq!((task_node.value, task_node.source), (true, home.line(2)));
    let another = home.write("other.json", r#"{"ctrees": {"enabled": false}}"#);
    let named = [("BREADBOARD_USER_CONFIG", another.to_str().unwrap())];
    let enabled = home.settings(&named).get(&CTREES_ENABLED).unwrap();
    assert_eq!((enabled.value, enabled.source), (false, ValueSource::UserFile(another)));
}

#[test]
fn an_unusable_shared_file_never_keeps_the_program_from_starting() {
    let home = Home::new();
    let path = home.path("shared");
    let names = [("BREADBOARD_USER_CONFIG", path.to_str().unwrap())];
    let enabled = || home.settings(&names).get(&CTREES_ENABLED).unwrap();
    assert!(!enabled().value, "missing");
    fs::write(&path, [0xff, 0xfe, b'{']).unwrap();
    assert!(!enabled().value, "no text");
    let huge = format!("{{\"ctrees\": {{\"enabled\": true}}, \"a\": \"{}\"}}", "x".repeat(1 << 20));
    fs::write(&path, huge).unwrap();
    assert!(!enabled().value, "too large");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(!enabled().value, "a folder");
}

#[test]
fn the_server_is_named_by_variables_or_by_what_runs_here() {
    let home = Home::new();
    let store = home.path("store");
    let storage = ("MUSTER_STORAGE_DIR", store.to_str().unwrap());
    let url = |pairs: &[(&str, &str)]| home.settings(pairs).get(&CLIENT_URL).unwrap();
    assert_eq!(url(&[storage]).value, None);
    let running = WrittenDown::write(&store, "http://127.0.0.1:4711").unwrap();
    let found = url(&[storage]);
    assert_eq!(found.value.as_deref(), Some("http://127.0.0.1:4711"));
    assert!(matches!(found.source, ValueSource::LocalServer(file) if file.starts_with(&store)));
    let other = ("BREADBOARD_API_URL", "http://127.0.0.1:2/");
    assert_eq!(url(&[storage, other]).value.as_deref(), Some("http://127.0.0.1:2"));
    let own = ("MUSTER_URL", "http://127.0.0.1:1");
    assert_eq!(url(&[storage, other, own]).source, ValueSource::Environment("MUSTER_URL"));
    drop(running);
    assert_eq!(url(&[storage]).value, None, "it has stopped");
}

#[test]
fn the_local_token_goes_only_to_a_server_of_this_machine() {
    let home = Home::new();
    let file = home.write("store/token", "0123abcd\n");
    let store = file.parent().unwrap().to_str().unwrap().to_owned();
    let token = |pairs: &[(&str, &str)]| {
        let storage = ("MUSTER_STORAGE_DIR", store.as_str());
        let settings = home.settings(&[pairs, &[storage]].concat());
        let token = settings.get(&CLIENT_TOKEN).unwrap();
        (token.value.is_some(), token.source)
    };
    let local = ValueSource::LocalServer(file.clone());
    assert_eq!(token(&[("MUSTER_URL", "http://localhost:7717")]), (true, local.clone()));
    let away = ("MUSTER_URL", "https://muster.example.org");
    assert_eq!(token(&[away]), (false, ValueSource::Default));
    assert_eq!(token(&[]), (false, ValueSource::Default), "there is no server to send it to");
    let named = [away, ("BREADBOARD_API_TOKEN", "b"), ("MUSTER_TOKEN", "a")];
    assert_eq!(token(&named), (true, ValueSource::Environment("MUSTER_TOKEN")));
    assert_eq!(token(&named[..2]), (true, ValueSource::Environment("BREADBOARD_API_TOKEN")));
    let running = WrittenDown::write(Path::new(&store), "https://muster.example.org").unwrap();
    assert_eq!(token(&[]), (true, local), "our own server under its public name");
    drop(running);
}

#[test]
fn secrets_are_in_no_complaint_and_no_list() {
    let home = Home::new();
    let settings = home.settings(&[
        ("MUSTER_TOKEN", "hunter2 with blanks"),
        ("MUSTER_URL", "http://ada:hunter2@127.0.0.1:7717"),
    ]);
    for entry in ALL {
        let text = match entry.shown(&settings) {
            Ok(shown) => shown.value.to_string(),
            Err(bad) => bad.to_string(),
        };
        assert!(!text.contains("hunter2"), "{text}");
    }
    let sound = home.settings(&[("MUSTER_TOKEN", "hunter2")]);
    let token = sound.get(&CLIENT_TOKEN).unwrap();
    assert!(!format!("{token:?}").contains("hunter2"));
}

#[test]
fn every_row_is_complete_and_has_a_name_of_its_own() {
    let mut seen = std::collections::BTreeSet::new();
    for row in ALL.iter().map(|entry| entry.row()) {
        assert!(seen.insert(row.name), "{} is there twice", row.name);
        for name in row.variables {
            assert!(seen.insert(name), "{name} is there twice");
        }
        for text in [row.allowed, row.default, row.help] {
            assert!(!text.is_empty(), "{}", row.name);
        }
        assert!(!row.help.ends_with('.') && !row.variables.is_empty(), "{}", row.name);
        assert!(row.variables[0].starts_with("MUSTER_"), "{}", row.name);
    }
}

#[test]
fn the_defaults_are_what_the_rows_say() {
    let home = Home::new();
    let settings = home.settings(&[]);
    for entry in ALL {
        let Ok(shown) = entry.shown(&settings) else { panic!("{}", entry.row().name) };
        assert_eq!(shown.source, ValueSource::Default, "{}", entry.row().name);
        let plain = shown.value.to_string();
        let said = entry.row().default;
        if !said.contains(' ') && said != "none" {
            assert_eq!(plain, said, "{}", entry.row().name);
        }
    }
}

#[test]
fn a_complaint_repeats_little_of_an_overlong_value() {
    let home = Home::new();
    let long = "long ".repeat(100);
    home.configure(&format!("[log]\nformat = '{long}'\n\"{long}\" = 1\n"));
    let settings = home.settings(&[]);
    let refused = settings.get(&LOG_FORMAT).err().map(|bad| bad.to_string());
    for complaint in refused.into_iter().chain(settings.warnings()) {
        assert!(complaint.contains("long long") && !complaint.contains(&long), "{complaint}");
    }
}
