//! Why an agent did not open a session: its last output, how it ended, and what to do about it.

use std::time::Duration;

use tokio::sync::mpsc;

use super::AgentProtocol;
use crate::{
    finish,
    process::stderr::Tail,
    provider::{OpenFailure, Signal},
};

/// Characters of standard error that a failure shows.
const STDERR_CHARS_MAX: usize = 1_500;
/// Lines of standard output that it shows, and characters of them.
const LINES_MAX: usize = 5;
const LINES_CHARS_MAX: usize = 600;
/// How long to wait for the end of a program that is silent.
const END_MAX: Duration = Duration::from_secs(1);

/// The output of an agent that has opened no session.
pub(super) struct Remains<'a> {
    /// Output that was not understood.
    pub(super) strays: &'a Tail,
    /// The end of its standard error.
    pub(super) stderr: &'a Tail,
    /// How it ended, if it exited on its own.
    pub(super) ending: Option<String>,
}

/// How a silent program ends.
pub(super) async fn ending(signals: &mut mpsc::Receiver<Signal>) -> Option<String> {
    let activity = async {
        while let Some(signal) = signals.recv().await {
            if let Signal::Gone { detail, .. } = signal {
                return Some(detail);
            }
        }
        None
    };
    tokio::time::timeout(END_MAX, activity).await.ok().flatten()
}

/// The failure with everything that explains it.
pub(super) fn explained(
    failure: OpenFailure,
    remains: &Remains<'_>,
    dialect: &AgentProtocol,
) -> OpenFailure {
    let mut detail = failure.detail;
    if let Some(ending) = &remains.ending {
        detail.push_str(&format!(" ({ending})"));
    }
    let output = [last_lines(&remains.strays.text()), first_part(&remains.stderr.text())];
    for text in output.iter().filter(|text| !text.is_empty()) {
        detail.push_str(&format!("\n{text}"));
    }
    let advice = dialect.advice.iter().find(|(words, _)| detail.contains(words));
    if let Some((_, advice)) = advice {
        detail.push_str(&format!("\n{advice}"));
    }
    OpenFailure { detail, ..failure }
}

/// Redacted before it is cut: half of a secret would not be recognized (RUNS-SEC-6).
fn first_part(text: &str) -> String {
    muster_core::text::cut(finish::redacted(text.to_owned()).trim(), STDERR_CHARS_MAX)
}

fn last_lines(text: &str) -> String {
    let text = finish::redacted(text.to_owned());
    let lines: Vec<&str> = text.trim().lines().collect();
    let last = lines[lines.len().saturating_sub(LINES_MAX)..].join("\n");
    muster_core::text::cut(&last, LINES_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use muster_core::run::turn::TurnReason;

    use super::{OpenFailure, Remains, Tail, explained};
    use crate::provider::{claude, codex};

    fn output(text: &str) -> Tail {
        let tail = Tail::default();
        tail.add(text.as_bytes());
        tail
    }

    fn failure() -> OpenFailure {
        OpenFailure { reason: TurnReason::HandshakeFailed, detail: "it ended".to_owned() }
    }

    #[test]
    fn a_failure_shows_the_end_the_last_lines_and_no_secret() {
        let strays: String = (0..9).map(|line| format!("line {line}\n")).collect();
        let strays = output(&strays);
        let stderr = output("key ghp_abcdefghijklmnop0123\n");
        let ending = Some("exit code 7".to_owned());
        let remains = Remains { strays: &strays, stderr: &stderr, ending };
        let explained_failure = explained(failure(), &remains, &codex::DIALECT);
        let lines = "line 4\nline 5\nline 6\nline 7\nline 8";
        assert_eq!(
            explained_failure.detail,
            format!("it ended (exit code 7)\n{lines}\nkey <redacted>")
        );
    }

    #[test]
    fn a_failure_of_claude_as_root_says_what_to_do() {
        let stderr = output(
            "--dangerously-skip-permissions cannot be used with root/sudo privileges for \
             security reasons\n",
        );
        let remains = Remains { strays: &Tail::default(), stderr: &stderr, ending: None };
        let explained_failure = explained(failure(), &remains, &claude::DIALECT);
        assert!(
            explained_failure.detail.contains("IS_SANDBOX")
                && explained_failure.detail.contains("gated"),
            "{explained_failure:?}"
        );
        let explained_failure = explained(failure(), &remains, &codex::DIALECT);
        assert!(!explained_failure.detail.contains("IS_SANDBOX"), "{explained_failure:?}");
    }
}
