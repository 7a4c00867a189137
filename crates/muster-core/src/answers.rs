//! Idempotency keys, and the responses to requests about runs (RUNS-REST-7).
//!
//! A key never expires: it belongs to its first call for as long as the stream that has the
//! response (ADR 0022). Workspaces and sessions store responses among their own documents. Those
//! to requests about runs are a separate room with one stream, because a run's log is its list of
//! events, and a response is not one of them.

use std::convert::Infallible;

use serde::{Deserialize, Serialize};

use crate::{
    Address, Aggregate, Documents, Draft, Index, Recorded, Subject, Unloaded, WorkRefusal,
};

/// The stream of the responses to requests about runs.
pub const STREAM: &str = "answers/runs";

/// A name that makes a call idempotent: a key, or the id of an outside event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CallKey {
    /// The name.
    pub key: String,
    /// Digest of the request.
    pub digest: String,
}

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
            Some(kept) if kept.digest == command.digest => {
                Err(WorkRefusal::rejected(Taken::Answered(kept.answer.clone())))
            }
            Some(_) => Err(WorkRefusal::rejected(Taken::Differs)),
            None => Ok(draft.emit(command.clone())?),
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Answers, Keep, StoredAnswer, Taken};
    use crate::{Documents, Draft, Env, LogPosition, Timestamp, WorkRefusal};

    fn keep(digest: &str, answer: &str) -> Keep {
        Keep { key: "k".to_owned(), digest: digest.to_owned(), answer: answer.to_owned() }
    }

    #[test]
    fn runs_rest_7_a_key_belongs_to_its_first_call_for_good() {
        let mut documents = Documents::<Answers>::complete();
        let stored = StoredAnswer { digest: "a".to_owned(), answer: "first".to_owned(), at: 0 };
        documents.supply("k".to_owned(), Some(Arc::new(stored)));
        let env = Env::at(Timestamp(i64::MAX));
        let mut draft = Draft::new(&mut documents, LogPosition::default(), env);
        let again = draft.apply(&keep("a", "second")).unwrap_err();
        assert_eq!(again, WorkRefusal::rejected(Taken::Answered("first".to_owned())));
        let other = draft.apply(&keep("b", "second")).unwrap_err();
        assert_eq!(other, WorkRefusal::rejected(Taken::Differs));
    }
}
