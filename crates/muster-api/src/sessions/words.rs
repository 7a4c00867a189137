//! Why a session refuses something, in words for people.

use muster_core::{
    session::SessionRejection,
    text::echo,
    todo::{Malformed, TodoRejection},
};

/// The reason as half a sentence.
pub fn refusal_words(rejection: &SessionRejection) -> String {
    match rejection {
        SessionRejection::UnknownSession => "the session does not exist".to_owned(),
        SessionRejection::SessionEnded => "the session was deleted".to_owned(),
        SessionRejection::SessionExists => "a session with this id exists already".to_owned(),
        SessionRejection::Blank { field } => format!("{field} must not be blank"),
        SessionRejection::TooLong { field, limit, actual } => {
            format!("{field} may have {limit} at most, not {actual}")
        }
        SessionRejection::TooDeep { limit } => {
            format!("a value may be nested {limit} levels deep at most")
        }
        SessionRejection::ReservedType { kind } => format!("only the server writes {kind} events"),
        SessionRejection::MalformedTodo(malformed) => malformed_words(malformed),
        SessionRejection::Todo(refused) => list_words(refused),
        SessionRejection::RevisionMismatch { expected, actual, .. } => {
            format!("the list has revision {actual}, not {expected}")
        }
        SessionRejection::KeyTaken { key } => {
            format!("the idempotency key {:?} was used for another request", echo(key))
        }
        SessionRejection::EventIdTaken { id } => {
            format!("the event id {:?} was used for another event", echo(id))
        }
        SessionRejection::DrivenByRun => "a run drives this session".to_owned(),
        SessionRejection::ClaimedByHost { host, .. } => format!("{} drives it", echo(host)),
        SessionRejection::NotClaimed => "no host drives this session".to_owned(),
        SessionRejection::LeaseOutOfRange { lease_ms } => {
            format!("a lease of {lease_ms} ms is too short or too long")
        }
        SessionRejection::NothingRunning => "no turn is running".to_owned(),
        SessionRejection::QueueFull { limit } => {
            format!("{limit} inputs are waiting, which is the limit")
        }
        SessionRejection::UnknownRequest { request_id } => {
            format!("no approval was requested as {:?}", echo(request_id))
        }
        SessionRejection::AlreadyAnswered { decision, .. } => {
            format!("it was answered already: {}", echo(decision))
        }
        SessionRejection::UnknownNode { node_id } => {
            format!("the session has no node {:?}", echo(node_id))
        }
        SessionRejection::UnknownScope { scope } => {
            format!("the session has no todo list {:?}", echo(scope.as_str()))
        }
    }
}

/// Why a `todo` is not a valid update.
pub fn malformed_words(malformed: &Malformed) -> String {
    match malformed {
        Malformed::NeitherArrayNorObject => "it is neither an array nor an object".to_owned(),
        Malformed::NoOperation => "op is required".to_owned(),
        Malformed::UnknownOperation(given) => {
            format!("unknown operation {given:?}: use replace, clear, patch, upsert or delete")
        }
        Malformed::NoItems => "a replace needs the array items".to_owned(),
        Malformed::NoUsableItem => "no entry of items has a title".to_owned(),
        Malformed::NoUsablePatch => "no patch has an id and something to change".to_owned(),
        Malformed::NoTitle => "the item has no title".to_owned(),
        Malformed::NoId => "delete needs a valid id".to_owned(),
    }
}

fn list_words(refused: &TodoRejection) -> String {
    match refused {
        TodoRejection::RevisionNotNewer { scope, given, current } => {
            let scope = echo(scope.as_str());
            format!("revision {given} of the list {scope} is not newer than {current}")
        }
        TodoRejection::RevisionsExhausted { scope, current } => {
            let scope = echo(scope.as_str());
            format!("the list {scope} has revision {current}, after which there is none")
        }
    }
}
