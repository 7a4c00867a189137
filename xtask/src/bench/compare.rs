//! One build against another on the same lines: the one that developers use must not be slower
//! than the one that is given to others by more than a tenth.
//!
//! Single lines differ by more than that from one run to the next, so each part is judged by the
//! geometric mean of its lines.

use super::report::{Limit, Line, Measure};

/// How much slower a part may be as a whole.
const SLOWER_MAX: f64 = 1.1;

/// A part measured with both builds.
pub(crate) struct Pair<'a> {
    pub(crate) part: &'static str,
    /// The profiles: the one that is compared, and what it is compared with.
    pub(crate) profiles: [&'a str; 2],
    pub(crate) lines: [Vec<Line>; 2],
}

impl Pair<'_> {
    /// The lines about speed, and one about all of them; nothing if there are none.
    pub(crate) fn compared(&self) -> Vec<Line> {
        let [ours, theirs] = &self.lines;
        let slower: Vec<(&Line, &Line, f64)> = ours
            .iter()
            .enumerate()
            // A measure that is compared with several things has several lines.
            .filter(|(at, line)| !ours[..*at].iter().any(|earlier| earlier.is_about(line)))
            .filter_map(|(_, line)| {
                let other = theirs.iter().find(|other| other.is_about(line))?;
                Some((line, other, line.value.seconds()? / other.value.seconds()?))
            })
            .collect();
        if slower.is_empty() {
            return Vec::new();
        }
        let [profile, against] = self.profiles;
        let logarithms: f64 = slower.iter().map(|(.., ratio)| ratio.ln()).sum();
        let mean = (logarithms / slower.len() as f64).exp();
        let mut lines: Vec<Line> = slower
            .iter()
            .map(|(line, other, ratio)| Line {
                base: format!("{against} {}", other.value.text()),
                ratio: *ratio,
                limit: Limit::None,
                ..(*line).clone()
            })
            .collect();
        lines.push(Line {
            what: format!("{}, {profile}", self.part),
            place: "all",
            size: slower.len() as u64,
            value: Measure::Amount(mean, "x"),
            base: format!("{against}, geometric mean"),
            ratio: mean,
            limit: Limit::AtMost(SLOWER_MAX),
        });
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_judged_by_the_mean_of_its_lines() {
        let rate = |what: &str, rate| {
            let value = Measure::PerSecond(rate, "writes");
            Line::plain(what, "http", 8, value, Limit::AtLeast(1.0))
        };
        let size = Line::plain("program", "file", 0, Measure::Amount(9.0, "MB"), Limit::None);
        let pair = |fast, slow| Pair {
            part: "http",
            profiles: ["release", "dist"],
            lines: [
                vec![rate("note", fast), rate("define", slow), size.clone()],
                vec![rate("note", 100.0), rate("define", 100.0), size.clone()],
            ],
        };
        let verdict = |pair: &Pair<'_>| pair.compared().last().map(Line::passed);
        assert_eq!(verdict(&pair(120.0, 84.0)), Some(true));
        assert_eq!(verdict(&pair(100.0, 70.0)), Some(false));
        assert_eq!(pair(120.0, 84.0).compared().len(), 3);
        let none = Pair { lines: [vec![size.clone()], vec![size.clone()]], ..pair(1.0, 1.0) };
        assert!(none.compared().is_empty());
    }
}
