//! Fits a view into an exact number of characters (TASKS-BUD).
//!
//! A view lists actions in the order in which its content may go. [`fit`] applies the fewest
//! leading ones that make it small enough, so a larger budget never shows less. The unit is
//! characters of compact JSON. Nothing is serialised again while cutting: each action returns how
//! much it saved, which keeps the whole fit linear in the size of the view.

mod action;
mod measure;

use serde_json::{Map, Value, json};

pub use action::{BudgetAction, CutEnd, PageCounter, cut, drop_key, replace};
pub use measure::size;

/// The smallest budget: room for `{}`.
pub const BUDGET_CHARS_MIN: u64 = 2;

/// The actions of one view, in order.
pub struct Shedding {
    /// Actions of ordinary truncation.
    pub ordinary: Vec<BudgetAction>,
    /// Actions after which only a minimal signal is left; the last one leaves `{}`.
    pub minimal: Vec<BudgetAction>,
    /// Writes what was cut into the view itself, for views that report it; its size counts too.
    pub ledger: Option<Ledger>,
    /// Lists that are pages, by their path, and what keeps their pagination correct.
    pub pages: Vec<(&'static str, PageCounter)>,
}

/// Notes in a view that a field was cut, and whether only a minimal signal is left; returns the
/// characters it saved (negative: added).
pub type Ledger = fn(&mut Map<String, Value>, &str, bool) -> isize;

impl Shedding {
    pub fn new(ordinary: Vec<BudgetAction>, minimal: Vec<BudgetAction>) -> Self {
        Self { ordinary, minimal, ledger: None, pages: Vec::new() }
    }

    fn page(&self, list: &str) -> Option<&PageCounter> {
        self.pages.iter().find(|(at, _)| *at == list).map(|(_, page)| page)
    }

    fn actions(&self) -> impl Iterator<Item = (&BudgetAction, bool)> {
        let ordinary = self.ordinary.iter().map(|action| (action, false));
        ordinary.chain(self.minimal.iter().map(|action| (action, true)))
    }
}

/// A view cut to its budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// What is left, with its `budget` key.
    pub view: Map<String, Value>,
    /// Fields that were cut, in order of cutting, each once.
    pub cut: Vec<String>,
    /// Whether the minimal tail was entered.
    pub minimal: bool,
    /// Whether the requested budget was below the smallest possible.
    pub clamped: bool,
}

/// Applies the fewest leading actions for which the view fits into `max_chars`.
pub fn fit(view: Map<String, Value>, shedding: &Shedding, max_chars: u64) -> Fitted {
    let effective = max_chars.max(BUDGET_CHARS_MIN);
    let mut root = Value::Object(view);
    let mut used = size(&root);
    let mut cut: Vec<String> = Vec::new();
    let mut minimal = false;
    for (action, is_minimal) in shedding.actions() {
        // A list loses one element after the other; each loss may have to be recorded first.
        while used as u64 > effective {
            let before = used;
            let fields = action.fields(&root);
            // Recording the first loss can itself free space, so it comes before a second one.
            let is_first = cut.is_empty() && shedding.ledger.is_some();
            let goal = if is_first { used - 1 } else { effective as usize };
            used = action.apply(&mut root, (used, goal), shedding.page(action.at));
            if used == before {
                break;
            }
            minimal |= is_minimal;
            for field in fields {
                used = note(&mut root, used, shedding.ledger, (&field, is_minimal));
                if !cut.contains(&field) {
                    cut.push(field);
                }
            }
            if !action.is_repeated() {
                break;
            }
        }
    }
    let Value::Object(mut view) = root else { unreachable!("a view is an object") };
    assert!(used as u64 <= effective, "the last action of every view leaves an empty object");
    view.insert(
        "budget".to_owned(),
        json!({"max_chars": effective, "used_chars": used, "truncated": !cut.is_empty()}),
    );
    Fitted { view, cut, minimal, clamped: effective != max_chars }
}

fn note(
    root: &mut Value,
    used: usize,
    ledger: Option<Ledger>,
    (field, minimal): (&str, bool),
) -> usize {
    match (ledger, root) {
        (Some(ledger), Value::Object(view)) => {
            used.saturating_add_signed(-ledger(view, field, minimal))
        }
        _ => used,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::{BudgetAction, CutEnd, Fitted, Shedding, fit, size};

    fn sample() -> Value {
        json!({
            "title": "größe \"quoted\" \n text that is long enough to be cut",
            "rows": [{"id": 1, "note": "a"}, {"id": 2, "note": "bb"}, {"id": 3, "note": "ccc"}],
            "meta": {"a": 1, "b": null, "c": "off"},
            "id": "X",
        })
    }

    fn shedding() -> Shedding {
        Shedding::new(
            vec![
                BudgetAction::cut("title", 12),
                BudgetAction::drop("rows.*.note"),
                BudgetAction::pop("rows", CutEnd::Last, 1),
                BudgetAction::pop("rows", CutEnd::Oldest, 0),
                BudgetAction::keep("meta", &["a"]),
                BudgetAction::drop("rows"),
                BudgetAction::drop("meta"),
                BudgetAction::drop("title"),
            ],
            vec![BudgetAction::drop("id")],
        )
    }

    fn fitted(max: u64) -> Fitted {
        let Value::Object(view) = sample() else { unreachable!() };
        fit(view, &shedding(), max)
    }

    fn without_budget(fitted: &Fitted) -> Value {
        let mut view = fitted.view.clone();
        view.shift_remove("budget");
        Value::Object(view)
    }

    #[test]
    fn size_is_the_length_of_compact_json_in_characters() {
        let text = serde_json::to_string(&sample()).unwrap();
        assert_eq!(size(&sample()), text.chars().count());
    }

    #[test]
    fn used_is_true_never_exceeded_and_monotone() {
        let full = size(&sample()) as u64;
        let mut last = 0;
        for max in 0..full + 3 {
            let fitted = fitted(max);
            let used = size(&without_budget(&fitted)) as u64;
            assert_eq!(fitted.view["budget"]["used_chars"], json!(used));
            assert!(used <= max.max(2));
            assert!(used >= last, "a larger budget never shows less");
            last = used;
        }
        assert_eq!(last, full);
        assert!(fitted(full).cut.is_empty());
        assert_eq!(without_budget(&fitted(0)), json!({}));
        assert!(fitted(0).minimal && fitted(0).clamped);
    }

    proptest! {
        #[test]
        fn size_matches_serialisation(
            text in "\\PC*",
            control in "[\\x00-\\x1f\\x7f\"\\\\]*",
            n in any::<f64>(),
        ) {
            let value = json!({ "a": [text, control.clone(), n], control: null });
            let written = serde_json::to_string(&value).unwrap();
            prop_assert_eq!(size(&value), written.chars().count());
        }
    }
}
