//! Order of the context pack.

use super::{before_core, core, drop_from, tail};
use crate::budget::{Action, End, Shedding};

/// Order of the context pack: payloads and events first, then as the radar.
pub fn context_pack() -> Shedding {
    let mut ordinary = vec![
        Action::each_oldest("delta.events", |event| drop_from(event, "payload")),
        Action::pop("delta.events", End::Oldest, 0),
    ];
    ordinary.extend(before_core());
    ordinary.push(Action::drop("delta"));
    ordinary.extend(core());
    Shedding::new(ordinary, tail())
}
