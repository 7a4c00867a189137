//! The connection between an agent's own hook and the server that drives it.
//!
//! An agent that cannot take other arguments with an approval may still run a command before every
//! call. That command is `muster hook pre-tool-use`: it sends the call to the server over a socket,
//! waits, and returns the decision to the agent. One connection is one question:
//!
//! ```text
//!   agent ──► hook ── question ──► socket of the session ──► translator ──► a person
//!                  ◄── answer ───
//! ```
//!
//! Hooks of agents fail open, so everything here but a clear answer is a refusal.

use std::{
    fs,
    io::{self, BufRead as _, BufReader, Write as _},
    os::unix::{
        fs::{DirBuilderExt as _, MetadataExt as _},
        net::UnixStream,
    },
    path::{Path, PathBuf},
};

use muster_core::run::hash::sha256_hex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::{
    io::AsyncWriteExt as _,
    net::UnixListener,
    sync::{mpsc, oneshot},
    task::JoinHandle,
};

use super::{
    process::lines::{self, OutputLine},
    provider::reading,
};

const QUESTION_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Bytes of the path of the folder of all sockets.
const FOLDER_BYTES_MAX: usize = 60;
/// Rights of others than the owner.
const OTHERS: u32 = 0o077;
/// Questions of one session that may be queued.
const QUESTIONS_MAX: usize = 64;
/// The answer when no one is there to decide.
const NOBODY: &str = "the server does not wait for this call";

/// A call that an agent is about to make, as its hooks receive it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookQuestion {
    pub tool_name: String,
    #[serde(default)]
    pub tool_input: Map<String, Value>,
    /// The agent's id of the call.
    pub tool_use_id: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "camelCase")]
pub enum HookAnswer {
    /// The call may be made as far as the hook is concerned.
    Pass,
    /// It may be made with these arguments.
    Replace { input: Map<String, Value> },
    /// It may not be made.
    Deny { reason: String },
}

/// Sends a question to the server at a socket; blocks until it has answered.
pub fn ask(socket: &Path, question: &HookQuestion) -> io::Result<HookAnswer> {
    let mut stream = UnixStream::connect(socket)?;
    let mut line = serde_json::to_vec(question)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    answer_in(&answer)
}

/// Parses an answer.
fn answer_in(line: &str) -> io::Result<HookAnswer> {
    let answer: Value = serde_json::from_str(line)?;
    // Serde would accept a number as the index of a variant.
    if !answer["decision"].is_string() {
        return Err(io::Error::other("the answer names no decision"));
    }
    Ok(serde_json::from_value(answer)?)
}

/// The folder of the sockets of a storage folder. The system limits the length of their paths.
pub(crate) fn sockets(home: &Path) -> PathBuf {
    sockets_beside(home, std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from))
}

/// The same with the system's folder for the user's own sockets, if there is one.
fn sockets_beside(home: &Path, own: Option<PathBuf>) -> PathBuf {
    let name = sha256_hex(home.as_os_str().as_encoded_bytes());
    let name = format!("muster-hooks-{}", &name[..16]);
    let own = own.filter(|own| own.is_absolute() && own.is_dir()).map(|own| own.join(&name));
    let places = [Some(home.join("hooks")), own].into_iter().flatten();
    let mut short = places.filter(|place| place.as_os_str().len() <= FOLDER_BYTES_MAX);
    short.next().unwrap_or_else(|| std::env::temp_dir().join(name))
}

/// Rejects a folder that another user made or may enter: a socket placed there could answer for us.
fn check_private(folder: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(folder)?;
    let reason = if !found.is_dir() {
        "is not a folder"
    } else if found.uid() != rustix::process::geteuid().as_raw() {
        "belongs to another user"
    } else if found.mode() & OTHERS != 0 {
        "is open to others"
    } else {
        return Ok(());
    };
    let message = format!("the folder {} of sockets {reason}", folder.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

/// Removes the sockets of a server that was killed.
pub(crate) fn sweep(home: &Path) {
    let folder = sockets(home);
    match check_private(&folder).and_then(|()| fs::remove_dir_all(&folder)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(%error, "could not remove the hook sockets of an earlier server");
        }
        Ok(()) | Err(_) => {}
    }
}

/// A question that waits for its answer.
pub(crate) struct PendingQuestion {
    pub(crate) question: HookQuestion,
    /// Channel for the answer; if it is dropped the call is denied.
    pub(crate) answer: oneshot::Sender<HookAnswer>,
}

/// The socket for the hooks of one session; removed when it is dropped.
pub(crate) struct HookSocket {
    folder: PathBuf,
    hearing: JoinHandle<()>,
}

impl HookSocket {
    /// Opens a socket below a folder, in one that only its owner may enter.
    pub(crate) fn open(
        below: &Path,
        name: &str,
    ) -> io::Result<(Self, mpsc::Receiver<PendingQuestion>)> {
        let folder = below.join(name);
        fs::DirBuilder::new().mode(0o700).recursive(true).create(below)?;
        check_private(below)?;
        fs::DirBuilder::new().mode(0o700).create(&folder)?;
        let listener = UnixListener::bind(folder.join("socket"))?;
        let (questions, received) = mpsc::channel(QUESTIONS_MAX);
        let hearing = crate::background::spawn(accept_questions(listener, questions));
        Ok((Self { folder, hearing }, received))
    }

    /// The folder of the socket alone.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }
}

impl Drop for HookSocket {
    fn drop(&mut self) {
        self.hearing.abort();
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            tracing::debug!(
                %error,
                folder = %self.folder.display(),
                "could not remove a hook socket"
            );
        }
    }
}

async fn accept_questions(listener: UnixListener, questions: mpsc::Sender<PendingQuestion>) {
    while let Ok((stream, _)) = listener.accept().await {
        let questions = questions.clone();
        crate::background::spawn(async move {
            if let Err(error) = serve_question(stream, questions).await {
                tracing::debug!(%error, "hook connection failed");
            }
        });
    }
}

/// Reads one question and answers it.
async fn serve_question(
    stream: tokio::net::UnixStream,
    questions: mpsc::Sender<PendingQuestion>,
) -> io::Result<()> {
    let (reading, mut writing) = stream.into_split();
    let mut reading = tokio::io::BufReader::new(reading);
    let question = match lines::next(&mut reading, QUESTION_BYTES_MAX).await? {
        OutputLine::Whole(line) => serde_json::from_str(&reading::text(&line)).ok(),
        OutputLine::TooLong | OutputLine::End => None,
    };
    let decided = match question {
        Some(question) => {
            let (answer, answered) = oneshot::channel();
            match questions.send(PendingQuestion { question, answer }).await {
                Ok(()) => answered.await.ok(),
                Err(_) => None,
            }
        }
        None => None,
    };
    let answer = decided.unwrap_or_else(|| HookAnswer::Deny { reason: NOBODY.to_owned() });
    let mut line = serde_json::to_vec(&answer)?;
    line.push(b'\n');
    writing.write_all(&line).await
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

    use super::{
        HookAnswer, HookQuestion, HookSocket, NOBODY, answer_in, ask, sockets, sockets_beside,
        sweep,
    };

    #[test]
    fn sockets_of_long_paths_are_where_the_system_keeps_those_of_the_user() {
        let own = tempfile::tempdir().unwrap();
        let long = Path::new("/").join("x".repeat(100));
        assert!(sockets_beside(&long, Some(own.path().to_owned())).starts_with(own.path()));
        for none in [None, Some("relative".into()), Some("/no/such/folder".into())] {
            assert!(sockets_beside(&long, none).starts_with(std::env::temp_dir()));
        }
    }

    #[tokio::test]
    async fn a_folder_that_others_may_enter_or_that_is_no_folder_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let open = dir.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        for (folder, reason) in [(&open, "open to others"), (&link, "not a folder")] {
            let Err(error) = HookSocket::open(folder, "session") else { panic!("it was opened") };
            assert!(error.to_string().contains(reason), "{error}");
        }
        assert_eq!(fs::read_dir(&open).unwrap().count(), 0);
    }

    #[test]
    fn sockets_have_short_paths_and_those_of_a_killed_server_are_swept_away() {
        let home = tempfile::tempdir().unwrap();
        assert!(sockets(home.path()).starts_with(home.path()));
        let long = Path::new("/").join("x".repeat(100));
        assert!(sockets(&long).as_os_str().len() <= 60, "{:?}", sockets(&long));
        let left = sockets(home.path());
        let open = fs::Permissions::from_mode(0o777);
        fs::create_dir_all(left.join("left")).unwrap();
        fs::set_permissions(&left, open).unwrap();
        sweep(home.path());
        assert!(left.exists(), "what others may enter is not touched");
        fs::set_permissions(&left, fs::Permissions::from_mode(0o700)).unwrap();
        sweep(home.path());
        assert!(!sockets(home.path()).exists());
        sweep(home.path());
    }

    fn question() -> HookQuestion {
        let text = r#"{"tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"c"}"#;
        serde_json::from_str(text).unwrap()
    }

    #[tokio::test]
    async fn a_question_reaches_whoever_listens_and_the_answer_comes_back() {
        let below = tempfile::tempdir().unwrap();
        let (post, mut received) =
            HookSocket::open(&below.path().join("hooks"), "answered").unwrap();
        let socket = post.socket();
        let asking = tokio::task::spawn_blocking(move || ask(&socket, &question()));
        let waiting = received.recv().await.unwrap();
        assert_eq!(waiting.question, question());
        let input = question().tool_input;
        waiting.answer.send(HookAnswer::Replace { input: input.clone() }).unwrap();
        assert_eq!(asking.await.unwrap().unwrap(), HookAnswer::Replace { input });
        let socket = post.socket();
        drop(post);
        assert!(!socket.exists() && ask(&socket, &question()).is_err());
    }

    #[test]
    fn only_a_word_is_an_answer() {
        assert_eq!(answer_in(r#"{"decision":"pass"}"#).unwrap(), HookAnswer::Pass);
        for odd in [r#"{"decision":0}"#, r#"{"decision":null}"#, "{}", "0", ""] {
            assert!(answer_in(odd).is_err(), "{odd}");
        }
    }

    #[tokio::test]
    async fn what_nobody_answers_is_denied() {
        let below = tempfile::tempdir().unwrap();
        let (post, mut received) =
            HookSocket::open(&below.path().join("hooks"), "unanswered").unwrap();
        let socket = post.socket();
        let asking = tokio::task::spawn_blocking(move || ask(&socket, &question()));
        drop(received.recv().await.unwrap());
        let denied = HookAnswer::Deny { reason: NOBODY.to_owned() };
        assert_eq!(asking.await.unwrap().unwrap(), denied);
        let socket = post.socket();
        let text = b"no question\n";
        let asking = tokio::task::spawn_blocking(move || {
            let mut stream = std::os::unix::net::UnixStream::connect(socket)?;
            std::io::Write::write_all(&mut stream, text)?;
            std::io::read_to_string(stream)
        });
        assert!(asking.await.unwrap().unwrap().contains("deny"));
    }
}
