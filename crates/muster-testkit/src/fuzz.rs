//! Fuzzing: cases that are nearly valid are played on the real parts until the time is up.
//!
//! A case follows from its seed alone. One that fails is played again alone, made as small as
//! it gets, printed and saved, so that it can be read and replayed. What is deliberately not here:
//! what an input means and what must hold after it, which each [`Target`] says.

mod broken;
mod oddities;
mod panics;
mod refusal;
mod seeds;
mod shrink;
mod vary;

use std::{
    env, fmt, fs,
    path::PathBuf,
    process, thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use panics::Panics;

pub use crate::faults::Chance;
pub use broken::text;
pub use oddities::odd_text;
pub use refusal::repeats_little;
pub use seeds::{SeedCall, session_events, task_scripts, todo_writes};
pub use vary::Mutator;

/// How long a fuzzer runs, in seconds.
const SECONDS: &str = "MUSTER_FUZZ_SECONDS";
/// The one case to play.
const SEED: &str = "MUSTER_FUZZ_SEED";
/// How long a fuzzer runs by default: long enough to see that it works.
const SECONDS_DEFAULT: u64 = 1;
/// Cases that share a target. A fresh one costs more than a case.
const CASES_PER_TARGET: u64 = 40;
/// A case that takes longer hangs.
const CASE_TIMEOUT: Duration = Duration::from_secs(90);
/// Bytes of an input that are printed; the file has all of them.
const PRINTED_BYTES_MAX: usize = 2_000;

/// One thing that is sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Input {
    /// What it is, in a word that the target knows.
    pub kind: String,
    /// What is sent.
    pub bytes: Vec<u8>,
}

impl Input {
    /// An input of a kind.
    pub fn new(kind: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { kind: kind.into(), bytes: bytes.into() }
    }
}

impl fmt::Display for Input {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.kind, self.bytes.escape_ascii())
    }
}

/// What is fuzzed.
pub trait Target: Sized {
    /// A fresh one, in which nothing of earlier cases is left.
    fn open() -> Self;

    /// Sends the inputs of a case, in order. Fails with the first thing that must not be.
    fn play(&mut self, inputs: &[Input]) -> Result<(), String>;

    /// Ends it. Fails if the cases left a broken state.
    fn close(self) -> Result<(), String> {
        Ok(())
    }
}

/// Plays cases on a target until the time is up; panics with the smallest case that fails.
pub fn fuzz<T: Target>(name: &str, generate: impl Fn(&mut Chance) -> Vec<Input>) {
    let fuzzer = Fuzzer { name: name.to_owned(), panics: Panics::watch() };
    if let Some(seed) = number(SEED) {
        let inputs = generate(&mut Chance::new(seed));
        if let Err(fault) = fuzzer.alone::<T>(&inputs) {
            fuzzer.fail::<T>(seed, inputs, &fault);
        }
        return;
    }
    fuzzer.run::<T>(&generate);
}

struct Fuzzer {
    name: String,
    panics: Panics,
}

impl Fuzzer {
    fn run<T: Target>(&self, generate: &impl Fn(&mut Chance) -> Vec<Input>) {
        let time = Duration::from_secs(number(SECONDS).unwrap_or(SECONDS_DEFAULT));
        let first = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let first = first as u64;
        let start = Instant::now();
        let mut seed = first;
        let mut sent = 0;
        while start.elapsed() < time {
            let mut target = T::open();
            let shared_from = seed;
            while start.elapsed() < time && seed - shared_from < CASES_PER_TARGET {
                let inputs = generate(&mut Chance::new(seed));
                let watchdog = Watchdog::over(&self.name, seed);
                if let Err(fault) = self.panics.guard(|| target.play(&inputs)) {
                    self.fail::<T>(seed, inputs, &fault);
                }
                drop(watchdog);
                sent += inputs.len();
                seed += 1;
            }
            if let Err(fault) = self.panics.guard(|| target.close()) {
                self.find_culprit::<T>(shared_from..seed, generate, &fault);
            }
        }
        self.report(sent, seed - first, start.elapsed());
    }

    #[expect(clippy::print_stdout, reason = "this is the result of a fuzzer that found nothing")]
    fn report(&self, sent: usize, cases: u64, took: Duration) {
        let name = &self.name;
        let seconds = took.as_secs_f64();
        let rate = sent as f64 / seconds;
        let time = format!("{seconds:.0} s, {rate:.0} inputs/s");
        println!("fuzz {name}: {sent} inputs in {cases} cases, {time}, no fault");
    }

    /// Plays a case on a target of its own.
    fn alone<T: Target>(&self, inputs: &[Input]) -> Result<(), String> {
        self.panics.guard(|| {
            let mut target = T::open();
            target.play(inputs)?;
            target.close()
        })
    }

    /// Cases left a broken state: finds the one that did it.
    fn find_culprit<T: Target>(
        &self,
        seeds: std::ops::Range<u64>,
        generate: &impl Fn(&mut Chance) -> Vec<Input>,
        fault: &str,
    ) {
        for seed in seeds.clone() {
            let inputs = generate(&mut Chance::new(seed));
            if let Err(fault) = self.alone::<T>(&inputs) {
                self.fail::<T>(seed, inputs, &fault);
            }
        }
        self.panics.give_back();
        panic!("fuzz {}: only the cases {seeds:?} together fail: {fault}", self.name);
    }

    /// Shrinks, saves and prints a case that failed.
    fn fail<T: Target>(&self, seed: u64, inputs: Vec<Input>, fault: &str) -> ! {
        let smallest = shrink::smallest(&inputs, |inputs| self.alone::<T>(inputs).is_err());
        let (inputs, fault, note) = match self.alone::<T>(&smallest) {
            Err(fault) => (smallest, fault, ""),
            Ok(()) => (inputs, fault.to_owned(), "It does not fail alone.\n"),
        };
        let lines: Vec<String> = inputs.iter().map(ToString::to_string).collect();
        let printed: Vec<String> = lines.iter().map(|line| start_of(line)).collect();
        let saved = self.save(seed, &format!("{fault}\n\n{}\n", lines.join("\n")));
        self.panics.give_back();
        panic!(
            "fuzz {}: {fault}\n{note}Play it again with {SEED}={seed}. Its smallest form:\n{}\n\
             All of it is in {saved}",
            self.name,
            printed.join("\n")
        );
    }

    fn save(&self, seed: u64, text: &str) -> String {
        let file = folder().join(format!("{}-{seed}.txt", self.name));
        let written = fs::create_dir_all(folder()).and_then(|()| fs::write(&file, text));
        match written {
            Ok(()) => file.display().to_string(),
            Err(error) => format!("no file: {error}"),
        }
    }
}

/// Ends the process when a case takes too long: nothing else could.
struct Watchdog(std::sync::mpsc::Sender<()>);

impl Watchdog {
    fn over(name: &str, seed: u64) -> Self {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let hang = format!("fuzz {name}: the case {SEED}={seed} takes over {CASE_TIMEOUT:?}");
        thread::spawn(move || {
            let waited = ended.recv_timeout(CASE_TIMEOUT);
            if waited == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                tell(&hang);
                process::abort();
            }
        });
        Self(end)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // The thread may have ended already, which is as good.
        self.0.send(()).unwrap_or_default();
    }
}

#[expect(clippy::print_stderr, reason = "the process ends before a test could say it")]
fn tell(text: &str) {
    eprintln!("{text}");
}

/// A folder beside the build that this program is from.
fn folder() -> PathBuf {
    let program = env::current_exe().unwrap_or_default();
    // target/PROFILE/deps/PROGRAM, unless it was moved.
    let deps = program.parent().filter(|folder| folder.ends_with("deps"));
    let target = deps.and_then(|deps| deps.ancestors().nth(2));
    target.map_or_else(env::temp_dir, |target| target.join("fuzz"))
}

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok()?.parse().ok()
}

fn start_of(line: &str) -> String {
    if line.len() <= PRINTED_BYTES_MAX {
        return line.to_owned();
    }
    let start = muster_core::text::start(line, PRINTED_BYTES_MAX);
    format!("{start}… ({} characters)", line.len())
}
