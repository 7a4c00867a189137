//! Connections of agents. Two processes of the same program have the same author, so what belongs
//! to one of them is told apart by its connection.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One connection of an agent, as long as it lasts.
#[derive(
    Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct ConnectionId(String);

impl ConnectionId {
    /// The connection with a random number as its id; 48 of its bits are enough.
    #[must_use]
    pub fn from_bits(bits: u128) -> Self {
        Self(format!("{:012x}", bits >> 80))
    }
}
