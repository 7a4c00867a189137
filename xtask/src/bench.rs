//! `cargo xtask bench`: how fast the program is, as ratios inside one run.
//!
//! Machines differ and are shared, so no time is judged on its own: a call is compared with the
//! round trip of an empty one on the same transport (*echo*), a durable one also with a sync of
//! what it writes on the same disk (*sync*), and a large store with a small one. The limits are
//! those of decision 0013. The program is the build that is given to others, started as users start
//! it; another profile can be measured to compare the two.

mod calls;
mod costs;
mod crowd;
mod fanout;
mod frames;
mod latency;
mod proof;
mod report;
mod repository;
mod runs;
mod series;
mod sessions;
mod shapes;
mod socket;
mod start;
mod store;
mod throughput;
mod wire;

use std::{env, fs, path::PathBuf, process::Command, thread, time::Duration};

use anyhow::{Context, Result, ensure};

use self::{
    calls::Targets,
    crowd::Crowd,
    frames::Log,
    latency::{Disk, Site, Subject},
    report::{Limit, Line},
    store::Filled,
    wire::{Agent, Server, Wire},
};
use crate::workspace::{Workspace, run};

/// Tasks in the two stores that are compared; each has five steps.
const SIZES: [u64; 2] = [1_000, 100_000];
/// Memory that an agent's server may hold on each.
const MEMORY_MIB_MAX: [f64; 2] = [25.0, 60.0];

/// Time for programs to settle: the first idle second is over.
const SETTLING: Duration = Duration::from_millis(1_500);

/// How often things are repeated.
struct Effort {
    rounds: usize,
    starts: usize,
    slices: usize,
    slice: Duration,
    crowd: Crowd,
    /// Messages whose events are passed on.
    messages: u64,
}

const THOROUGH: Effort = Effort {
    rounds: 400,
    starts: 60,
    slices: 5,
    slice: Duration::from_secs(1),
    crowd: Crowd { readers: 900, stalled: 100, time: Duration::from_secs(60) },
    messages: 4_000,
};
const QUICK: Effort = Effort {
    rounds: 100,
    starts: 20,
    slices: 3,
    slice: Duration::from_millis(400),
    crowd: Crowd { readers: 180, stalled: 20, time: Duration::from_secs(5) },
    messages: 800,
};

/// What to measure.
pub(crate) struct BenchWish<'a> {
    /// Fewer repetitions.
    pub(crate) quick: bool,
    /// Parts with one of these words in their names; all of them without any.
    pub(crate) only: &'a [String],
    /// The profile that the program is built with.
    pub(crate) profile: &'a str,
}

/// A part of the benchmark, which can be run alone.
struct Part {
    name: &'static str,
    measure: fn(&mut Bench<'_>) -> Result<Vec<Line>>,
    /// Whether it needs the programs that fill stores.
    fills: bool,
}

/// All parts, in the order in which they run: later ones find the machine warm.
const PARTS: [Part; 8] = [
    Part { name: "stdio", measure: measure_stdio, fills: true },
    Part { name: "shapes", measure: measure_shapes, fills: true },
    Part { name: "http", measure: measure_http, fills: true },
    Part { name: "sessions", measure: measure_sessions, fills: true },
    Part { name: "runs", measure: measure_runs, fills: true },
    Part { name: "starts", measure: measure_starts, fills: true },
    Part { name: "proof", measure: measure_proof, fills: false },
    Part { name: "costs", measure: measure_costs, fills: false },
];

/// Measures, prints the table, writes the file; returns whether every limit holds.
pub(crate) fn bench(workspace: &Workspace, wish: &BenchWish<'_>) -> Result<bool> {
    let is_asked = |part: &&Part| {
        wish.only.is_empty() || wish.only.iter().any(|word| part.name.contains(word.as_str()))
    };
    let parts: Vec<&Part> = PARTS.iter().filter(is_asked).collect();
    let names = || PARTS.map(|part| part.name).join(", ");
    ensure!(!parts.is_empty(), "no part has such a name; there are {}", names());
    let program = ["build", "--profile", wish.profile, "--package", "muster", "--bin", "muster"];
    ensure!(run(&mut workspace.cargo(&program))?, "the {} build failed", wish.profile);
    if parts.iter().any(|part| part.fills) {
        let tools = ["build", "--release", "--package", "muster-testkit", "--bins"];
        ensure!(run(&mut workspace.cargo(&tools))?, "the build of the tools failed");
    }
    fs::create_dir_all(store::folder(workspace)).context("make the folder of measurements")?;
    let effort = if wish.quick { &QUICK } else { &THOROUGH };
    let program = built(workspace, wish.profile, "muster");
    let mut bench = Bench { workspace, program, effort, stores: None };
    let mut lines = Vec::new();
    for part in &parts {
        println!("measuring {}", part.name);
        lines.extend((part.measure)(&mut bench)?);
    }
    report(workspace, wish, &lines)
}

fn report(workspace: &Workspace, wish: &BenchWish<'_>, lines: &[Line]) -> Result<bool> {
    println!("\n{}", report::table(lines));
    let name = match (wish.only.is_empty(), wish.quick) {
        (false, _) => "part.json",
        (true, true) => "quick.json",
        (true, false) => "bench.json",
    };
    let path = store::folder(workspace).join(name);
    let text = serde_json::to_string_pretty(&report::file(lines, wish.quick))?;
    fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    let missed = lines.iter().filter(|line| !line.passed()).count();
    println!(
        "{} of {} limits hold; written to {}",
        lines.len() - missed,
        lines.len(),
        path.display()
    );
    Ok(missed == 0)
}

/// What the parts share.
struct Bench<'a> {
    workspace: &'a Workspace,
    program: PathBuf,
    effort: &'a Effort,
    stores: Option<Stores>,
}

/// The two stores that are compared.
struct Stores {
    folders: [PathBuf; 2],
    sites: [Site; 2],
    disk: Disk,
}

impl Bench<'_> {
    /// The stores, and the rows about filling them if this is the first part that needs them.
    fn stores(&mut self) -> Result<(Vec<Line>, &mut Stores)> {
        let mut lines = Vec::new();
        let stores = match self.stores.take() {
            Some(stores) => stores,
            None => {
                let mut copied = |tasks| -> Result<PathBuf> {
                    let filled = Filled::with_tasks(self.workspace, tasks)?;
                    lines.push(fill_line(&filled, tasks));
                    filled.copy()
                };
                let folders = [copied(SIZES[0])?, copied(SIZES[1])?];
                let site = |at: usize| Site {
                    targets: Targets::new(SIZES[at], 1),
                    log: Log::of(&folders[at]),
                };
                let sites = [site(0), site(1)];
                let disk = Disk::open(&store::folder(self.workspace))?;
                Stores { folders, sites, disk }
            }
        };
        Ok((lines, self.stores.insert(stores)))
    }
}

fn measure_stdio(bench: &mut Bench<'_>) -> Result<Vec<Line>> {
    let program = bench.program.clone();
    let rounds = bench.effort.rounds;
    let (mut lines, Stores { folders: [small, large], sites, disk }) = bench.stores()?;
    let mut agents = [Agent::start(&program, small)?, Agent::start(&program, large)?];
    agents.iter_mut().try_for_each(Agent::greet)?;
    thread::sleep(SETTLING);
    lines.extend(latencies("stdio", &mut agents, sites, disk, rounds)?);
    for ((agent, tasks), limit) in agents.iter().zip(SIZES).zip(MEMORY_MIB_MAX) {
        lines.push(start::memory(agent, tasks, limit)?);
    }
    Ok(lines)
}

/// Tasks of unusual shapes.
fn measure_shapes(bench: &mut Bench<'_>) -> Result<Vec<Line>> {
    let shapes = shapes::filled(bench.workspace)?.copy()?;
    let mut agent = Agent::start(&bench.program, &shapes)?;
    agent.greet()?;
    thread::sleep(SETTLING);
    shapes::measure(&mut agent, bench.effort.rounds)
}

fn measure_http(bench: &mut Bench<'_>) -> Result<Vec<Line>> {
    let program = bench.program.clone();
    let effort = bench.effort;
    let (mut lines, Stores { folders: [small, large], sites, disk }) = bench.stores()?;
    let servers = [Server::start(&program, small)?, Server::start(&program, large)?];
    thread::sleep(SETTLING);
    let mut clients = [servers[0].connect()?, servers[1].connect()?];
    lines.extend(latencies("http", &mut clients, sites, disk, effort.rounds)?);
    let sync = disk.page_time()?;
    for (server, tasks) in servers.iter().zip(SIZES) {
        let limit = throughput::gain_limit(sync, tasks);
        lines.push(throughput::measure(server, tasks, (effort.slices, effort.slice), limit)?);
    }
    Ok(lines)
}

fn measure_sessions(bench: &mut Bench<'_>) -> Result<Vec<Line>> {
    let filled = sessions::filled(bench.workspace)?;
    let mut lines = vec![fill_line(&filled, sessions::NODES[1])];
    let server = Server::start(&bench.program, &filled.copy()?)?;
    thread::sleep(SETTLING);
    lines.extend(sessions::measure(&server, bench.effort.rounds)?);
    lines.extend(crowd::measure(&server, &bench.effort.crowd)?);
    Ok(lines)
}

fn measure_runs(bench: &mut Bench<'_>) -> Result<Vec<Line>> {
    let filled = runs::filled(bench.workspace)?;
    let (server, started) = runs::start(&bench.program, &filled.copy()?)?;
    let mut lines = vec![fill_line(&filled, runs::EVENTS[1]), started];
    thread::sleep(SETTLING);
    lines.extend(runs::measure(&server, bench.effort.rounds)?);
    let bare = Command::new(built(bench.workspace, "release", "bare_broadcast"));
    lines.extend(fanout::measure(&server, bare, bench.effort.messages)?);
    Ok(lines)
}

fn measure_starts(bench: &mut Bench<'_>) -> Result<Vec<Line>> {
    let program = bench.program.clone();
    let starts = bench.effort.starts;
    let (mut lines, stores) = bench.stores()?;
    for (folder, tasks) in stores.folders.iter().zip(SIZES) {
        lines.push(start::measure(&program, folder, tasks, starts)?);
    }
    Ok(lines)
}

fn measure_proof(bench: &mut Bench<'_>) -> Result<Vec<Line>> {
    proof::measure(&bench.program, &store::folder(bench.workspace), bench.effort.rounds)
}

fn measure_costs(bench: &mut Bench<'_>) -> Result<Vec<Line>> {
    costs::measure(&bench.program, &store::folder(bench.workspace))
}

fn latencies<W: Wire>(
    place: &'static str,
    wires: &mut [W; 2],
    sites: &mut [Site; 2],
    disk: &mut Disk,
    rounds: usize,
) -> Result<Vec<Line>> {
    let [small, large] = wires;
    let [small_site, large_site] = sites;
    let mut subjects = [
        Subject { tasks: SIZES[0], wire: small, site: small_site },
        Subject { tasks: SIZES[1], wire: large, site: large_site },
    ];
    latency::measure(place, &mut subjects, disk, rounds)
}

fn fill_line(filled: &Filled, tasks: u64) -> Line {
    Line {
        what: "fill".to_owned(),
        place: "engine",
        tasks,
        value: format!("{:.1} s", filled.took.as_secs_f64()),
        base: "seconds".to_owned(),
        ratio: filled.took.as_secs_f64(),
        limit: Limit::AtMost(store::FILL_TIME_MAX.as_secs_f64()),
    }
}

/// A program that was built with a profile.
fn built(workspace: &Workspace, profile: &str, name: &str) -> PathBuf {
    workspace.target().join(profile).join(format!("{name}{}", env::consts::EXE_SUFFIX))
}
