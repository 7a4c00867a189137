//! Time as a value. Reading a clock happens in the runtime, never here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const MS_PER_DAY: i64 = 86_400_000;

/// A moment in Unix milliseconds, UTC.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// RFC 3339 text with exactly three fractional digits, the form of every time in results.
    pub fn rfc3339(self) -> String {
        let days = self.0.div_euclid(MS_PER_DAY);
        let ms = self.0.rem_euclid(MS_PER_DAY);
        let (year, month, day) = civil_from_days(days);
        let hour = ms / 3_600_000;
        let minute = ms / 60_000 % 60;
        let second = ms / 1_000 % 60;
        let milli = ms % 1_000;
        if !(0..=9_999).contains(&year) {
            return format!(
                "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z"
            );
        }
        let mut text = *b"0000-00-00T00:00:00.000Z";
        digits(&mut text[0..4], year);
        digits(&mut text[5..7], month);
        digits(&mut text[8..10], day);
        digits(&mut text[11..13], hour);
        digits(&mut text[14..16], minute);
        digits(&mut text[17..19], second);
        digits(&mut text[20..23], milli);
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// Writes a number in as many decimal digits as there are places.
fn digits(places: &mut [u8], mut number: i64) {
    for place in places.iter_mut().rev() {
        *place = b'0' + u8::try_from(number % 10).unwrap_or(0);
        number /= 10;
    }
}

/// Turns days since 1970-01-01 into year, month and day of the Gregorian calendar.
///
/// The calendar repeats every 400 years (146,097 days); counting years from March puts the leap day
/// last, so that month lengths follow one linear formula.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn formats_known_moments() {
        let cases = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (1_932_974_107_250, "2031-04-03T09:15:07.250Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000, "10000-01-01T00:00:00.000Z"),
        ];
        for (ms, text) in cases {
            assert_eq!(Timestamp(ms).rfc3339(), text);
        }
    }
}
