//! What a test needs and a machine may lack. It is looked for when the test runs, so the answer is never old.

use std::path::PathBuf;

/// Something that a test needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// A program on the path.
    Program(&'static str),
    /// The folder of reference files, which is not part of the project.
    ReferenceFiles,
    /// The right to mount a file system.
    Mounts,
    /// The right to run a program as another user.
    OtherUsers,
    /// A folder for temporary files whose files can have extended attributes.
    Attributes,
    /// The same for access control lists.
    AccessLists,
}

/// Everything that a test may need.
const ALL: [Need; 13] = [
    Need::Program("bash"),
    Need::Program("zsh"),
    Need::Program("fish"),
    Need::Program("tmux"),
    Need::Program("chromium"),
    Need::Program("node"),
    Need::Program("jq"),
    Need::Program("git"),
    Need::ReferenceFiles,
    Need::Mounts,
    Need::OtherUsers,
    Need::Attributes,
    Need::AccessLists,
];

impl Need {
    /// Returns its name in `BOUGH_REQUIRE`.
    fn name(self) -> &'static str {
        match self {
            Need::Program(name) => name,
            Need::ReferenceFiles => "reference-files",
            Need::Mounts => "mounts",
            Need::OtherUsers => "other-users",
            Need::Attributes => "attributes",
            Need::AccessLists => "access-lists",
        }
    }

    /// Returns why this can't be had on this machine; `None` if it can.
    fn missing(self) -> Option<String> {
        let (is_there, reason) = match self {
            Need::Program(name) => (is_on_the_path(name), format!("{name} is not on the path")),
            Need::ReferenceFiles => {
                (find_reference_files().is_some(), "needs the folder of reference files".into())
            }
            Need::Mounts => (
                has_capabilities(&[SYS_ADMIN]) && is_on_the_path("mount"),
                "needs to mount a file system".into(),
            ),
            Need::OtherUsers => {
                (has_capabilities(&[SETUID, SETGID]), "needs to run a program as another user".into())
            }
            Need::Attributes => {
                (can_have(attributes::NAME, b"x"), "needs a file system with extended attributes".into())
            }
            Need::AccessLists => (
                can_have(attributes::ACCESS_LIST, &attributes::access_list()),
                "needs a file system with access control lists".into(),
            ),
        };
        (!is_there).then_some(reason)
    }
}

/// Returns why a test can't run, or `None` if all that it needs is there.
///
/// `BOUGH_REQUIRE` lists, with commas, what must be there: if that is missing, the test fails
/// instead. The outer error is such a failure, or a name in the list that nothing has.
pub fn why_not(needs: &[Need]) -> Result<Option<String>, String> {
    let required = std::env::var("BOUGH_REQUIRE").unwrap_or_default();
    let required: Vec<&str> = required.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if let Some(unknown) = required.iter().find(|name| ALL.iter().all(|need| need.name() != **name)) {
        return Err(format!("BOUGH_REQUIRE names `{unknown}`, which no test needs"));
    }
    let missing: Vec<(Need, String)> =
        needs.iter().filter_map(|need| Some((*need, need.missing()?))).collect();
    if let Some((need, reason)) = missing.iter().find(|(need, _)| required.contains(&need.name())) {
        return Err(format!("{reason}, and BOUGH_REQUIRE names `{}`", need.name()));
    }
    Ok(missing.into_iter().next().map(|(_, reason)| reason))
}

/// Returns the folder of reference files, if there is one: `BOUGH_SHARED`, or else `../shared`.
pub fn find_reference_files() -> Option<PathBuf> {
    let named = std::env::var_os("BOUGH_SHARED").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared")));
    folder.join("cases").is_dir().then(|| folder.canonicalize().expect("it is there"))
}

/// Returns the folder of reference files.
pub fn reference_files() -> PathBuf {
    find_reference_files().expect("the folder of reference files is there; BOUGH_SHARED names it")
}

fn is_on_the_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// The numbers of capabilities, from `capabilities(7)`.
const SETGID: u32 = 6;
const SETUID: u32 = 7;
const SYS_ADMIN: u32 = 21;

/// Returns whether this process has all of some capabilities; false if the system has no such thing.
fn has_capabilities(wanted: &[u32]) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0);
    wanted.iter().all(|capability| effective >> capability & 1 == 1)
}

/// Returns whether a temporary file can have an attribute.
fn can_have(name: &str, value: &[u8]) -> bool {
    tempfile::NamedTempFile::new().is_ok_and(|file| attributes::set(file.path(), name, value))
}

/// Attributes of files.
pub mod attributes {
    use std::path::Path;

    /// The name of an attribute that every user may set.
    pub const NAME: &str = "user.agent";
    /// The attribute in which Linux keeps an access control list.
    pub const ACCESS_LIST: &str = "system.posix_acl_access";

    /// Returns an access control list that lets another user read, in the format of Linux: a version,
    /// then tag, rights and user of each row.
    pub fn access_list() -> Vec<u8> {
        let nobody = u32::MAX;
        // The owner, user 1000, the group, the mask, others.
        let rows: [(u16, u16, u32); 5] =
            [(1, 6, nobody), (2, 4, 1000), (4, 4, nobody), (16, 4, nobody), (32, 0, nobody)];
        let mut out = 2u32.to_le_bytes().to_vec();
        for (tag, rights, user) in rows {
            out.extend([tag.to_le_bytes(), rights.to_le_bytes()].concat());
            out.extend(user.to_le_bytes());
        }
        out
    }

    /// Sets an attribute; returns whether that was possible.
    #[cfg(target_os = "linux")]
    pub fn set(path: &Path, name: &str, value: &[u8]) -> bool {
        let (path, name) = (of_c(path.as_os_str()), of_c(name.as_ref()));
        // SAFETY: both names end in a NUL, and the value is as long as is said.
        unsafe { libc::setxattr(path.as_ptr(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) == 0 }
    }

    /// Returns an attribute.
    #[cfg(target_os = "linux")]
    pub fn get(path: &Path, name: &str) -> Option<Vec<u8>> {
        let (path, name) = (of_c(path.as_os_str()), of_c(name.as_ref()));
        let mut value = vec![0; 1024];
        // SAFETY: both names end in a NUL, and the buffer is as long as is said.
        let len =
            unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), value.as_mut_ptr().cast(), value.len()) };
        value.truncate(usize::try_from(len).ok()?);
        Some(value)
    }

    #[cfg(target_os = "linux")]
    fn of_c(text: &std::ffi::OsStr) -> std::ffi::CString {
        std::ffi::CString::new(std::os::unix::ffi::OsStrExt::as_bytes(text)).unwrap()
    }

    /// Sets an attribute; only tried on Linux.
    #[cfg(not(target_os = "linux"))]
    pub fn set(_: &Path, _: &str, _: &[u8]) -> bool {
        false
    }

    /// Returns an attribute; only tried on Linux.
    #[cfg(not(target_os = "linux"))]
    pub fn get(_: &Path, _: &str) -> Option<Vec<u8>> {
        None
    }
}
