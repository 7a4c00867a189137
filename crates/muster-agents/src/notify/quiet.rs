//! Hours of the day in which no notifications are sent.

use std::{fmt, str::FromStr};

use chrono::Timelike as _;

const MINUTES_OF_HOUR: u32 = 60;
const MINUTES_OF_DAY: u32 = 24 * MINUTES_OF_HOUR;

/// Two times of the day in minutes, local time; the first belongs to it, the second does not. It
/// may pass midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuietHours {
    from: u32,
    to: u32,
}

impl QuietHours {
    /// Whether a minute of the day is quiet.
    pub(super) fn holds(self, minute: u32) -> bool {
        if self.from <= self.to {
            (self.from..self.to).contains(&minute)
        } else {
            minute >= self.from || minute < self.to
        }
    }

    pub(super) fn holds_now(self) -> bool {
        let now = chrono::Local::now();
        self.holds(now.hour() * MINUTES_OF_HOUR + now.minute())
    }
}

impl FromStr for QuietHours {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (from, to) = text.split_once('-').ok_or(())?;
        let hours = Self { from: minute(from).ok_or(())?, to: minute(to).ok_or(())? };
        if hours.from == hours.to { Err(()) } else { Ok(hours) }
    }
}

fn minute(text: &str) -> Option<u32> {
    let (hour, minute) = text.trim().split_once(':')?;
    let is_plain = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_plain(hour) || !is_plain(minute) {
        return None;
    }
    let [hour, minute] = [hour, minute].map(|part| part.parse::<u32>().ok());
    let minute = minute.filter(|minute| *minute < MINUTES_OF_HOUR)?;
    Some(hour? * MINUTES_OF_HOUR + minute).filter(|of_day| *of_day < MINUTES_OF_DAY)
}

impl fmt::Display for QuietHours {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [from, to] =
            [self.from, self.to].map(|at| (at / MINUTES_OF_HOUR, at % MINUTES_OF_HOUR));
        write!(formatter, "{:02}:{:02}-{:02}:{:02}", from.0, from.1, to.0, to.1)
    }
}

#[cfg(test)]
mod tests {
    use super::QuietHours;

    fn at(text: &str, hour: u32, minute: u32) -> bool {
        text.parse::<QuietHours>().unwrap().holds(hour * 60 + minute)
    }

    #[test]
    fn quiet_hours_may_pass_midnight() {
        for (hour, minute, is_quiet) in [
            (21, 59, false),
            (22, 0, true),
            (23, 59, true),
            (0, 0, true),
            (6, 59, true),
            (7, 0, false),
        ] {
            assert_eq!(at("22:00-07:00", hour, minute), is_quiet, "{hour}:{minute}");
        }
        assert!(at("12:30-13:00", 12, 30) && !at("12:30-13:00", 13, 0) && !at("12:30-13:00", 0, 0));
    }

    #[test]
    fn what_is_not_two_times_is_refused() {
        assert_eq!("22:00 - 07:05".parse::<QuietHours>().unwrap().to_string(), "22:00-07:05");
        for text in ["", "22:00", "24:00-07:00", "22:60-07:00", "7:00-8:00", "07:00-07:00", "a-b"] {
            assert!(text.parse::<QuietHours>().is_err(), "{text:?}");
        }
    }
}
