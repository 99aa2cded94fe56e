//! Redaction, by tables. What looks like a key is made here, when the test runs.

use super::*;
use std::sync::OnceLock;

/// Letters and digits that look random, the same for the same seed.
fn random(seed: u64, len: usize, alphabet: &[u8]) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678_9ABC_DEF1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        alphabet[(state >> 33) as usize % alphabet.len()] as char
    };
    (0..8).for_each(|_| _ = next());
    (0..len).map(|_| next()).collect()
}

const ALL: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const DIGITS: &[u8] = b"0123456789";
const HEX: &[u8] = b"0123456789abcdef";

/// A redactor of its own for each test, over rules that are read once.
fn redactor() -> Redactor {
    static RULES: OnceLock<Arc<Rules>> = OnceLock::new();
    let rules = RULES.get_or_init(|| Arc::new(Rules::new(&[Group::Credentials], &[], &[]).unwrap()));
    Redactor::new(Arc::clone(rules))
}

/// The kinds of secrets: a text, and the part of it that must go.
fn kinds(seed: u64) -> Vec<(&'static str, String, String)> {
    let r = |len: usize, alphabet: &[u8]| random(seed + len as u64, len, alphabet);
    let mut out = Vec::new();
    let mut add = |kind: &'static str, before: &str, secret: String, after: &str| {
        out.push((kind, format!("{before}{secret}{after}"), secret));
    };
    add("github", "use gh", format!("p_{}", r(36, ALL)), " please");
    add("github new", "", format!("github_{}_{}_{}", "pat", r(22, ALL), r(59, ALL)), "");
    add("aws", "id AK", format!("IA{}", r(16, UPPER)), ",");
    add("aws secret", "aws_secret_access_key = ", r(40, ALL), "\n");
    add("anthropic", "", format!("sk-{}-api03-{}AA", "ant", r(93, ALL)), "");
    add("openai", "", format!("sk-{}-{}", "proj", r(48, ALL)), "");
    add("openai old", "", format!("sk{}{}", "-", r(48, ALL)), "");
    add("slack", "", format!("xox{}-{}-{}-{}", "b", r(12, DIGITS), r(11, DIGITS), r(24, ALL)), "");
    add("slack hook", "https://hooks.slack.com/services/T0AAAAAAA/B0AAAAAAA/", r(24, ALL), "");
    add("stripe", "", format!("sk_{}_{}", "live", r(24, ALL)), "");
    add("google", "key ", format!("AI{}{}", "za", r(35, ALL)), "");
    add("gitlab", "", format!("gl{}-{}", "pat", r(20, ALL)), "");
    add("npm", "", format!("np{}_{}", "m", r(36, ALL)), "");
    add("npmrc", "//registry/:_authToken=", r(36, ALL), "\n");
    add(
        "jwt",
        "",
        format!("ey{}.ey{}.{}", "JhbGciOiJIUzI1NiJ9", "JzdWIiOiIxMjM0NTY3ODkwIn0", r(43, ALL)),
        "",
    );
    add("telegram", "bot ", format!("{}:{}{}", r(10, b"123456789"), "AA", r(33, ALL)), " ok");
    add("sendgrid", "", format!("S{}.{}.{}", "G", r(22, ALL), r(43, ALL)), "");
    add("hugging face", "", format!("h{}_{}", "f", r(34, ALL)), "");
    add("database", "postgres://admin:", r(16, ALL), "@db.example.com:5432/app");
    add("no user", "redis://:", r(16, ALL), "@cache:6379/0");
    add("git", "https://user:", r(14, ALL), "@git.example.com/x.git");
    add("bearer", "Authorization: Bearer ", r(40, ALL), "");
    add("basic", "curl -H 'Authorization: Basic ", r(24, ALL), "' https://x");
    add("bearer alone", "with Bearer ", r(32, ALL), " in it");
    add("header", "X-Api-Key: ", r(32, ALL), "\n");
    add("cookie", "Cookie: theme=dark; session=", r(40, ALL), "; a=b");
    add("set cookie", "Set-Cookie: sid=", r(32, ALL), "; Path=/");
    add("option", "mysqldump --password ", format!("{}4x", r(10, ALL)), " db");
    add("option =", "tool --token=", r(20, ALL), " run");
    add("mysql", "mysql -uroot -p", format!("{}7q", r(10, ALL)), " -e 'select 1'");
    add("sshpass", "sshpass -p ", format!("{}7q", r(10, ALL)), " ssh host");
    add("curl user", "curl -u admin:", format!("{}9", r(12, ALL)), " https://x");
    add("env", "DATABASE_PASSWORD=", r(18, ALL), "");
    add("env word", "PGPASSWORD=", "correcthorsebattery".to_owned(), " psql");
    add("quoted", "api_key: \"", r(32, ALL), "\"");
    add("json in text", r#"{\"client_secret\": \""#, r(24, ALL), r#"\"}"#);
    add("yaml", "  password: ", format!("{}3f", r(12, ALL)), "\n");
    add("xml", "<password>", format!("{}3f", r(12, ALL)), "</password>");
    add("azure", "AccountName=x;AccountKey=", format!("{}==", r(86, ALL)), ";EndpointSuffix=y");
    add("url token", "https://x.example/cb?access_token=", r(32, ALL), "&a=1");
    out
}

#[test]
fn each_kind_of_secret_is_replaced() {
    for seed in 1..20 {
        for (kind, text, secret) in kinds(seed * 1000) {
            let mut redactor = redactor();
            let out = redactor.text(&text);
            assert!(
                !out.contains(&secret) && out.contains("[redacted:"),
                "{kind}, seed {seed}: {} bytes stayed",
                secret.len()
            );
        }
    }
}

#[test]
fn of_a_known_secret_no_beginning_stays_where_a_text_was_cut() {
    for (kind, text, secret) in kinds(4000) {
        let mut redactor = redactor();
        redactor.learn_text(&text);
        let begin = text.find(&secret).unwrap();
        for len in [SHORTEST, secret.len() / 2, secret.len() - 1].into_iter().filter(|len| *len >= SHORTEST) {
            let cut = &text[..begin + len];
            for sign in ["…", "..."] {
                let out = redactor.text(&format!("{cut}{sign}")).into_owned();
                let is_gone = out.contains("[redacted:") && !out.contains(&secret[..len]);
                assert!(is_gone, "{kind}: {len} bytes stayed");
            }
        }
        // Nothing says that these were cut, or they begin no secret.
        let mut redactor = self::redactor();
        redactor.learn_text(&text);
        for other in [&secret[..SHORTEST], "as it was…", "…", "short...", &format!("{}…", &secret[3..12])]
        {
            assert_eq!(redactor.text(other), other, "{kind}");
        }
    }
}

#[test]
fn a_private_key_is_replaced_however_it_is_printed() {
    let lines: Vec<String> = (0..6).map(|at| random(70 + at, 64, ALL)).collect();
    let (begin, end) =
        (format!("-----{} RSA PRIVATE KEY-----", "BEGIN"), format!("-----{} RSA PRIVATE KEY-----", "END"));
    let numbered: Vec<String> =
        lines.iter().enumerate().map(|(at, line)| format!("     {}→{line}", at + 2)).collect();
    for (kind, text) in [
        ("plain", format!("{begin}\n{}\n{end}", lines.join("\n"))),
        ("escaped", format!("{begin}\\n{}\\n{end}", lines.join("\\n"))),
        ("numbered", format!("     1→{begin}\n{}\n     9→{end}", numbered.join("\n"))),
        ("cut", format!("{begin}\n{}", lines.join("\n"))),
        ("indented", format!("  {begin}\n  {}\n  {end}", lines.join("\n  "))),
    ] {
        let mut redactor = redactor();
        let out = redactor.text(&text).into_owned();
        for line in &lines {
            assert!(!out.contains(line.as_str()), "{kind}");
        }
    }
}

#[test]
fn what_is_not_a_secret_stays() {
    let (sha, sha256) = (random(1, 40, HEX), random(2, 64, HEX));
    for text in [
        "const api_key = process.env.API_KEY",
        "password=<your-password>",
        "get_secret_token_from_environment_variable",
        "the token budget and the password policy were discussed",
        "max_tokens: 128000, \"input_tokens\":123456789012",
        "token: getToken(request)",
        "password: config.database.password",
        "if (password === user.password) {",
        "export API_KEY=$OTHER_KEY",
        "--password \"$PASSWORD\"",
        "https://user:password@host.example/",
        "https://example.com:8080/a@b",
        "postgres://$USER:$PASS@localhost/db",
        "key: primary_key_of_the_table_2",
        "fn token_count(tokens: &[Token]) -> usize",
        "let secret: SecretString = SecretString::from(value);",
        "const apiKey = modelRegistry.getApiKeyForProvider;",
        "X-Api-Key: the-key-of-the-user",
        "Authorization: Bearer <token>",
        "Authorization: Bearer $TOKEN",
        "Cookie: a=b; c=d",
        "password must have at least 8 characters",
        "Enter password: (will not be shown)",
        "see -----BEGIN PRIVATE KEY----- in the file",
        "auth: required, access: granted-to-all-users",
        &format!("commit {sha}"),
        &format!("sha256:{sha256}"),
        &format!("sourcegraph at {sha} now"),
        &format!("integrity sha512-{}==", random(3, 86, ALL)),
        "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    ] {
        let mut redactor = redactor();
        assert_eq!(redactor.text(text), text);
    }
}

#[test]
fn the_same_secret_has_the_same_mark_also_without_its_words() {
    let (one, two) = (random(5, 20, ALL), random(6, 20, ALL));
    let mut redactor = redactor();
    let lines = [
        format!(r#"{{"a":"{one} is mine"}}"#),
        format!(r#"{{"a":"DB_PASSWORD={one}","b":["X_TOKEN={two}","{one}"]}}"#),
    ];
    lines.iter().for_each(|line| redactor.learn(line.as_bytes(), &mut |_| {}));
    let out: Vec<_> = lines
        .iter()
        .map(|line| String::from_utf8(redactor.line(line.as_bytes()).into_owned()).unwrap())
        .collect();
    assert_eq!(out[0], r#"{"a":"[redacted:secret#1] is mine"}"#);
    assert_eq!(
        out[1],
        r#"{"a":"DB_PASSWORD=[redacted:secret#1]","b":["X_TOKEN=[redacted:secret#2]","[redacted:secret#1]"]}"#
    );
}

#[test]
fn a_line_keeps_all_bytes_but_those_of_its_secrets() {
    let secret = format!("gh{}_{}", "p", random(9, 36, ALL));
    let escaped: String = secret.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
    let check = |line: &str, wanted: &str| {
        let mut redactor = redactor();
        let mut found = Vec::new();
        redactor.learn(line.as_bytes(), &mut |hit| found.push(hit));
        assert_eq!(String::from_utf8_lossy(&redactor.line(line.as_bytes())), wanted);
        found
    };
    let found = check(
        &format!(r#"{{"n":1.50, "m":{{"t":["x {secret}"]}},"\u0061":"\u0062"}}"#),
        r#"{"n":1.50, "m":{"t":["x [redacted:github-token#1]"]},"\u0061":"\u0062"}"#,
    );
    assert_eq!(found, [Found { rule: "github-token".into(), field: "m.t".into(), range: 2..42 }]);
    check(&format!(r#"{{"a":"{escaped}"}}"#), r#"{"a":"[redacted:github-token#1]"}"#);
    check(&format!(r#"{{"{secret}":1}}"#), r#"{"[redacted:github-token#1]":1}"#);
    check(&format!(r#"{{"a":"{secret}","b"#), r#"{"a":"[redacted:github-token#1]","b"#);
    check(&format!(r#"{{"password":"{}"}}"#, random(8, 12, ALL)), r#"{"password":"[redacted:secret#1]"}"#);
    let image = random(4, 400, ALL);
    check(&format!(r#"{{"data":"{image}"}}"#), &format!(r#"{{"data":"{image}"}}"#));
}

#[test]
fn all_rules_compile_and_those_of_the_config_apply() {
    let groups: Vec<_> = Group::ALL.iter().map(|(_, group)| *group).collect();
    assert_eq!(Rules::new(&groups, &[], &[]).unwrap().broken(), [] as [String; 0]);
    let extra = ExtraRule {
        id: "ticket".into(),
        regex: "TICKET-([0-9]+)".into(),
        keywords: Vec::new(),
        entropy: 0.0,
    };
    let mut redactor =
        Redactor::new(Rules::new(&groups[..1], std::slice::from_ref(&extra), &["^7$".into()]).unwrap());
    assert_eq!(redactor.text("TICKET-42 and TICKET-7"), "TICKET-[redacted:ticket#1] and TICKET-7");
    let bad = ExtraRule { regex: "(".into(), ..extra };
    assert!(Rules::new(&groups, &[bad], &[]).is_err());
}

#[test]
fn a_home_directory_anywhere_is_found() {
    let extra = ExtraRule::of_home(std::path::Path::new("/export/home/ann/")).unwrap();
    let mut redactor = Redactor::new(Rules::new(&[Group::Paths], &[extra], &[]).unwrap());
    let text = "/export/home/ann/code:/export/home/ann /export/home/anna /data/export/home/ann";
    assert_eq!(redactor.text(text), "~/code:~ /export/home/anna /data/export/home/ann");
    assert_eq!(ExtraRule::of_home(std::path::Path::new("/")).map(|rule| rule.id), None);
}

#[test]
#[rustfmt::skip] // a table
fn groups_are_looked_for_when_they_are_chosen() {
    let check = |group: Group, text: &str, wanted: &str| {
        let mut redactor = Redactor::new(Rules::new(&[group], &[], &[]).unwrap());
        assert_eq!(redactor.text(text), wanted);
    };
    check(Group::Paths, "/home/ann/x /Users/ann.b/y /homework /root/z", "~/x ~/y /homework ~/z");
    check(Group::Paths, "/export/home/ann/x file:///home/ann:/home/bob", "/export/home/ann/x file://~:~");
    check(Group::Paths, "~/.claude/projects/-home-ann-x/a.jsonl", "~/.claude/projects/-~-x/a.jsonl");
    check(Group::Mail, "mail ann@example.com, git@example.com", "mail [redacted:mail#1], git@example.com");
    check(Group::Hosts, "https://ci.example.org/a on 10.1.2.3", "https://[redacted:host#1]/a on [redacted:host#2]");
    check(Group::Credentials, "/home/ann ann@example.com", "/home/ann ann@example.com");
}

/// A secret, however its bytes are spelled and wherever the agent put it, leaves no piece that is long enough to be of use.
#[test]
fn a_secret_is_found_however_it_is_stored() {
    for seed in 1..12 {
        for (at, (kind, text, secret)) in kinds(seed * 777).into_iter().enumerate() {
            let escape = |step: usize| -> String {
                let letter = |(place, letter): (usize, char)| match (place + at) % step {
                    0 if letter.is_ascii() => format!("\\u{:04x}", letter as u32),
                    1 if letter == '/' => "\\/".to_owned(),
                    _ => serde_json::to_string(&letter).unwrap().trim_matches('"').replace("\\'", "'"),
                };
                let quoted = |letter: char| if letter == '"' { "\\\"".to_owned() } else { String::new() };
                text.chars()
                    .enumerate()
                    .map(|(place, sign)| if sign == '"' { quoted(sign) } else { letter((place, sign)) })
                    .collect()
            };
            let (start, whole) = (text.find(&secret).unwrap(), serde_json::to_string(&text).unwrap());
            // Both parts of a secret that is cut have enough of it to be told from words.
            let cut = start + secret.len() / 3 + (seed as usize * 3 + at) % (secret.len() / 3).max(1);
            let [first, second] =
                [&text[..cut], &text[cut..]].map(|part| serde_json::to_string(part).unwrap());
            let stored = [
                ("escapes", format!(r#"{{"message":{{"content":"{}"}}}}"#, escape(2))),
                (
                    "few escapes",
                    format!(r#"{{"message":{{"content":[{{"type":"text","text":"{}"}}]}}}}"#, escape(7)),
                ),
                ("a key", format!(r#"{{"arguments":{{{whole}:true}}}}"#)),
                ("a list", format!(r#"{{"a":[[1,{{"b":[{whole}]}}]]}}"#)),
                (
                    "two blocks",
                    format!(
                        r#"{{"content":[{{"type":"text","text":{first}}},{{"type":"text","text":{second}}}]}}"#
                    ),
                ),
                (
                    "two blocks, later",
                    format!(
                        r#"{{"content":[{{"text":"a"}},{{"text":{first},"citations":null}}, {{ "n":1,"text": {second} }}]}}"#
                    ),
                ),
            ];
            for (how, line) in stored {
                let mut redactor = redactor();
                redactor.learn(line.as_bytes(), &mut |_| {});
                let out = redactor.line(line.as_bytes()).into_owned();
                let strings = all_strings(&serde_json::from_slice(&out).unwrap());
                let rest = strings.concat();
                let half = &secret[..secret.len() / 3];
                assert!(
                    rest.contains("[redacted:")
                        && !rest.contains(&secret)
                        && (how != "two blocks" || !rest.contains(half)),
                    "{kind}, {how}, seed {seed}: {} bytes stayed",
                    secret.len()
                );
            }
        }
    }
}

/// All keys and strings of a value.
fn all_strings(value: &serde_json::Value) -> Vec<String> {
    match value {
        serde_json::Value::String(text) => vec![text.clone()],
        serde_json::Value::Array(items) => items.iter().flat_map(all_strings).collect(),
        serde_json::Value::Object(members) => members
            .iter()
            .flat_map(|(key, item)| std::iter::once(key.clone()).chain(all_strings(item)))
            .collect(),
        _ => Vec::new(),
    }
}

#[test]
fn blocks_that_do_not_follow_each_other_are_not_joined() {
    let secret = format!("gh{}_{}", "p", random(9, 36, ALL));
    let (first, second) = secret.split_at(20);
    for line in [
        format!(r#"[{{"text":"{first}"}},{{"x":1}},{{"text":"{second}"}}]"#),
        format!(r#"{{"a":{{"text":"{first}"}},"b":{{"text":"{second}"}}}}"#),
        format!(r#"[[{{"text":"{first}"}}],[{{"text":"{second}"}}]]"#),
    ] {
        let mut redactor = redactor();
        redactor.learn(line.as_bytes(), &mut |_| {});
        assert!(redactor.is_clean(), "{} bytes were joined", line.len());
    }
}

/// Codex stores the arguments of a call as a text.
#[test]
fn json_inside_a_string_stays_json() {
    let random = |seed| random(seed, 24, ALL);
    let (token, pem) = (format!("gh{}_{}", "p", self::random(9, 36, ALL)), self::random(10, 400, ALL));
    let key = format!("-----BEGIN {0} KEY-----\n{pem}\n-----END {0} KEY-----\n", "RSA PRIVATE");
    for (secret, arguments) in [
        (random(1), serde_json::json!({ "cmd": format!("export API_KEY=\"{}\" && x", random(1)) })),
        (random(2), serde_json::json!({ "cmd": format!("DB_PASSWORD='{}'\n", random(2)) })),
        (random(3), serde_json::json!({ "env": { "DB_PASSWORD": random(3) }, "n": 1 })),
        (
            random(4),
            serde_json::json!({ "cmd": ["sh", "-c", format!("x --password \"{}\\\" \"", random(4))] }),
        ),
        (token.clone(), serde_json::json!({ "cmd": format!("echo \\\"{token}\\\"") })),
        (pem, serde_json::json!({ "contents": key })),
    ] {
        for depth in 1..4 {
            let mut text = arguments.to_string();
            for _ in 1..depth {
                text = serde_json::json!({ "again": text }).to_string();
            }
            let line = serde_json::json!({ "payload": { "arguments": text } }).to_string();
            let mut redactor = redactor();
            redactor.learn(line.as_bytes(), &mut |_| {});
            let out = String::from_utf8(redactor.line(line.as_bytes()).into_owned()).unwrap();
            assert!(out.contains("[redacted:") && !out.contains(&secret), "{line}\n{out}");
            let out: serde_json::Value = serde_json::from_str(&out).unwrap();
            let mut inner = out["payload"]["arguments"].as_str().unwrap().to_owned();
            for level in 0..depth {
                let value: serde_json::Value =
                    serde_json::from_str(&inner).unwrap_or_else(|_| panic!("level {level}: {inner}"));
                inner = value["again"].as_str().unwrap_or_default().to_owned();
            }
        }
    }
}
