//! Tests of finding and reading stored results.

use super::*;
use std::os::unix::fs::symlink;

fn make() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("s/tool-results");
    fs::create_dir_all(&results).unwrap();
    fs::write(folder.path().join("s.jsonl"), "{}\n").unwrap();
    fs::write(folder.path().join("secret.txt"), "secret").unwrap();
    fs::write(results.join("own.txt"), "löng").unwrap();
    let session = folder.path().join("s.jsonl");
    (folder, session)
}

#[test]
fn a_file_is_read_up_to_a_limit() {
    let (_folder, session) = make();
    let files = ResultFiles::of_session(&session).unwrap();
    let read = |most| files.read("own.txt", most).map(|file| (file.text.unwrap(), file.more)).unwrap();
    assert_eq!(read(100), ("löng".into(), 0));
    assert_eq!(read(2), ("l".into(), 3));
    assert_eq!(files.names(), ["own.txt"]);
}

#[test]
fn a_file_that_is_not_a_text_gives_none() {
    let (folder, session) = make();
    fs::write(folder.path().join("s/tool-results/b.bin"), b"a\0b").unwrap();
    assert_eq!(ResultFiles::of_session(&session).unwrap().read("b.bin", 100).unwrap().text, None);
}

#[test]
fn nothing_outside_of_the_folder_is_read() {
    let (folder, session) = make();
    let results = folder.path().join("s/tool-results");
    symlink(folder.path().join("secret.txt"), results.join("link.txt")).unwrap();
    fs::create_dir(results.join("dir")).unwrap();
    fs::write(results.join("dir/deep.txt"), "deep").unwrap();
    let made = std::process::Command::new("mkfifo").arg(results.join("pipe.txt")).status().unwrap();
    assert!(made.success());
    let files = ResultFiles::of_session(&session).unwrap();
    let absolute = folder.path().join("secret.txt");
    for name in [
        "../../secret.txt",
        "link.txt",
        "dir",
        "dir/deep.txt",
        "pipe.txt",
        ".",
        "..",
        "",
        absolute.to_str().unwrap(),
    ] {
        assert!(files.read(name, 100).is_err(), "{name} was read");
    }
    assert_eq!(files.names(), ["own.txt"]);
}

#[test]
fn a_folder_that_is_a_link_is_not_followed() {
    let (folder, _) = make();
    fs::write(folder.path().join("t.jsonl"), "{}\n").unwrap();
    symlink(folder.path().join("s"), folder.path().join("t")).unwrap();
    assert!(ResultFiles::of_session(&folder.path().join("t.jsonl")).is_none());
    fs::create_dir(folder.path().join("u")).unwrap();
    fs::write(folder.path().join("u.jsonl"), "{}\n").unwrap();
    symlink(folder.path().join("s/tool-results"), folder.path().join("u/tool-results")).unwrap();
    assert!(ResultFiles::of_session(&folder.path().join("u.jsonl")).is_none());
}

#[test]
fn an_agent_has_the_files_of_its_session() {
    let (folder, session) = make();
    for agent in ["s/subagents/agent-a.jsonl", "s/subagents/workflows/w/agent-b.jsonl"] {
        let path = folder.path().join(agent);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "{}\n").unwrap();
        assert_eq!(
            ResultFiles::of_session(&path).unwrap().folder,
            ResultFiles::of_session(&session).unwrap().folder
        );
    }
}
