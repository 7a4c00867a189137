//! Makes text of agents safe for a terminal: it is displayed, never interpreted.
//!
//! What may reach a terminal is decided here, at the end, and not where a line is made: a title, a
//! command or an error can contain any character, and all output passes through here.

use std::borrow::Cow;

use super::{Screen, Tone};

impl Screen {
    /// The text without anything that moves the cursor, hides or reorders content: of escape
    /// sequences only our own colours are left.
    pub(crate) fn harmless(self, text: &str) -> Cow<'_, str> {
        let Some(first) = text.find(harms) else { return Cow::Borrowed(text) };
        let mut shown = text[..first].to_owned();
        let mut rest = &text[first..];
        while let Some(letter) = rest.chars().next() {
            let color = if self.colored { color_at(rest) } else { None };
            match color {
                Some(color) => shown.push_str(color),
                None => shown.push(visible(letter)),
            }
            rest = &rest[color.map_or(letter.len_utf8(), str::len)..];
        }
        Cow::Owned(shown)
    }
}

/// Equivalent JSON, with everything that harms a terminal escaped.
pub(crate) fn harmless_json(json: &str) -> Cow<'_, str> {
    let Some(first) = json.find(harms) else { return Cow::Borrowed(json) };
    let mut shown = json[..first].to_owned();
    for letter in json[first..].chars() {
        if harms(letter) {
            // All of them are in the first plane, so one escape each is enough.
            shown += &format!("\\u{:04x}", u32::from(letter));
        } else {
            shown.push(letter);
        }
    }
    Cow::Owned(shown)
}

/// The text of an agent that a person decides about, on one line: every control, reordering
/// or invisible character is escaped, such as `\\u{202e}`.
pub(crate) fn spelled_out(text: &str) -> Cow<'_, str> {
    if !text.contains(unseen) {
        return Cow::Borrowed(text);
    }
    let spell = |letter: char| {
        if unseen(letter) { letter.escape_default().to_string() } else { letter.to_string() }
    };
    Cow::Owned(text.chars().map(spell).collect())
}

/// Whether a character is of the Unicode categories Cc, Cf, Zl or Zp, or is a letter without a
/// shape: what is displayed may then differ from what is there.
fn unseen(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
                | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}'
                | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}'
                | '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}'
        )
}

/// Whether a terminal interprets the character instead of showing it.
fn harms(letter: char) -> bool {
    let control = letter.is_control() && !matches!(letter, '\n' | '\t');
    control || reorders(letter)
}

/// Direction marks and zero-width characters. The joiners of emoji and of scripts
/// that need them stay.
fn reorders(letter: char) -> bool {
    matches!(
        letter,
        '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}' | '\u{feff}'
    )
}

/// The character, or its visible picture.
fn visible(letter: char) -> char {
    match u32::from(letter) {
        _ if !harms(letter) => letter,
        code @ 0..=0x1f => char::from_u32(0x2400 + code).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7f => '\u{2421}',
        _ => char::REPLACEMENT_CHARACTER,
    }
}

/// The colour sequence of ours that the text begins with.
fn color_at(text: &str) -> Option<&str> {
    let code = text.strip_prefix("\x1b[")?.split_once('m')?.0;
    let ours = Tone::ALL.iter().any(|tone| tone.code() == code) || code == "0";
    ours.then(|| &text[..code.len() + 3])
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLORED: Screen = Screen { colored: true, columns: 80 };

    #[test]
    fn mcp_sec_3_text_of_an_agent_can_not_move_the_cursor_or_hide() {
        let evil = "ok\x1b]52;c;QQ==\x07\x1b[1A\x1b[2K\r\u{9b}8m\u{202e}\u{7f}\x1b[8m";
        let shown = "ok␛]52;c;QQ==␇␛[1A␛[2K␍�8m�␡␛[8m";
        assert_eq!(Screen::PLAIN.harmless(evil), shown);
        assert_eq!(COLORED.harmless(evil), shown);
        assert_eq!(Screen::PLAIN.harmless("\x1b[32mx"), "␛[32mx");
    }

    #[test]
    fn colours_lines_and_letters_of_any_script_stay() {
        let text = format!("{}\tü 👩\u{200d}💻 नमस्\u{200d}ते\n", COLORED.paint(Tone::Good, "x"));
        assert_eq!(COLORED.harmless(&text), text);
    }

    #[test]
    fn a_person_sees_every_character_that_is_decided_about() {
        let hostile = "rm -rf \u{202e}txt\u{2066}.\u{200b}x\u{ad}\u{1b}[2K\n\u{e0041}\u{9b}";
        let seen = r"rm -rf \u{202e}txt\u{2066}.\u{200b}x\u{ad}\u{1b}[2K\n\u{e0041}\u{9b}";
        assert_eq!(spelled_out(hostile), seen);
        let plain = "touch \u{fc}ber/\u{65e5}\u{672c} 'a b' \u{1f600}";
        assert_eq!(spelled_out(plain), plain);
    }

    #[test]
    fn json_means_the_same() {
        let value = serde_json::json!({"a": "\u{202e}\u{9b}\u{1b}\u{7f} ü"});
        let text = value.to_string();
        let shown = harmless_json(&text);
        assert_eq!(shown, r#"{"a":"\u202e\u009b\u001b\u007f ü"}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
