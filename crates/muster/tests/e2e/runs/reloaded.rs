//! `runs.toml` is read again when it changes, and a broken one is said.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{Client as _, PATIENCE};
use crate::program::{muster, serve_with_file, stdout};

const PLAIN: &str = "roots = [\"/\"]\n";
const WITH_PROFILE: &str = "\
roots = [\"/\"]
default_permissions_mode = \"skip\"
[profiles.custom.new]
command = [\"cat\"]
";

/// Waits until something holds.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn people_run_6_settings_of_runs_are_read_again_and_errors_are_said() {
    let server = serve_with_file("runs.toml", PLAIN);
    let file = server.storage_dir().join("runs.toml");
    let dir = tempfile::tempdir().unwrap();
    let run = server.run(json!({"cwd": dir.path()}));
    let node = json!({"label": "A", "provider": "custom", "providerProfile": "new"});
    let add = || server.ask("POST", &format!("{run}/nodes"), json!({"node": node}));
    let (status, refused) = add();
    assert_eq!((status, &refused["path"]), (422, &json!("node.providerProfile")), "{refused}");
    fs::write(&file, WITH_PROFILE).unwrap();
    eventually("the new profile is not known", || add().0 == 200);
    let fresh = server.run(json!({"cwd": dir.path()}));
    let id = server.node(&fresh, "B", "implementer");
    let shown = server.see(&fresh)["run"]["nodes"][&id]["permissions"].take();
    assert_eq!(shown["cliPermissionsMode"], "skip", "the default is the new one");
    let known = || {
        let providers = server.see("/api/providers")["providers"].take();
        let custom = providers.as_array().unwrap().iter().find(|one| one["name"] == "custom");
        custom.unwrap()["profiles"].as_array().unwrap().contains(&json!("new"))
    };
    assert!(known(), "the server and `muster providers` agree");
    let fault = || server.see("/api/attention")["settingsFault"].take();
    assert_eq!(fault(), Value::Null);
    fs::write(&file, "roots = [\"/\"]\nmax_turns = 1\n").unwrap();
    eventually("the broken file is not said", || fault().is_string());
    let said = fault();
    assert!(said.as_str().unwrap().contains("line 2"), "{said}");
    let mut status = muster(&["status", "--storage-dir"]);
    let status = stdout(&status.arg(server.storage_dir()).output().unwrap());
    assert!(status.contains("settings") && status.contains("max_turns"), "{status}");
    assert_eq!(add().0, 200, "the settings from before stay in force");
    fs::write(&file, PLAIN).unwrap();
    eventually("the mended file is not read", || fault().is_null());
    assert_eq!(add().0, 422);
}
