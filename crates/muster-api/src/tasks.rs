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
mod focus;
mod focus_memory;
mod groups;
mod handoff;
mod history;
mod in_session;
mod lint;
mod macro_close_step;
mod macro_finish;
mod macro_start;
mod mirror;
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
pub(crate) use work::{Write, failure as task_failure};

use crate::OperationRow;

/// The rows of this family.
pub(crate) fn rows() -> Vec<OperationRow> {
    vec![
        OperationRow::of::<macro_start::TasksMacroStart>(),
        OperationRow::of::<macro_close_step::TasksMacroCloseStep>(),
        OperationRow::of::<resume_super::TasksSnapshot>(),
        OperationRow::of::<next::TasksNext>(),
        OperationRow::of::<step_door::TasksStep>(),
        OperationRow::of::<macro_finish::TasksMacroFinish>(),
        OperationRow::of::<macro_finish::TasksMacroCreateDone>(),
        OperationRow::of::<bootstrap::TasksBootstrap>(),
        OperationRow::of::<bootstrap::TasksScaffold>(),
        OperationRow::of::<think_tools::ThinkPipeline>(),
        OperationRow::of::<think_tools::ThinkCard>(),
        OperationRow::of::<think_tools::NotesCommit>(),
        OperationRow::of::<radar::TasksRadar>(),
        OperationRow::of::<check::TasksCheck>(),
        OperationRow::of::<context::TasksContext>(),
        OperationRow::of::<context_pack::TasksContextPack>(),
        OperationRow::of::<lint::TasksLint>(),
        OperationRow::of::<task_proof::TasksProof>(),
        OperationRow::of::<mirror::TasksMirror>(),
        OperationRow::of::<resume::TasksResume>(),
        OperationRow::of::<handoff::TasksHandoff>(),
        OperationRow::of::<resume_super::TasksResumePack>(),
        OperationRow::of::<resume_super::TasksResumeSuper>(),
        OperationRow::of::<storage::TasksStorage>(),
        OperationRow::of::<storage::TasksTemplatesList>(),
        OperationRow::of::<create::TasksCreate>(),
        OperationRow::of::<edit::TasksEdit>(),
        OperationRow::of::<focus::TasksFocusGet>(),
        OperationRow::of::<focus::TasksFocusSet>(),
        OperationRow::of::<focus::TasksFocusClear>(),
        OperationRow::of::<decompose::TasksDecompose>(),
        OperationRow::of::<define::TasksDefine>(),
        OperationRow::of::<note::TasksNote>(),
        OperationRow::of::<verify::TasksVerify>(),
        OperationRow::of::<done::TasksDone>(),
        OperationRow::of::<close_step::TasksCloseStep>(),
        OperationRow::of::<delta::TasksDelta>(),
        OperationRow::of::<complete::TasksComplete>(),
        OperationRow::of::<progress::TasksProgress>(),
        OperationRow::of::<block::TasksBlock>(),
        OperationRow::of::<delete::TasksDelete>(),
        OperationRow::of::<patch::TasksPatch>(),
        OperationRow::of::<close_task::TasksCloseTask>(),
        OperationRow::of::<batch::TasksBatch>(),
        OperationRow::of::<history::TasksHistory>(),
        OperationRow::of::<undo::TasksUndo>(),
        OperationRow::of::<undo::TasksRedo>(),
        OperationRow::of::<plan::TasksPlan>(),
        OperationRow::of::<plan::TasksContract>(),
        OperationRow::of::<evidence::TasksEvidenceCapture>(),
        OperationRow::of::<evidence::TasksEvidenceGet>(),
        OperationRow::of::<node::TasksTaskAdd>(),
        OperationRow::of::<node::TasksTaskDefine>(),
        OperationRow::of::<node::TasksTaskDelete>(),
    ]
}
