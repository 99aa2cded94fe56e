//! Tests of a new file: its mode, its link, and what a failure leaves.

use super::*;
use crate::store::write::sys::{Call, with_hook};
use std::os::unix::fs::{PermissionsExt, symlink};

/// Runs a function in a folder, and with a log of its own.
fn in_folder(run: impl FnOnce(&Path)) {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    Log::in_folder(state.path()).while_of_user(|| run(folder.path()));
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    names.map(|file| file.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_file_has_its_name_only_when_it_is_complete() {
    in_folder(|folder| {
        let path = folder.join("page.html");
        let mut half = NewFile::create(&path).unwrap();
        half.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(half);
        assert_eq!(names(folder), [] as [&str; 0]);
        let mut whole = NewFile::create(&path).unwrap();
        whole.write_all(b"whole").unwrap();
        whole.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(names(folder), ["page.html"]);
    });
}

#[test]
fn another_file_is_not_replaced() {
    in_folder(|folder| {
        let path = folder.join("page.html");
        let mut new = NewFile::create(&path).unwrap();
        new.write_all(b"new").unwrap();
        fs::write(&path, "came meanwhile").unwrap();
        assert!(new.finish().is_err());
        assert_eq!(fs::read(&path).unwrap(), b"came meanwhile");
        assert_eq!(names(folder), ["page.html"]);
    });
}

#[test]
fn a_file_that_is_replaced_is_the_old_one_or_the_new_one() {
    in_folder(|folder| {
        let path = folder.join("report.json");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        replace_file(&path, b"first").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o604)).unwrap();
        for fails in [Call::Create, Call::Write, Call::Sync, Call::Mode, Call::Rename] {
            let hook =
                move |call| if call == fails { Err(io::ErrorKind::StorageFull.into()) } else { Ok(None) };
            assert!(with_hook(hook, || replace_file(&path, b"second")).is_err(), "{fails:?}");
            assert_eq!((fs::read(&path).unwrap(), mode()), (b"first".to_vec(), 0o604), "{fails:?}");
            assert_eq!(names(folder), ["report.json"], "{fails:?}");
        }
        replace_file(&path, b"second").unwrap();
        assert_eq!((fs::read(&path).unwrap(), mode()), (b"second".to_vec(), 0o604));
        assert_eq!(names(folder), ["report.json"]);
    });
}

#[test]
fn a_link_to_a_file_that_is_replaced_stays() {
    in_folder(|folder| {
        fs::create_dir(folder.join("in")).unwrap();
        let (link, path) = (folder.join("link"), folder.join("in/report.json"));
        symlink("in/report.json", &link).unwrap();
        for content in ["first", "second"] {
            replace_file(&link, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
            assert!(link.is_symlink());
        }
        assert_eq!(names(&folder.join("in")), ["report.json"]);
    });
}
