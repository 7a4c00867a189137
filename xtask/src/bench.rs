//! `cargo xtask bench`: how fast the program is, as ratios inside one run.
//!
//! Machines differ and are shared, so times are compared: a call with the round trip of an empty
//! one on the same transport (*echo*), a durable one also with syncs of the same disk, concurrent
//! ones with programs that do the least possible, and a large store with a small one. Only what
//! people notice, such as a start, has a limit of its own. The limits are those of decision 0013.
//! The program is the build that is given to others, started as users start it; another build can
//! be measured beside it.

mod answers;
mod bare;
mod calls;
mod compare;
mod costs;
mod crowd;
mod delays;
mod fanout;
mod frames;
mod latency;
mod limit;
mod memory;
mod page;
mod process;
mod processes;
mod proof;
mod report;
mod repository;
mod routes;
mod runs;
mod search;
mod series;
mod sessions;
mod shapes;
mod sizes;
mod socket;
mod start;
mod store;
mod throughput;
mod wire;
mod work;

use std::{
    env, fs,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Error, Result, ensure};

use self::{
    bare::Bare,
    calls::Targets,
    compare::Pair,
    crowd::Crowd,
    frames::Log,
    latency::{Disk, Site, Subject, Transport},
    report::{Limit, Line, Measure},
    store::Filled,
    wire::{Agent, Server, Wire},
};
use crate::workspace::{Workspace, run};

/// Tasks in the two stores that are compared; each has five steps.
const SIZES: [u64; 2] = [1_000, 100_000];

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
    /// How long events come at each pace.
    paced: Duration,
    /// Notes whose costs are summed up.
    notes: u32,
}

const THOROUGH: Effort = Effort {
    rounds: 400,
    starts: 60,
    slices: 5,
    slice: Duration::from_secs(1),
    crowd: Crowd { readers: 900, stalled: 100, time: Duration::from_secs(60) },
    messages: 4_000,
    paced: Duration::from_secs(10),
    notes: 20_000,
};
const QUICK: Effort = Effort {
    rounds: 100,
    starts: 20,
    slices: 3,
    slice: Duration::from_millis(400),
    crowd: Crowd { readers: 180, stalled: 20, time: Duration::from_secs(5) },
    messages: 800,
    paced: Duration::from_secs(2),
    notes: 4_000,
};

/// What to measure.
pub(crate) struct BenchWish<'a> {
    /// Fewer repetitions.
    pub(crate) quick: bool,
    /// Parts with one of these words in their names; all of them without any.
    pub(crate) only: &'a [String],
    /// The profile that the program is built with.
    pub(crate) profile: &'a str,
    /// The profile of a second build, which is measured, too, and compared with the first.
    pub(crate) against: Option<&'a str>,
    /// Whether to build first, so that what is measured is up to date.
    pub(crate) builds: bool,
}

/// A part of the benchmark, which can be run alone.
struct Part {
    name: &'static str,
    measure: fn(&mut Bench<'_>) -> Result<Vec<Line>>,
    /// Whether it needs the programs that fill stores.
    fills: bool,
}

/// All parts, in the order in which they run: later ones find the machine warm.
const PARTS: [Part; 16] = [
    Part { name: "stdio", measure: measure_stdio, fills: true },
    Part { name: "answers", measure: answers::measure, fills: true },
    Part { name: "shapes", measure: measure_shapes, fills: true },
    Part { name: "work", measure: work::measure, fills: true },
    Part { name: "search", measure: search::measure, fills: true },
    Part { name: "memory", measure: memory::measure, fills: true },
    Part { name: "http", measure: measure_http, fills: true },
    Part { name: "limit", measure: limit::measure, fills: true },
    Part { name: "processes", measure: processes::measure, fills: true },
    Part { name: "sessions", measure: measure_sessions, fills: true },
    Part { name: "runs", measure: measure_runs, fills: true },
    Part { name: "page", measure: page::measure, fills: true },
    Part { name: "starts", measure: measure_starts, fills: true },
    Part { name: "proof", measure: measure_proof, fills: false },
    Part { name: "costs", measure: measure_costs, fills: false },
    Part { name: "sizes", measure: sizes::measure, fills: false },
];

/// Measures, prints the table, writes the file; returns whether every limit holds.
pub(crate) fn bench(workspace: &Workspace, wish: &BenchWish<'_>) -> Result<bool> {
    let is_asked = |part: &&Part| {
        wish.only.is_empty() || wish.only.iter().any(|word| part.name.contains(word.as_str()))
    };
    let parts: Vec<&Part> = PARTS.iter().filter(is_asked).collect();
    let names = || PARTS.map(|part| part.name).join(", ");
    ensure!(!parts.is_empty(), "no part has such a name; there are {}", names());
    let profiles: Vec<&str> = [Some(wish.profile), wish.against].into_iter().flatten().collect();
    if wish.builds {
        build(workspace, &profiles, &parts)?;
    }
    let program = |profile| (profile, built(workspace, profile, "muster"));
    let programs: Vec<(&str, PathBuf)> = profiles.into_iter().map(program).collect();
    fs::create_dir_all(store::folder(workspace)).context("make the folder of measurements")?;
    let effort = if wish.quick { &QUICK } else { &THOROUGH };
    let mut benches = Vec::new();
    for (profile, program) in &programs {
        let program = program.clone();
        let programs = &programs;
        benches.push(Bench { workspace, profile, program, programs, effort, stores: None });
    }
    let started = Instant::now();
    let mut lines = Vec::new();
    let mut compared = Vec::new();
    for (number, part) in (1..).zip(&parts) {
        let mut measured = Vec::new();
        for bench in &mut benches {
            let seconds = started.elapsed().as_secs();
            let profile = bench.profile;
            println!("[{number}/{}] {} of {profile}, after {seconds} s", parts.len(), part.name);
            // What the other parts found is not lost because one could not be measured.
            let outcome = (part.measure)(bench);
            measured.push(outcome.unwrap_or_else(|error| vec![failure(part, &error)]));
        }
        let first = measured.remove(0);
        if let (Some(other), Some(against)) = (measured.pop(), wish.against) {
            let profiles = [against, wish.profile];
            let pair = Pair { part: part.name, profiles, lines: [other, first.clone()] };
            compared.extend(pair.compared());
        }
        lines.extend(first);
    }
    lines.extend(compared);
    report(workspace, wish, &lines)
}

fn failure(part: &Part, error: &Error) -> Line {
    println!("{} could not be measured: {error:#}", part.name);
    let failed = Measure::Amount(1.0, "failure");
    Line::plain(part.name, "part", 0, failed, Limit::AtMost(0.0)).beside(error.to_string())
}

/// Builds what is measured, and what it is measured with.
fn build(workspace: &Workspace, profiles: &[&str], parts: &[&Part]) -> Result<()> {
    for profile in profiles {
        let program = ["build", "--profile", profile, "--package", "muster", "--bin", "muster"];
        ensure!(run(&mut workspace.cargo(&program))?, "the {profile} build failed");
    }
    if parts.iter().any(|part| part.fills) {
        let tools = ["build", "--release", "--package", "muster-testkit", "--bins"];
        ensure!(run(&mut workspace.cargo(&tools))?, "the build of the tools failed");
    }
    Ok(())
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
    let missed: Vec<Line> = lines.iter().filter(|line| !line.passed()).cloned().collect();
    if !missed.is_empty() {
        println!("missed:\n{}", report::table(&missed));
    }
    let limits = lines.iter().filter(|line| line.limit != Limit::None).count();
    println!("{} of {limits} limits hold; written to {}", limits - missed.len(), path.display());
    Ok(missed.is_empty())
}

/// What the parts share.
struct Bench<'a> {
    workspace: &'a Workspace,
    /// The profile of the build that is measured.
    profile: &'a str,
    program: PathBuf,
    /// All builds.
    programs: &'a [(&'a str, PathBuf)],
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
                    filled.copy(self.profile)
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

    fn bare(&self) -> Result<Bare> {
        Bare::start(&built(self.workspace, "release", "bare_server"))
    }
}

fn measure_stdio(bench: &mut Bench<'_>) -> Result<Vec<Line>> {
    let program = bench.program.clone();
    let rounds = bench.effort.rounds;
    let (mut lines, Stores { folders: [small, large], sites, disk }) = bench.stores()?;
    let mut agents = [Agent::start(&program, small)?, Agent::start(&program, large)?];
    agents.iter_mut().try_for_each(Agent::greet)?;
    thread::sleep(SETTLING);
    lines.extend(latencies(Transport::Stdio, &mut agents, sites, disk, rounds)?);
    Ok(lines)
}

/// Tasks of unusual shapes.
fn measure_shapes(bench: &mut Bench<'_>) -> Result<Vec<Line>> {
    let shapes = shapes::filled(bench.workspace)?.copy(bench.profile)?;
    let mut agent = Agent::start(&bench.program, &shapes)?;
    agent.greet()?;
    thread::sleep(SETTLING);
    shapes::measure(&mut agent, bench.effort.rounds)
}

fn measure_http(bench: &mut Bench<'_>) -> Result<Vec<Line>> {
    let program = bench.program.clone();
    let effort = bench.effort;
    let bare = bench.bare()?;
    let (mut lines, Stores { folders: [small, large], sites, disk }) = bench.stores()?;
    let servers = [Server::start(&program, small)?, Server::start(&program, large)?];
    thread::sleep(SETTLING);
    lines.extend(routes::measure(&servers[0], &bare, effort.rounds)?);
    let mut clients = [servers[0].connect()?, servers[1].connect()?];
    lines.extend(latencies(Transport::Http, &mut clients, sites, disk, effort.rounds)?);
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
    let server = Server::start(&bench.program, &filled.copy(bench.profile)?)?;
    thread::sleep(SETTLING);
    lines.extend(sessions::measure(&server, bench.effort.rounds)?);
    lines.extend(crowd::measure(&server, &bench.effort.crowd)?);
    Ok(lines)
}

fn measure_runs(bench: &mut Bench<'_>) -> Result<Vec<Line>> {
    let filled = runs::filled(bench.workspace)?;
    let (server, started) = runs::start(&bench.program, &filled.copy(bench.profile)?)?;
    let mut lines = vec![fill_line(&filled, runs::EVENTS[1])];
    lines.extend(started);
    thread::sleep(SETTLING);
    lines.extend(runs::measure(&server, bench.effort.rounds)?);
    lines.extend(fanout::measure(&server, &bench.bare()?, bench.effort.messages)?);
    lines.extend(delays::measure(&server, bench.effort.paced)?);
    Ok(lines)
}

fn measure_starts(bench: &mut Bench<'_>) -> Result<Vec<Line>> {
    let program = bench.program.clone();
    let starts = bench.effort.starts;
    let (mut lines, stores) = bench.stores()?;
    for (folder, tasks) in stores.folders.iter().zip(SIZES) {
        lines.push(start::measure(&program, folder, tasks, starts)?);
        lines.extend(start::measure_cold(&program, folder, tasks, starts)?);
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
    transport: Transport,
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
    latency::measure(transport, &mut subjects, disk, rounds)
}

fn fill_line(filled: &Filled, size: u64) -> Line {
    let took = Measure::Amount(filled.took.as_secs_f64(), "seconds");
    Line::plain("fill", "engine", size, took, Limit::AtMost(store::FILL_TIME_MAX.as_secs_f64()))
}

/// A program that was built with a profile.
fn built(workspace: &Workspace, profile: &str, name: &str) -> PathBuf {
    workspace.target().join(profile).join(format!("{name}{}", env::consts::EXE_SUFFIX))
}
