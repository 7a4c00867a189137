//! `cargo xtask bench`: how fast the program is, as ratios inside one run.
//!
//! Machines differ and are shared, so no time is judged on its own: a call is compared with the
//! round trip of an empty one on the same transport (*echo*), a durable one also with a sync of
//! what it writes on the same disk (*sync*), and a large store with a small one. The limits are
//! those of decision 0013. The program is the release build, started as users start it.

mod calls;
mod crowd;
mod fanout;
mod frames;
mod latency;
mod report;
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

/// Measures, prints the table, writes the file; returns whether every limit holds.
pub(crate) fn bench(workspace: &Workspace, quick: bool) -> Result<bool> {
    let program = ["build", "--release", "--package", "muster", "--bin", "muster"];
    ensure!(run(&mut workspace.cargo(&program))?, "the release build failed");
    let tools = ["build", "--profile", "tools", "--package", "muster-testkit", "--bins"];
    ensure!(run(&mut workspace.cargo(&tools))?, "the build of the tools failed");
    let lines = measure(workspace, if quick { &QUICK } else { &THOROUGH })?;
    println!("\n{}", report::table(&lines));
    let name = if quick { "quick.json" } else { "bench.json" };
    let path = store::folder(workspace).join(name);
    let text = serde_json::to_string_pretty(&report::file(&lines, quick))?;
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

fn measure(workspace: &Workspace, effort: &Effort) -> Result<Vec<Line>> {
    let program = built(workspace, "release", "muster");
    let mut lines = Vec::new();
    let mut folders = Vec::new();
    for tasks in SIZES {
        let filled = Filled::with_tasks(workspace, tasks)?;
        lines.push(fill_line(&filled, tasks));
        folders.push(filled.copy()?);
    }
    let [small, large] = [&folders[0], &folders[1]];
    let mut disk = Disk::open(&store::folder(workspace))?;
    let site = |tasks, folder| Site { targets: Targets::new(tasks, 1), log: Log::of(folder) };
    let mut sites = [site(SIZES[0], small), site(SIZES[1], large)];

    println!("measuring over stdio");
    let mut agents = [Agent::start(&program, small)?, Agent::start(&program, large)?];
    agents.iter_mut().try_for_each(Agent::greet)?;
    thread::sleep(SETTLING);
    lines.extend(latencies("stdio", &mut agents, &mut sites, &mut disk, effort.rounds)?);
    for ((agent, tasks), limit) in agents.iter().zip(SIZES).zip(MEMORY_MIB_MAX) {
        lines.push(start::memory(agent, tasks, limit)?);
    }
    drop(agents);

    println!("measuring tasks of unusual shapes");
    let shapes = shapes::filled(workspace)?.copy()?;
    let mut agent = Agent::start(&program, &shapes)?;
    agent.greet()?;
    thread::sleep(SETTLING);
    lines.extend(shapes::measure(&mut agent, effort.rounds)?);
    drop(agent);

    println!("measuring over HTTP");
    let servers = [Server::start(&program, small)?, Server::start(&program, large)?];
    thread::sleep(SETTLING);
    let mut clients = [servers[0].connect()?, servers[1].connect()?];
    lines.extend(latencies("http", &mut clients, &mut sites, &mut disk, effort.rounds)?);
    let sync = disk.page_time()?;
    for (server, tasks) in servers.iter().zip(SIZES) {
        let limit = throughput::gain_limit(sync, tasks);
        lines.push(throughput::measure(server, tasks, (effort.slices, effort.slice), limit)?);
    }
    drop(servers);

    println!("measuring sessions");
    let filled = sessions::filled(workspace)?;
    lines.push(fill_line(&filled, sessions::NODES[1]));
    let server = Server::start(&program, &filled.copy()?)?;
    thread::sleep(SETTLING);
    lines.extend(sessions::measure(&server, effort.rounds)?);
    lines.extend(crowd::measure(&server, &effort.crowd)?);
    drop(server);

    println!("measuring runs");
    let filled = runs::filled(workspace)?;
    lines.push(fill_line(&filled, runs::EVENTS[1]));
    let (server, started) = runs::start(&program, &filled.copy()?)?;
    lines.push(started);
    thread::sleep(SETTLING);
    lines.extend(runs::measure(&server, effort.rounds)?);
    let bare = Command::new(built(workspace, "tools", "bare_broadcast"));
    lines.extend(fanout::measure(&server, bare, effort.messages)?);
    drop(server);

    println!("measuring starts");
    for (folder, tasks) in folders.iter().zip(SIZES) {
        lines.push(start::measure(&program, folder, tasks, effort.starts)?);
    }
    Ok(lines)
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
