//! Which tools are listed to an agent. Every tool stays callable whatever is listed.

use std::{fmt, str::FromStr};

use muster_core::text::echo;

/// How much of the surface `tools/list` shows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Toolset {
    /// The portals: start, close a step, snapshot.
    Core,
    /// Core and the everyday views.
    #[default]
    Daily,
    /// Everything.
    Full,
}

impl Toolset {
    /// All values, smallest first.
    pub const ALL: [Self; 3] = [Self::Core, Self::Daily, Self::Full];

    /// The name used in flags, URLs and requests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Daily => "daily",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for Toolset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Toolset {
    type Err = UnknownToolset;

    fn from_str(text: &str) -> Result<Self, UnknownToolset> {
        let known = Self::ALL.into_iter().find(|toolset| toolset.name() == text);
        known.ok_or_else(|| UnknownToolset(echo(text)))
    }
}

/// A toolset name that does not exist.
#[derive(Debug, thiserror::Error)]
#[error("unknown toolset {0:?}: expected core, daily or full")]
pub struct UnknownToolset(String);
