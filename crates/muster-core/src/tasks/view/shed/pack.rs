//! Order of the context pack.

use super::{before_core, core, drop_from, tail};
use crate::budget::{BudgetAction, CutEnd, Shedding};

/// Order of the context pack: payloads and events first, then as the radar.
pub fn context_pack() -> Shedding {
    let mut ordinary = vec![
        BudgetAction::each_oldest("delta.events", |event| drop_from(event, "payload")),
        BudgetAction::pop("delta.events", CutEnd::Oldest, 0),
    ];
    ordinary.extend(before_core());
    ordinary.push(BudgetAction::drop("delta"));
    ordinary.extend(core());
    Shedding::new(ordinary, tail())
}
