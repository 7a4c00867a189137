//! Events of a run to many sockets at once, against the least that a server could do.
//!
//! Messages are sent to a run as fast as eight callers can, which gives durable events. The same
//! number of messages of the same size goes through a bare broadcast, as fast as it can. What is
//! compared is the time until the last client has the last of them. The least it can be is the
//! longer of two: that of the bare broadcast, and that of the callers without followers. So for a
//! few clients it shows what following a run costs its writers, and for many how fast events are
//! passed on.

use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow};
use serde_json::{Value, json};

use super::{
    bare::Bare,
    process::{Memory, Usage},
    report::{Limit, Line, MB, Measure},
    series::Series,
    socket::{Socket, seq},
    wire::{Client, Server},
};

/// Numbers of concurrent clients.
const CLIENTS: [usize; 4] = [1, 10, 50, 1_000];
/// Callers that write.
pub(crate) const CALLERS: usize = 8;
/// Events that one message gives.
pub(crate) const EVENTS_PER_MESSAGE: u64 = 2;
/// The minimum share of the greatest possible speed.
const SHARE_MIN: f64 = 0.7;
/// The number of clients that cost is measured with, and what an event may cost with them.
const COSTED: usize = 50;
const COST_MICROS_MAX: f64 = 100.0;
/// Clients that stop reading, and what each may cost.
const STALLED: usize = 5;
const STALLED_MB_MAX: f64 = 2.0;
/// Stack of a reader's thread.
pub(crate) const STACK_BYTES: usize = 128 * 1024;

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
pub(crate) struct Sink<'a> {
    pub(crate) server: &'a Server,
    pub(crate) run: String,
    /// One for each caller.
    pub(crate) nodes: Vec<String>,
}

impl<'a> Sink<'a> {
    /// A new run on a server.
    pub(crate) fn on(server: &'a Server) -> Result<Self> {
        let node = |number: usize| json!({"label": format!("n{number}"), "provider": "custom"});
        let nodes: Vec<Value> = (0..CALLERS).map(node).collect();
        let body = json!({"autoStart": false, "nodes": nodes});
        let made = server.connect()?.ask("POST", "/api/runs", &body, &mut Series::default())?;
        let run = made["run"]["id"].as_str().context("the id of a run")?.to_owned();
        let nodes = made["run"]["nodes"].as_object().context("the nodes of a run")?;
        Ok(Self { server, run, nodes: nodes.keys().cloned().collect() })
    }

    /// The number of its last event.
    pub(crate) fn last_seq(&self) -> Result<u64> {
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
        (0..messages)
            .try_for_each(|_| self.say(&mut client, node, "How far is the part of the importer?"))
    }

    /// Sends one message.
    pub(crate) fn say(&self, client: &mut Client, node: &str, content: &str) -> Result<()> {
        let path = format!("/api/runs/{}/chat", self.run);
        let body = json!({"nodeId": node, "content": content});
        client.ask("POST", &path, &body, &mut Series::default()).map(drop)
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

/// Measures against a bare broadcast.
pub(crate) fn measure(server: &Server, bare: &Bare, messages: u64) -> Result<Vec<Line>> {
    println!("measuring events to many sockets");
    let sink = Sink::on(server)?;
    let bytes = sample_bytes(&sink)?;
    let mut lines = Vec::new();
    for clients in CLIENTS {
        let before = Usage::of(server.process())?;
        let writing = sink.send(messages)?.elapsed();
        let unfollowed = Usage::of(server.process())?;
        let ours = sink.time(clients, messages)?;
        let followed = Usage::of(server.process())?.since(unfollowed).cpu;
        let broadcast = bare_time(bare, clients, messages * EVENTS_PER_MESSAGE, bytes)?;
        lines.push(share_line(clients, messages, ours, [writing, broadcast]));
        if clients == COSTED {
            lines.push(cost_line(unfollowed.since(before).cpu, followed, messages));
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

fn bare_time(bare: &Bare, clients: usize, count: u64, bytes: usize) -> Result<Duration> {
    let ends = Source { address: &bare.address, path: "/ws", token: "" }.follow(clients, count)?;
    let mut client = bare.connect()?;
    let started = Instant::now();
    client.post(&format!("/publish?count={count}&bytes={bytes}"))?;
    Ok(last_of(&ends, clients)?.duration_since(started))
}

fn share_line(clients: usize, messages: u64, ours: Duration, least: [Duration; 2]) -> Line {
    let rate = |time: Duration| {
        (messages * EVENTS_PER_MESSAGE * clients as u64) as f64 / time.as_secs_f64()
    };
    let [writing, broadcast] = least.map(rate);
    Line {
        what: "events to sockets".to_owned(),
        place: "ws",
        size: clients as u64,
        value: Measure::PerSecond(rate(ours), "events"),
        base: format!("written {writing:.0}/s, bare broadcast {broadcast:.0}/s"),
        ratio: rate(ours) / writing.min(broadcast),
        limit: Limit::AtLeast(SHARE_MIN),
    }
}

fn cost_line(unfollowed: Duration, followed: Duration, messages: u64) -> Line {
    let micros = |time: Duration| time.as_secs_f64() * 1e6 / (messages * EVENTS_PER_MESSAGE) as f64;
    let passing = Measure::Amount(micros(followed.saturating_sub(unfollowed)), "us an event");
    let limit = Limit::AtMost(COST_MICROS_MAX);
    Line::plain("work to pass on", "ws", COSTED as u64, passing, limit)
        .beside(format!("{:.0} us with writing it", micros(followed)))
}

fn stalled_line(server: &Server, sink: &Sink<'_>, messages: u64) -> Result<Line> {
    let (address, token) = server.place();
    let path = format!("/ws?runId={}", sink.run);
    let open = |_| Socket::open(address, &path, token);
    let stalled: Vec<Socket> = (0..STALLED).map(open).collect::<Result<_>>()?;
    let before = Memory::of(server.process())?.own;
    sink.send(messages * 4)?;
    let after = Memory::of(server.process())?.own;
    drop(stalled);
    let each = after.saturating_sub(before) as f64 / MB / STALLED as f64;
    let limit = Limit::AtMost(STALLED_MB_MAX);
    let each = Measure::Amount(each, "MB each");
    Ok(Line::plain("a stalled socket", "ws", STALLED as u64, each, limit)
        .beside(format!("{:.1} MB before", before as f64 / MB)))
}
