//! What errors of the server and of the connection mean to callers.

use std::error::Error as _;

use tokio_postgres::error::SqlState;

use crate::StoreError;

/// How long the server waits for a row that another transaction has locked. The answer to a caller
/// who waited longer is that the store is busy.
pub(super) const LOCK_WAIT_MS: u64 = 25_000;

/// Translates an error of the driver.
pub(super) fn translate(action: &'static str, error: &tokio_postgres::Error) -> StoreError {
    let Some(database) = error.as_db_error() else {
        // A value that could not be converted is no problem of the connection.
        return match error.is_closed() || error.source().is_none_or(is_of_connection) {
            true => StoreError::Unavailable { cause: spelled_out(error) },
            false => StoreError::Engine { action, cause: spelled_out(error) },
        };
    };
    let cause = database.message().to_owned();
    let code = database.code();
    let is = |codes: &[SqlState]| codes.contains(code);
    if is(&[SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED]) {
        return StoreError::Conflict { cause };
    }
    if is(&[SqlState::LOCK_NOT_AVAILABLE]) {
        return StoreError::Busy { waited_ms: LOCK_WAIT_MS };
    }
    if is(&[SqlState::DISK_FULL]) {
        return StoreError::Full { location: "the database server".to_owned() };
    }
    let is_away = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::READ_ONLY_SQL_TRANSACTION,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ];
    if is(&is_away) || code.code().starts_with("08") {
        return StoreError::Unavailable { cause };
    }
    StoreError::Engine { action, cause }
}

/// The error when the server does not answer.
pub(super) fn no_answer(action: &'static str) -> StoreError {
    StoreError::Unavailable { cause: format!("it did not answer while muster {action}") }
}

fn is_of_connection(source: &(dyn std::error::Error + 'static)) -> bool {
    source.is::<std::io::Error>()
}

/// The error with its causes. The driver names no host, user or password.
pub(super) fn spelled_out(error: &tokio_postgres::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

/// The error when the tables of the store are those of something else.
pub(super) fn no_store() -> StoreError {
    StoreError::Damaged {
        place: "the schema muster".to_owned(),
        finding: "its tables are not those of a store".to_owned(),
    }
}
