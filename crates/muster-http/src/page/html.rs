//! Text made safe for HTML, and figures made readable for people.

use std::time::Duration;

/// Escapes text for element content and for quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // Marks that turn the direction of text around could make it read as something else.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A size with a unit of 1,024: `24.0 KiB`.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut unit = 0;
    // In tenths, so that no floating point rounding shows.
    let mut tenths = u128::from(count) * 10 / 1024;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// A span of time by its two largest units: `2 h 5 min`.
pub(super) fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {minutes} min"),
        (_, _, _) => format!("{days} d {hours} h"),
    }
}

/// A count with its noun: `1 plan`, `2 plans`.
pub(super) fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(count))
}

/// A number with thin groups of three digits: `12 345`.
pub(super) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{bytes, counted, escape, grouped, span};

    #[test]
    fn markup_becomes_text() {
        let hostile = "<script>alert('x')</script> \"&\" \u{202e}";
        let safe = "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &quot;&amp;&quot; \u{fffd}";
        assert_eq!(escape(hostile), safe);
    }

    #[test]
    fn sizes_are_readable() {
        let shown = [0, 1023, 1024, 1536, 1_048_575, 1_048_576, u64::MAX].map(bytes);
        let expected =
            ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "1023.9 KiB", "1.0 MiB", "16383.9 PiB"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn spans_are_readable() {
        let shown = [0, 59, 60, 3_599, 3_600, 90_061].map(|s| span(Duration::from_secs(s)));
        assert_eq!(shown, ["0 s", "59 s", "1 min 0 s", "59 min 59 s", "1 h 0 min", "1 d 1 h"]);
    }

    #[test]
    fn counts_agree_with_their_noun() {
        assert_eq!(counted(0, "plan"), "0 plans");
        assert_eq!(counted(1, "plan"), "1 plan");
        assert_eq!(grouped(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(grouped(999), "999");
    }
}
