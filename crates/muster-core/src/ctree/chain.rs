//! The chain over a node's children (CH-2), kept so that it can be changed near its end.
//!
//! ```text
//!   zero ──► … ──► base ──child──► … ──child──► before ──last child──► value
//!                       └──────────── recent ─────────────┘
//! ```
//!
//! Each step is the SHA-256 of the chain so far and the child's hash. Adding a child and changing
//! the last one cost one step; changing one of the recent ones costs a step per recent child. A
//! child further back cannot be changed here: every step after it would be different, and their
//! hashes are not kept. The caller then builds the chain again from all children.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::digest::{DIGEST_BYTES, Digest};

/// How many children from the end can be changed without reading all of them. A task list or a call
/// is usually changed after a handful of siblings; each costs 64 bytes in the parent's document.
pub const RECENT_CHILDREN_MAX: usize = 32;

/// The chain over the children of one node.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Chain {
    count: u64,
    value: Digest,
    before: Digest,
    base: Digest,
    #[serde(serialize_with = "write_recent", deserialize_with = "read_recent")]
    recent: Vec<Digest>,
}

/// Whether a change was possible in the chain alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amended {
    /// The chain is right again.
    Done,
    /// The child is too far back: the chain has to be built from all children.
    TooOld,
}

impl Chain {
    /// The chain over children with these hashes, in order.
    pub fn over(children: impl IntoIterator<Item = Digest>) -> Self {
        let mut chain = Self::default();
        for child in children {
            chain.push(child);
        }
        chain
    }

    /// Only what goes into the parent's hash, for a chain that will not change.
    pub fn value_over(children: impl IntoIterator<Item = Digest>) -> Digest {
        children.into_iter().fold(Digest::ZERO, Digest::followed_by)
    }

    /// How many children it covers.
    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// What goes into the parent's hash.
    pub fn value(&self) -> Digest {
        self.value
    }

    /// Adds a child at the end.
    pub fn push(&mut self, child: Digest) {
        if self.recent.len() == RECENT_CHILDREN_MAX {
            let oldest = self.recent.remove(0);
            self.base = self.base.followed_by(oldest);
        }
        self.recent.push(child);
        self.count += 1;
        self.before = self.value;
        self.value = self.before.followed_by(child);
    }

    /// Gives the child at a place (counted from 0) another hash.
    pub fn amend(&mut self, place: u64, child: Digest) -> Amended {
        let first = self.count - self.recent.len() as u64;
        let at = place.checked_sub(first).and_then(|at| usize::try_from(at).ok());
        let Some((at, slot)) = at.and_then(|at| Some((at, self.recent.get_mut(at)?))) else {
            return Amended::TooOld;
        };
        *slot = child;
        if at + 1 < self.recent.len() {
            let earlier = self.recent.iter().take(self.recent.len() - 1);
            self.before = earlier.fold(self.base, |chain, child| chain.followed_by(*child));
        }
        let last = self.recent.last().copied().unwrap_or_default();
        self.value = self.before.followed_by(last);
        Amended::Done
    }
}

/// One long string instead of a list: all digests have the same length.
fn write_recent<S: Serializer>(recent: &[Digest], serializer: S) -> Result<S::Ok, S::Error> {
    let mut digits = String::with_capacity(recent.len() * 2 * DIGEST_BYTES);
    for digest in recent {
        digest.push_hex(&mut digits);
    }
    serializer.serialize_str(&digits)
}

fn read_recent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Digest>, D::Error> {
    let digits = String::deserialize(deserializer)?;
    let digests = digits.as_bytes().chunks(2 * DIGEST_BYTES).map(Digest::from_hex);
    digests.collect::<Option<_>>().ok_or_else(|| D::Error::custom("expected hexadecimal digests"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Amended, Chain, Digest, RECENT_CHILDREN_MAX};

    fn hash(number: usize) -> Digest {
        Digest::of(&number.to_string())
    }

    /// The rule as written in the contract.
    fn plain(children: &[Digest]) -> Digest {
        children.iter().fold(Digest::ZERO, |chain, child| chain.followed_by(*child))
    }

    proptest! {
        #[test]
        fn a_changed_chain_equals_a_chain_made_anew(
            count in 1..90_usize, changes in prop::collection::vec(0..90_usize, 0..12),
        ) {
            let mut children: Vec<Digest> = (0..count).map(hash).collect();
            let mut chain = Chain::over(children.iter().copied());
            for (number, place) in changes.into_iter().enumerate() {
                let place = place % count;
                let changed = hash(1_000 + number);
                match chain.amend(place as u64, changed) {
                    Amended::Done => children[place] = changed,
                    Amended::TooOld => prop_assert!(place + RECENT_CHILDREN_MAX < count),
                }
                prop_assert_eq!(chain.value(), plain(&children));
            }
            children.push(hash(5));
            chain.push(hash(5));
            prop_assert_eq!(chain.value(), plain(&children));
            let json = serde_json::to_string(&chain).unwrap();
            prop_assert_eq!(serde_json::from_str::<Chain>(&json).unwrap(), chain);
        }
    }

    #[test]
    fn no_child_is_32_zero_bytes_and_nobody_to_change() {
        let mut chain = Chain::default();
        assert_eq!(chain.value(), Digest::ZERO);
        assert_eq!(chain.amend(0, hash(1)), Amended::TooOld);
    }
}
