//! Tests of a repair that is not written as planned.

use super::*;
use clap::Parser;

/// The arguments of `bough fsck`.
#[derive(Parser)]
struct Words {
    #[command(flatten)]
    args: Args,
    #[command(flatten)]
    global: Global,
}

#[test]
#[allow(clippy::type_complexity, reason = "a test says it once")]
fn a_file_that_is_not_written_as_planned_is_not_kept() {
    let entry = |id: &str, parent: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-03-02T00:00:01.000Z","message":{{"role":"user","content":"x"}}}}"#
        ) + "\n"
    };
    let header =
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-03-02T00:00:00.000Z","cwd":"/w"}"#;
    let old = format!("{header}\n{}{}", entry("aaaa0001", "null"), entry("aaaa0002", "\"ffffffff\""));
    let Words { args, global } = Words::parse_from(["fsck", "--repair", "--force"]);
    let spoils: [(&str, &dyn Fn(&mut Vec<Piece>)); 3] = [
        ("nothing", &|_| ()),
        ("an entry more", &|pieces| pieces.push(Piece::New(entry("aaaa0003", "\"aaaa0002\"").into_bytes()))),
        ("a dangling parent", &|pieces| {
            pieces.push(Piece::New(entry("aaaa0002", "\"ffffffff\"").into_bytes()));
        }),
    ];
    for (name, spoil) in spoils {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        std::fs::write(&path, &old).unwrap();
        let subject = Subject::open(&path, &global).unwrap();
        let mut repair = subject.repair(&RepairOptions::default()).unwrap();
        match &mut repair.plan.targets[..] {
            [Written::Rewrite { pieces, .. }] => spoil(pieces),
            other => panic!("{other:?}"),
        }
        let mut ui = Ui::standard(crate::ui::Look { quiet: true, ..Default::default() });
        let log = Log::in_folder(folder.path().join("state"));
        let done = log.while_of_user(|| carry(&subject, &repair, &args, &Group::default(), true, &mut ui));
        assert_eq!(done.is_ok(), name == "nothing", "{name}");
        assert_eq!(std::fs::read_to_string(&path).unwrap() == old, done.is_err(), "{name}");
        if let Err(error) = done {
            let refusal = error.downcast_ref::<Refusal>();
            assert!(matches!(refusal, Some(Refusal::Unproved { .. })), "{name}: {error}");
        }
    }
}
