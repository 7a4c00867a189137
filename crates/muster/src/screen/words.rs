//! Numbers and times in words.

use std::time::{SystemTime, UNIX_EPOCH};

use muster_api::Timestamp;

/// A number and its noun.
pub(crate) fn counted(count: impl TryInto<u64>, noun: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// A line for programs as people write it: `1 step(s)` is "1 step", `4 step(s)` is "4 steps".
pub(crate) fn with_plurals(line: &str) -> String {
    let mut parts = line.split("(s)");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut words = text.rsplit(' ');
        let is_one = words.nth(1) == Some("1");
        text.push_str(if is_one { "" } else { "s" });
        text.push_str(part);
    }
    text
}

/// How long ago something happened, by the clock of this machine.
pub(crate) fn ago(then: Timestamp) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    age(then, Timestamp(i64::try_from(now).unwrap_or(i64::MAX)))
}

/// How long ago something happened.
pub(crate) fn age(then: Timestamp, now: Timestamp) -> String {
    let seconds = u64::try_from(now.0.saturating_sub(then.0) / 1000).unwrap_or(0);
    match seconds {
        0..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} ago", counted(seconds / 86_400, "day")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_rounded_down() {
        let ago = |seconds: i64| age(Timestamp(0), Timestamp(seconds * 1000));
        assert_eq!(
            [ago(-5), ago(59), ago(185), ago(7_300), ago(100_000), ago(200_000)],
            ["just now", "just now", "3 min ago", "2 h ago", "1 day ago", "2 days ago"]
        );
    }

    #[test]
    fn lines_for_programs_get_their_plurals() {
        let lines = ["Confirm tests: 1 step(s), first s:0", "4 step(s) blocked", "nothing"];
        let shown = ["Confirm tests: 1 step, first s:0", "4 steps blocked", "nothing"];
        assert_eq!(lines.map(with_plurals), shown);
    }

    #[test]
    fn only_one_is_singular() {
        assert_eq!([counted(0_u32, "step"), counted(1_u32, "step")], ["0 steps", "1 step"]);
    }
}
