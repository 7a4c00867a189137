//! When an agent whose model refused can be retried, as far as it reports that (RUNS-TURN-7).

use std::time::Duration;

/// What precedes a time to wait.
const MARKS: [&str; 5] =
    ["again in ", "retry in ", "retry after ", "retry-after: ", "retrydelay\": \""];
/// Units by how they begin, the longer ones first, in milliseconds.
const UNITS: [(&str, f64); 6] = [
    ("ms", 1.0),
    ("milli", 1.0),
    ("s", 1_000.0),
    ("m", 60_000.0),
    ("h", 3_600_000.0),
    ("d", 86_400_000.0),
];

/// The pause that the message of a failure requests: `try again in 1.9s`, `retry after 2 minutes`.
pub(super) fn in_words(words: &str) -> Option<Duration> {
    let words = words.to_lowercase();
    let rest = MARKS.iter().find_map(|mark| words.split_once(mark).map(|(_, rest)| rest))?;
    let mut ms = 0.0;
    let mut rest = rest;
    while let Some((amount, after)) = number(rest) {
        let unit = after.trim_start();
        let known = UNITS.iter().find(|(name, _)| unit.starts_with(name));
        // A bare number means seconds.
        ms += amount * known.map_or(1_000.0, |(_, ms)| *ms);
        rest = unit.trim_start_matches(char::is_alphabetic).trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
        if known.is_none() {
            break;
        }
    }
    (ms > 0.0).then(|| Duration::from_secs_f64(ms / 1_000.0))
}

/// A leading number, and what follows it.
fn number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
    // A dot may end the sentence.
    Some((digits.trim_end_matches('.').parse().ok()?, rest))
}

/// How long it is until a time, both in seconds since 1970; nothing if it is over.
pub(super) fn until(at: u64, now: Duration) -> Option<Duration> {
    Duration::from_secs(at).checked_sub(now).filter(|left| !left.is_zero())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{in_words, until};

    #[test]
    fn runs_turn_7_words_say_how_long_to_wait() {
        for (words, ms) in [
            ("Rate limit reached. Please try again in 1.898s. Visit ...", 1_898),
            ("Please try again in 250ms.", 250),
            ("quota exceeded, please retry in 36.5s.", 36_500),
            ("try again in 6m0s", 360_000),
            ("You've hit your usage limit. Try again in 2 hours 5 minutes.", 7_500_000),
            ("Try again in 1 day, 3 hours and 1 minute.", 97_260_000),
            ("Retry-After: 30", 30_000),
            ("\"retryDelay\": \"7s\"", 7_000),
        ] {
            assert_eq!(in_words(words), Some(Duration::from_millis(ms)), "{words}");
        }
        for words in ["", "try again later", "try again in a while", "retry after ", "again in 0s"]
        {
            assert_eq!(in_words(words), None, "{words}");
        }
    }

    #[test]
    fn a_time_that_is_over_is_no_hint() {
        let now = Duration::from_millis(99_500);
        assert_eq!(until(100, now), Some(Duration::from_millis(500)));
        assert_eq!((until(99, now), until(0, now)), (None, None));
    }
}
