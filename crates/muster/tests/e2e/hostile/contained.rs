//! Agents that go for the storage folder, where the token is with which they could approve
//! themselves.

use std::{
    fs,
    path::{Path, PathBuf},
};

use muster_testkit::server::ServerProcess;
use serde_json::{Value, json};

use crate::{
    program::serve_with_file,
    runs::{Client as _, agent, started, until},
};

/// Tries every way into the folder that is named in `where.txt`, and writes elsewhere.
const THIEF: &str = r#"
roots = ["/"]

[profiles.custom.thief]
command = ["sh", "-c", '''
while read -r line; do case "$line" in
  *'"type":"prompt"'*)
    store=$(cat where.txt); : "${store:?}"
    {
      cat "$store/token"; cat "$store"/*; ls -A "$store"; ls -A "$store/runs"
      echo "roots = [\"/\"] # by the thief" > "$store/runs.toml"; rm -f "$store/token"
      umount "$store"; cat "$store/token"
      cat "/proc/$PPID/root$store/token"; cat "/proc/$PPID/cwd/token"
      unshare -Urm sh -c "umount $store; cat $store/token; \
        mount --bind / /mnt; cat /mnt$store/token"
      unshare -m sh -c "umount $store; cat $store/token"
      nsenter -t $PPID -m cat "$store/token"
    } > loot.txt 2>&1
    echo x > "$(cat outside.txt)/written" 2>> loot.txt
    echo x > "${TMPDIR:-/tmp}/$(cat mark.txt)" 2>> loot.txt
    echo '{"type":"message.assistant.final","content":"Tried."}';;
esac; done''']
"#;

/// What came of a thief with these lines in its profile.
struct Raid {
    node: Value,
    loot: String,
    wrote_outside: bool,
}

fn raid(server: &ServerProcess) -> Raid {
    let dir = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir_in(closed_folder()).unwrap();
    let mark = format!("muster-{}", dir.path().file_name().unwrap().to_str().unwrap());
    let told = |name: &str, text: &Path| {
        fs::write(dir.path().join(name), text.to_str().unwrap()).unwrap();
    };
    told("where.txt", server.storage_dir());
    told("outside.txt", outside.path());
    told("mark.txt", Path::new(&mark));
    let run = started(server, dir.path(), json!({}));
    let node = agent(server, &run, "thief", json!({}));
    server.fine("POST", &format!("{run}/chat"), json!({"content": "go", "nodeId": node}));
    let run = until(server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
    let temporary = std::env::temp_dir().join(mark);
    assert!(temporary.exists(), "temporary files can always be written");
    fs::remove_file(temporary).unwrap();
    Raid {
        node: run["nodes"][&node].clone(),
        loot: fs::read_to_string(dir.path().join("loot.txt")).unwrap(),
        wrote_outside: outside.path().join("written").exists(),
    }
}

/// A folder for files that no agent should write. Temporary folders stay open to every agent, so it
/// is not below them.
fn closed_folder() -> PathBuf {
    let built = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    if built.starts_with(std::env::temp_dir()) {
        return std::env::home_dir().unwrap();
    }
    built
}

/// Whether agents are contained here; says so where not, as in a container without namespaces.
#[expect(clippy::print_stdout, reason = "a test that proves nothing here has to say so")]
fn is_contained(raid: &Raid, how: &str) -> bool {
    let containment = &raid.node["connection"]["containment"];
    if containment == "none" {
        println!("LEFT OUT: this system has no way to contain an agent");
        return false;
    }
    assert_eq!(containment, how);
    true
}

#[test]
fn an_agent_neither_reads_nor_writes_the_storage_folder() {
    let server = serve_with_file("runs.toml", THIEF);
    let raid = raid(&server);
    if !is_contained(&raid, "storage") {
        return;
    }
    let token = server.token().unwrap();
    assert!(!raid.loot.contains(token), "it found the token");
    assert!(!raid.loot.contains("muster.db"), "it saw the folder: {}", raid.loot);
    let settings = fs::read_to_string(server.storage_dir().join("runs.toml")).unwrap();
    assert_eq!(settings, THIEF, "it changed the settings");
    assert!(raid.wrote_outside, "elsewhere it writes as it likes");
}

#[test]
fn an_agent_with_contain_worktree_writes_where_it_works_and_nowhere_else() {
    let profile = "[profiles.custom.thief]\n";
    let text = THIEF.replace(profile, &format!("{profile}contain = \"worktree\"\n"));
    let server = serve_with_file("runs.toml", &text);
    let raid = raid(&server);
    if !is_contained(&raid, "worktree") {
        return;
    }
    assert!(!raid.loot.contains(server.token().unwrap()), "it found the token");
    assert!(!raid.wrote_outside, "{}", raid.loot);
}

#[test]
fn contain_off_is_recorded_on_the_node() {
    let profile = "[profiles.custom.default]\n";
    let text = format!(
        "roots = [\"/\"]\n{profile}contain = \"off\"\ncommand = [\"sh\", \"-c\", \"cat\"]\n\
         protocol = \"raw\"\n"
    );
    let server = serve_with_file("runs.toml", &text);
    let dir = tempfile::tempdir().unwrap();
    let run = started(&server, dir.path(), json!({}));
    let node = agent(&server, &run, "default", json!({}));
    server.fine("POST", &format!("{run}/chat"), json!({"content": "go", "nodeId": node}));
    let run = until(&server, &run, |run| run["nodes"][&node]["lastTurn"]["status"] == "completed");
    assert_eq!(run["nodes"][&node]["connection"]["containment"], "none");
}
