//! Time as the wire of runs shows it (RUNS-GEN-5): ISO-8601 in UTC with exactly three fractional
//! digits, so that strings sort like times.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::{Timestamp, text::BadForm};

/// A moment that is written as text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Moment(pub Timestamp);

impl Moment {
    /// The moment in Unix milliseconds.
    pub fn ms(self) -> i64 {
        self.0.0
    }

    /// The moment this much later.
    pub fn after_ms(self, ms: i64) -> Self {
        Self(Timestamp(self.ms().saturating_add(ms)))
    }

    /// Whole seconds from an earlier moment to this one.
    pub fn seconds_since(self, earlier: Self) -> u64 {
        u64::try_from((self.ms() - earlier.ms()) / 1_000).unwrap_or(0)
    }
}

impl From<Timestamp> for Moment {
    fn from(at: Timestamp) -> Self {
        Self(at)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.rfc3339())
    }
}

impl FromStr for Moment {
    type Err = BadForm;

    fn from_str(text: &str) -> Result<Self, BadForm> {
        parse(text).ok_or(BadForm { expected: "a time such as 2026-01-01T00:00:00.000Z" })
    }
}

/// Reads `YYYY-MM-DDThh:mm:ss[.f{1,9}]Z`.
fn parse(text: &str) -> Option<Moment> {
    let clock = text.strip_suffix('Z')?;
    let (whole, fraction) = clock.split_once('.').unwrap_or((clock, "000"));
    let shape = whole.len() == 19 && whole.bytes().enumerate().all(fits);
    let digits = fraction.bytes().all(|byte| byte.is_ascii_digit());
    if !shape || !digits || !(1..=9).contains(&fraction.len()) {
        return None;
    }
    let number = |from: usize, to: usize| whole[from..to].parse::<i64>().ok();
    let year = number(0, 4)?;
    let month = number(5, 7)?;
    let day = number(8, 10)?;
    let hour = number(11, 13)?;
    let minute = number(14, 16)?;
    let second = number(17, 19)?;
    let milli: i64 = format!("{fraction:0<3}")[..3].parse().ok()?;
    let seconds = days_from_civil(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    let moment = Moment(Timestamp(seconds * 1_000 + milli));
    // A date that does not format back to its input does not exist.
    moment.to_string().starts_with(whole).then_some(moment)
}

fn fits((at, byte): (usize, u8)) -> bool {
    match at {
        4 | 7 => byte == b'-',
        10 => byte == b'T',
        13 | 16 => byte == b':',
        _ => byte.is_ascii_digit(),
    }
}

/// Days since 1970-01-01 of a day of the Gregorian calendar, counted in years from March.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let march_month = (month + 9) % 12;
    let day_of_year = (153 * march_month + 2) / 5 + day - 1;
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

crate::inline_schema!(Moment, {"type": "string", "format": "date-time"});

#[cfg(test)]
mod tests {
    use super::Moment;
    use crate::Timestamp;

    #[test]
    fn runs_gen_5_times_have_three_digits_and_take_up_to_nine() {
        let cases = [
            ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000Z"),
            ("2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00.500Z"),
            ("2024-02-29T23:59:59.999999999Z", "2024-02-29T23:59:59.999Z"),
            ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"),
        ];
        for (given, written) in cases {
            assert_eq!(given.parse::<Moment>().unwrap().to_string(), written);
        }
        for ms in [0, 951_782_400_000, 1_709_251_199_999, 4_102_444_800_000] {
            let moment = Moment(Timestamp(ms));
            assert_eq!(moment.to_string().parse(), Ok(moment));
        }
        for bad in [
            "",
            "2026-01-01",
            "2026-02-30T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00.0000000000Z",
            "2026-01-01T00:00:00+00:00",
        ] {
            assert!(bad.parse::<Moment>().is_err(), "{bad}");
        }
    }
}
