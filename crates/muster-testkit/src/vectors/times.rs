//! The parts of an answer that differ from run to run: moments, where the store is, and who calls.

use serde_json::Value;

/// Fields that name a caller.
pub(super) const CALLERS: [&str; 2] = ["by", "closed_by"];

/// What replaces a moment when answers are compared.
const MOMENT: &str = "<moment>";

/// What replaces the folder of a store when answers are compared.
const FOLDER: &str = "<folder>";

/// Earliest moment that an answer can name: 2001-09-09, where milliseconds get their 13th digit.
const EARLIEST_MILLIS: i64 = 1_000_000_000_000;

/// Whether this is RFC 3339 in UTC with exactly three fractional digits.
pub(super) fn is_rfc3339_millis(text: &str) -> bool {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00.000Z";
    text.len() == SHAPE.len()
        && text.bytes().zip(SHAPE).all(|(byte, wanted)| match wanted {
            b'0' => byte.is_ascii_digit(),
            other => byte == *other,
        })
}

/// Whether this can be a moment of today in Unix milliseconds.
pub(super) fn is_unix_millis(number: i64) -> bool {
    (EARLIEST_MILLIS..EARLIEST_MILLIS * 10).contains(&number)
}

/// Takes moments, folders and callers out of an answer, and returns the first moment that is not
/// written as it should be.
pub(super) fn take_out(value: &mut Value, key: &str) -> Result<(), String> {
    let is_text = matches!(key, "timestamp" | "ts");
    let is_number = matches!(key, "ts_ms" | "at_ms" | "last_ts_ms") || key.ends_with("_at_ms");
    match value {
        Value::String(folder) if key == "storage_dir" => {
            FOLDER.clone_into(folder);
            return Ok(());
        }
        Value::String(text) if is_text => {
            if !is_rfc3339_millis(text) {
                return Err(format!("{key} is {text:?}, not RFC 3339 with milliseconds"));
            }
        }
        Value::Number(number) if is_number => {
            if !number.as_i64().is_some_and(is_unix_millis) {
                return Err(format!("{key} is {number}, not Unix milliseconds"));
            }
        }
        Value::Number(_) if key == "duration_ms" => {}
        Value::Array(items) => {
            return items.iter_mut().try_for_each(|item| take_out(item, key));
        }
        Value::Object(map) => {
            // Each surface has its own caller.
            map.retain(|key, _| key != "connection" && !CALLERS.contains(&key.as_str()));
            return map.iter_mut().try_for_each(|(key, item)| take_out(item, key));
        }
        _ if (is_text || is_number) && !value.is_null() => {
            return Err(format!("{key} is {value}, not a moment"));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return Ok(()),
    }
    *value = Value::String(MOMENT.to_owned());
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{is_rfc3339_millis, take_out};

    #[test]
    fn moments_and_folders_are_taken_out_and_nothing_else() {
        let mut answer = json!({
            "timestamp": "2031-04-02T09:15:07.250Z",
            "events": [{"ts_ms": 1_900_000_000_000_i64, "seq": 4}],
            "completed_at_ms": null,
            "card": {"last_ts_ms": 1_900_000_000_000_i64},
            "storage_dir": "/var/lib/store",
        });
        take_out(&mut answer, "").unwrap();
        let expected = json!({
            "timestamp": "<moment>",
            "events": [{"ts_ms": "<moment>", "seq": 4}],
            "completed_at_ms": null,
            "card": {"last_ts_ms": "<moment>"},
            "storage_dir": "<folder>",
        });
        assert_eq!(answer, expected);
    }

    #[test]
    fn badly_written_moments_are_refused() {
        for text in ["2031-04-02T09:15:07Z", "2031-04-02 09:15:07.250Z", "2031-04-02T09:15:07.25Z"]
        {
            assert!(!is_rfc3339_millis(text), "{text}");
            assert!(take_out(&mut json!({"ts": text}), "").is_err());
        }
        assert!(take_out(&mut json!({"updated_at_ms": 0}), "").is_err());
        assert!(take_out(&mut json!({"ts_ms": "1900000000000"}), "").is_err());
    }
}
