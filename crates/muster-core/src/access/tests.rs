//! Patterns of workspaces, and the life of a token.

use std::sync::Arc;

use super::{
    AccessRole, NamedToken, NamedTokens, TokenCommand, TokenRefusal, WorkspaceGlob, is_token_name,
};
use crate::{Documents, Draft, Env, LogPosition, Timestamp, WorkRefusal};

fn glob(text: &str) -> WorkspaceGlob {
    text.parse().unwrap()
}

#[test]
fn a_pattern_matches_whole_names_only() {
    for (pattern, name) in [
        ("*", "acme/api"),
        ("acme/*", "acme/api"),
        ("acme/*", "acme/"),
        ("*api", "acme/api"),
        ("a*e/*i", "acme/api"),
        ("acme", "acme"),
        ("**", "x"),
        ("a*a*b", "aXaaab"),
    ] {
        assert!(glob(pattern).admits(name), "{pattern} {name}");
    }
    for (pattern, name) in [
        ("acme/*", "acme"),
        ("acme/*", "acmeX/api"),
        ("acme", "acme2"),
        ("acme", "Acme"),
        ("acme", "acm"),
        ("a*b", "abc"),
        ("api", "acme/api"),
        ("acme", ""),
    ] {
        assert!(!glob(pattern).admits(name), "{pattern} {name}");
    }
}

#[test]
fn a_pattern_of_many_stars_is_matched_in_no_time() {
    let pattern = glob(&"a*".repeat(60));
    assert!(!pattern.admits(&format!("{}b", "a".repeat(30))));
    assert!(pattern.admits(&"a".repeat(100)));
}

#[test]
fn odd_patterns_and_names_are_refused() {
    for text in ["", "a b", "a?", "{a,b}", "é", &"x".repeat(129)] {
        assert!(text.parse::<WorkspaceGlob>().is_err(), "{text}");
    }
    for name in ["", "a b", "-x", "../x", "a/b", "a\n", &"x".repeat(65)] {
        assert!(!is_token_name(name), "{name}");
    }
    for name in ["ada", "ci-2", "ada@example.org", "7"] {
        assert!(is_token_name(name), "{name}");
    }
}

fn create(name: &str, digest: &str, expires_at: Option<i64>) -> TokenCommand {
    let workspaces = WorkspaceGlob::EVERYTHING;
    let (name, digest) = (name.to_owned(), digest.to_owned());
    TokenCommand::Create { digest, name, role: AccessRole::Member, workspaces, expires_at }
}

/// Applies a command at a moment; returns the tokens that are left.
fn apply(
    tokens: &[NamedToken],
    command: &TokenCommand,
    now: i64,
) -> Result<Vec<NamedToken>, TokenRefusal> {
    let mut documents = Documents::<NamedTokens>::complete();
    for token in tokens {
        documents.supply(token.digest.clone(), Some(Arc::new(token.clone())));
    }
    let env = Env::at(Timestamp(now));
    let mut draft = Draft::new(&mut documents, LogPosition::default(), env);
    match draft.apply(command) {
        Ok(_) => Ok(NamedTokens::all(draft.documents()).unwrap()),
        Err(WorkRefusal::Rejected(refusal)) => Err(*refusal),
        Err(WorkRefusal::Unloaded(need)) => panic!("everything is loaded: {need:?}"),
    }
}

#[test]
fn a_name_is_free_again_once_its_token_is_revoked_or_expired() {
    let tokens = apply(&[], &create("ci", "one", Some(10)), 0).unwrap();
    assert_eq!(apply(&tokens, &create("ci", "two", None), 9), Err(TokenRefusal::NameTaken));
    let later = apply(&tokens, &create("ci", "two", None), 10).unwrap();
    assert_eq!(later.iter().map(|token| &*token.digest).collect::<Vec<_>>(), ["two"]);
    let revoke = TokenCommand::Revoke { name: "ci".to_owned() };
    let none = apply(&later, &revoke, 11).unwrap();
    assert_eq!(none, []);
    assert_eq!(apply(&none, &revoke, 12), Err(TokenRefusal::UnknownToken));
    assert!(apply(&none, &create("ci", "three", None), 12).is_ok());
}

#[test]
fn a_token_that_would_have_expired_or_has_no_name_is_refused() {
    assert_eq!(apply(&[], &create("ci", "one", Some(5)), 5), Err(TokenRefusal::Expired));
    assert_eq!(apply(&[], &create("c i", "one", None), 5), Err(TokenRefusal::BadName));
}

#[test]
fn a_token_lives_until_it_expires() {
    let [token] = &apply(&[], &create("ci", "one", Some(10)), 0).unwrap()[..] else { panic!() };
    assert!(token.is_live(Timestamp(9)) && !token.is_live(Timestamp(10)));
    assert!(!token.is_confined());
    let confined = NamedToken { workspaces: glob("acme/*"), ..token.clone() };
    assert!(confined.is_confined());
    assert!(NamedToken { role: AccessRole::Agent, ..token.clone() }.is_confined());
}

#[test]
fn roles_are_ordered() {
    assert!(AccessRole::ALL.is_sorted());
    for role in AccessRole::ALL {
        assert_eq!(role.name().parse(), Ok(role));
    }
    assert!("admin".parse::<AccessRole>().is_err());
}
