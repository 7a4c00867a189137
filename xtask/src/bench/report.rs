//! The table and the file that a run produces.

use std::{fmt::Write as _, time::Duration};

use serde_json::{Value, json};

/// One line: what was measured, against what, and whether it holds.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// What was measured.
    pub(crate) what: String,
    /// Transport or place.
    pub(crate) place: &'static str,
    /// Tasks in the store.
    pub(crate) tasks: u64,
    /// The measure itself, for people.
    pub(crate) value: String,
    /// What it is compared with, for people.
    pub(crate) base: String,
    /// The measure in the unit of the limit.
    pub(crate) ratio: f64,
    pub(crate) limit: Limit,
}

/// What a ratio must keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Limit {
    /// Not more than this.
    AtMost(f64),
    /// Not less than this.
    AtLeast(f64),
}

impl Limit {
    fn holds(self, ratio: f64) -> bool {
        match self {
            Self::AtMost(limit) => ratio <= limit,
            Self::AtLeast(limit) => ratio >= limit,
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtMost(limit) => format!("<= {limit}"),
            Self::AtLeast(limit) => format!(">= {limit}"),
        }
    }
}

impl Line {
    /// Whether the limit is kept.
    pub(crate) fn passed(&self) -> bool {
        self.limit.holds(self.ratio)
    }

    fn json(&self) -> Value {
        json!({
            "what": self.what,
            "place": self.place,
            "tasks": self.tasks,
            "value": self.value,
            "base": self.base,
            "ratio": (self.ratio * 1_000.0).round() / 1_000.0,
            "limit": self.limit.text(),
            "passed": self.passed(),
        })
    }
}

/// All lines as a table.
pub(crate) fn table(lines: &[Line]) -> String {
    let mut table = format!(
        "{:<20}{:<7}{:>8}  {:<28}{:<36}{:>7}  {:<8}\n",
        "what", "where", "tasks", "measured", "against", "ratio", "limit"
    );
    for line in lines {
        let Line { what, place, tasks, value, base, ratio, limit } = line;
        let verdict = if line.passed() { "" } else { "MISSED" };
        let limit = limit.text();
        // Writing to text cannot fail.
        writeln!(
            table,
            "{what:<20}{place:<7}{tasks:>8}  {value:<28}{base:<36}{ratio:>7.2}  {limit:<8}{verdict}"
        )
        .unwrap_or_default();
    }
    table
}

/// All lines for programs.
pub(crate) fn file(lines: &[Line], quick: bool) -> Value {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    json!({
        "quick": quick,
        "cores": cores,
        "missed": lines.iter().filter(|line| !line.passed()).count(),
        "rows": lines.iter().map(Line::json).collect::<Vec<_>>(),
    })
}

/// A time as people read it.
pub(crate) fn micros(time: Duration) -> String {
    format!("{:.0} us", time.as_secs_f64() * 1e6)
}

/// How many times one time is another.
pub(crate) fn times(time: Duration, base: Duration) -> f64 {
    time.as_secs_f64() / base.as_secs_f64().max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_whether_its_limit_holds() {
        let line = |ratio, limit| Line {
            what: "radar".to_owned(),
            place: "stdio",
            tasks: 1_000,
            value: "90 us".to_owned(),
            base: "echo 40 us".to_owned(),
            ratio,
            limit,
        };
        assert!(line(3.0, Limit::AtMost(3.0)).passed());
        assert!(!line(3.1, Limit::AtMost(3.0)).passed());
        assert!(!line(3.9, Limit::AtLeast(4.0)).passed());
        let lines = [line(3.1, Limit::AtMost(3.0))];
        assert!(table(&lines).contains("MISSED"));
        assert_eq!(file(&lines, true)["missed"], json!(1));
    }
}
