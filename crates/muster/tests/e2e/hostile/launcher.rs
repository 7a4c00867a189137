//! The process that becomes an agent, with orders that no server gave.

use std::{fs, path::Path, process::Command};

use serde_json::json;

use super::contained::{DAEMON, is_root};
use crate::program;

#[test]
fn ssh_takes_its_settings_in_a_user_namespace() {
    let settings = Path::new("/etc/ssh/ssh_config.d");
    if !is_root() || !settings.exists() {
        println!("LEFT OUT: settings of ssh cannot be added here");
        return;
    }
    let closed = tempfile::tempdir().unwrap();
    let limits = json!({"mechanism": "namespace", "closed": {"folder": closed.path()}});
    let order = json!({"workdir": "/", "limits": limits}).to_string();
    let script = format!(
        "mount -t tmpfs none {settings} && \
         printf 'Host marked\\n  User somebody\\n' > {settings}/50-marked.conf && \
         exec setpriv --reuid {DAEMON} --regid {DAEMON} --clear-groups \
         '{program}' contained \"$0\" -- ssh -G marked",
        settings = settings.display(),
        program = program::path().display(),
    );
    let output = Command::new("unshare").args(["-m", "sh", "-c", &script, &order]).output();
    let output = output.unwrap();
    assert!(program::stdout(&output).contains("user somebody\n"), "{}", program::stderr(&output));
}

/// What a process under Landlock tries around a closed folder, and whether it succeeds.
#[cfg(target_os = "linux")]
const AROUND: [(&str, bool); 14] = [
    ("cat way/store/secret", false),
    ("cat second/store/secret", false),
    ("ls way/store", false),
    ("truncate -s 0 way/store/secret", false),
    ("ln way/store/secret way/beside/link", false),
    ("cat way/store/open/file", true),
    ("echo x > way/store/open/new", true),
    ("mv way/store/open/new way/beside/moved", true),
    ("echo x > way/beside/new", true),
    ("echo x >> way/file", true),
    // The price: folders on the way take no changes and cannot be listed.
    ("echo x > way/new", false),
    ("mv way/file way/renamed", false),
    ("ls way", false),
    ("mount --bind way/beside way/store", false),
];

#[cfg(target_os = "linux")]
#[test]
fn landlock_grants_what_is_beside_the_way_to_a_closed_folder() {
    let dir = tempfile::tempdir().unwrap();
    let way = dir.path().join("way");
    for folder in ["way/store/open", "way/beside", "second"] {
        fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    for file in ["way/store/secret", "way/store/open/file", "way/file"] {
        fs::write(dir.path().join(file), "content").unwrap();
    }
    let closed = json!({"folder": way.join("store"), "open": [way.join("store/open")]});
    let limits = json!({"mechanism": "landlock", "closed": closed});
    let order = json!({"workdir": dir.path(), "limits": limits}).to_string();
    let tries: Vec<_> = AROUND
        .iter()
        .map(|(command, _)| format!("({command}) >/dev/null && echo yes || echo no"))
        .collect();
    // A second mount of a folder on the way is the same folder to Landlock.
    let twice = if is_root() { "mount --bind way second && " } else { "" };
    let script =
        format!("{twice}exec '{}' contained \"$0\" -- sh -c \"$1\"", program::path().display());
    let start: &[&str] = if is_root() { &["unshare", "-m"] } else { &["env"] };
    let output = Command::new(start[0])
        .args(&start[1..])
        .args(["sh", "-c", &script, &order, &tries.join("\n")])
        .current_dir(dir.path())
        .output()
        .unwrap();
    let shown = program::stdout(&output);
    let came_of: Vec<_> = AROUND.iter().map(|(command, _)| *command).zip(shown.lines()).collect();
    let expected: Vec<_> = AROUND
        .iter()
        .map(|(command, works)| (*command, if *works { "yes" } else { "no" }))
        .collect();
    assert_eq!(came_of, expected, "{}", program::stderr(&output));
}

#[test]
fn a_launcher_refuses_an_order_that_it_does_not_understand() {
    let order = json!({"workdir": "/", "closed": {"folder": "/nowhere"}}).to_string();
    let output = program::run(&["contained", &order, "--", "echo", "started"]);
    assert!(!output.status.success());
    assert_eq!(program::stdout(&output), "", "{}", program::stderr(&output));
}
