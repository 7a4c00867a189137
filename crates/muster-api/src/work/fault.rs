//! Refusals of operations and of the runner as faults of a request.

use muster_agents::checks::CheckServiceError;

use crate::{
    ApiError, ErrorCode,
    call::CallFailure,
    runs::{RunCode, RunFault},
};

impl From<ApiError> for RunFault {
    fn from(error: ApiError) -> Self {
        let code = match error.code {
            ErrorCode::UnknownId => RunCode::UnknownRef,
            ErrorCode::RevisionMismatch => RunCode::ChangedSince,
            ErrorCode::PersonRequired => RunCode::PersonRequired,
            ErrorCode::ForbiddenRole => RunCode::ForbiddenRole,
            ErrorCode::StoreBusy | ErrorCode::StoreUnavailable | ErrorCode::StoreError => {
                RunCode::StoreUnavailable
            }
            ErrorCode::InvalidInput
            | ErrorCode::UnknownTool
            | ErrorCode::SessionEnded
            | ErrorCode::IdempotencyConflict
            | ErrorCode::UndoConflict
            | ErrorCode::SessionMismatch
            | ErrorCode::Claimed
            | ErrorCode::FocusMoved
            | ErrorCode::CallCancelled
            | ErrorCode::CheckpointsNotConfirmed
            | ErrorCode::ProofRequired
            | ErrorCode::CheckRequired
            | ErrorCode::CheckRunning
            | ErrorCode::CheckUntrusted
            | ErrorCode::ChildrenOpen
            | ErrorCode::StepBlocked
            | ErrorCode::StepsOpen
            | ErrorCode::TasksOpen
            | ErrorCode::DependenciesOpen
            | ErrorCode::BatchFailed => RunCode::BadValue,
        };
        Self::new(code, format!("{}: {}", error.message, error.recovery))
    }
}

impl From<CallFailure> for RunFault {
    fn from(failure: CallFailure) -> Self {
        (*failure.error).into()
    }
}

impl From<CheckServiceError> for RunFault {
    fn from(error: CheckServiceError) -> Self {
        match error {
            CheckServiceError::Store(error) => error.into(),
            CheckServiceError::Root { .. }
            | CheckServiceError::Tree(_)
            | CheckServiceError::Refused(_)
            | CheckServiceError::Runtime(_) => {
                tracing::error!(%error, "a request about checks failed");
                Self::new(RunCode::StoreUnavailable, error.to_string())
            }
        }
    }
}
