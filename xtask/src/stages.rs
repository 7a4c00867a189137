//! Stages: a line when one starts, a table of all of them at the end, one total.

use std::{
    fmt,
    fs::{self, File},
    iter::Sum,
    ops::Add,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

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

    /// Reads a tally as it is displayed.
    fn read(line: &str) -> Option<Self> {
        let (passed, rest) = line.split_once(" passed, ")?;
        let (failed, rest) = rest.split_once(" failed, ")?;
        let skipped = rest.strip_suffix(" skipped")?.parse().ok()?;
        Some(Self { passed: passed.parse().ok()?, failed: failed.parse().ok()?, skipped })
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

/// The stages of one command, in the order they are listed.
pub(crate) struct Stages {
    planned: usize,
    ended: Vec<Ended>,
    started: Instant,
}

impl Stages {
    /// An empty table that expects `planned` stages.
    pub(crate) fn new(planned: usize) -> Self {
        Self { planned, ended: Vec::new(), started: Instant::now() }
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

    /// Runs lanes of stages beside each other, each stage as a process of its own. Its output goes
    /// to a file in `logs` and is printed when its lane has ended, lane after lane.
    pub(crate) fn run_beside(
        &mut self,
        lanes: &[&[&'static str]],
        logs: &Path,
        command: impl Fn(&str) -> Command + Sync,
    ) {
        let names: Vec<&str> = lanes.iter().flat_map(|lane| lane.iter().copied()).collect();
        println!("\nbeside each other: {} (output in {})", names.join(", "), logs.display());
        let captured = |name: &'static str| {
            println!("  {name} started");
            let start = Instant::now();
            let captured = Captured::run(command(name), &logs.join(format!("{name}.log")));
            let time = start.elapsed();
            let tally = captured.as_ref().map_or(Tally::one(false), |captured| captured.tally);
            println!("  {name} ended: {tally} in {}", seconds(time));
            (Ended { name, tally, time }, captured)
        };
        thread::scope(|scope| {
            let in_turn = |lane: &[&'static str]| lane.iter().copied().map(captured).collect();
            let spawned = |lane| scope.spawn(move || -> Vec<_> { in_turn(lane) });
            let running: Vec<_> = lanes.iter().copied().map(spawned).collect();
            for lane in running {
                for (ended, captured) in lane.join().unwrap_or_default() {
                    self.show(ended, captured);
                }
            }
        });
    }

    fn show(&mut self, ended: Ended, captured: Result<Captured>) {
        let Ended { name, tally, time } = &ended;
        let number = self.ended.len() + 1;
        println!("\n[{number}/{}] {name}", self.planned);
        match captured {
            Ok(captured) => print!("{}", captured.output),
            Err(error) => println!("error: {error:#}"),
        }
        println!("[{number}/{}] {name}: {tally} in {}", self.planned, seconds(*time));
        self.ended.push(ended);
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
        let total = self.started.elapsed();
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

/// What a stage that ran as a process of its own has printed.
struct Captured {
    output: String,
    tally: Tally,
}

impl Captured {
    /// Runs a command whose last line is a tally; one that fails without saying so has failed.
    fn run(mut command: Command, log: &Path) -> Result<Self> {
        let file = File::create(log).with_context(|| format!("write {}", log.display()))?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let status = command.status().context("start the stage")?;
        let bytes = fs::read(log).with_context(|| format!("read {}", log.display()))?;
        let output = String::from_utf8_lossy(&bytes).into_owned();
        let Some(tally) = output.lines().last().and_then(Tally::read) else {
            bail!("ended with {status} and without a tally:\n{output}");
        };
        let is_silent = !status.success() && tally.failed == 0;
        let tally = if is_silent { tally + Tally::one(false) } else { tally };
        Ok(Self { output, tally })
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
    fn lanes_are_listed_in_order_and_a_silent_failure_counts() {
        let logs = tempfile::tempdir().unwrap();
        let mut stages = Stages::new(4);
        stages.run_beside(&[&["slow", "silent"], &["fine", "broken"]], logs.path(), |name| {
            let script = match name {
                "slow" => "sleep 0.2; echo 1 passed, 0 failed, 0 skipped",
                "silent" => "echo 2 passed, 0 failed, 0 skipped; exit 1",
                "fine" => "echo noise; echo 4 passed, 0 failed, 8 skipped",
                _ => "echo no tally",
            };
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        });
        let tallies: Vec<_> =
            stages.ended.iter().map(|ended| (ended.name, ended.tally.to_string())).collect();
        let expected = [
            ("slow", "1 passed, 0 failed, 0 skipped"),
            ("silent", "2 passed, 1 failed, 0 skipped"),
            ("fine", "4 passed, 0 failed, 8 skipped"),
            ("broken", "0 passed, 1 failed, 0 skipped"),
        ];
        assert_eq!(tallies, expected.map(|(name, tally)| (name, tally.to_owned())));
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
        assert_eq!(Tally::read("1 passed, 1 failed, 1 skipped"), Some(tally));
        assert_eq!(Tally::read("test result: ok. 3 passed; 0 failed"), None);
    }
}
