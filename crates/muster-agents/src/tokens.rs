//! Tokens with which agents call Muster's tools. One belongs to a node and one of its processes,
//! and expires with it (RUNS-SEC-3).

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use muster_core::run::{
    hash::sha256_hex,
    id::{NodeId, RunId},
};

const TOKEN_BEGIN: &str = "mst_";

/// The node that a token belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bearer {
    pub run: RunId,
    pub node: NodeId,
}

/// Tokens by their hashes: the secret itself is never stored or compared.
#[derive(Default)]
pub(crate) struct Tokens(Mutex<BTreeMap<String, Bearer>>);

impl Tokens {
    /// Issues a token for a process of a node that is about to start.
    pub(crate) fn issue(&self, run: RunId, node: NodeId) -> String {
        let mut bytes = [0; 32];
        if let Err(error) = getrandom::fill(&mut bytes) {
            unreachable!("the operating system has random numbers: {error}");
        }
        // By its prefix it is recognized as a secret wherever it is written to.
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let token = format!("{TOKEN_BEGIN}{digits}");
        self.withdraw(node);
        self.lock().insert(sha256_hex(token.as_bytes()), Bearer { run, node });
        token
    }

    /// The node that a token belongs to.
    pub(crate) fn bearer(&self, token: &str) -> Option<Bearer> {
        self.lock().get(&sha256_hex(token.as_bytes())).copied()
    }

    /// The process of a node has exited.
    pub(crate) fn withdraw(&self, node: NodeId) {
        self.lock().retain(|_, bearer| bearer.node != node);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Bearer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{Bearer, NodeId, RunId, Tokens};

    fn node(node: u128) -> Option<Bearer> {
        Some(Bearer { run: RunId(1), node: NodeId(node) })
    }

    #[test]
    fn runs_sec_3_a_token_dies_with_its_process() {
        let tokens = Tokens::default();
        let one = tokens.issue(RunId(1), NodeId(1));
        let two = tokens.issue(RunId(1), NodeId(2));
        assert_ne!(one, two);
        assert_eq!(muster_core::redact::text(&one).as_deref(), Some("<redacted>"));
        assert_eq!(tokens.bearer(&one), node(1));
        let again = tokens.issue(RunId(1), NodeId(1));
        assert_eq!(tokens.bearer(&one), None);
        tokens.withdraw(NodeId(1));
        assert_eq!(tokens.bearer(&again), None);
        assert_eq!(tokens.bearer(&two), node(2));
    }
}
