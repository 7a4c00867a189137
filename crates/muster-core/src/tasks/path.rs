//! Step paths (TASKS-PATH, TASKS-ORD): `s:0.s:2`, compared as numbers, parents before children.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::id::text_form;
use crate::text::BadForm;

/// Deepest step: a path has at most this many parts.
pub const STEP_DEPTH_MAX: usize = 16;

/// The value of a number beyond all ordinals; no step and no node has it.
const BEYOND: u32 = u32::MAX;
/// What a path with such a number is called.
const TOO_HIGH: &str = "with so high a number";

/// Place of a step in its task's tree. The derived order is pre-order: numbers compare as numbers
/// and a path sorts before every path it is a prefix of.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StepPath(Vec<u32>);

impl StepPath {
    /// The child of `parent` (or of the task root) with the given ordinal.
    pub fn child_of(parent: Option<&Self>, ordinal: u32) -> Self {
        let mut parts = parent.map(|path| path.0.clone()).unwrap_or_default();
        parts.push(ordinal);
        Self(parts)
    }

    /// The containing step; `None` directly below the task.
    pub fn parent(&self) -> Option<Self> {
        let (_, above) = self.0.split_last()?;
        (!above.is_empty()).then(|| Self(above.to_vec()))
    }

    /// Number of parts.
    pub fn depth(&self) -> usize {
        self.0.len()
    }

    /// Whether this is a direct child of `parent`.
    pub fn is_child_of(&self, parent: &Self) -> bool {
        self.0.len() == parent.0.len() + 1 && self.0.starts_with(&parent.0)
    }

    /// Its name in a rejection: a number beyond all ordinals is not kept, so it is not repeated.
    pub fn named(&self) -> String {
        if self.0.contains(&BEYOND) { TOO_HIGH.to_owned() } else { self.to_string() }
    }

    /// Whether this lies anywhere below `ancestor`.
    pub fn is_below(&self, ancestor: &Self) -> bool {
        self.0.len() > ancestor.0.len() && self.0.starts_with(&ancestor.0)
    }
}

impl fmt::Display for StepPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, ordinal) in self.0.iter().enumerate() {
            let dot = if at == 0 { "" } else { "." };
            write!(f, "{dot}s:{ordinal}")?;
        }
        Ok(())
    }
}

impl FromStr for StepPath {
    type Err = BadForm;

    fn from_str(text: &str) -> Result<Self, BadForm> {
        let parts = text.split('.').map(|part| part.strip_prefix("s:").and_then(number));
        let parts: Option<Vec<u32>> = parts.collect();
        parts.map(Self).ok_or(BadForm { expected: "a step path such as s:0 or s:0.s:2" })
    }
}

/// A number written the one canonical way. One beyond all ordinals is well-formed too: nothing has
/// it (TASKS-PATH-1).
fn number(digits: &str) -> Option<u32> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_canonical = digits.len() == 1 || !digits.starts_with('0');
    (is_number && is_canonical).then(|| digits.parse().unwrap_or(BEYOND))
}

text_form!(StepPath);

/// Place of a node in a step's sub-plan: `s:0.t:1`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodePath {
    pub step: StepPath,
    /// Ordinal inside the step.
    pub ordinal: u32,
}

impl NodePath {
    /// Its name in a rejection, like that of a step's path.
    pub fn named(&self) -> String {
        let is_beyond = self.ordinal == BEYOND || self.step.0.contains(&BEYOND);
        if is_beyond { TOO_HIGH.to_owned() } else { self.to_string() }
    }
}

impl fmt::Display for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.t:{}", self.step, self.ordinal)
    }
}

impl FromStr for NodePath {
    type Err = BadForm;

    fn from_str(text: &str) -> Result<Self, BadForm> {
        let bad = BadForm { expected: "a node path such as s:0.t:1" };
        let (step, node) = text.rsplit_once(".t:").ok_or(bad)?;
        let ordinal = number(node).ok_or(bad)?;
        Ok(Self { step: step.parse().map_err(|_| bad)?, ordinal })
    }
}

text_form!(NodePath);

#[cfg(test)]
mod tests {
    use super::{NodePath, StepPath};

    fn path(text: &str) -> StepPath {
        text.parse().unwrap()
    }

    #[test]
    fn paths_sort_by_number_with_parents_first() {
        let mut paths: Vec<StepPath> =
            ["s:10", "s:2", "s:0.s:1", "s:0", "s:0.s:0.s:3"].map(path).into();
        paths.sort();
        let texts: Vec<String> = paths.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["s:0", "s:0.s:0.s:3", "s:0.s:1", "s:2", "s:10"]);
    }

    #[test]
    fn malformed_paths_are_refused() {
        for text in ["", "S:0", "s:00", "s:+1", "s:0.", ".s:0", "s: 0", "s:0.t:1", "s:", "s:-1"] {
            assert!(text.parse::<StepPath>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_path_beyond_all_ordinals_is_a_path() {
        let far = path("s:4294967296.s:99999999999999999999");
        assert_eq!(far.named(), "with so high a number", "it is not the number that was given");
        assert_eq!(path("s:4294967294").named(), "s:4294967294");
        let node: NodePath = "s:0.t:4294967296".parse().unwrap();
        assert_eq!(node.named(), "with so high a number");
        for text in ["s:0.t:01", "s:0.t:+1", "s:0.t:"] {
            assert!(text.parse::<NodePath>().is_err(), "{text}");
        }
    }

    #[test]
    fn family_relations() {
        assert_eq!(path("s:0.s:2").parent(), Some(path("s:0")));
        assert_eq!(path("s:0").parent(), None);
        assert!(path("s:0.s:2").is_child_of(&path("s:0")));
        assert!(!path("s:0.s:2.s:1").is_child_of(&path("s:0")));
        assert!(path("s:0.s:2.s:1").is_below(&path("s:0")));
        assert!(!path("s:1").is_below(&path("s:1")));
    }
}
