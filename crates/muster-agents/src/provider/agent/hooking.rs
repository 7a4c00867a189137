//! The hook of an agent that asks through one before it makes a call: its socket, and the calls
//! that wait for an answer.

use std::{collections::BTreeMap, io};

use muster_core::run::{node::PermissionsMode, turn::TurnReason};
use tokio::sync::{mpsc, oneshot};

use super::fresh::fresh_uuid;
use crate::{
    hook::{HookAnswer, HookQuestion, HookSocket, PendingQuestion},
    process::confine::Confinement,
    provider::{OpenFailure, SessionOpening},
};

pub(super) struct Hooking {
    /// The command of the hook, for a shell.
    pub(super) line: String,
    questions: mpsc::Receiver<PendingQuestion>,
    waiting: BTreeMap<String, oneshot::Sender<HookAnswer>>,
    /// Removed with the conversation.
    socket: HookSocket,
}

impl Hooking {
    /// Listens to the hook of an agent, if it should ask and there is a command for one. An agent
    /// whose hook cannot connect is not started.
    pub(super) fn open(opening: &SessionOpening) -> Result<Option<Self>, OpenFailure> {
        let gated = opening.order.gate == PermissionsMode::Gated;
        let Some((command, below)) = opening.hook.as_ref().filter(|_| gated) else {
            return Ok(None);
        };
        let name = &fresh_uuid()[..8];
        let (socket, questions) =
            HookSocket::open(below, name).map_err(|error| not_heard(&error))?;
        let line = line(command, &socket.socket().to_string_lossy());
        Ok(Some(Self { line, questions, waiting: BTreeMap::new(), socket }))
    }

    /// The confinement of an agent that has to reach the socket of its hook.
    pub(super) fn beside(hooking: Option<&Self>, opening: &SessionOpening) -> Option<Confinement> {
        let confinement = opening.confinement.clone()?;
        Some(match hooking {
            Some(hooking) => confinement.with_open(hooking.socket.folder().to_owned()),
            None => confinement,
        })
    }

    /// The next call that the hook asks about; `None` if there will be none.
    pub(super) async fn next(hooking: Option<&mut Self>) -> Option<HookQuestion> {
        let Some(hooking) = hooking else { return std::future::pending().await };
        let PendingQuestion { question, answer } = hooking.questions.recv().await?;
        hooking.waiting.insert(question.tool_use_id.clone(), answer);
        Some(question)
    }

    pub(super) fn answer(&mut self, call: &str, answer: HookAnswer) {
        let waiting = self.waiting.remove(call);
        if waiting.is_none_or(|waiting| waiting.send(answer).is_err()) {
            tracing::debug!(call, "hook disconnected before its answer");
        }
    }
}

fn not_heard(error: &io::Error) -> OpenFailure {
    let detail = format!("its hook cannot be heard: {error}");
    OpenFailure { reason: TurnReason::SpawnFailed, detail }
}

/// The command of a hook as a line for a shell.
fn line(command: &[String], socket: &str) -> String {
    let quoted = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
    let words = command.iter().map(String::as_str).chain(["--socket", socket]);
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn a_command_survives_the_shell() {
        let command = ["/opt/it's/muster".to_owned(), "hook".to_owned()];
        assert_eq!(line(&command, "/tmp/s"), r"'/opt/it'\''s/muster' 'hook' '--socket' '/tmp/s'");
    }
}
