//! Agents that go for the storage folder, where the token is with which they could approve
//! themselves.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use muster_testkit::server::ServerProcess;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    program::{self, serve_with_file},
    runs::{Client as _, agent, started, until},
};

/// Tries every way into the folder that is named in `where.txt`, and writes elsewhere.
const THIEF: &str = r#"
roots = ["/"]
default_permissions_mode = "skip"

[profiles.custom.thief]
command = ["sh", "-c", '''
while read -r line; do case "$line" in
  *'"type":"prompt"'*)
    store=$(cat where.txt); : "${store:?}"
    {
      cat "$store/token"; cat "$store"/*; ls -A "$store"; ls -A "$store/runs"
      echo "roots = [\"/\"] # by the thief" > "$store/runs.toml"; rm -f "$store/token"
      truncate -s 0 "$store/runs.toml"; echo x > "$store/new"
      ln "$store/token" token; mv "$store/token" token; mv "$store" "$store.moved"
      umount "$store"; cat "$store/token"
      cat "/proc/$PPID/root$store/token"; cat "/proc/$PPID/cwd/token"
      for root in /proc/[0-9]*/root; do cat "$root$store/token"; done
      unshare -Urm sh -c "umount $store; cat $store/token; \
        mount --bind / /mnt; cat /mnt$store/token"
      unshare -m sh -c "umount $store; cat $store/token"
      nsenter -t $PPID -m cat "$store/token"
    } > loot.txt 2>&1
    cat token >> loot.txt 2>&1
    echo x > "$(cat outside.txt)/written" 2>> loot.txt
    echo x > "${TMPDIR:-/tmp}/$(cat mark.txt)" 2>> loot.txt
    echo '{"type":"message.assistant.final","content":"Tried."}';;
esac; done''']
"#;
/// A user with few rights that every system has, for tests that root runs. Not `nobody`: in a user
/// namespace its number means all other users.
pub(super) const DAEMON: u32 = 1;

/// What a server has to contain its agents with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ground {
    /// What there is for the user who runs the tests: for root, a mount namespace.
    AsItIs,
    /// A user namespace, because the server runs without the rights of root.
    User,
    /// Landlock, because namespaces are refused.
    NoNamespaces,
}

/// The grounds of this system, and what contains agents on them.
pub(super) const GROUNDS: &[(Ground, &str)] = if cfg!(target_os = "linux") {
    &[
        (Ground::AsItIs, "namespace"),
        (Ground::User, "namespace"),
        (Ground::NoNamespaces, "landlock"),
    ]
} else {
    &[(Ground::AsItIs, "seatbelt")]
};

impl Ground {
    /// A script that starts the program on this ground.
    fn script(self) -> String {
        let program = program::path().display();
        let start = match self {
            Self::User if is_root() => {
                format!(
                    "setpriv --reuid {DAEMON} --regid {DAEMON} --clear-groups env HOME=/nowhere"
                )
            }
            Self::AsItIs | Self::User => String::new(),
            Self::NoNamespaces => "unshare -Ur sh -c \
                'echo 0 > /proc/sys/user/max_user_namespaces && \
                 exec setpriv --bounding-set=-sys_admin \"$0\" \"$@\"'"
                .to_owned(),
        };
        format!("#!/bin/sh\nexec {start} '{program}' \"$@\"\n")
    }

    /// Lets the server and its agents own a file or folder.
    pub(super) fn hand_over(self, path: &Path) {
        if self == Self::User && is_root() {
            chown(path, Some(DAEMON), Some(DAEMON)).unwrap();
        }
    }
}

pub(super) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0)
}

/// A server whose storage folder is beside the places that a thief tries to write.
pub(super) struct Fortress {
    pub(super) server: ServerProcess,
    ground: Ground,
    /// Removed at the end.
    _folders: [TempDir; 2],
}

impl Fortress {
    pub(super) fn on(ground: Ground, settings: &str) -> Self {
        let storage = tempfile::tempdir_in(closed_folder()).unwrap();
        let file = storage.path().join("runs.toml");
        fs::write(&file, settings).unwrap();
        ground.hand_over(&file);
        ground.hand_over(storage.path());
        let beside = tempfile::tempdir().unwrap();
        let script = beside.path().join("muster");
        fs::write(&script, ground.script()).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let server = ServerProcess::start(&script, storage.path(), &[]).unwrap();
        Self { server, ground, _folders: [storage, beside] }
    }
}

/// A process of the same user with no rights at all, which root may trace with few rights left. It
/// sees all files.
struct Bystander(Option<Child>);

impl Bystander {
    fn beside() -> Self {
        let powerless = ["--bounding-set=-all", "--inh-caps=-all", "sleep", "60"];
        Self(Command::new("setpriv").args(powerless).stdout(Stdio::null()).spawn().ok())
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            // It may have ended.
            child.kill().unwrap_or_default();
            child.wait().unwrap();
        }
    }
}

/// What came of a thief.
struct Raid {
    node: Value,
    loot: String,
    wrote_outside: bool,
}

fn raid(fortress: &Fortress) -> Raid {
    let server = &fortress.server;
    let ground = fortress.ground;
    let dir = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir_in(closed_folder()).unwrap();
    ground.hand_over(dir.path());
    ground.hand_over(outside.path());
    let mark = format!("muster-{}", dir.path().file_name().unwrap().to_str().unwrap());
    let keep = |name: &str, text: &Path| {
        fs::write(dir.path().join(name), text.to_str().unwrap()).unwrap();
    };
    keep("where.txt", server.storage_dir());
    keep("outside.txt", outside.path());
    keep("mark.txt", Path::new(&mark));
    let _bystander = Bystander::beside();
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
    for &(ground, mechanism) in GROUNDS {
        let mut fortress = Fortress::on(ground, THIEF);
        let raid = raid(&fortress);
        if !is_contained(&raid, "storage") {
            continue;
        }
        let server = &mut fortress.server;
        let token = server.token().unwrap().to_owned();
        let read = |name: &str| fs::read_to_string(server.storage_dir().join(name));
        assert!(!raid.loot.contains(&token), "{mechanism}: it found the token: {}", raid.loot);
        assert!(!raid.loot.contains("muster.db"), "{mechanism}: it saw the folder: {}", raid.loot);
        assert_eq!(read("runs.toml").unwrap(), THIEF, "{mechanism}: it changed the settings");
        assert_eq!(read("token").unwrap().trim(), token, "{mechanism}: it changed the token");
        assert!(read("new").is_err(), "{mechanism}: it wrote a new file");
        assert!(raid.wrote_outside, "{mechanism}: elsewhere it writes as it likes: {}", raid.loot);
        let log = server.kill().unwrap();
        let kept = log.lines().find(|line| line.contains("agents are kept from the storage"));
        assert!(kept.is_some_and(|line| line.contains(mechanism)), "{mechanism}: {log}");
    }
}

#[test]
fn an_agent_with_contain_worktree_writes_where_it_works_and_nowhere_else() {
    let profile = "[profiles.custom.thief]\n";
    let text = THIEF.replace(profile, &format!("{profile}contain = \"worktree\"\n"));
    for &(ground, mechanism) in GROUNDS {
        let fortress = Fortress::on(ground, &text);
        let raid = raid(&fortress);
        if !is_contained(&raid, "worktree") {
            continue;
        }
        let token = fortress.server.token().unwrap();
        assert!(!raid.loot.contains(token), "{mechanism}: it found the token");
        assert!(!raid.wrote_outside, "{mechanism}: {}", raid.loot);
    }
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
