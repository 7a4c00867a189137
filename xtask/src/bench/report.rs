//! The table and the file that a run produces.

use std::{fmt::Write as _, time::Duration};

use serde_json::{Value as Json, json};

use super::series::Series;

/// Decimal, as sizes of programs and of memory are given.
pub(crate) const MB: f64 = 1e6;
/// Times from here on are shown in milliseconds.
const SHOWN_IN_MILLIS: Duration = Duration::from_millis(10);

/// One line: what was measured, against what, and whether it holds.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// What was measured.
    pub(crate) what: String,
    /// Transport or place.
    pub(crate) place: &'static str,
    /// How much there is of what the line is about: tasks in the store, readers, callers.
    pub(crate) size: u64,
    pub(crate) value: Measure,
    /// What it is compared with, for people.
    pub(crate) base: String,
    /// The measure in the unit of the limit.
    pub(crate) ratio: f64,
    pub(crate) limit: Limit,
}

/// What was measured, in its own unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Measure {
    /// A time that half of the calls stay below, and one that 99 of 100 do.
    Time { median: Duration, late: Duration },
    /// A rate of things.
    PerSecond(f64, &'static str),
    /// An amount of something else than speed.
    Amount(f64, &'static str),
}

impl Measure {
    pub(crate) fn text(self) -> String {
        match self {
            Self::Time { median, late } => format!("{}, p99 {}", shown(median), shown(late)),
            Self::PerSecond(rate, things) => format!("{rate:.0} {things}/s"),
            Self::Amount(number, unit) if number.fract() == 0.0 => format!("{number:.0} {unit}"),
            Self::Amount(number, unit) => format!("{number:.2} {unit}"),
        }
    }

    /// Seconds of a call or of one thing, if this is about speed.
    pub(crate) fn seconds(self) -> Option<f64> {
        match self {
            Self::Time { median, .. } => Some(median.as_secs_f64()),
            Self::PerSecond(rate, _) => Some(1.0 / rate),
            Self::Amount(..) => None,
        }
    }
}

impl From<&Series> for Measure {
    fn from(series: &Series) -> Self {
        Self::Time { median: series.median(), late: series.percentile(99) }
    }
}

/// What a ratio must keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Limit {
    /// Not more than this.
    AtMost(f64),
    /// Not less than this.
    AtLeast(f64),
    /// Nothing: the line is for people only.
    None,
}

impl Limit {
    fn holds(self, ratio: f64) -> bool {
        match self {
            Self::AtMost(limit) => ratio <= limit,
            Self::AtLeast(limit) => ratio >= limit,
            Self::None => true,
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtMost(limit) => format!("<= {limit}"),
            Self::AtLeast(limit) => format!(">= {limit}"),
            Self::None => String::new(),
        }
    }
}

impl Line {
    /// A line of an amount or a rate that has a limit of its own, whatever else was measured.
    pub(crate) fn plain(
        what: impl Into<String>,
        place: &'static str,
        size: u64,
        value: Measure,
        limit: Limit,
    ) -> Self {
        let (ratio, unit) = match value {
            Measure::Time { median, .. } => (millis(median), "milliseconds"),
            Measure::PerSecond(number, unit) | Measure::Amount(number, unit) => (number, unit),
        };
        Self { what: what.into(), place, size, value, base: unit.to_owned(), ratio, limit }
    }

    /// Adds what a reader of a plain line may want to compare it with.
    pub(crate) fn beside(mut self, beside: String) -> Self {
        self.base = beside;
        self
    }

    /// Whether both lines measure the same.
    pub(crate) fn is_about(&self, other: &Self) -> bool {
        (&self.what, self.place, self.size) == (&other.what, other.place, other.size)
    }

    /// Whether the limit is kept.
    pub(crate) fn passed(&self) -> bool {
        self.limit.holds(self.ratio)
    }

    fn json(&self) -> Json {
        json!({
            "what": self.what,
            "place": self.place,
            "size": self.size,
            "value": self.value.text(),
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
        "{:<26}{:<7}{:>8}  {:<28}{:<44}{:>9}  {:<10}\n",
        "what", "where", "size", "measured", "against", "ratio", "limit"
    );
    for line in lines {
        let Line { what, place, size, base, ratio, .. } = line;
        let verdict = if line.passed() { "" } else { "MISSED" };
        let value = line.value.text();
        let limit = line.limit.text();
        // Writing to text cannot fail.
        writeln!(
            table,
            "{what:<26}{place:<7}{size:>8}  {value:<28}{base:<44}{ratio:>9.2}  \
             {limit:<10}{verdict}"
        )
        .unwrap_or_default();
    }
    table
}

/// All lines for programs.
pub(crate) fn file(lines: &[Line], quick: bool) -> Json {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    json!({
        "quick": quick,
        "cores": cores,
        "missed": lines.iter().filter(|line| !line.passed()).count(),
        "rows": lines.iter().map(Line::json).collect::<Vec<_>>(),
    })
}

/// A time as people read it.
pub(crate) fn shown(time: Duration) -> String {
    if time < SHOWN_IN_MILLIS {
        format!("{:.0} us", time.as_secs_f64() * 1e6)
    } else {
        format!("{:.1} ms", millis(time))
    }
}

/// A time in milliseconds.
pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
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
        let line = |rate, limit| {
            Line::plain("notes", "stdio", 1_000, Measure::PerSecond(rate, "writes"), limit)
        };
        assert!(line(3.0, Limit::AtMost(3.0)).passed());
        assert!(!line(3.1, Limit::AtMost(3.0)).passed());
        assert!(!line(3.9, Limit::AtLeast(4.0)).passed());
        let lines = [line(3.1, Limit::AtMost(3.0))];
        assert!(table(&lines).contains("MISSED"));
        assert_eq!(file(&lines, true)["missed"], json!(1));
    }

    #[test]
    fn only_measures_of_speed_have_a_time() {
        let time = Measure::Time { median: Duration::from_millis(2), late: Duration::MAX };
        assert_eq!(time.seconds(), Some(0.002));
        assert_eq!(Measure::PerSecond(500.0, "writes").seconds(), Some(0.002));
        assert_eq!(Measure::Amount(500.0, "MB").seconds(), None);
    }
}
