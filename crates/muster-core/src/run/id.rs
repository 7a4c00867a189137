//! Ids of the run room (RUNS-GEN-4): UUIDs, one type per thing they name.
//!
//! The core has no randomness. A caller that must know an id beforehand names it in its command;
//! all others are minted from the [`IdSeed`] that comes with every command. The id of an event
//! needs neither: it follows from the run and the event's number, so that a log read back has the
//! same.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use uuid::Uuid;

use crate::{Timestamp, text::BadForm};

/// Length of the hyphenated form, the only one that is read.
const HYPHENATED_CHARS: usize = 36;

/// Reads a hyphenated UUID of any version, in either case.
fn read_uuid(text: &str) -> Result<u128, BadForm> {
    match Uuid::try_parse(text) {
        Ok(uuid) if text.len() == HYPHENATED_CHARS => Ok(uuid.as_u128()),
        Ok(_) | Err(_) => {
            Err(BadForm { expected: "a UUID such as 0197a3f0-6a1c-7cc3-98c8-1f2b6c0d4e5f" })
        }
    }
}

/// Defines an id newtype.
macro_rules! id {
    ($($(#[$doc:meta])* $name:ident,)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u128);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Uuid::from_u128(self.0).as_hyphenated().fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = BadForm;

            fn from_str(text: &str) -> Result<Self, BadForm> {
                read_uuid(text).map(Self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(D::Error::custom)
            }
        }

        $crate::inline_schema!($name, {"type": "string", "format": "uuid"});
    )*};
}

id! {
    /// A run.
    RunId,
    /// A node of a run.
    NodeId,
    /// An edge of a run.
    EdgeId,
    /// One attempt of a node to answer its inputs.
    TurnId,
    /// A queued input: the id of the message or of the envelope that it holds.
    ItemId,
    /// A question that a person has to answer.
    ApprovalId,
    /// A file that a run produced.
    ArtifactId,
    /// A tool call.
    ToolId,
    /// A verification command.
    CheckId,
    /// A session of the session room.
    SessionId,
    /// An event of a run.
    EventId,
    /// A rule of a person about what needs no approval.
    AllowRuleId,
}

impl RunId {
    /// The stream that its events are in.
    pub fn stream(self) -> String {
        format!("run/{self}")
    }

    /// The run whose events are in a stream.
    pub fn of_stream(stream: &str) -> Option<Self> {
        stream.strip_prefix("run/")?.parse().ok()
    }

    /// The stream that its layout is in.
    pub fn layout_stream(self) -> String {
        format!("layout/{self}")
    }
}

impl NodeId {
    /// Names the runtime itself where a node is required (RUNS-GEN-4).
    pub const RUNTIME: Self = Self(0);

    /// Whether it names the runtime.
    pub fn is_runtime(self) -> bool {
        self == Self::RUNTIME
    }
}

/// Bits of a UUID that hold its version and variant.
const FIXED_BITS: u128 = (0xF << 76) | (0b11 << 62);
/// Version 7, variant 10.
const FIXED_V7: u128 = (0x7 << 76) | (0b10 << 62);
/// Bits of a UUID after its variant.
const TAIL_BITS: u128 = (1 << 62) - 1;

/// A version 7 UUID of this moment with the given bits after the time.
fn v7(at: Timestamp, middle: u128, tail: u128) -> u128 {
    let ms = u128::from(u64::try_from(at.0).unwrap_or(0)) & ((1 << 48) - 1);
    let free = (ms << 80) | ((middle & 0xFFF) << 64) | (tail & TAIL_BITS);
    (free & !FIXED_BITS) | FIXED_V7
}

impl EventId {
    /// The id of a run's event: its time, its number, and the run's own random bits.
    pub fn of(run: RunId, seq: u64, at: Timestamp) -> Self {
        let number = u128::from(seq);
        Self(v7(at, number, run.0 ^ number))
    }
}

/// Fresh randomness that comes with a command: a version 7 UUID.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdSeed(pub u128);

impl IdSeed {
    /// The ids that a decision makes, in order; the same seed gives the same ids again.
    pub fn mint(self, now: Timestamp) -> Mint {
        Mint { seed: self, now, count: 0 }
    }

    /// The seed of another command of the same call, which makes other ids.
    #[must_use]
    pub fn next(self) -> Self {
        const ODD: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
        Self(self.0.rotate_left(61).wrapping_mul(ODD))
    }
}

/// Creates ids from a seed. They sort in the order of their creation, and no two have the same
/// suffix: the short form of an id is its end.
#[derive(Clone, Copy, Debug)]
pub struct Mint {
    seed: IdSeed,
    now: Timestamp,
    count: u128,
}

impl Mint {
    /// The next id.
    pub fn fresh(&mut self) -> u128 {
        self.count += 1;
        // The counter is added to random bits, in their middle and at their end; the top one is
        // kept free for its carry.
        let tail = (self.seed.0 & (TAIL_BITS >> 1)) + (self.count << 32) + self.count;
        v7(self.now, self.seed.0 >> 64, tail)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{EventId, IdSeed, NodeId, RunId};
    use crate::Timestamp;

    const TEXT: &str = "0197a3f0-6a1c-7cc3-98c8-1f2b6c0d4e5f";

    #[test]
    fn ids_are_lower_case_uuids() {
        let id: NodeId = TEXT.parse().unwrap();
        assert_eq!(id.to_string(), TEXT);
        assert_eq!(TEXT.to_uppercase().parse::<NodeId>().unwrap(), id);
        assert_eq!(NodeId::RUNTIME.to_string(), "00000000-0000-0000-0000-000000000000");
        for bad in
            ["", "x", &TEXT[1..], &TEXT.replace('-', "0"), "0197a3f0-6a1c-7cc3-98c8-1f2b6c0d4e5+"]
        {
            assert!(bad.parse::<NodeId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn event_ids_follow_from_run_and_number() {
        let run: RunId = TEXT.parse().unwrap();
        let ids: Vec<String> = (1..=3)
            .map(|seq| EventId::of(run, seq, Timestamp(1_767_225_600_000)).to_string())
            .collect();
        assert_eq!(
            ids,
            [
                "019b76da-a800-7001-98c8-1f2b6c0d4e5e",
                "019b76da-a800-7002-98c8-1f2b6c0d4e5d",
                "019b76da-a800-7003-98c8-1f2b6c0d4e5c",
            ]
        );
    }

    #[test]
    fn runs_gen_4_a_seed_mints_the_same_ids_again_and_no_two_alike() {
        let seed = IdSeed(TEXT.parse::<NodeId>().unwrap().0);
        let minted = || {
            let mut mint = seed.mint(Timestamp(1_767_225_600_000));
            (0..100).map(|_| NodeId(mint.fresh())).collect::<Vec<_>>()
        };
        let ids = minted();
        assert_eq!(ids, minted());
        assert!(ids.is_sorted_by(|a, b| a < b));
        assert_eq!(&ids[0].to_string()[14..15], "7");
        let ends: BTreeSet<String> = ids.iter().map(|id| id.to_string()[28..].to_owned()).collect();
        assert_eq!(ends.len(), ids.len(), "short forms differ");
    }
}
