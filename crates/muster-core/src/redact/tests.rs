//! What is a secret, and what only looks like one.

use serde_json::json;

use super::{may_be_in, text, value};

/// Texts with one secret each, and what is left of them.
fn secrets() -> Vec<(String, String)> {
    let fixed = [
        ("ghp_abcdefghijklmnop0123", "<redacted>"),
        ("key=ghs_ABCDEFGHIJKLMNOP, ok", "key=<redacted>, ok"),
        ("github_pat_11ABCDEFG0_abcdefgh", "<redacted>"),
        ("use sk-proj-abcdefgh12345678 now", "use <redacted> now"),
        ("AKIAIOSFODNN7EXAMPLE.", "<redacted>."),
        ("Authorization: Bearer abc123def456ghi7", "Authorization: Bearer <redacted>"),
        ("bearer  abcdefghijklmnopqrstuvwx", "bearer  <redacted>"),
        (
            "a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b",
            "a <redacted> b",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMII", "<redacted>"),
        ("größe ghp_abcdefghijklmnop0123 ß", "größe <redacted> ß"),
        (
            "jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P!",
            "jwt <redacted>!",
        ),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n",
            "aws_secret_access_key = <redacted>\n",
        ),
        (
            r#"{"SecretAccessKey": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}"#,
            r#"{"SecretAccessKey": "<redacted>"}"#,
        ),
        ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: Basic <redacted>"),
        ("basic dXNlcjpwYXNzd29yZA==ghp_", "basic <redacted>ghp_"),
        ("postgres://app:hunter2@db.example/x", "postgres://app:<redacted>@db.example/x"),
        ("redis://:pa:ss@cache:6379", "redis://:<redacted>@cache:6379"),
        ("export DB_PASSWORD=hunter2x\nA=b", "export DB_PASSWORD=<redacted>\nA=b"),
        ("SECRET_KEY_BASE=\"two words\" x", "SECRET_KEY_BASE=\"<redacted>\" x"),
        ("MAIL_API_KEY=0123456789abcdef0123456789abcdef", "MAIL_API_KEY=<redacted>"),
        (r#"{"env":"CI_TOKEN=\"a1b2c3d4e5f6a7b8\""}"#, r#"{"env":"CI_TOKEN=\"<redacted>\""}"#),
        ("DefaultEndpointsProtocol=https;AccountKey=", ""),
    ];
    let made = |(given, clean): (&str, &str)| (given.to_owned(), clean.to_owned());
    let mut secrets: Vec<_> =
        fixed.into_iter().filter(|(_, clean)| !clean.is_empty()).map(made).collect();
    let body = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0";
    let bodies = [
        ("xoxb-", &body[..24]),
        ("xoxp-", &body[..24]),
        ("xapp-", &body[..24]),
        ("AIza", &body[..35]),
        ("ya29.", &body[..30]),
        ("GOCSPX-", &body[..28]),
        ("glpat-", &body[..20]),
        ("npm_", &body[..36]),
        ("hf_", &body[..34]),
        ("pypi-AgEIcHlwaS5vcmc", body),
        ("sk_live_", &body[..24]),
        ("rk_test_", &body[..24]),
        ("whsec_", &body[..32]),
        ("mst_", "0123456789abcdef0123456789abcdef"),
    ];
    for (beginning, body) in bodies {
        secrets.push((format!("({beginning}{body})"), "(<redacted>)".to_owned()));
    }
    for beginning in ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"] {
        secrets.push((format!("{beginning}abcdefghijklmnop0123"), "<redacted>".to_owned()));
    }
    let azure = format!("EndpointSuffix=x;AccountKey={body}{body}abcdef==;y");
    secrets.push((azure, "EndpointSuffix=x;<redacted>;y".to_owned()));
    let signed = format!("https://b.example/c?sv=1&sig={body}a%2Fb%3D&se=2");
    secrets.push((signed, "https://b.example/c?sv=1&<redacted>&se=2".to_owned()));
    secrets
}

/// Texts without a secret.
const HARMLESS: [&str; 44] = [
    "token=refresh",
    "bearer plate",
    "task-1234567890abcdef1234",
    "xghp_abcdefghijklmnop0123",
    "ghp_short",
    "sk-learn-is-a-nice-library-for-python",
    "sk-1234567890123456",
    "AKIAIOSFODNN7EXAMPLE1",
    "AKIAIOSFODNN7EXAMPLx",
    "Bearer abcdefghijklmnop",
    "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----",
    "TASK-001 s:0.s:2 STEP-0000000A",
    "",
    "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "commit 013141cf3dee0eecf48da be3bee9",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "550e8400-e29b-41d4-a716-446655440000",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDw\
     ADhgGAWjR9awAAAABJRU5ErkJggg==",
    "\"integrity\": \"sha512-9Qn5Wp2Cn1XwXgY0tRkPZ3wq9c1Yv7tq2x0Jk8m5B4n6L7o8P9q0R1s2T3u4V5w6X7\
     y8Z9a0B1c2D3e4F5g6H7==\"",
    "checksum = \"0f1d2c3b4a5968778695a4b3c2d1e0f00112233445566778899aabbccddeeff0\"",
    "golang.org/x/net v0.1.0 h1:hZ/3BUoy5aId7sCpA/Tc5lt8DkFgdVS2onTpJsZ/fl0=",
    "resolved \"https://example.com/npm_lodash/-/lodash-4.17.21.tgz#679591c564c3bffaae8454cf0b3d\
     f370c3d6911c\"",
    "Basic authentication is enough",
    "basic internationalization",
    "https://example.com:8080/a@b",
    "ssh://git@github.com/muster/muster.git",
    "postgres://app:${DB_PASSWORD}@db/x",
    "postgres://app:<redacted>@db/x",
    "see http://user@host and 10:30@home",
    "API_KEY=",
    "API_KEY=$OTHER_KEY",
    "API_KEY=<redacted>",
    "PASSWORD=<your password>",
    "PASSWORD=****",
    "SECRET=none",
    "TOKEN=refresh",
    "MAX_TOKENS=4096000000000000000000",
    "SSH_KEY=/home/me/.ssh/id_ed25519_work_1",
    "GPG_KEY=E3FF2839C048B25C084DEBE9B26995E310250568",
    "CACHE_KEY=linux-x64-a1b2c3d4e5f6a7b8c9d0",
    "SECRET=std::env::var(\"SECRET\")",
    "eyJub3QiOiJhIHRva2VuIn0.nothing",
    "npm_config_registry=https://registry.npmjs.org/",
    "the key xoxb-is-not-here-at-all",
];

#[test]
fn secrets_are_replaced_where_they_stand() {
    for (given, clean) in secrets() {
        assert_eq!(text(&given).as_deref(), Some(clean.as_str()), "{given}");
        assert_eq!(text(&clean), None, "once is enough: {clean}");
    }
}

#[test]
fn what_only_looks_like_a_secret_stays_as_written() {
    for given in HARMLESS {
        assert_eq!(text(given), None, "{given}");
    }
}

#[test]
fn keys_of_objects_are_text_too() {
    let secrets = ("ghp_abcdefghijklmnop0123", "sk-proj-abcdefgh12345678");
    let mut object = json!({"a": {secrets.0: 1, "b": [secrets.1]}});
    assert!(value(&mut object));
    assert_eq!(object, json!({"a": {"<redacted>": 1, "b": ["<redacted>"]}}));
    assert!(!value(&mut object), "once is enough");
}

#[test]
fn a_text_with_a_secret_is_never_taken_for_one_without() {
    for (secret, _) in secrets() {
        let around = format!("größe\n{secret}\t\"");
        assert!(text(&around).is_some(), "{secret}");
        assert!(may_be_in(&around), "{secret}");
        let written = json!({"a": [{around.as_str(): around}]}).to_string();
        assert!(may_be_in(&written), "{secret}");
    }
    assert!(!may_be_in("TASK-001 of the branch, gh and sk_ and A-B, VIA path_, a=b, K=v"));
}
