//! Where a page of a list begins. Clients pass it back as it is; its form may change.

use std::{fmt, str::FromStr};

/// A place in a list: where in the order, and of which row or which list. A page begins after a
/// place, so that additions and deletions between two pages skip or repeat nothing else.
///
/// Written `<at>@<of>`, so `at` must not contain `@`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageCursor<At, Of> {
    pub at: At,
    pub of: Of,
}

impl<At: fmt::Display, Of: fmt::Display> fmt::Display for PageCursor<At, Of> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.at, self.of)
    }
}

impl<At: FromStr, Of: FromStr> FromStr for PageCursor<At, Of> {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (at, of) = text.split_once('@').ok_or(())?;
        Ok(Self { at: at.parse().map_err(|_| ())?, of: of.parse().map_err(|_| ())? })
    }
}
