//! Searching messages and artifacts (RUNS-UI-22).

use super::*;
use crate::run::view::{
    history::LoggedEvent,
    search::{FILES_TOLD_MAX, Hit, HitKind, SearchWords},
};

impl Room {
    fn found(&self, words: &str) -> Vec<Hit> {
        let question = SearchWords::of(words).unwrap();
        let hits = self.log.iter().flat_map(|recorded| {
            let body = serde_json::to_string(&recorded.event).unwrap();
            let seq = recorded.seq;
            let at = recorded.at;
            let kind = recorded.event.fact.name();
            question.hits(RUN, LoggedEvent { seq, at, kind, body: &body })
        });
        hits.collect()
    }

    fn kinds(&self, words: &str) -> Vec<HitKind> {
        self.found(words).iter().map(|hit| hit.kind).collect()
    }
}

#[test]
fn runs_ui_22_messages_answers_artifacts_and_files_are_found() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "Mend the  Parser\nof dates");
    let turn = room.prompt(node);
    room.stream(turn, "the parser is mended");
    room.complete(turn, "The date parser is mended.", &["src/parser.rs", "src/main.rs"]);
    assert_eq!(room.kinds("PARSER"), [HitKind::Message, HitKind::File, HitKind::Answer]);
    assert_eq!(room.kinds("dates parser"), [HitKind::Message], "all words, in any order");
    assert_eq!(room.kinds("transcript"), [HitKind::Artifact]);
    assert_eq!(room.kinds("nowhere"), []);
    let [message, file, answer] = &room.found("parser")[..] else { panic!("three") };
    assert_eq!(message.excerpt, "Mend the Parser of dates");
    assert_eq!((answer.node_id, answer.turn_id), (Some(node), Some(turn)));
    assert_eq!(file.excerpt, "src/parser.rs");
    assert!(file.artifact_id.is_some() && message.artifact_id.is_none());
}

#[test]
fn an_excerpt_is_a_piece_around_the_first_word() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    let long = format!("{} Übergang {}", "äöü ".repeat(100), "x ".repeat(300));
    room.say(node, &long);
    let [hit] = &room.found("übergang")[..] else { panic!("one") };
    assert!(hit.excerpt.starts_with('…') && hit.excerpt.ends_with('…'), "{}", hit.excerpt);
    assert!(hit.excerpt.contains("Übergang") && hit.excerpt.chars().count() < 210);
    // A character whose lower-case form is longer must not shift the position.
    room.say(node, &format!("{} needle", "İ".repeat(90)));
    let [hit] = &room.found("needle")[..] else { panic!("one") };
    assert!(hit.excerpt.ends_with("needle"), "{}", hit.excerpt);
}

#[test]
fn a_diff_of_many_files_says_how_many_it_does_not_tell() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "x");
    let files: Vec<String> = (0..FILES_TOLD_MAX + 7).map(|at| format!("src/f{at}.rs")).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    room.answer(node, "y", &files);
    let found = room.found("src .rs");
    assert_eq!((found.len(), found.last().unwrap().further), (FILES_TOLD_MAX, Some(7)));
}

#[test]
fn a_question_without_words_is_none() {
    assert_eq!(SearchWords::of(" \n\t"), None);
}
