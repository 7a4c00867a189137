//! How long an event of a run takes to 1,000 sockets, at a slow and at a fast pace.
//!
//! The clock of an event starts when its message is due, not when a caller got round to sending
//! it: a server that falls behind is not measured as if it had been asked less.

use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use super::{
    fanout::{CALLERS, EVENTS_PER_MESSAGE, STACK_BYTES, Sink},
    report::{Limit, Line, shown},
    series::Series,
    socket::{Socket, seq},
    wire::{Client, Server},
};

const READERS: usize = 1_000;
/// Events in a second, and what 99 of 100 may take at that pace.
const PACES: [(u64, f64); 2] = [(50, 25.0), (2_000, 40.0)];
/// A reader checks the time of every 13th event, a number that does not align with batch sizes.
const TIMED_EVERY: u64 = 13;
/// Before the number in a message that says when it was due.
const DUE: &str = "due_us=";
/// The pace is taken up before anything is timed.
const WARM_UP: Duration = Duration::from_secs(1);

/// Has callers send messages at both paces.
pub(crate) fn measure(server: &Server, time: Duration) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (pace, most) in PACES {
        println!("measuring {pace} events a second to {READERS} sockets");
        let delays = delays(server, pace, time)?;
        let late = delays.percentile(99);
        lines.push(Line {
            what: format!("{pace} events/s, p99"),
            place: "ws",
            size: READERS as u64,
            value: (&delays).into(),
            base: format!("milliseconds; slowest {}", shown(delays.percentile(100))),
            ratio: super::report::millis(late),
            limit: Limit::AtMost(most),
        });
    }
    Ok(lines)
}

fn delays(server: &Server, pace: u64, time: Duration) -> Result<Series> {
    let sink = Sink::on(server)?;
    let since = sink.last_seq()?;
    let messages = pace / EVENTS_PER_MESSAGE * (time + WARM_UP).as_secs();
    let last = since + messages * EVENTS_PER_MESSAGE;
    let path = format!("/ws?runId={}&since={since}", sink.run);
    let (address, token) = server.place();
    let sockets = (0..READERS).map(|_| {
        let mut socket = Socket::open(address, &path, token)?;
        // The first message confirms that everything from now on is seen.
        socket.next()?;
        Ok(socket)
    });
    let sockets: Vec<Socket> = sockets.collect::<Result<_>>()?;
    let (sender, ends) = mpsc::channel();
    let clock = Instant::now();
    for mut socket in sockets {
        let sender = sender.clone();
        let read = move || sender.send(read_to(&mut socket, last, clock)).unwrap_or_default();
        thread::Builder::new().stack_size(STACK_BYTES).spawn(read)?;
    }
    drop(sender);
    let every = Duration::from_secs(EVENTS_PER_MESSAGE) / u32::try_from(pace)?;
    send_paced(&sink, messages, every, clock)?;
    let mut delays = Series::default();
    for outcome in ends {
        delays.append(outcome?);
    }
    Ok(delays)
}

/// All callers in turn, each on its own connection.
fn send_paced(sink: &Sink<'_>, messages: u64, every: Duration, clock: Instant) -> Result<()> {
    thread::scope(|scope| {
        let mut senders = Vec::new();
        for (caller, node) in (0..).zip(&sink.nodes) {
            let client = sink.server.connect()?;
            let numbers = (caller..messages).step_by(CALLERS);
            let due = numbers.map(move |number| every * u32::try_from(number).unwrap_or(u32::MAX));
            senders.push(scope.spawn(move || send_when_due(sink, client, node, due, clock)));
        }
        senders
            .into_iter()
            .try_for_each(|sender| sender.join().ok().context("a caller panicked")?)
    })
}

fn send_when_due(
    sink: &Sink<'_>,
    mut client: Client,
    node: &str,
    due: impl Iterator<Item = Duration>,
    clock: Instant,
) -> Result<()> {
    for due in due {
        thread::sleep(due.saturating_sub(clock.elapsed()));
        sink.say(&mut client, node, &format!("{DUE}{} How far is it?", due.as_micros()))?;
    }
    Ok(())
}

/// Reads up to a number; returns the delays of some events.
fn read_to(socket: &mut Socket, last: u64, clock: Instant) -> Result<Series> {
    let mut delays = Series::default();
    loop {
        let message = socket.next()?;
        let Some(number) = seq(message) else { continue };
        if number.is_multiple_of(TIMED_EVERY)
            && let Some(due) = due(message)
            && due >= WARM_UP
        {
            delays.push(clock.elapsed().saturating_sub(due));
        }
        if number >= last {
            return Ok(delays);
        }
    }
}

fn due(message: &str) -> Option<Duration> {
    let (_, rest) = message.split_once(DUE)?;
    let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
    digits.parse().ok().map(Duration::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_message_is_found() {
        let message = r#"{"seq":26,"payload":{"content":"due_us=1500000 How far is it?"}}"#;
        assert_eq!(due(message), Some(Duration::from_millis(1_500)));
        assert_eq!(due(r#"{"seq":26}"#), None);
    }
}
