//! The way between an agent's own hook and the server that drives it.
//!
//! An agent that cannot take other arguments with an approval may still run a command before every
//! call. That command is `muster hook pre-tool-use`: it carries the call to the server over a
//! socket, waits, and tells the agent what was decided. One connection is one question:
//!
//! ```text
//!   agent ──► hook ── question ──► socket of the session ──► translator ──► a person
//!                  ◄── answer ───
//! ```
//!
//! Hooks of agents fail open, so everything here that is not a clear answer is a refusal.

use std::{
    fs,
    io::{self, BufRead as _, BufReader, Write as _},
    os::unix::{fs::DirBuilderExt as _, net::UnixStream},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::{
    io::AsyncWriteExt as _,
    net::UnixListener,
    sync::{mpsc, oneshot},
    task::JoinHandle,
};

use super::process::lines::{self, Line};

/// Bytes of a question.
const QUESTION_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Questions of one session that may wait to be heard.
const QUESTIONS_MAX: usize = 64;
/// What is answered when nobody is there to decide.
const NOBODY: &str = "the server does not wait for this call";

/// A call that an agent is about to make, as it tells its hooks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookQuestion {
    /// Name of the tool.
    pub tool_name: String,
    /// Its arguments.
    #[serde(default)]
    pub tool_input: Map<String, Value>,
    /// The agent's id of the call.
    pub tool_use_id: String,
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "camelCase")]
pub enum HookAnswer {
    /// The call may be made as far as the hook is concerned.
    Pass,
    /// It may be made with these arguments.
    Replace {
        /// The arguments.
        input: Map<String, Value>,
    },
    /// It may not be made.
    Deny {
        /// Why.
        reason: String,
    },
}

/// Asks the server that listens at a socket; blocks until it has answered.
pub fn ask(socket: &Path, question: &HookQuestion) -> io::Result<HookAnswer> {
    let mut stream = UnixStream::connect(socket)?;
    let mut line = serde_json::to_vec(question)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    Ok(serde_json::from_str(&answer)?)
}

/// A question that waits for its answer.
pub(crate) struct Waiting {
    /// The call.
    pub(crate) question: HookQuestion,
    /// Where the answer goes; without one the call is denied.
    pub(crate) answer: oneshot::Sender<HookAnswer>,
}

/// The place where the hooks of one session are heard; gone when it is dropped.
pub(crate) struct Post {
    folder: PathBuf,
    hearing: JoinHandle<()>,
}

impl Post {
    /// Opens a socket in a folder that only its owner may enter.
    pub(crate) fn open(name: &str) -> io::Result<(Self, mpsc::Receiver<Waiting>)> {
        let folder = std::env::temp_dir().join(format!("muster-hook-{name}"));
        fs::DirBuilder::new().mode(0o700).create(&folder)?;
        let listener = UnixListener::bind(folder.join("socket"))?;
        let (questions, heard) = mpsc::channel(QUESTIONS_MAX);
        let hearing = tokio::spawn(hear(listener, questions));
        Ok((Self { folder, hearing }, heard))
    }

    /// Where it is.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }
}

impl Drop for Post {
    fn drop(&mut self) {
        self.hearing.abort();
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            tracing::debug!(%error, folder = %self.folder.display(), "a socket is left behind");
        }
    }
}

async fn hear(listener: UnixListener, questions: mpsc::Sender<Waiting>) {
    while let Ok((stream, _)) = listener.accept().await {
        let questions = questions.clone();
        tokio::spawn(async move {
            if let Err(error) = converse(stream, questions).await {
                tracing::debug!(%error, "a hook has left");
            }
        });
    }
}

/// Hears one question and answers it.
async fn converse(
    stream: tokio::net::UnixStream,
    questions: mpsc::Sender<Waiting>,
) -> io::Result<()> {
    let (reading, mut writing) = stream.into_split();
    let mut reading = tokio::io::BufReader::new(reading);
    let question = match lines::next(&mut reading, QUESTION_BYTES_MAX).await? {
        Line::Whole(line) => serde_json::from_slice(&line).ok(),
        Line::TooLong | Line::End => None,
    };
    let decided = match question {
        Some(question) => {
            let (answer, answered) = oneshot::channel();
            match questions.send(Waiting { question, answer }).await {
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
    use super::{HookAnswer, HookQuestion, NOBODY, Post, ask};

    fn question() -> HookQuestion {
        let text = r#"{"tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"c"}"#;
        serde_json::from_str(text).unwrap()
    }

    #[tokio::test]
    async fn a_question_reaches_whoever_listens_and_the_answer_comes_back() {
        let (post, mut heard) = Post::open("answered").unwrap();
        let socket = post.socket();
        let asking = tokio::task::spawn_blocking(move || ask(&socket, &question()));
        let waiting = heard.recv().await.unwrap();
        assert_eq!(waiting.question, question());
        let input = question().tool_input;
        waiting.answer.send(HookAnswer::Replace { input: input.clone() }).unwrap();
        assert_eq!(asking.await.unwrap().unwrap(), HookAnswer::Replace { input });
        let socket = post.socket();
        drop(post);
        assert!(!socket.exists() && ask(&socket, &question()).is_err());
    }

    #[tokio::test]
    async fn what_nobody_answers_is_denied() {
        let (post, mut heard) = Post::open("unanswered").unwrap();
        let socket = post.socket();
        let asking = tokio::task::spawn_blocking(move || ask(&socket, &question()));
        drop(heard.recv().await.unwrap());
        let denied = HookAnswer::Deny { reason: NOBODY.to_owned() };
        assert_eq!(asking.await.unwrap().unwrap(), denied);
        let (socket, text) = (post.socket(), b"no question\n");
        let asking = tokio::task::spawn_blocking(move || {
            let mut stream = std::os::unix::net::UnixStream::connect(socket)?;
            std::io::Write::write_all(&mut stream, text)?;
            std::io::read_to_string(stream)
        });
        assert!(asking.await.unwrap().unwrap().contains("deny"));
    }
}
