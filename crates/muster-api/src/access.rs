//! Whether a caller may call an operation, and in which workspace (TEAM-WHO-1).
//!
//! It is decided here for every surface, before the arguments are read. What a person alone may
//! do is a rule of the core.

use muster_core::access::AccessRights;
use serde_json::{Map, Value};

use crate::{
    ApiError, App, Caller, ErrorCode, OperationRow, WorkspaceId, call::CallFailure,
    schema::WORKSPACE,
};

/// Refuses a call that the caller's token does not allow.
pub(crate) fn check(
    app: &App,
    row: &OperationRow,
    caller: &Caller,
    arguments: &Map<String, Value>,
) -> Result<(), CallFailure> {
    let rights = &caller.rights;
    if rights.role < row.role {
        return Err(lesser_role(rights, row).into());
    }
    let named = arguments.get(WORKSPACE).and_then(Value::as_str);
    // A call without a workspace touches none.
    match named.or(app.default_workspace().map(WorkspaceId::as_str)) {
        Some(workspace) if row.input_schema().property(WORKSPACE).is_some() => {
            in_workspace(rights, workspace).map_err(|error| CallFailure::from(*error))
        }
        Some(_) | None => Ok(()),
    }
}

/// Refuses a workspace that is not the caller's. Only its name counts, so a refusal says nothing
/// about whether it exists.
pub(crate) fn in_workspace(rights: &AccessRights, workspace: &str) -> Result<(), Box<ApiError>> {
    if rights.workspaces.admits(workspace) {
        return Ok(());
    }
    let pattern = &rights.workspaces;
    let message = format!("this token is for the workspaces {pattern} only");
    let recovery = "Name a workspace that the pattern matches, or ask an owner for another token.";
    let error = ApiError::new(ErrorCode::ForbiddenRole, message, recovery);
    Err(Box::new(error.with("workspaces", pattern)))
}

fn lesser_role(rights: &AccessRights, row: &OperationRow) -> ApiError {
    let message = format!("{} needs the role {}, not {}", row.name, row.role, rights.role);
    let recovery = "Ask an owner for a token with that role: `muster token create`.";
    let error = ApiError::new(ErrorCode::ForbiddenRole, message, recovery);
    error.with("role", &rights.role).with("needed", &row.role)
}
