//! The task operations, one file each, and what they share.

mod close_step;
mod context;
mod create;
mod decompose;
mod define;
mod delta;
mod done;
mod edit;
mod focus;
mod groups;
mod note;
mod radar;
mod respond;
mod steps;
mod verify;
mod work;

use crate::Row;

/// The rows of this family.
pub(crate) fn rows() -> Vec<Row> {
    vec![
        Row::of::<radar::TasksRadar>(),
        Row::of::<context::TasksContext>(),
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
    ]
}
