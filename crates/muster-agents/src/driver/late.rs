//! Output of a program after its turn is over: each line goes to the log of its node, and all of it
//! to a file of the turn that it belongs to (RUNS-TURN-2).

use muster_core::run::{Ask, artifact::ArtifactKind, id::TurnId};

use super::NodeDriver;
use crate::finish;

const LATE_BYTES_MAX: usize = 256 * 1024;

/// Late output of one turn.
#[derive(Default)]
pub(super) struct Late {
    turn: Option<TurnId>,
    text: String,
}

impl Late {
    /// Keeps another line, as long as there is room.
    fn add(&mut self, turn: TurnId, line: &str) {
        self.turn = Some(turn);
        if self.text.len() + line.len() < LATE_BYTES_MAX {
            self.text.push_str(line.trim_end_matches('\n'));
            self.text.push('\n');
        }
    }
}

impl NodeDriver {
    /// Keeps a line that came late; lines of an earlier turn are written first.
    pub(super) async fn keep_line(&mut self, turn: TurnId, line: &str) {
        if self.late.turn.is_some_and(|other| other != turn) {
            self.keep_late().await;
        }
        self.late.add(turn, line);
    }

    /// Writes the late lines to a file.
    pub(super) async fn keep_late(&mut self) {
        let Late { turn, text } = std::mem::take(&mut self.late);
        let Some(turn) = turn else { return };
        let text = finish::redacted(text);
        let file = finish::write(&self.shared, self.run, ArtifactKind::Log, ("late.log", &text));
        if let Some(file) = file {
            let node = self.node;
            let turn = Some(turn);
            let file = Box::new(file);
            self.report(Ask::RecordArtifact { node, turn, file }).await;
        }
    }
}
