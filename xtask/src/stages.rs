//! Stages: a line when one starts, a table of all of them at the end, one total.

use std::{
    fmt,
    iter::Sum,
    ops::Add,
    time::{Duration, Instant},
};

use anyhow::Result;

/// How many things passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Ran and held.
    pub(crate) passed: usize,
    /// Ran and did not hold.
    pub(crate) failed: usize,
    /// Did not run.
    pub(crate) skipped: usize,
}

impl Tally {
    /// One thing that passed or failed.
    pub(crate) fn one(passed: bool) -> Self {
        Self { passed: usize::from(passed), failed: usize::from(!passed), skipped: 0 }
    }

    /// One thing that was skipped.
    pub(crate) fn skip() -> Self {
        Self { skipped: 1, ..Self::default() }
    }
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), Add::add)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, skipped } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// A stage that has ended.
struct Ended {
    name: &'static str,
    tally: Tally,
    time: Duration,
}

/// The stages of one command, in the order they run.
pub(crate) struct Stages {
    planned: usize,
    ended: Vec<Ended>,
}

impl Stages {
    /// An empty table that expects `planned` stages.
    pub(crate) fn new(planned: usize) -> Self {
        Self { planned, ended: Vec::new() }
    }

    /// Runs a stage; a stage that cannot do its work has failed. Returns whether all of it passed.
    pub(crate) fn run(&mut self, name: &'static str, work: impl FnOnce() -> Result<Tally>) -> bool {
        println!("\n[{}/{}] {name}", self.ended.len() + 1, self.planned);
        let start = Instant::now();
        let tally = work().unwrap_or_else(|error| {
            println!("error: {error:#}");
            Tally::one(false)
        });
        let time = start.elapsed();
        println!(
            "[{}/{}] {name}: {tally} in {}",
            self.ended.len() + 1,
            self.planned,
            seconds(time)
        );
        self.ended.push(Ended { name, tally, time });
        tally.failed == 0
    }

    /// Skips a stage and prints the reason.
    pub(crate) fn leave_out(&mut self, name: &'static str, reason: &str) {
        println!("\n[{}/{}] {name}: not run, {reason}", self.ended.len() + 1, self.planned);
        self.ended.push(Ended { name, tally: Tally::skip(), time: Duration::ZERO });
    }

    /// Prints the table and the total; returns whether nothing failed.
    pub(crate) fn finish(self) -> bool {
        println!("\n{}", self.table());
        let sum: Tally = self.ended.iter().map(|stage| stage.tally).sum();
        println!("{sum}");
        sum.failed == 0
    }

    fn table(&self) -> String {
        let mut table = format!(
            "{:<12}{:>10}{:>8}{:>8}{:>9}\n",
            "stage", "time", "passed", "failed", "skipped"
        );
        let total = self.ended.iter().map(|stage| stage.time).sum();
        let sum = self.ended.iter().map(|stage| stage.tally).sum();
        let rows = self.ended.iter().map(|stage| (stage.name, stage.time, stage.tally));
        for (name, time, tally) in rows.chain([("all", total, sum)]) {
            let Tally { passed, failed, skipped } = tally;
            let time = seconds(time);
            table += &format!("{name:<12}{time:>10}{passed:>8}{failed:>8}{skipped:>9}\n");
        }
        table
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn the_sum_covers_every_stage() {
        let mut stages = Stages::new(3);
        assert!(stages.run("first", || Ok(Tally { passed: 5, failed: 0, skipped: 1 })));
        assert!(!stages.run("second", || Err(anyhow!("no disk"))));
        stages.leave_out("third", "second failed");
        let table = stages.table();
        let last = table.lines().last().unwrap();
        let words: Vec<&str> = last.split_whitespace().collect();
        assert_eq!((words[0], &words[3..]), ("all", &["5", "1", "2"][..]));
        assert_eq!(table.lines().count(), 5);
        assert!(!stages.finish());
    }

    #[test]
    fn skipping_is_not_failing() {
        let mut stages = Stages::new(1);
        stages.leave_out("only", "nothing to do");
        assert!(stages.finish());
    }

    #[test]
    fn a_tally_reads_plainly() {
        let tally: Tally = [Tally::one(true), Tally::one(false), Tally::skip()].into_iter().sum();
        assert_eq!(tally.to_string(), "1 passed, 1 failed, 1 skipped");
    }
}
