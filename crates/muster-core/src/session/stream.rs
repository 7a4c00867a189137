//! The start of a connection to a session's event stream (SS-3 to SS-6), and the messages that
//! belong to one connection.

use serde::Serialize;

use super::{PROTOCOL_VERSION, SessionId};

/// Type of the first message of a connection.
pub const STREAM_HELLO: &str = "stream.hello";
/// Type of the message that lists which events a slow reader has lost.
pub const STREAM_GAP: &str = "stream.gap";

/// What a reader asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StreamRequest<'a> {
    /// `Last-Event-ID`, or else `from_id`; blank counts as missing.
    pub resume: Option<&'a str>,
    /// Whether it wants earlier events.
    pub replay: bool,
    /// Limit of the last events.
    pub limit: Option<u64>,
}

/// How a connection continues from what the reader has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Exactly after the last event that the reader has.
    Resume,
    /// With events from before.
    Replay,
    /// With events from now on.
    Live,
}

/// What a connection begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamOpening {
    pub mode: Mode,
    /// Events after this number follow.
    pub after_seq: u64,
    /// Number of the newest event at this moment.
    pub last_seq: u64,
}

/// The resume point names no event of this session (SS-6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResumeWindowExceeded {
    /// Number of the newest event.
    pub last_seq: u64,
}

impl StreamOpening {
    /// Decides where a connection begins. A resume point wins over everything else (SS-5).
    pub fn of(
        request: StreamRequest<'_>,
        session: &SessionId,
        last_seq: u64,
    ) -> Result<Self, ResumeWindowExceeded> {
        let resume = request.resume.map(crate::text::trim).filter(|point| !point.is_empty());
        if let Some(point) = resume {
            let exceeded = ResumeWindowExceeded { last_seq };
            let after_seq = resume_point(point, session).filter(|seq| *seq <= last_seq);
            let after_seq = after_seq.ok_or(exceeded)?;
            return Ok(Self { mode: Mode::Resume, after_seq, last_seq });
        }
        let (mode, after_seq) = match (request.replay, request.limit) {
            (true, None) => (Mode::Replay, 0),
            (true, Some(limit)) => (Mode::Replay, last_seq.saturating_sub(limit)),
            (false, _) => (Mode::Live, last_seq),
        };
        Ok(Self { mode, after_seq, last_seq })
    }

    /// Whether the reader gets a snapshot of every known todo list (TS-4).
    pub fn has_snapshots(&self) -> bool {
        self.mode != Mode::Resume
    }

    /// The first message.
    pub fn hello<'a>(&self, session: &'a SessionId) -> Hello<'a> {
        Hello {
            session_id: session,
            protocol_version: PROTOCOL_VERSION,
            mode: self.mode,
            after_seq: self.after_seq,
            last_seq: self.last_seq,
        }
    }
}

fn resume_point(point: &str, session: &SessionId) -> Option<u64> {
    if point.bytes().all(|byte| byte.is_ascii_digit()) {
        return point.parse().ok();
    }
    session.seq_of(point)
}

/// Body of `stream.hello`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Hello<'a> {
    pub session_id: &'a SessionId,
    /// `1.0`
    pub protocol_version: &'static str,
    pub mode: Mode,
    /// Events after this number follow.
    pub after_seq: u64,
    /// The newest one.
    pub last_seq: u64,
}

/// Body of `stream.gap`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Gap {
    /// First event that was dropped.
    pub from_seq: u64,
    /// Last event that was dropped.
    pub to_seq: u64,
    /// Why.
    pub reason: GapReason,
}

/// Why events were dropped for a reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GapReason {
    /// It did not keep up.
    SlowConsumer,
}

#[cfg(test)]
mod tests {
    use super::{Mode, ResumeWindowExceeded, SessionId, StreamOpening, StreamRequest};

    #[test]
    fn a_connection_begins_where_it_was_asked_to() {
        let session = SessionId::from_bits(0x12ab34);
        let seventh = session.event_id(7);
        let open = |resume, replay, limit| {
            let request = StreamRequest { resume, replay, limit };
            StreamOpening::of(request, &session, 40)
                .map(|opening| (opening.mode, opening.after_seq))
        };
        assert_eq!(open(None, false, None), Ok((Mode::Live, 40)));
        assert_eq!(open(None, false, Some(3)), Ok((Mode::Live, 40)));
        assert_eq!(open(None, true, None), Ok((Mode::Replay, 0)));
        assert_eq!(open(None, true, Some(3)), Ok((Mode::Replay, 37)));
        assert_eq!(open(None, true, Some(99)), Ok((Mode::Replay, 0)));
        assert_eq!(open(Some(" "), true, None), Ok((Mode::Replay, 0)), "blank is not given");
        assert_eq!(open(Some("0"), true, Some(3)), Ok((Mode::Resume, 0)));
        assert_eq!(open(Some("40"), false, None), Ok((Mode::Resume, 40)));
        assert_eq!(open(Some(&seventh), false, None), Ok((Mode::Resume, 7)));
        let exceeded = Err(ResumeWindowExceeded { last_seq: 40 });
        for bad in ["41", "ev-12AB34-41", "ev-XXXXXX-7", "-1", "x", "99999999999999999999999"] {
            assert_eq!(open(Some(bad), true, None), exceeded, "{bad}");
        }
    }
}
