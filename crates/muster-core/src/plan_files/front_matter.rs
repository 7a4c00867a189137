//! Facts above a Markdown text: the part of YAML that such files use. Keys with strings, lists and
//! blocks of text; deeper structures are kept as the text that they are.

use serde_json::Value;

use super::{PlanFile, PlanFileFault};

const FENCE: &str = "---";

/// The facts of a file in their order, and the text below them.
pub(super) struct FrontMatter<'a> {
    pub(super) facts: Vec<(String, Value)>,
    pub(super) body: &'a str,
    /// Lines above the body.
    pub(super) lines: usize,
}

pub(super) fn read(file: &PlanFile) -> Result<Option<FrontMatter<'_>>, PlanFileFault> {
    let text = file.text.trim_start_matches('\n');
    let skipped = file.text.len() - text.len();
    let Some(rest) = text.strip_prefix(FENCE).and_then(|rest| rest.strip_prefix('\n')) else {
        return Ok(None);
    };
    let mut lines = Vec::new();
    let mut end = FENCE.len() + 1;
    for line in rest.lines() {
        end += line.len() + 1;
        if line.trim_end() == FENCE {
            let above = skipped + lines.len() + 2;
            let facts = facts_of(file, &lines, skipped + 2)?;
            let body = text.get(end..).unwrap_or_default();
            return Ok(Some(FrontMatter { facts, body, lines: above }));
        }
        lines.push(line);
    }
    Err(file.fault(Some(skipped + 1), "the front matter has no end: a line with \"---\""))
}

/// The facts of lines of which the first has this number.
fn facts_of(
    file: &PlanFile,
    lines: &[&str],
    first: usize,
) -> Result<Vec<(String, Value)>, PlanFileFault> {
    let mut facts: Vec<(String, Value)> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        let number = first + at;
        at += 1;
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let fault = || {
            let cause = format!("{:?} is not a fact such as \"key: value\"", line.trim());
            file.fault(Some(number), cause)
        };
        let (key, value) = line.split_once(':').ok_or_else(fault)?;
        if key.starts_with([' ', '\t', '-']) || key.trim().is_empty() {
            return Err(fault());
        }
        let below: Vec<&str> =
            lines[at..].iter().take_while(|line| is_below(line)).copied().collect();
        at += below.len();
        let value =
            value_of(value.trim(), &below).map_err(|cause| file.fault(Some(number), cause))?;
        let key = scalar(key).map_err(|cause| file.fault(Some(number), cause))?;
        facts.push((key.unwrap_or_default(), value));
    }
    Ok(facts)
}

/// Whether a line belongs to the key above it.
fn is_below(line: &str) -> bool {
    line.is_empty() || line.starts_with([' ', '\t']) || line.starts_with("- ") || line == "-"
}

fn value_of(value: &str, below: &[&str]) -> Result<Value, String> {
    let said: Vec<&str> = below.iter().copied().filter(|line| !line.trim().is_empty()).collect();
    let is_block = value.starts_with(['|', '>']) && value.len() <= 2;
    if is_block {
        let joined = if value.starts_with('|') { "\n" } else { " " };
        let lines: Vec<&str> = below.iter().map(|line| line.trim()).collect();
        return Ok(lines.join(joined).trim().into());
    }
    if let Some(list) = value.strip_prefix('[') {
        let list = list.strip_suffix(']').ok_or("a list without its closing bracket")?;
        let items = split_list(list)?.into_iter().filter_map(|item| scalar(&item).transpose());
        let items: Result<Vec<String>, String> = items.collect();
        return Ok(items?.into());
    }
    if !value.is_empty() {
        let mut words = vec![value];
        words.extend(said.iter().map(|line| line.trim()));
        return Ok(scalar(&words.join(" "))?.map_or(Value::Null, Value::from));
    }
    if !said.is_empty() && said.iter().all(|line| line.trim_start().starts_with('-')) {
        let items = said.iter().map(|line| line.trim_start().trim_start_matches('-').trim());
        let items: Result<Vec<Option<String>>, String> = items.map(scalar).collect();
        return Ok(items?.into_iter().flatten().collect::<Vec<_>>().into());
    }
    let text = said.join("\n");
    Ok(if text.is_empty() { Value::Null } else { text.into() })
}

/// The items of a list on one line; commas in quotes do not count.
fn split_list(list: &str) -> Result<Vec<String>, String> {
    let mut items = vec![String::new()];
    let mut quote: Option<char> = None;
    let mut is_escaped = false;
    for character in list.chars() {
        let last = items.len() - 1;
        match quote {
            Some(open) => {
                if character == open && !is_escaped {
                    quote = None;
                }
                is_escaped = open == '"' && character == '\\' && !is_escaped;
            }
            None if matches!(character, '"' | '\'') && items[last].trim().is_empty() => {
                quote = Some(character);
            }
            None if character == ',' => {
                items.push(String::new());
                continue;
            }
            None => {}
        }
        items[last].push(character);
    }
    if quote.is_some() {
        return Err("a quote without its end".to_owned());
    }
    Ok(items.into_iter().filter(|item| !item.trim().is_empty()).collect())
}

/// A string as it is written: with quotes of either kind, or without.
fn scalar(text: &str) -> Result<Option<String>, String> {
    let text = text.trim();
    if text.starts_with('"') {
        return serde_json::from_str(text)
            .map(Some)
            .map_err(|_| format!("{text} is not a string in quotes"));
    }
    if let Some(quoted) = text.strip_prefix('\'') {
        let quoted = quoted.strip_suffix('\'').ok_or(format!("{text} has no closing quote"))?;
        return Ok(Some(quoted.replace("''", "'")));
    }
    let plain = text.split(" #").next().unwrap_or_default().trim_end();
    let is_nothing = matches!(plain, "" | "~" | "null" | "{}");
    Ok((!is_nothing).then(|| plain.to_owned()))
}

/// Writes facts. Strings are quoted, because a plain one may mean something else.
pub(super) fn write(facts: &[(String, Value)]) -> String {
    let lines = facts.iter().map(|(key, value)| format!("{key}: {value}\n"));
    format!("{FENCE}\n{}{FENCE}\n", lines.collect::<String>())
}
