//! The task operations, one file each, and what they share.

mod batch;
mod block;
mod bootstrap;
mod card;
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
mod groups;
mod handoff;
mod history;
mod in_session;
mod lint;
mod macro_close_step;
mod macro_finish;
mod macro_start;
mod mirror;
mod node;
mod note;
mod patch;
mod plan;
mod progress;
mod radar;
mod refocus;
mod respond;
mod resume;
mod resume_super;
mod setup;
mod steps;
mod storage;
mod think;
mod think_tools;
mod undoable;
mod verify;
mod work;

pub use evidence::CALL_BYTES_MAX;
pub(crate) use work::Write;

use crate::Row;

/// The rows of this family.
pub(crate) fn rows() -> Vec<Row> {
    vec![
        Row::of::<macro_start::TasksMacroStart>(),
        Row::of::<macro_close_step::TasksMacroCloseStep>(),
        Row::of::<resume_super::TasksSnapshot>(),
        Row::of::<macro_finish::TasksMacroFinish>(),
        Row::of::<macro_finish::TasksMacroCreateDone>(),
        Row::of::<bootstrap::TasksBootstrap>(),
        Row::of::<bootstrap::TasksScaffold>(),
        Row::of::<think_tools::ThinkPipeline>(),
        Row::of::<think_tools::ThinkCard>(),
        Row::of::<think_tools::NotesCommit>(),
        Row::of::<radar::TasksRadar>(),
        Row::of::<context::TasksContext>(),
        Row::of::<context_pack::TasksContextPack>(),
        Row::of::<lint::TasksLint>(),
        Row::of::<mirror::TasksMirror>(),
        Row::of::<resume::TasksResume>(),
        Row::of::<handoff::TasksHandoff>(),
        Row::of::<resume_super::TasksResumePack>(),
        Row::of::<resume_super::TasksResumeSuper>(),
        Row::of::<storage::TasksStorage>(),
        Row::of::<storage::TasksTemplatesList>(),
        Row::of::<create::TasksCreate>(),
        Row::of::<edit::TasksEdit>(),
        Row::of::<focus::TasksFocusGet>(),
        Row::of::<focus::TasksFocusSet>(),
        Row::of::<focus::TasksFocusClear>(),
        Row::of::<decompose::TasksDecompose>(),
        Row::of::<define::TasksDefine>(),
        Row::of::<note::TasksNote>(),
        Row::of::<verify::TasksVerify>(),
        Row::of::<done::TasksDone>(),
        Row::of::<close_step::TasksCloseStep>(),
        Row::of::<delta::TasksDelta>(),
        Row::of::<complete::TasksComplete>(),
        Row::of::<progress::TasksProgress>(),
        Row::of::<block::TasksBlock>(),
        Row::of::<delete::TasksDelete>(),
        Row::of::<patch::TasksPatch>(),
        Row::of::<close_task::TasksCloseTask>(),
        Row::of::<batch::TasksBatch>(),
        Row::of::<history::TasksHistory>(),
        Row::of::<history::TasksUndo>(),
        Row::of::<history::TasksRedo>(),
        Row::of::<plan::TasksPlan>(),
        Row::of::<plan::TasksContract>(),
        Row::of::<evidence::TasksEvidenceCapture>(),
        Row::of::<evidence::TasksEvidenceGet>(),
        Row::of::<node::TasksTaskAdd>(),
        Row::of::<node::TasksTaskDefine>(),
        Row::of::<node::TasksTaskDelete>(),
    ]
}
