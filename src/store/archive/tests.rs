//! Tests of the archive, each in a folder of its own.

use super::*;
use crate::model::Time;
use crate::store::write::sys;
use std::fs::OpenOptions;
use std::io::Write;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("store")).unwrap();
        Place { folder }
    }

    fn archive(&self) -> Archive {
        Archive::in_folder(self.folder.path().join("archive"))
    }

    fn put(&self, name: &str, bytes: &[u8], seconds: u64) {
        let path = self.folder.path().join("store").join(name);
        fs::write(&path, bytes).unwrap();
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    }

    fn wanted(&self, name: &str) -> Wanted {
        let store = self.folder.path().join("store");
        let session = name.trim_end_matches(".jsonl").to_owned();
        Wanted { agent: "pi".into(), session, file: store.join(name), store, main: true, cwd: None }
    }

    fn add(&self, names: &[&str]) -> io::Result<Vec<Added>> {
        let mut writer = self.archive().begin()?;
        let wanted: Vec<Wanted> = names.iter().map(|name| self.wanted(name)).collect();
        let mut added = Vec::new();
        writer.add_all(&wanted, Time(0), |_, one| one.map(|one| added.push(one)))?;
        writer.flush()?;
        Ok(added)
    }

    fn unpack(&self, item: &Item) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        self.archive().unpack(item, &mut |block| {
            out.extend_from_slice(block);
            Ok(())
        })?;
        Ok(out)
    }
}

fn random(len: usize) -> Vec<u8> {
    let mut state = 1u64;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect()
}

#[test]
fn a_file_costs_only_what_it_grew_by() {
    let place = Place::new();
    let mut bytes = random(3 * PART as usize + 100);
    place.put("s.jsonl", &bytes, 1);
    assert_eq!(place.add(&["s.jsonl"]).unwrap()[0].bytes, bytes.len() as u64);
    assert!(place.add(&["s.jsonl"]).unwrap()[0].is_known);
    bytes.extend_from_slice(b"and more\n");
    place.put("s.jsonl", &bytes, 2);
    assert_eq!(place.add(&["s.jsonl"]).unwrap()[0].bytes, 9);
    // A change in the middle costs all that follows it.
    bytes[PART as usize + 5] ^= 1;
    place.put("s.jsonl", &bytes, 3);
    assert_eq!(place.add(&["s.jsonl"]).unwrap()[0].bytes, bytes.len() as u64 - PART);
    let contents = place.archive().read().unwrap();
    assert_eq!((contents.items.len(), contents.latest().len()), (3, 1));
    assert_eq!(place.unpack(contents.latest()[0]).unwrap(), bytes);
    bytes[PART as usize + 5] ^= 1;
    assert_eq!(place.unpack(&contents.items[1]).unwrap(), bytes);
    assert!(place.archive().verify(&contents).is_empty());
}

#[test]
fn many_small_additions_do_not_stay_many_parts() {
    let place = Place::new();
    let mut bytes = Vec::new();
    for number in 0..MOST_PARTS as u64 + 20 {
        bytes.extend_from_slice(format!("line {number}\n").as_bytes());
        place.put("s.jsonl", &bytes, number);
        place.add(&["s.jsonl"]).unwrap();
    }
    let contents = place.archive().read().unwrap();
    let last = contents.latest()[0].clone();
    assert!(last.parts.len() < 30, "{}", last.parts.len());
    assert_eq!(place.unpack(&last).unwrap(), bytes);
}

/// A state of a file with some parts; the session file is called `s.jsonl`.
fn state(path: &str, parts: &[&str]) -> Item {
    let parts: Vec<Part> = parts.iter().map(|part| Part { sha256: (*part).into(), bytes: 1 }).collect();
    let sha256 = parts.iter().map(|part| part.sha256.as_str()).collect();
    Item {
        archived: String::new(),
        agent: "claude".into(),
        session: "s".into(),
        store: "/store".into(),
        path: path.into(),
        main: path.ends_with("s.jsonl"),
        cwd: None,
        title: None,
        bytes: parts.len() as u64,
        mtime: 0,
        mode: 0o600,
        sha256,
        parts,
        link: None,
    }
}

#[test]
fn two_session_files_of_one_id_have_their_own_files() {
    let paths = [
        "a/s/x",
        "a/b/s/x",
        "/history/s",
        "a/s.jsonl",
        "a/s.jsonl.side",
        "a/b/s.jsonl",
        "a/copy-s/x",
        "a/copy-s.jsonl",
    ];
    let items = paths.iter().map(|path| state(path, &["1"])).collect();
    let contents = Contents { items, ..Contents::default() };
    let shown = |one: &Archived<'_>| {
        one.items().map(|item| item.path.display().to_string()).collect::<Vec<String>>().join(" ")
    };
    let sessions: Vec<String> = contents.sessions().iter().map(shown).collect();
    let wanted = [
        "a/s/x /history/s a/s.jsonl.side a/s.jsonl",
        "a/b/s/x /history/s a/b/s.jsonl",
        "/history/s a/s.jsonl.side a/copy-s/x a/copy-s.jsonl",
    ];
    assert_eq!(sessions, wanted);
}

#[test]
fn a_session_is_contained_in_another_if_all_its_files_are() {
    let check = |one: &[Item], other: &[Item], wanted: bool| {
        let contents = Contents { items: [one, other].concat(), ..Contents::default() };
        let [one, other] = &contents.sessions()[..] else { panic!("{:?}", contents.sessions()) };
        assert_eq!(one.is_contained_in(other), wanted, "{one:?} {other:?}");
    };
    let main = |folder: &str, parts: &[&str]| state(&format!("{folder}/s.jsonl"), parts);
    let file = |folder: &str, parts: &[&str]| state(&format!("{folder}/s/x"), parts);
    check(&[main("a", &["1"])], &[main("b", &["1"])], true);
    check(&[main("a", &["1"])], &[main("b", &["1", "2"])], true);
    check(&[main("a", &["1", "2"])], &[main("b", &["1"])], false);
    check(&[main("a", &["1"])], &[main("b", &["2", "1"])], false);
    check(&[file("a", &["3"]), main("a", &["1"])], &[file("b", &["3", "4"]), main("b", &["1"])], true);
    check(&[file("a", &["3"]), main("a", &["1"])], &[main("b", &["1"])], false);
    check(&[file("a", &["3"]), main("a", &["1"])], &[file("b", &["4"]), main("b", &["1"])], false);
    check(&[main("a", &["1"])], &[file("b", &["4"]), main("b", &["1"])], true);
}

#[test]
fn a_flipped_bit_is_found() {
    let place = Place::new();
    place.put("one.jsonl", &random(5000), 1);
    place.put("two.jsonl", b"text\n", 1);
    place.add(&["one.jsonl", "two.jsonl"]).unwrap();
    let archive = place.archive();
    let contents = archive.read().unwrap();
    let blob = archive.blob(&contents.items[0].parts[0].sha256);
    let bytes = fs::read(&blob).unwrap();
    for at in (10..bytes.len()).step_by(397) {
        let mut changed = bytes.clone();
        changed[at] ^= 4;
        fs::write(&blob, changed).unwrap();
        let bad = archive.verify(&contents);
        assert_eq!(bad.iter().map(|bad| &*bad.item.session).collect::<Vec<_>>(), ["one"], "{at}");
        assert!(place.unpack(&contents.items[0]).is_err());
    }
    fs::remove_file(&blob).unwrap();
    assert_eq!(archive.verify(&contents)[0].why, "it is missing");
}

#[test]
fn a_blob_that_is_gone_is_stored_again() {
    let place = Place::new();
    let bytes = random(5000);
    place.put("one.jsonl", &bytes, 1);
    place.add(&["one.jsonl"]).unwrap();
    let archive = place.archive();
    let item = archive.read().unwrap().items.remove(0);
    for grown in [false, true] {
        fs::remove_file(archive.blob(&item.parts[0].sha256)).unwrap();
        let wanted = match grown {
            true => [&bytes[..], b"more\n"].concat(),
            false => bytes.clone(),
        };
        place.put("one.jsonl", &wanted, 1 + u64::from(grown));
        place.add(&["one.jsonl"]).unwrap();
        let last = archive.read().unwrap().items.pop().unwrap();
        assert_eq!(place.unpack(&last).unwrap(), wanted, "{grown}");
    }
    assert!(place.add(&["one.jsonl"]).unwrap().iter().all(|added| added.is_known));
}

#[test]
fn an_archive_that_was_stopped_at_any_call_goes_on() {
    let bytes = random(20_000);
    let mut calls = 0;
    // Each run is stopped one call later, until one ends by itself.
    for stop in 0.. {
        let place = Place::new();
        place.put("one.jsonl", &bytes, 1);
        place.put("two.jsonl", b"text\n", 1);
        place.add(&["two.jsonl"]).unwrap();
        place.put("two.jsonl", b"text\nand more\n", 2);
        let mut number = 0;
        let hook = move |call: sys::Call| {
            number += 1;
            match number > stop {
                // Half a line is written, and nothing after it.
                true if number == stop + 1 && call == sys::Call::Write => Ok(Some(7)),
                true => Err(io::Error::other("stopped")),
                false => Ok(None),
            }
        };
        let is_done = sys::with_hook(hook, || place.add(&["one.jsonl", "two.jsonl"])).is_ok();
        let archive = place.archive();
        let contents = archive.read().unwrap();
        assert!(archive.verify(&contents).is_empty(), "stopped at {stop}");
        assert_eq!(contents.unread, 0, "stopped at {stop}");
        assert_eq!(place.unpack(&contents.items[0]).unwrap(), b"text\n");
        place.add(&["one.jsonl", "two.jsonl"]).unwrap();
        let contents = archive.read().unwrap();
        let latest = contents.latest();
        assert_eq!(latest.len(), 2, "stopped at {stop}");
        for item in latest {
            assert_eq!(place.unpack(item).unwrap(), fs::read(item.origin()).unwrap(), "stopped at {stop}");
        }
        assert!(archive.verify(&contents).is_empty());
        calls = stop;
        if is_done {
            break;
        }
    }
    assert!(calls > 8, "only {calls} calls");
}

#[test]
fn only_blobs_that_nothing_needs_are_removed() {
    let place = Place::new();
    place.put("one.jsonl", b"one\n", 1);
    place.put("two.jsonl", b"two\n", 1);
    place.add(&["one.jsonl", "two.jsonl"]).unwrap();
    place.put("one.jsonl", b"one\nand more\n", 2);
    place.add(&["one.jsonl"]).unwrap();
    let archive = place.archive();
    let writer = archive.begin().unwrap();
    assert!(archive.begin().is_err(), "two write at once");
    assert_eq!(writer.prune(|item| item.session != "two").unwrap().0, 1);
    let contents = archive.read().unwrap();
    assert_eq!(contents.items.len(), 2);
    assert!(archive.verify(&contents).is_empty());
    let writer = archive.begin().unwrap();
    assert_eq!(writer.prune(|item| item.bytes > 4).unwrap().0, 1);
    let contents = archive.read().unwrap();
    assert!(archive.verify(&contents).is_empty());
    assert_eq!(place.unpack(&contents.items[0]).unwrap(), b"one\nand more\n");
}

#[test]
fn pruning_that_was_stopped_at_any_call_loses_nothing_that_stays() {
    for stop in 0.. {
        let place = Place::new();
        place.put("one.jsonl", &random(20_000), 1);
        place.put("two.jsonl", b"text\n", 1);
        place.add(&["one.jsonl", "two.jsonl"]).unwrap();
        let archive = place.archive();
        let writer = archive.begin().unwrap();
        let mut number = 0;
        let hook = move |_: sys::Call| {
            number += 1;
            if number > stop { Err(io::Error::other("stopped")) } else { Ok(None) }
        };
        let is_wanted = |item: &Item| item.session != "two";
        let is_done = sys::with_hook(hook, || writer.prune(is_wanted)).is_ok();
        let contents = archive.read().unwrap();
        assert_eq!(contents.unread, 0, "stopped at {stop}");
        assert!(matches!(contents.items.len(), 1 | 2), "stopped at {stop}");
        assert!(archive.verify(&contents).is_empty(), "stopped at {stop}");
        assert_eq!(place.unpack(&contents.items[0]).unwrap(), random(20_000));
        if is_done {
            assert_eq!(contents.items.len(), 1);
            assert!(stop > 3, "{stop}");
            break;
        }
        archive.begin().unwrap().prune(is_wanted).unwrap();
        assert_eq!(archive.read().unwrap().items.len(), 1, "stopped at {stop}");
    }
}

#[test]
fn a_linked_file_stays_if_it_is_deleted_or_replaced() {
    let place = Place::new();
    let archive = place.archive();
    let link = || {
        let mut writer = archive.begin().unwrap().with_links();
        let mut added = Added::default();
        let done = |_: &Wanted, one: io::Result<Added>| one.map(|one| added = one);
        writer.add_all(&[place.wanted("one.jsonl")], Time(0), done).unwrap();
        writer.flush().unwrap();
        (added.stored, added.is_known)
    };
    place.put("one.jsonl", b"one\n", 1);
    assert_eq!((link(), link()), ((0, false), (0, true)));
    let path = place.wanted("one.jsonl").file;
    assert!(is_linked_in(&archive, &path));
    // What is appended does not count until it is archived.
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"and more\n").unwrap();
    let contents = archive.read().unwrap();
    assert_eq!(place.unpack(contents.latest()[0]).unwrap(), b"one\n");
    assert!(archive.verify(&contents).is_empty());
    assert_eq!(link(), (0, false));
    fs::remove_file(&path).unwrap();
    let contents = archive.read().unwrap();
    assert_eq!(place.unpack(contents.latest()[0]).unwrap(), b"one\nand more\n");
    // A file in its place is another one.
    place.put("one.jsonl", b"other\n", 9);
    link();
    let contents = archive.read().unwrap();
    assert_eq!(place.unpack(contents.latest()[0]).unwrap(), b"other\n");
    assert_eq!(fs::read_dir(archive.folder().join("links")).unwrap().count(), 2);
    fs::write(&path, b"OTHER\n").unwrap();
    assert_eq!(archive.verify(&contents)[0].why, "it was changed in place");
    let (states, freed) = archive.begin().unwrap().prune(|item| item.bytes == 6).unwrap();
    assert_eq!((states, freed), (2, 13));
    assert_eq!(fs::read_dir(archive.folder().join("links")).unwrap().count(), 1);
}

fn is_linked_in(archive: &Archive, path: &Path) -> bool {
    let facts = fs::metadata(path).unwrap();
    facts.nlink() == 2 && archive.link(&name_of_link(&facts)).exists()
}

#[test]
fn a_blob_is_a_plain_file_of_zstandard() {
    let place = Place::new();
    place.put("one.jsonl", b"one\n", 1);
    place.add(&["one.jsonl"]).unwrap();
    let archive = place.archive();
    let item = archive.read().unwrap().items[0].clone();
    let blob = archive.blob(&item.parts[0].sha256);
    assert!(blob.to_str().unwrap().ends_with(".zst"));
    assert_eq!(zstd::decode_all(File::open(&blob).unwrap()).unwrap(), b"one\n");
}

#[test]
fn an_archive_of_the_first_versions_is_read_and_goes_on() {
    let place = Place::new();
    let bytes = random(PART as usize + 100);
    place.put("one.jsonl", &bytes, 1);
    place.put("two.jsonl", b"two\n", 1);
    place.add(&["one.jsonl", "two.jsonl"]).unwrap();
    let archive = place.archive();
    // As the first versions wrote it.
    let text = fs::read_to_string(archive.manifest()).unwrap();
    fs::write(archive.manifest(), text.replacen("zstd", "gzip", 1)).unwrap();
    for part in archive.read().unwrap().items.iter().flat_map(|item| &item.parts) {
        let [new, old] = archive.blobs(&part.sha256);
        let content = zstd::decode_all(File::open(&new).unwrap()).unwrap();
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&content).unwrap();
        fs::write(old, packed.finish().unwrap()).unwrap();
        fs::remove_file(new).unwrap();
    }
    let contents = archive.read().unwrap();
    assert!(archive.verify(&contents).is_empty());
    assert_eq!(place.unpack(&contents.items[0]).unwrap(), bytes);
    // What grew shares the old blobs, and what is new is packed as today.
    let grown = [&bytes[..], b"more\n"].concat();
    place.put("one.jsonl", &grown, 2);
    assert_eq!(place.add(&["one.jsonl", "two.jsonl"]).unwrap()[0].bytes, 5);
    let contents = archive.read().unwrap();
    let latest = contents.latest();
    let endings: Vec<_> =
        latest.iter().flat_map(|item| &item.parts).map(|part| archive.blob(&part.sha256)).collect();
    let is_old = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "gz");
    assert_eq!(endings.iter().filter(|path| is_old(path)).count(), 3);
    assert_eq!(place.unpack(latest.iter().find(|item| item.bytes > 9).unwrap()).unwrap(), grown);
    assert!(archive.verify(&contents).is_empty());
    // The change is noted once.
    place.add(&["two.jsonl"]).unwrap();
    let text = fs::read_to_string(archive.manifest()).unwrap();
    assert_eq!(text.matches("{\"bough\":").count(), 2);
    archive.begin().unwrap().prune(|_| false).unwrap();
    assert!(endings.iter().all(|path| !path.exists()));
}

#[test]
fn many_files_are_archived_at_a_time_with_the_same_result() {
    let place = Place::new();
    let names: Vec<String> = (0..40).map(|number| format!("{number:02}.jsonl")).collect();
    let bytes = random(2 * PART as usize + 5000);
    for (number, name) in names.iter().enumerate() {
        // One is a file of several parts, some are equal, and one is empty.
        let len = if number == 7 { bytes.len() } else { number % 20 * 20_000 };
        place.put(name, &bytes[..len], 1);
    }
    let mut all: Vec<&str> = names.iter().map(|name| &**name).collect();
    all.insert(9, "missing.jsonl");
    let mut writer = place.archive().begin().unwrap();
    let wanted: Vec<Wanted> = all.iter().map(|name| place.wanted(name)).collect();
    let mut seen = Vec::new();
    let done = |one: &Wanted, added: io::Result<Added>| {
        seen.push((one.session.clone(), added.ok().map(|added| added.bytes)));
        Ok::<(), io::Error>(())
    };
    writer.add_all(&wanted, Time(0), done).unwrap();
    writer.flush().unwrap();
    let expected: Vec<(String, Option<u64>)> = wanted
        .iter()
        .map(|one| (one.session.clone(), fs::metadata(&one.file).ok().map(|facts| facts.len())))
        .collect();
    assert_eq!(seen, expected);
    let archive = place.archive();
    let contents = archive.read().unwrap();
    assert_eq!(contents.items.len(), 40);
    assert!(archive.verify(&contents).is_empty());
    for item in &contents.items {
        assert_eq!(place.unpack(item).unwrap(), fs::read(item.origin()).unwrap());
    }
}
