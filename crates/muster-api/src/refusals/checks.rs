//! Errors of runs of checks.

use muster_core::tasks::TaskRejection;

use crate::{ApiError, ErrorCode, call::CallFailure};

/// These errors; other rejections do not come here.
pub(super) fn explain(rejection: &TaskRejection) -> CallFailure {
    if let TaskRejection::UnknownCheckRun { run } = rejection {
        let message = format!("there is no check run {run}");
        return ApiError::new(ErrorCode::UnknownId, message, "Run the check again.").into();
    }
    if let TaskRejection::CheckRunFinished { run, verdict } = rejection {
        let message = format!("{run} has ended already: {}", verdict.name());
        return ApiError::new(ErrorCode::InvalidInput, message, "Run the check again.").into();
    }
    if let TaskRejection::CheckRunDiffers { run, by } = rejection {
        let message = format!("{by} did not pass on the files of {run}");
        return ApiError::new(ErrorCode::InvalidInput, message, "Run the check again.").into();
    }
    unreachable!("not about a run of a check: {rejection:?}")
}
