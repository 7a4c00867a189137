//! The person's key under a passphrase: nothing in the files of the storage folder lets an agent of
//! the same user act as the person.

use std::{
    fs,
    path::Path,
    process::Output,
    time::{Duration, Instant},
};

use muster_testkit::server::{Reply, Request, ServerProcess};
use serde_json::{Value, json};

#[cfg(target_os = "linux")]
use crate::terminal::at_a_terminal;
use crate::{
    program::{self, muster, serve, stderr},
    terminal::alone,
};

const PASSPHRASE: &str = "a long walk at night";

fn passphrase(storage: &Path, arguments: &[&str], files: &[(&str, &Path)]) -> Output {
    let storage = storage.to_str().unwrap();
    let arguments = [&["passphrase"], arguments, &["--storage-dir", storage]].concat();
    muster(&arguments).envs(files.iter().copied()).output().unwrap()
}

/// Sets the passphrase, from a file outside of the storage folder.
fn protect(server: &ServerProcess, elsewhere: &Path) {
    let file = elsewhere.join("passphrase");
    fs::write(&file, format!("{PASSPHRASE}\n")).unwrap();
    let from = ["set", "--new-from", file.to_str().unwrap()];
    let set = passphrase(server.storage_dir(), &from, &[]);
    assert!(set.status.success(), "{}", stderr(&set));
}

fn sign_in(server: &ServerProcess, presented: &Value) -> Reply {
    server.send(&Request::new("POST", "/api/session").json(presented)).unwrap()
}

fn code(reply: &Reply) -> Value {
    reply.json().unwrap()["error"]["code"].clone()
}

fn status(server: &ServerProcess, secret: &str) -> u16 {
    let request = Request::new("GET", "/api/page-sessions");
    server.send(&request.header("Authorization", &format!("Bearer {secret}"))).unwrap().status
}

#[test]
fn setting_a_passphrase_ends_what_the_earlier_key_opened() {
    let server = serve(&[]);
    let elsewhere = tempfile::tempdir().unwrap();
    let key = server.person_key().unwrap();
    let page = sign_in(&server, &json!({"token": key})).json().unwrap();
    let page = page["secret"].as_str().unwrap();
    assert_eq!((status(&server, key), status(&server, page)), (200, 200));
    protect(&server, elsewhere.path());
    assert_eq!((status(&server, key), status(&server, page)), (401, 401));
    // Whatever an agent finds in the folder of the person opens nothing.
    for entry in fs::read_dir(server.storage_dir().join("person")).unwrap() {
        let path = entry.unwrap().path();
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for word in text.split(|letter: char| !letter.is_ascii_alphanumeric()) {
            assert_eq!(status(&server, word), 401, "{} in {}", word, path.display());
        }
    }
}

#[test]
fn the_page_asks_for_the_passphrase_at_each_sign_in() {
    let server = serve(&[]);
    let elsewhere = tempfile::tempdir().unwrap();
    protect(&server, elsewhere.path());
    let link = server.page_link().split_once("#code=").unwrap().1;
    let bare = sign_in(&server, &json!({"code": link}));
    assert_eq!((bare.status, code(&bare)), (403, json!("PASSPHRASE_REQUIRED")));
    let wrong = sign_in(&server, &json!({"code": link, "passphrase": "guess"}));
    assert_eq!((wrong.status, code(&wrong)), (401, json!("UNAUTHORIZED")));
    let right = sign_in(&server, &json!({"code": link, "passphrase": PASSPHRASE}));
    assert_eq!(right.status, 200, "{}", right.text());
    assert_eq!(right.json().unwrap()["session"]["role"], "person");
    let again = sign_in(&server, &json!({"code": link, "passphrase": PASSPHRASE}));
    assert_eq!(again.status, 401, "a code works once");
    let token = server.token().unwrap();
    let agent = sign_in(&server, &json!({"token": token})).json().unwrap();
    assert_eq!(agent["session"]["role"], "agent");
    let both = json!({"token": token, "passphrase": PASSPHRASE});
    assert_eq!(sign_in(&server, &both).json().unwrap()["session"]["role"], "person");
    let guess = json!({"token": "0", "passphrase": PASSPHRASE});
    assert_eq!(sign_in(&server, &guess).status, 401, "the passphrase alone is not enough");
}

#[test]
fn commands_ask_for_the_passphrase_or_say_how_to_give_it() {
    let server = serve(&[]);
    let elsewhere = tempfile::tempdir().unwrap();
    protect(&server, elsewhere.path());
    let storage = server.storage_dir();
    let arguments = ["page-sessions", "--json", "--storage-dir", storage.to_str().unwrap()];
    let list = |variable: Option<&Path>| {
        let mut command = muster(&arguments);
        command.envs(variable.map(|file| ("MUSTER_PASSPHRASE_FILE", file)));
        // A session of its own has no terminal.
        alone(command)
    };
    let silent = list(None);
    assert!(!silent.status.success());
    assert!(stderr(&silent).contains("MUSTER_PASSPHRASE_FILE"), "{}", stderr(&silent));
    let file = elsewhere.path().join("passphrase");
    assert_eq!(program::answer(&list(Some(&file))), json!([]));
    let other = elsewhere.path().join("other");
    fs::write(&other, "another passphrase\n").unwrap();
    assert!(stderr(&list(Some(&other))).contains("wrong"));
    let with = [("MUSTER_PASSPHRASE_FILE", file.as_path())];
    let change = ["change", "--new-from", other.to_str().unwrap()];
    let changed = passphrase(storage, &change, &with);
    assert!(changed.status.success(), "{}", stderr(&changed));
    assert!(stderr(&passphrase(storage, &["remove"], &with)).contains("wrong"));
    let with = [("MUSTER_PASSPHRASE_FILE", other.as_path())];
    assert!(passphrase(storage, &["remove"], &with).status.success());
    assert_eq!(program::answer(&list(None)), json!([]));
}

#[cfg(target_os = "linux")]
#[test]
fn a_passphrase_is_typed_at_the_terminal_and_not_shown() {
    let server = serve(&[]);
    let storage = server.storage_dir();
    let first = "New passphrase: ";
    let again = "Repeat the passphrase: ";
    let typed = format!("{PASSPHRASE}\r");
    let differs = at_a_terminal(storage, "passphrase set", &[(first, &typed), (again, "other\r")]);
    assert!(differs.contains("passphrases differ") && !differs.contains("code=0"), "{differs}");
    let set = at_a_terminal(storage, "passphrase set", &[(first, &typed), (again, &typed)]);
    // One key is taken back.
    let corrected = format!("{PASSPHRASE}x\x7f\r");
    let listed = at_a_terminal(storage, "page-sessions --json", &[("Passphrase: ", &corrected)]);
    assert!(listed.contains("[]"), "{listed}");
    for shown in [&set, &listed] {
        assert!(shown.contains("code=0"), "{shown}");
        assert!(!shown.contains("walk"), "what was typed is shown: {shown}");
    }
    let left = at_a_terminal(storage, "page-sessions", &[("Passphrase: ", "a\x03")]);
    assert!(left.contains("code=1"), "{left}");
    let began = Instant::now();
    let silent = at_a_terminal(storage, "page-sessions", &[("Passphrase: ", "half of it")]);
    assert!(silent.contains("nothing was typed") && silent.contains("code=1"), "{silent}");
    assert!(began.elapsed() >= Duration::from_secs(2), "after {:?}", began.elapsed());
}
