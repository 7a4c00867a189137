//! The table of secrets: how each begins, and what shape the rest has.
//!
//! A secret is recognized by its own shape if it has one. Those without a shape (passwords, keys of
//! 40 letters) are recognized by the name before them or by their place.

use std::sync::LazyLock;

use super::{
    Look, named,
    shapes::{self, TokenBody, TokenContent},
};

/// One kind of secret.
struct Rule {
    /// How it begins. It must not continue a word, unless the beginning is punctuation.
    beginnings: &'static [&'static str],
    shape: Shape,
}

/// What follows a beginning.
enum Shape {
    /// A run of characters.
    Token(TokenBody),
    /// Something with parts.
    Parts(fn(&str) -> Look),
}

const ALPHANUMERIC: fn(u8) -> bool = |byte| byte.is_ascii_alphanumeric();
const CAPITALS: fn(u8) -> bool = |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit();
const WORD: fn(u8) -> bool = super::is_word;
const DASHED: fn(u8) -> bool = |byte| super::is_word(byte) || byte == b'-';
const HEX: fn(u8) -> bool = |byte| byte.is_ascii_hexdigit();
const BASE64: fn(u8) -> bool = |byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
const ESCAPED: fn(u8) -> bool = |byte| byte.is_ascii_alphanumeric() || b"+/=%-_".contains(&byte);
const PATH: fn(u8) -> bool = |byte| byte.is_ascii_alphanumeric() || byte == b'/';

const fn at_least(min: usize, belongs: fn(u8) -> bool) -> Shape {
    Shape::Token(TokenBody { belongs, min, max: usize::MAX, content: TokenContent::Any })
}

const fn exactly(length: usize, belongs: fn(u8) -> bool) -> Shape {
    Shape::Token(TokenBody { belongs, min: length, max: length, content: TokenContent::Any })
}

const fn mixed(min: usize, belongs: fn(u8) -> bool) -> Shape {
    Shape::Token(TokenBody { belongs, min, max: usize::MAX, content: TokenContent::Mixed })
}

const RULES: &[Rule] = &[
    // GitHub.
    Rule { beginnings: &["github_pat_"], shape: at_least(16, WORD) },
    Rule {
        beginnings: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        shape: at_least(16, ALPHANUMERIC),
    },
    // OpenAI, Anthropic and others; names with dashes begin alike.
    Rule {
        beginnings: &["sk-"],
        shape: Shape::Token(TokenBody {
            belongs: DASHED,
            min: 16,
            max: usize::MAX,
            content: TokenContent::OpaqueRun,
        }),
    },
    // AWS: key ids, and keys, which are recognized by their names only.
    Rule { beginnings: &["AKIA", "ASIA"], shape: exactly(16, CAPITALS) },
    Rule {
        beginnings: &[
            "aws_secret_access_key",
            "AWS_SECRET_ACCESS_KEY",
            "secret_access_key",
            "secretAccessKey",
            "SecretAccessKey",
        ],
        shape: Shape::Parts(named::aws_secret_key),
    },
    // Slack.
    Rule {
        beginnings: &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xapp-"],
        shape: mixed(16, |byte| DASHED(byte) || byte == b'.'),
    },
    Rule { beginnings: &["hooks.slack.com/services/"], shape: at_least(20, PATH) },
    // Google: keys, access tokens, secrets of clients.
    Rule { beginnings: &["AIza"], shape: exactly(35, DASHED) },
    Rule { beginnings: &["ya29."], shape: at_least(20, DASHED) },
    Rule { beginnings: &["GOCSPX-"], shape: at_least(20, DASHED) },
    // GitLab.
    Rule {
        beginnings: &[
            "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-",
            "gloas-", "glsoat-",
        ],
        shape: mixed(16, DASHED),
    },
    // Registries of packages and models.
    Rule { beginnings: &["npm_"], shape: exactly(36, ALPHANUMERIC) },
    Rule { beginnings: &["hf_"], shape: at_least(30, ALPHANUMERIC) },
    Rule { beginnings: &["pypi-AgE"], shape: at_least(40, DASHED) },
    // Stripe.
    Rule {
        beginnings: &["sk_live_", "sk_test_", "rk_live_", "rk_test_"],
        shape: at_least(16, ALPHANUMERIC),
    },
    Rule { beginnings: &["whsec_"], shape: at_least(24, BASE64) },
    // Azure: keys of accounts, and signatures in links.
    Rule { beginnings: &["AccountKey=", "SharedAccessKey="], shape: at_least(40, BASE64) },
    Rule { beginnings: &["sig="], shape: mixed(40, ESCAPED) },
    // Muster.
    Rule { beginnings: &["mst_"], shape: at_least(32, HEX) },
    // Tokens of any issuer.
    Rule { beginnings: &["eyJ"], shape: Shape::Parts(shapes::web_token) },
    Rule { beginnings: &["-----BEGIN "], shape: Shape::Parts(shapes::private_key) },
    Rule { beginnings: &["://"], shape: Shape::Parts(named::url_password) },
];

/// Checks what follows such a word.
type SchemeLook = fn(&str) -> Look;

/// Words that precede a secret, in any case.
const SCHEMES: [(&str, SchemeLook); 2] = [("bearer", named::bearer), ("basic", named::basic)];

/// The rules by the first bytes of a position, computed once.
struct Index {
    /// Rules that begin with a byte, one bit each.
    rules: [u32; 256],
    /// Whether a rule begins with a byte, and whether also inside a word.
    begins: [bool; 256],
    begins_anywhere: [bool; 256],
    /// Whether a byte is part of a word.
    words: [bool; 256],
    /// Whether a rule begins with two bytes, one bit for each pair.
    pairs: [u64; 1024],
    /// The same, and whether an assignment could end with them.
    marks: [u64; 1024],
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index {
        rules: [0; 256],
        begins: [false; 256],
        begins_anywhere: [false; 256],
        words: std::array::from_fn(|byte| u8::try_from(byte).is_ok_and(super::is_word)),
        pairs: [0; 1024],
        marks: [0; 1024],
    };
    for (number, rule) in RULES.iter().enumerate() {
        for beginning in rule.beginnings {
            index.rules[usize::from(beginning.as_bytes()[0])] |= 1 << number;
            index.add(beginning);
        }
    }
    for (word, _) in SCHEMES {
        let lower = word.as_bytes();
        let upper = word.to_ascii_uppercase();
        for first in [lower[0], upper.as_bytes()[0]] {
            for second in [lower[1], upper.as_bytes()[1]] {
                let beginning = [first, second];
                index.add(std::str::from_utf8(&beginning).unwrap_or_default());
            }
        }
    }
    (b'A'..=b'Z').for_each(|byte| index.begins[usize::from(byte)] = true);
    index.marks = index.pairs;
    for last in (0..=u8::MAX).filter(|byte| named::is_name(*byte)) {
        set(&mut index.marks, last, b'=');
    }
    index
});

impl Index {
    fn may_begin(&self, byte: u8, in_word: bool) -> bool {
        let begins = if in_word { &self.begins_anywhere } else { &self.begins };
        begins[usize::from(byte)]
    }

    fn add(&mut self, beginning: &str) {
        let [first, second, ..] = *beginning.as_bytes() else { return };
        self.begins[usize::from(first)] = true;
        self.begins_anywhere[usize::from(first)] |= first == b':';
        set(&mut self.pairs, first, second);
    }
}

/// The position of the bit of two bytes.
fn bit(first: u8, second: u8) -> (usize, u64) {
    (usize::from(first) << 2 | usize::from(second) >> 6, 1 << (second & 63))
}

fn set(pairs: &mut [u64; 1024], first: u8, second: u8) {
    let (word, bit) = bit(first, second);
    pairs[word] |= bit;
}

fn has(pairs: &[u64; 1024], first: u8, second: u8) -> bool {
    let (word, bit) = bit(first, second);
    pairs[word] & bit != 0
}

/// Whether a secret could begin with this byte.
pub(super) fn may_begin(byte: u8, in_word: bool) -> bool {
    INDEX.may_begin(byte, in_word)
}

/// The next place where a secret could begin.
pub(super) fn next_start(bytes: &[u8], at: usize) -> usize {
    let index = &*INDEX;
    let mut in_word = bytes.get(at).is_some_and(|byte| super::is_word(*byte));
    for (next, byte) in bytes.iter().enumerate().skip(at + 1) {
        if index.may_begin(*byte, in_word) {
            return next;
        }
        in_word = index.words[usize::from(*byte)];
    }
    bytes.len()
}

/// The rules that begin with a byte.
fn rules_of(first: u8) -> impl Iterator<Item = &'static Rule> {
    let mut left = INDEX.rules[usize::from(first)];
    std::iter::from_fn(move || {
        let rule = RULES.get(left.trailing_zeros() as usize)?;
        left &= left - 1;
        Some(rule)
    })
}

/// What the start of a string looks like: the first rule that finds a secret wins.
pub(super) fn look(rest: &str) -> Look {
    let Some(first) = rest.bytes().next() else { return Look::CLOSED };
    let mut found = Look::CLOSED;
    let mut add = |look: Look| {
        found = Look { secret: found.secret.or(look.secret), open: found.open || look.open };
    };
    let index = &*INDEX;
    if first.is_ascii_uppercase() {
        add(named::assignment(rest));
    }
    // Most words have only their first letter in common with a secret.
    if let Some(second) = rest.as_bytes().get(1)
        && !has(&index.pairs, first, *second)
    {
        return found;
    }
    for rule in rules_of(first) {
        match &rule.shape {
            Shape::Token(body) => add(shapes::token(rest, rule.beginnings, body)),
            Shape::Parts(shape) => add(shape(rest)),
        }
    }
    if matches!(first, b'b' | b'B') {
        SCHEMES.iter().for_each(|(_, shape)| add(shape(rest)));
    }
    found
}

/// Whether a secret could be in a string, or in one that it holds as JSON: escapes
/// never touch how a secret begins. False positives are possible, false negatives are not.
pub fn may_be_in(text: &str) -> bool {
    let bytes = text.as_bytes();
    let marks = &INDEX.marks;
    let mut first = 0;
    for (at, &second) in bytes.iter().enumerate() {
        if has(marks, first, second) && is_suspicious(text, at) {
            return true;
        }
        first = second;
    }
    false
}

/// Whether a secret could begin, or be assigned, with this byte and the one before.
fn is_suspicious(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    let Some(before) = at.checked_sub(1) else { return false };
    if bytes[at] == b'=' && named::is_assignment(&bytes[..at]) {
        return true;
    }
    if bytes[before] == b':' {
        // Links are common, those with a password are not.
        return named::url_password(&text[before..]) != Look::CLOSED;
    }
    let rest = &bytes[before..];
    let is_scheme = |word: &str| {
        rest.get(..word.len()).is_some_and(|here| here.eq_ignore_ascii_case(word.as_bytes()))
    };
    let begins = |beginning: &&str| rest.starts_with(beginning.as_bytes());
    let is_b = matches!(rest[0], b'b' | b'B');
    rules_of(rest[0]).any(|rule| rule.beginnings.iter().any(begins))
        || is_b && SCHEMES.iter().any(|(word, _)| is_scheme(word))
}
