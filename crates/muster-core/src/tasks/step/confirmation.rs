//! By what criteria and tests of a step were confirmed (EASE-DONE-1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Checkpoint, Step};
use crate::{Author, tasks::id::CheckRunId};

/// One criterion or test of a step that was confirmed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ItemConfirmation {
    /// Criteria or tests.
    pub checkpoint: Checkpoint,
    /// Place in the list, from 0.
    pub index: u32,
    /// What shows it, as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// Who confirmed it; not in events of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Author>,
}

/// Who or what confirmed a checkpoint as a whole.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ConfirmationSource {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Author>,
    /// The run of a check that passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<CheckRunId>,
}

/// How one criterion or test was confirmed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum HowConfirmed<'a> {
    /// It was named.
    Item(&'a ItemConfirmation),
    /// A check that decides about its list passed.
    Check(CheckRunId),
    /// Its list was confirmed as a whole.
    Bulk(Option<&'a Author>),
}

/// How a criterion, a test or a whole list of them was confirmed, as views show it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ShownConfirmation {
    /// Criteria or tests.
    pub checkpoint: Checkpoint,
    /// Place in the list, from 0; without it, all that are not named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// What shows it, as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// The run of a check that confirmed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub run: Option<CheckRunId>,
    /// Confirmed as a whole, without naming its entries.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bulk: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Author>,
}

impl Step {
    /// How an entry of a list was confirmed, if it was.
    pub fn how_confirmed(&self, checkpoint: Checkpoint, index: u32) -> Option<HowConfirmed<'_>> {
        let is_it = |item: &&ItemConfirmation| item.checkpoint == checkpoint && item.index == index;
        if let Some(item) = self.items.iter().find(is_it) {
            return Some(HowConfirmed::Item(item));
        }
        if !self.confirmed.contains(&checkpoint) {
            return None;
        }
        let source = self.confirmed_by.get(&checkpoint);
        Some(match source.and_then(|source| source.run) {
            Some(run) => HowConfirmed::Check(run),
            None => HowConfirmed::Bulk(source.and_then(|source| source.by.as_ref())),
        })
    }

    /// How its criteria and tests were confirmed so far; a list without names is one entry.
    pub fn confirmations(&self) -> Vec<ShownConfirmation> {
        let mut all: Vec<ShownConfirmation> = Vec::new();
        for checkpoint in Checkpoint::GATE {
            let entries = (0..).zip(self.list_of(checkpoint)).map(|(index, _)| index);
            for index in entries {
                let how = self.how_confirmed(checkpoint, index);
                let shown = how.map(|how| ShownConfirmation::of(checkpoint, how));
                all.extend(shown.filter(|shown| !all.contains(shown)));
            }
        }
        all
    }
}

impl ShownConfirmation {
    fn of(checkpoint: Checkpoint, how: HowConfirmed<'_>) -> Self {
        let plain =
            Self { checkpoint, index: None, evidence: None, run: None, bulk: false, by: None };
        match how {
            HowConfirmed::Item(item) => Self {
                index: Some(item.index),
                evidence: item.evidence.clone(),
                by: item.by.clone(),
                ..plain
            },
            HowConfirmed::Check(run) => Self { run: Some(run), ..plain },
            HowConfirmed::Bulk(by) => Self { bulk: true, by: by.cloned(), ..plain },
        }
    }
}
