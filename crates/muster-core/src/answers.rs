//! Responses that are kept for a day, so that a request with an idempotency key runs once
//! (RUNS-REST-7).
//!
//! They are a separate room with one stream: a run's log is its list of events, and a response is
//! not one of them. A response is stored in the transaction that it reports.

use std::convert::Infallible;

use serde::{Deserialize, Serialize};

use crate::{
    Address, Aggregate, Documents, Draft, Index, Recorded, Subject, Timestamp, Unloaded,
    WorkRefusal,
};

/// The stream of the responses to requests about runs.
pub const STREAM: &str = "answers/runs";
/// How long a response is kept, in milliseconds.
pub const KEPT_MS: i64 = 24 * 60 * 60 * 1_000;

/// An answer to keep.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Keep {
    /// The key that the caller chose.
    pub key: String,
    /// Digest of the request.
    pub digest: String,
    pub answer: String,
}

/// An answer that was kept.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StoredAnswer {
    /// Digest of the request.
    pub digest: String,
    pub answer: String,
    /// Since when, in Unix milliseconds.
    pub at: i64,
}

/// A response was not kept: there is one already.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Taken {
    /// The same request; this was the response.
    Answered(String),
    /// A different request.
    Differs,
}

/// The room of kept responses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Answers {}

impl Aggregate for Answers {
    const STREAM: &'static str = "answers";
    type Key = String;
    type Document = StoredAnswer;
    type Event = Keep;
    type Applied = ();
    type Command = Keep;
    type Rejection = Taken;
    type Brief = ();
    type Filter = Infallible;

    fn address(key: &String) -> Address {
        Address { kind: "answer".into(), name: key.clone() }
    }

    fn key(address: &Address) -> Option<String> {
        (address.kind == "answer").then(|| address.name.clone())
    }

    fn encode(document: &StoredAnswer) -> serde_json::Result<String> {
        serde_json::to_string(document)
    }

    fn decode(_key: &String, body: &str) -> serde_json::Result<StoredAnswer> {
        serde_json::from_str(body)
    }

    fn index(_document: &StoredAnswer) -> Index {
        Index::default()
    }

    fn admits(filter: &Infallible, _document: &StoredAnswer) -> bool {
        match *filter {}
    }

    fn event_type(_event: &Keep) -> &'static str {
        "answer.kept"
    }

    fn subject(_event: &Keep) -> Option<Subject> {
        None
    }

    fn relocate(_event: &mut Keep, _place: &mut dyn FnMut(u64) -> u64) {}

    fn decide(draft: &mut Draft<'_, Self>, command: &Keep) -> Result<(), WorkRefusal<Self>> {
        match draft.documents().get(&command.key)? {
            Some(kept) if is_young(kept, draft.env().now) => {
                Err(WorkRefusal::rejected(if kept.digest == command.digest {
                    Taken::Answered(kept.answer.clone())
                } else {
                    Taken::Differs
                }))
            }
            Some(_) | None => Ok(draft.emit(command.clone())?),
        }
    }

    fn evolve(
        documents: &mut Documents<Self>,
        event: &Recorded<Keep>,
    ) -> Result<(), Unloaded<Self>> {
        let Keep { key, digest, answer } = event.event.clone();
        documents.put(key, StoredAnswer { digest, answer, at: event.at.0 });
        Ok(())
    }
}

fn is_young(kept: &StoredAnswer, now: Timestamp) -> bool {
    now.0.saturating_sub(kept.at) < KEPT_MS
}

#[cfg(test)]
mod tests {
    use super::{Answers, KEPT_MS, Keep, Taken};
    use crate::{Documents, Draft, Env, LogPosition, Timestamp, WorkRefusal};

    fn keep(digest: &str, answer: &str) -> Keep {
        Keep { key: "k".to_owned(), digest: digest.to_owned(), answer: answer.to_owned() }
    }

    #[test]
    fn runs_rest_7_an_answer_counts_for_a_day() {
        let mut documents = Documents::<Answers>::complete();
        let mut draft =
            Draft::new(&mut documents, LogPosition::default(), Env { now: Timestamp(0) });
        assert_eq!(draft.apply(&keep("a", "first")).unwrap().len(), 1);
        let again = draft.apply(&keep("a", "second")).unwrap_err();
        assert_eq!(again, WorkRefusal::rejected(Taken::Answered("first".to_owned())));
        let other = draft.apply(&keep("b", "second")).unwrap_err();
        assert_eq!(other, WorkRefusal::rejected(Taken::Differs));
        draft.next_call();
        let later = Env { now: Timestamp(KEPT_MS) };
        let kept = draft.documents().get(&"k".to_owned()).unwrap().cloned().unwrap();
        assert!(!super::is_young(&kept, later.now));
    }
}
