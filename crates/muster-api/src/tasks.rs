//! The task operations, one file each, and their shared parts.

mod awaited;
mod batch;
mod block;
mod bootstrap;
mod card;
mod check;
mod close_step;
mod close_task;
mod complete;
mod context;
mod context_pack;
mod create;
mod decompose;
mod define;
mod delete;
mod delta;
mod done;
mod edit;
mod evidence;
mod export;
mod focus;
mod focus_memory;
mod groups;
mod handoff;
mod history;
mod import;
mod in_session;
mod lint;
mod macro_close_step;
mod macro_finish;
mod macro_start;
mod mirror;
mod moving;
mod next;
mod node;
mod note;
mod patch;
mod plan;
mod progress;
mod proof;
mod radar;
mod refocus;
mod respond;
mod resume;
mod resume_super;
mod setup;
mod step_door;
mod step_guard;
mod steps;
mod stop;
mod storage;
mod task_proof;
mod think;
mod think_tools;
mod undo;
mod undoable;
mod verify;
mod work;

pub(crate) use card::CardInput;
pub(crate) use decompose::StepWord;
pub(crate) use delta::Position;
pub use evidence::CALL_BYTES_MAX;
pub use focus::Focus;
pub(crate) use focus_memory::FocusMemory;
pub(crate) use groups::TargetName;
pub(crate) use proof::CallProject;
pub use stop::{AgentStop, UnprovenStep};
pub(crate) use work::{PendingWrite, Write, WriteOutcome, failure as task_failure};

use crate::registry::OfOperation;

/// The rows of this family.
pub(crate) fn rows<R: OfOperation>() -> Vec<R> {
    vec![
        R::of::<macro_start::TasksMacroStart>(),
        R::of::<macro_close_step::TasksMacroCloseStep>(),
        R::of::<resume_super::TasksSnapshot>(),
        R::of::<next::TasksNext>(),
        R::of::<step_door::TasksStep>(),
        R::of::<macro_finish::TasksMacroFinish>(),
        R::of::<macro_finish::TasksMacroCreateDone>(),
        R::of::<bootstrap::TasksBootstrap>(),
        R::of::<bootstrap::TasksScaffold>(),
        R::of::<think_tools::ThinkPipeline>(),
        R::of::<think_tools::ThinkCard>(),
        R::of::<think_tools::NotesCommit>(),
        R::of::<radar::TasksRadar>(),
        R::of::<check::TasksCheck>(),
        R::of::<context::TasksContext>(),
        R::of::<context_pack::TasksContextPack>(),
        R::of::<lint::TasksLint>(),
        R::of::<task_proof::TasksProof>(),
        R::of::<mirror::TasksMirror>(),
        R::of::<resume::TasksResume>(),
        R::of::<handoff::TasksHandoff>(),
        R::of::<resume_super::TasksResumePack>(),
        R::of::<resume_super::TasksResumeSuper>(),
        R::of::<storage::TasksStorage>(),
        R::of::<storage::TasksTemplatesList>(),
        R::of::<create::TasksCreate>(),
        R::of::<edit::TasksEdit>(),
        R::of::<moving::TasksMove>(),
        R::of::<focus::TasksFocusGet>(),
        R::of::<focus::TasksFocusSet>(),
        R::of::<focus::TasksFocusClear>(),
        R::of::<decompose::TasksDecompose>(),
        R::of::<define::TasksDefine>(),
        R::of::<note::TasksNote>(),
        R::of::<verify::TasksVerify>(),
        R::of::<done::TasksDone>(),
        R::of::<close_step::TasksCloseStep>(),
        R::of::<delta::TasksDelta>(),
        R::of::<complete::TasksComplete>(),
        R::of::<progress::TasksProgress>(),
        R::of::<block::TasksBlock>(),
        R::of::<delete::TasksDelete>(),
        R::of::<patch::TasksPatch>(),
        R::of::<close_task::TasksCloseTask>(),
        R::of::<batch::TasksBatch>(),
        R::of::<import::TasksImport>(),
        R::of::<export::TasksExport>(),
        R::of::<history::TasksHistory>(),
        R::of::<undo::TasksUndo>(),
        R::of::<undo::TasksRedo>(),
        R::of::<plan::TasksPlan>(),
        R::of::<plan::TasksContract>(),
        R::of::<evidence::TasksEvidenceCapture>(),
        R::of::<evidence::TasksEvidenceGet>(),
        R::of::<node::TasksTaskAdd>(),
        R::of::<node::TasksTaskDefine>(),
        R::of::<node::TasksTaskDelete>(),
    ]
}
