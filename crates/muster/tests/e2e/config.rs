//! Settings as people meet them: the file, the environment, flags, and `muster config`.

use std::{fs, path::Path, time::Duration};

use muster_testkit::server::ServerProcess;
use serde_json::{Value, json};

use crate::program::{self, answer, muster, run, serve, stderr, stdout};

const PROMPT: Duration = Duration::from_secs(5);

/// What `muster config show --json` says about a setting, in an environment.
fn shown(variables: &[(&str, &str)], name: &str) -> Value {
    let output = muster(&["config", "show", "--json"]).envs(variables.iter().copied()).output();
    let settings = answer(&output.unwrap())["settings"].take();
    let found = settings.as_array().unwrap().iter().find(|setting| setting["name"] == name);
    found.unwrap_or_else(|| panic!("{name}: {settings}")).clone()
}

/// Writes a file of settings; returns its path.
fn configured(folder: &Path, text: &str) -> String {
    let path = folder.join("config.toml");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn every_value_is_shown_with_its_source() {
    let folder = tempfile::tempdir().unwrap();
    let file =
        configured(folder.path(), "[server]\naddr = '127.0.0.1:9'\n\n[todo]\nfollow = true\n");
    let arguments = ["config", "show", "--storage-dir", "/srv/muster"];
    let variables = [
        ("MUSTER_CONFIG", file.as_str()),
        ("MUSTER_TOOLSET", "full"),
        ("BRANCHMIND_WORKSPACE", "acme"),
        ("MUSTER_TOKEN", "hunter2"),
        ("MUSTER_URL", "http://127.0.0.1:9/"),
    ];
    let output = muster(&arguments).envs(variables).output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    let table = stdout(&output).replace(folder.path().to_str().unwrap(), "/home/ada");
    insta::assert_snapshot!("config_show", table);
    let raw = muster(&[&arguments[..], &["--json"]].concat()).envs(variables).output().unwrap();
    assert!(!stdout(&raw).contains("hunter2"));
    let report = answer(&raw);
    assert_eq!(report["file"], json!({"path": file, "found": true}));
    let addr =
        report["settings"].as_array().unwrap().iter().find(|one| one["name"] == "server.addr");
    assert_eq!(
        addr.unwrap(),
        &json!({
            "name": "server.addr",
            "value": "127.0.0.1:9",
            "source": {"kind": "file", "place": {"path": file, "line": 2}},
            "problem": null,
        })
    );
}

#[test]
fn the_file_has_a_place_whether_or_not_it_is_there() {
    let home = tempfile::tempdir().unwrap();
    let expected = home.path().join("muster/config.toml");
    let output = muster(&["config", "path"])
        .env_remove("MUSTER_CONFIG")
        .env("XDG_CONFIG_HOME", home.path())
        .output()
        .unwrap();
    assert_eq!(stdout(&output), format!("{}\n", expected.display()));
    let named = configured(home.path(), "not TOML at all");
    let output = muster(&["config", "path"]).env("MUSTER_CONFIG", &named).output().unwrap();
    assert_eq!(stdout(&output), format!("{named}\n"), "also of a broken one");
}

#[test]
fn a_bad_value_stops_only_who_needs_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = configured(folder.path(), "[server]\naddr = 'localhost'\n");
    let storage_dir = folder.path().join("store");
    let command = |arguments: &[&str]| {
        let mut command = muster(arguments);
        command.env("MUSTER_CONFIG", &file).env("MUSTER_STORAGE_DIR", &storage_dir);
        command.output().unwrap()
    };
    let refused = command(&["serve"]);
    assert_eq!(refused.status.code(), Some(1));
    let complaint = stderr(&refused);
    for part in [&*file, "line 2", "server.addr", "\"localhost\"", "127.0.0.1:7717"] {
        assert!(complaint.contains(part), "{part}: {complaint}");
    }
    let create = ["call", "tasks_create", "--workspace", "w", "--kind", "plan", "--title", "Here"];
    let unharmed = command(&create);
    assert_eq!(unharmed.status.code(), Some(0), "{}", stderr(&unharmed));
    let listed = command(&["config", "show"]);
    assert_eq!(listed.status.code(), Some(1));
    assert!(
        stdout(&listed).contains("line 2: \"localhost\" is not a valid value"),
        "{}",
        stdout(&listed)
    );
    assert!(stdout(&listed).contains("todo.follow"), "the others are there all the same");
}

#[test]
fn unknown_keys_are_a_warning_and_a_broken_file_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let storage = folder.path().join("store");
    let context = ["call", "tasks_context", "--workspace", "w"];
    let with_file = |text: &str| {
        let file = configured(folder.path(), text);
        let mut command = muster(&context);
        command.env("MUSTER_CONFIG", file).env("MUSTER_STORAGE_DIR", &storage).output().unwrap()
    };
    let warned = with_file("[mcp]\ntoolsets = 'full'\n");
    assert_eq!(warned.status.code(), Some(0));
    assert_eq!(answer(&warned)["success"], true);
    assert!(stderr(&warned).contains("did you mean mcp.toolset?"), "{}", stderr(&warned));
    let broken = with_file("[mcp\n");
    assert_eq!((broken.status.code(), stdout(&broken).as_str()), (Some(1), ""));
    assert!(stderr(&broken).contains("config.toml line 1"), "{}", stderr(&broken));
}

#[test]
fn the_file_decides_where_nothing_else_does() {
    let folder = tempfile::tempdir().unwrap();
    let file = configured(folder.path(), "workspace = 'acme'\n[storage]\ndir = 'kept-here'\n");
    let with_file = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = muster(arguments);
        command.env("MUSTER_CONFIG", &file).envs(variables.iter().copied()).output().unwrap()
    };
    let create = ["call", "tasks_create", "--kind", "plan", "--title", "Here"];
    let created = with_file(&create, &[]);
    assert_eq!(answer(&created)["context"]["workspace"], "acme", "{}", stdout(&created));
    assert!(folder.path().join("kept-here").is_dir());
    let tree = with_file(&["tasks"], &[]);
    assert!(stdout(&tree).contains("Here"), "{}{}", stdout(&tree), stderr(&tree));
    let by_variable = with_file(&create, &[("MUSTER_WORKSPACE", "other")]);
    assert_eq!(answer(&by_variable)["context"]["workspace"], "other");
    let by_flag = with_file(&[&create[..], &["--workspace", "third"]].concat(), &[]);
    assert_eq!(answer(&by_flag)["context"]["workspace"], "third");
    let by_json = ["call", "tasks_context", "--json", r#"{"workspace":"fourth"}"#];
    let by_json = with_file(&by_json, &[("MUSTER_WORKSPACE", "other")]);
    assert_eq!(answer(&by_json)["context"]["workspace"], "fourth", "what is said wins");
}

#[test]
fn a_server_is_found_while_it_runs_and_not_after_it_was_killed() {
    let mut server = serve(&[]);
    let storage_dir = server.storage_dir().to_str().unwrap().to_owned();
    let variables = [("MUSTER_STORAGE_DIR", storage_dir.as_str())];
    let url = shown(&variables, "client.url");
    assert_eq!(url["value"], format!("http://{}", server.address()));
    assert_eq!(url["source"]["kind"], "local_server");
    let token = shown(&variables, "client.token");
    assert_eq!(
        (&token["value"], &token["source"]["kind"]),
        (&json!("set"), &url["source"]["kind"])
    );
    server.kill().unwrap();
    assert_eq!(shown(&variables, "client.url")["value"], Value::Null, "no server holds the lock");
    let next = ServerProcess::start(program::path(), Path::new(&storage_dir), &[]).unwrap();
    let url = shown(&variables, "client.url");
    assert_eq!(url["value"], format!("http://{}", next.address()));
    let left = fs::read_dir(Path::new(&storage_dir).join("servers")).unwrap();
    assert_eq!(left.count(), 2, "what the killed one left was swept away");
}

#[test]
fn a_server_that_stops_takes_its_address_back() {
    let mut server = serve(&["--no-auth"]);
    let servers = server.storage_dir().join("servers");
    assert_eq!(fs::read_dir(&servers).unwrap().count(), 2);
    server.terminate().unwrap();
    assert_eq!(server.wait(PROMPT).unwrap().code(), Some(0));
    assert_eq!(fs::read_dir(&servers).unwrap().count(), 0);
}

#[test]
fn settings_of_the_server_come_from_the_environment_too() {
    let folder = tempfile::tempdir().unwrap();
    let variables = [("MUSTER_AUTH", "false"), ("MUSTER_LOG_FORMAT", "json")];
    let mut server =
        ServerProcess::start_in(program::path(), folder.path(), &[], &variables).unwrap();
    assert_eq!(server.token(), None);
    let log = server.kill().unwrap();
    let line = log.lines().find(|line| line.contains("authentication is off")).unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["level"], "WARN", "{line}");
}

#[test]
fn the_reference_names_every_setting() {
    let page = stdout(&run(&["config", "reference"]));
    let report = answer(&run(&["config", "show", "--json"]));
    for setting in report["settings"].as_array().unwrap() {
        let heading = format!("\n## {}\n", setting["name"].as_str().unwrap());
        assert!(page.contains(&heading), "{heading}");
    }
}
