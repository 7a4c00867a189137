//! What each connection knows of the focus (EASE-TEAM-1).
//!
//! Where a connection is an agent, its focus is its own once it has set one, and a change without
//! a target is refused after another caller has moved the focus of the workspace. Both last as long
//! as the connection, so they are kept in memory only.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use muster_core::{
    ConnectionId,
    tasks::{
        id::{EntityId, WorkspaceId},
        lookup::KnownFocus,
    },
};

use super::{
    focus::{TasksFocusClear, TasksFocusGet, TasksFocusSet},
    macro_start::TasksMacroStart,
    next::TasksNext,
};
use crate::{Caller, Envelope, registry::Operation as _};

/// The focus as connections know it, by connection and workspace.
#[derive(Debug, Default)]
pub(crate) struct FocusMemory(Mutex<BTreeMap<(ConnectionId, WorkspaceId), KnownFocus>>);

impl FocusMemory {
    /// What a caller knows; nothing without a connection.
    pub(crate) fn known(&self, caller: &Caller, workspace: &WorkspaceId) -> KnownFocus {
        let Some(connection) = &caller.connection else { return KnownFocus::default() };
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(connection.clone(), workspace.clone())).copied().unwrap_or_default()
    }

    /// Notes what the answer to a call has shown to its caller.
    pub(crate) fn learn(&self, caller: &Caller, tool: &str, answer: &Envelope) {
        let workspace = answer.context.get("workspace").and_then(|name| name.as_str());
        let workspace = workspace.and_then(|name| name.parse::<WorkspaceId>().ok());
        let (Some(connection), Some(workspace)) = (&caller.connection, workspace) else { return };
        if !answer.success {
            return;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.entry((connection.clone(), workspace)).or_default();
        *known = after(*known, tool, answer);
    }
}

fn after(known: KnownFocus, tool: &str, answer: &Envelope) -> KnownFocus {
    let context = |name: &str| answer.context.get(name).and_then(|value| value.as_str());
    let target: Option<EntityId> = context("target").and_then(|id| id.parse().ok());
    let result = |name: &str| -> Option<EntityId> {
        answer.result.read()[name].as_str().and_then(|id| id.parse().ok())
    };
    let moved = answer.context.contains_key("focus_restored");
    if tool == TasksFocusSet::NAME || tool == TasksMacroStart::NAME {
        KnownFocus { own: result("focus"), seen: None }
    } else if tool == TasksFocusClear::NAME {
        KnownFocus::default()
    } else if tool == TasksNext::NAME && target.is_some() {
        KnownFocus { own: target, seen: None }
    } else if moved && known.own.is_some() {
        KnownFocus { own: target, ..known }
    } else if known.own.is_some() {
        known
    } else if tool == TasksFocusGet::NAME {
        KnownFocus { seen: result("focus"), ..known }
    } else if moved || context("target_source") == Some("focus") {
        KnownFocus { seen: target, ..known }
    } else {
        known
    }
}
