//! Events of a run to many sockets at once, against the least that a server could do.
//!
//! Messages are sent to a run as fast as eight callers can, which gives durable events. The same
//! number of messages of the same size, at the same pace, goes through a bare broadcast. What is
//! compared is the time until the last client has the last of them, so for a few clients it shows
//! what following a run costs its writers, and for many how fast events are passed on.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, ChildStdout, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow};
use serde_json::{Value, json};

use super::{
    report::{Limit, Line},
    series::Series,
    socket::{Socket, seq},
    wire::{Client, Server},
};

/// Numbers of concurrent clients.
const CLIENTS: [usize; 4] = [1, 10, 50, 1_000];
/// Callers that write.
const CALLERS: usize = 8;
/// Events that one message gives.
const EVENTS_PER_MESSAGE: u64 = 2;
/// The minimum share of the bare broadcast's speed.
const SHARE_MIN: f64 = 0.7;
/// The share of clients that cost is measured with, and what an event may cost with them.
const COSTED: usize = 50;
const COST_MICROS_MAX: f64 = 100.0;
/// Clients that stop reading, and what each may cost.
const STALLED: usize = 5;
const STALLED_MIB_MAX: f64 = 2.0;
/// Stack of a reader's thread.
const STACK_BYTES: usize = 128 * 1024;
const MIB: f64 = 1024.0 * 1024.0;

/// A server that only passes messages on.
struct Bare {
    child: Child,
    address: String,
    _lines: BufReader<ChildStdout>,
}

impl Bare {
    fn start(mut program: Command) -> Result<Self> {
        let mut child = program.stdout(Stdio::piped()).spawn().context("start a bare broadcast")?;
        let stdout = child.stdout.take().context("the bare broadcast has no stdout")?;
        let mut lines = BufReader::new(stdout);
        let mut address = String::new();
        lines.read_line(&mut address)?;
        Ok(Self { child, address: address.trim().to_owned(), _lines: lines })
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        if self.child.kill().is_ok() {
            self.child.wait().map_or_else(|error| println!("it did not end: {error}"), drop);
        }
    }
}

/// A source of events of one kind.
struct Source<'a> {
    address: &'a str,
    path: &'a str,
    token: &'a str,
}

impl Source<'_> {
    /// Starts readers; the channel delivers when each had the last message.
    fn follow(&self, clients: usize, last: u64) -> Result<mpsc::Receiver<Result<Instant>>> {
        let (sender, ends) = mpsc::channel();
        for _ in 0..clients {
            let mut socket = Socket::open(self.address, self.path, self.token)?;
            // The first message confirms that everything from now on is seen.
            socket.next()?;
            let sender = sender.clone();
            let read = move || {
                let ended = read_to(&mut socket, last);
                sender.send(ended).unwrap_or_default();
            };
            thread::Builder::new().stack_size(STACK_BYTES).spawn(read)?;
        }
        Ok(ends)
    }
}

/// Reads up to a number, and requires every number before it.
fn read_to(socket: &mut Socket, last: u64) -> Result<Instant> {
    let mut before = None;
    loop {
        let Some(number) = seq(socket.next()?) else { continue };
        if before.is_some_and(|before: u64| number != before + 1) {
            return Err(anyhow!("{number} came after {before:?}"));
        }
        if number >= last {
            return Ok(Instant::now());
        }
        before = Some(number);
    }
}

fn last_of(ends: &mpsc::Receiver<Result<Instant>>, clients: usize) -> Result<Instant> {
    let mut last = Instant::now();
    for _ in 0..clients {
        last = last.max(ends.recv()??);
    }
    Ok(last)
}

/// A run that takes messages and does nothing.
struct Sink<'a> {
    server: &'a Server,
    run: String,
    nodes: Vec<String>,
}

impl<'a> Sink<'a> {
    fn on(server: &'a Server) -> Result<Self> {
        let node = |number: usize| json!({"label": format!("n{number}"), "provider": "custom"});
        let nodes: Vec<Value> = (0..CALLERS).map(node).collect();
        let body = json!({"autoStart": false, "nodes": nodes});
        let made = server.connect()?.ask("POST", "/api/runs", &body, &mut Series::default())?;
        let run = made["run"]["id"].as_str().context("the id of a run")?.to_owned();
        let nodes = made["run"]["nodes"].as_object().context("the nodes of a run")?;
        Ok(Self { server, run, nodes: nodes.keys().cloned().collect() })
    }

    fn last_seq(&self) -> Result<u64> {
        let path = format!("/api/runs/{}", self.run);
        let run = self.server.connect()?.ask("GET", &path, &Value::Null, &mut Series::default())?;
        run["run"]["lastSeq"].as_u64().context("the last number of a run")
    }

    /// Sends messages from all callers; returns when it began.
    fn send(&self, messages: u64) -> Result<Instant> {
        let clients: Vec<Client> =
            (0..CALLERS).map(|_| self.server.connect()).collect::<Result<_>>()?;
        let started = Instant::now();
        thread::scope(|scope| {
            let senders: Vec<_> = clients
                .into_iter()
                .zip(&self.nodes)
                .map(|(client, node)| {
                    scope.spawn(move || self.send_to(client, node, messages / CALLERS as u64))
                })
                .collect();
            senders
                .into_iter()
                .try_for_each(|sender| sender.join().ok().context("a caller panicked")?)
        })?;
        Ok(started)
    }

    fn send_to(&self, mut client: Client, node: &str, messages: u64) -> Result<()> {
        let path = format!("/api/runs/{}/chat", self.run);
        let body = json!({"nodeId": node, "content": "How far is the part of the importer?"});
        for _ in 0..messages {
            client.ask("POST", &path, &body, &mut Series::default())?;
        }
        Ok(())
    }

    /// How long it takes until clients have the events of `messages` messages.
    fn time(&self, clients: usize, messages: u64) -> Result<Duration> {
        let since = self.last_seq()?;
        let last = since + messages * EVENTS_PER_MESSAGE;
        // A reader without a position would get the whole run first.
        let path = format!("/ws?runId={}&since={since}", self.run);
        let (address, token) = self.server.place();
        let ends = Source { address, path: &path, token }.follow(clients, last)?;
        let started = self.send(messages)?;
        Ok(last_of(&ends, clients)?.duration_since(started))
    }
}

/// Measures against a bare broadcast, which a command starts.
pub(crate) fn measure(server: &Server, bare: Command, messages: u64) -> Result<Vec<Line>> {
    println!("measuring events to many sockets");
    let bare = Bare::start(bare)?;
    let sink = Sink::on(server)?;
    let bytes = sample_bytes(&sink)?;
    let alone = sink.send(messages)?.elapsed();
    let micros = alone.as_micros() as u64 / (messages * EVENTS_PER_MESSAGE);
    let mut lines = Vec::new();
    for clients in CLIENTS {
        let busy = server.cpu_time()?;
        let ours = sink.time(clients, messages)?;
        let busy = server.cpu_time()?.saturating_sub(busy);
        let theirs = bare_time(&bare, clients, (messages * EVENTS_PER_MESSAGE, bytes, micros))?;
        lines.push(share_line(clients, messages, ours, theirs));
        if clients == COSTED {
            let before = server.cpu_time()?;
            sink.send(messages)?;
            let unfollowed = server.cpu_time()?.saturating_sub(before);
            lines.push(cost_line(busy.saturating_sub(unfollowed), busy, messages));
        }
    }
    lines.push(stalled_line(server, &sink, messages)?);
    Ok(lines)
}

/// Bytes of one event on the wire, on average over a page.
fn sample_bytes(sink: &Sink<'_>) -> Result<usize> {
    sink.send(CALLERS as u64 * 4)?;
    let path = format!("/api/runs/{}/events?limit=50", sink.run);
    let page = sink.server.connect()?.ask("GET", &path, &Value::Null, &mut Series::default())?;
    let events = page["events"].as_array().context("a page of events")?;
    let bytes: usize = events.iter().map(|event| event.to_string().len()).sum();
    Ok(bytes / events.len().max(1))
}

fn bare_time(bare: &Bare, clients: usize, what: (u64, usize, u64)) -> Result<Duration> {
    let (count, bytes, micros) = what;
    let ends = Source { address: &bare.address, path: "/ws", token: "" }.follow(clients, count)?;
    let mut client = Client::to(&bare.address, "")?;
    let path = format!("/publish?count={count}&bytes={bytes}&micros={micros}");
    let started = Instant::now();
    client.post(&path)?;
    Ok(last_of(&ends, clients)?.duration_since(started))
}

fn share_line(clients: usize, messages: u64, ours: Duration, theirs: Duration) -> Line {
    let rate = |time: Duration| {
        let sent = messages * EVENTS_PER_MESSAGE * clients as u64;
        format!("{:.0} events/s", sent as f64 / time.as_secs_f64())
    };
    Line {
        what: "events to sockets".to_owned(),
        place: "ws",
        tasks: clients as u64,
        value: rate(ours),
        base: format!("bare {}", rate(theirs)),
        ratio: theirs.as_secs_f64() / ours.as_secs_f64(),
        limit: Limit::AtLeast(SHARE_MIN),
    }
}

fn cost_line(followed: Duration, busy: Duration, messages: u64) -> Line {
    let events = (messages * EVENTS_PER_MESSAGE) as f64;
    let micros = followed.as_secs_f64() * 1e6 / events;
    Line {
        what: "work to pass on".to_owned(),
        place: "ws",
        tasks: COSTED as u64,
        value: format!("{micros:.0} us an event"),
        base: format!("{:.0} us with writing it", busy.as_secs_f64() * 1e6 / events),
        ratio: micros,
        limit: Limit::AtMost(COST_MICROS_MAX),
    }
}

fn stalled_line(server: &Server, sink: &Sink<'_>, messages: u64) -> Result<Line> {
    let (address, token) = server.place();
    let path = format!("/ws?runId={}", sink.run);
    let open = |_| Socket::open(address, &path, token);
    let stalled: Vec<Socket> = (0..STALLED).map(open).collect::<Result<_>>()?;
    let before = server.memory()?.0;
    sink.send(messages * 4)?;
    let after = server.memory()?.0;
    drop(stalled);
    let each = after.saturating_sub(before) as f64 / MIB / STALLED as f64;
    Ok(Line {
        what: "a stalled socket".to_owned(),
        place: "ws",
        tasks: STALLED as u64,
        value: format!("{each:.2} MiB each"),
        base: format!("{:.1} MiB before", before as f64 / MIB),
        ratio: each,
        limit: Limit::AtMost(STALLED_MIB_MAX),
    })
}
