//! A call without a thread that waits for its write, for surfaces that serve many callers.
//!
//! ```text
//!   begin ─► Answered
//!         ─► Writing ── the write is durable, or refused ──► settle ─► Answered
//!         ─► Blocking                                              ─► Blocking
//! ```

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{
    App, Caller, Envelope,
    call::{CallAction, CallFailure, Prepared, Scene},
    tasks::{PendingWrite, Write, WriteOutcome},
};

/// How far a call is.
pub enum CallStage {
    Answered(Box<Envelope>),
    /// Its write is under way.
    Writing(WritingCall),
    /// It has to wait for more than one write.
    Blocking(BlockingCall),
}

/// A call whose write is under way. It happens even if this is dropped.
pub struct WritingCall {
    write: Arc<Write>,
    scene: Arc<Scene>,
    outcome: PendingWrite,
}

/// A call whose write is durable or refused.
pub struct WrittenCall {
    write: Arc<Write>,
    scene: Arc<Scene>,
    outcome: WriteOutcome,
}

/// A call that blocks until it is answered.
pub struct BlockingCall {
    caller: Caller,
    name: String,
    work: BlockingWork,
}

enum BlockingWork {
    Prepared(Box<Prepared>),
    Write(Arc<Write>, Arc<Scene>),
}

impl WritingCall {
    /// Waits for the write.
    pub async fn written(self) -> WrittenCall {
        let Self { write, scene, outcome } = self;
        WrittenCall { write, scene, outcome: outcome.await }
    }
}

impl App {
    /// Begins a call. Only its reads block.
    pub fn begin(&self, caller: &Caller, name: &str, arguments: Map<String, Value>) -> CallStage {
        let Prepared { scene, action } = match self.prepare(caller, name, arguments) {
            Ok(prepared) => prepared,
            Err(failure) => return self.answered(caller, name, Err(failure)),
        };
        let blocking = |work| {
            let caller = caller.clone();
            CallStage::Blocking(BlockingCall { caller, name: name.to_owned(), work })
        };
        let write = match action {
            CallAction::Answered(envelope) => return self.answered(caller, name, Ok(*envelope)),
            CallAction::Write(write) => Arc::new(write),
            action @ CallAction::Through(_) => {
                return blocking(BlockingWork::Prepared(Box::new(Prepared { scene, action })));
            }
        };
        let scene = Arc::new(scene);
        match write.begin(self, &scene) {
            Some(outcome) => CallStage::Writing(WritingCall { write, scene, outcome }),
            None => blocking(BlockingWork::Write(write, scene)),
        }
    }

    /// Goes on with a call after its write.
    pub fn settle(&self, call: WrittenCall) -> CallStage {
        let WrittenCall { write, scene, outcome } = call;
        match write.settle(outcome) {
            Some(answer) => self.answered(&scene.caller, scene.tool, answer),
            None => {
                let caller = scene.caller.clone();
                let name = scene.tool.to_owned();
                let work = BlockingWork::Write(write, scene);
                CallStage::Blocking(BlockingCall { caller, name, work })
            }
        }
    }

    /// Makes a call that blocks.
    pub fn block_on(&self, call: BlockingCall) -> Envelope {
        let BlockingCall { caller, name, work } = call;
        let answer = match work {
            BlockingWork::Prepared(prepared) => prepared.perform(self),
            BlockingWork::Write(write, scene) => write.perform(self, &scene),
        };
        self.finish(&caller, &name, answer)
    }

    fn answered(
        &self,
        caller: &Caller,
        name: &str,
        answer: Result<Envelope, CallFailure>,
    ) -> CallStage {
        CallStage::Answered(Box::new(self.finish(caller, name, answer)))
    }
}
