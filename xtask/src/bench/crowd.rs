//! Many readers of one session at a steady rate of events, some of which stop reading: no other
//! reader may lose, reorder or wait for anything because of them.

use std::{
    io::{BufRead as _, BufReader},
    net::TcpStream,
    sync::mpsc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::{Value, json};

use super::{
    process::Memory,
    report::{Limit, Line, MB, Measure, shown, times},
    series::Series,
    wire::Server,
};

/// Events in a second.
const PACE: u32 = 200;
/// Characters of an event's text.
const TEXT_CHARS: usize = 100;
/// A reader checks the time of every 13th event, a number that does not align with batch sizes.
const TIMED_EVERY: u64 = 13;
/// How much longer events may take for the others when some readers stop reading.
const NOTICE_MAX: f64 = 1.5;
/// Memory that the server may hold with all of them.
const MEMORY_MB_MAX: f64 = 150.0;
/// Stack of a reader's thread.
const STACK_BYTES: usize = 128 * 1024;

/// How many readers, how many of them stop reading, for how long.
pub(crate) struct Crowd {
    /// Readers that keep up.
    pub(crate) readers: usize,
    /// Readers that connect and read nothing until the end.
    pub(crate) stalled: usize,
    /// How long events come.
    pub(crate) time: Duration,
}

/// One reader's position in the stream, and its faults.
struct Reader {
    lines: BufReader<TcpStream>,
    last: u64,
    faults: u64,
    gaps: u64,
    delays: Series,
}

impl Reader {
    /// Connects, and reads the greeting, which contains where the stream begins.
    fn connect(server: &Server, session: &str) -> Result<Self> {
        let lines = server.follow(session)?;
        let mut reader = Self { lines, last: 0, faults: 0, gaps: 0, delays: Series::default() };
        loop {
            let line = reader.line()?;
            if let Some(event) = line.strip_prefix("data: ") {
                let hello: Value = serde_json::from_str(event)?;
                let after = hello["data"]["after_seq"].as_u64();
                reader.last = after.context("where the stream begins")?;
                return Ok(reader);
            }
        }
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.lines.read_line(&mut line)? > 0, "the stream ended");
        Ok(line)
    }

    /// Reads up to an event; delays are taken from the clock that the events carry.
    fn read_to(&mut self, last: u64, clock: Instant) -> Result<()> {
        while self.last < last {
            let line = self.line()?;
            if let Some(seq) = line.strip_prefix("id: ") {
                let seq = seq.trim().parse()?;
                self.faults += u64::from(seq != self.last + 1);
                self.last = seq;
            } else if line.contains("\"stream.gap\"") {
                self.skip(&line)?;
            } else if self.last.is_multiple_of(TIMED_EVERY)
                && let Some((_, rest)) = line.split_once("\"sent_us\":")
            {
                let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next();
                let sent = Duration::from_micros(digits.unwrap_or_default().parse()?);
                self.delays.push(clock.elapsed().saturating_sub(sent));
            }
        }
        Ok(())
    }

    /// A gap is not a fault if it begins where this reader was.
    fn skip(&mut self, line: &str) -> Result<()> {
        let gap: Value = serde_json::from_str(line.trim_start_matches("data: "))?;
        let number = |name: &str| gap["data"][name].as_u64().context("the ends of a gap");
        self.faults += u64::from(number("from_seq")? != self.last + 1);
        self.last = number("to_seq")?;
        self.gaps += 1;
        Ok(())
    }
}

struct Phase {
    delays: Series,
    faults: u64,
    gaps: u64,
    memory: u64,
}

/// First all readers keep up, then more come and do not read.
pub(crate) fn measure(server: &Server, crowd: &Crowd) -> Result<Vec<Line>> {
    println!(
        "measuring {} readers, {} of them stalled",
        crowd.readers + crowd.stalled,
        crowd.stalled
    );
    let calm = phase(server, crowd.readers, 0, crowd.time / 4)?;
    let busy = phase(server, crowd.readers, crowd.stalled, crowd.time)?;
    let readers = (crowd.readers + crowd.stalled) as u64;
    let line = |what, value, most| Line::plain(what, "sse", readers, value, Limit::AtMost(most));
    let lost = Measure::Amount((calm.faults + busy.faults) as f64, "lost or reordered");
    let stalled = format!("{} stalled, {} gaps reported", crowd.stalled, busy.gaps);
    let memory = Measure::Amount(busy.memory as f64 / MB, "MB");
    let before = format!("{:.1} MB with none stalled", calm.memory as f64 / MB);
    let undisturbed = calm.delays.median();
    Ok(vec![
        line("readers of one", lost, 0.0).beside(stalled),
        Line {
            what: "delay to others".to_owned(),
            place: "sse",
            size: readers,
            value: (&busy.delays).into(),
            base: format!("{} with none stalled", shown(undisturbed)),
            ratio: times(busy.delays.median(), undisturbed),
            limit: Limit::AtMost(NOTICE_MAX),
        },
        line("memory", memory, MEMORY_MB_MAX).beside(before),
    ])
}

fn phase(server: &Server, readers: usize, stalled: usize, time: Duration) -> Result<Phase> {
    let mut client = server.connect()?;
    let made = client.ask("POST", "/sessions", &json!({}), &mut Series::default())?;
    let session = made["session_id"].as_str().context("the id of a session")?.to_owned();
    let connect = |_| Reader::connect(server, &session);
    let reading: Vec<Reader> = (0..readers).map(connect).collect::<Result<_>>()?;
    let waiting: Vec<Reader> = (0..stalled).map(connect).collect::<Result<_>>()?;
    // The first connection may have been idle for too long.
    let mut client = server.connect()?;
    let events = u64::from(PACE) * time.as_secs();
    let last = reading.first().context("there are readers")?.last + events;
    let clock = Instant::now();
    let (ended, ends) = mpsc::channel();
    let threads: Vec<JoinHandle<()>> = reading
        .into_iter()
        .map(|reader| follow(reader, last, clock, ended.clone()))
        .collect::<Result<_>>()?;
    drop(ended);
    let path = format!("/sessions/{session}/events");
    let text = "x".repeat(TEXT_CHARS);
    for number in 0..events {
        let due = Duration::from_secs(number) / PACE;
        thread::sleep(due.saturating_sub(clock.elapsed()));
        let sent = u64::try_from(clock.elapsed().as_micros())?;
        let body = json!({"sent_us": sent, "text": text, "message_id": "m"});
        let event = json!({"type": "assistant_delta", "data": body});
        client.ask("POST", &path, &event, &mut Series::default())?;
    }
    let mut phase = Phase { delays: Series::default(), faults: 0, gaps: 0, memory: 0 };
    for outcome in ends {
        phase.add(outcome?);
    }
    threads
        .into_iter()
        .try_for_each(|thread| thread.join().map_err(|_| anyhow!("a reader panicked")))?;
    phase.memory = Memory::of(server.process())?.own;
    for mut reader in waiting {
        reader.read_to(last, clock)?;
        phase.faults += reader.faults;
        phase.gaps += reader.gaps;
    }
    Ok(phase)
}

impl Phase {
    /// A reader that kept up must not have received a gap.
    fn add(&mut self, reader: Reader) {
        self.faults += reader.faults + reader.gaps;
        self.delays.append(reader.delays);
    }
}

/// Reads on its own thread.
fn follow(
    mut reader: Reader,
    last: u64,
    clock: Instant,
    ended: mpsc::Sender<Result<Reader>>,
) -> Result<JoinHandle<()>> {
    let read = move || {
        let outcome = reader.read_to(last, clock).map(|()| reader);
        // The receiver may have given up.
        ended.send(outcome).unwrap_or_default();
    };
    Ok(thread::Builder::new().stack_size(STACK_BYTES).spawn(read)?)
}
