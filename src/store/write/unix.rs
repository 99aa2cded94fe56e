//! System calls that the standard library does not offer.

#![allow(
    unsafe_code,
    reason = "calls of the C library that take numbers, names, buffers or one struct, and give a number"
)]

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The command that sets which signal a lease sends (linux/fcntl.h); the crate `libc` does not
/// define it.
#[cfg(target_os = "linux")]
const F_SETSIG: libc::c_int = 10;

/// Returns whether a file is open for writing anywhere, or `None` if the system does not say.
///
/// Linux refuses a read lease exactly when anybody has the file open for writing, in any container
/// and as any user. This takes 22 µs, whereas a walk through `/proc/*/fd` takes milliseconds and
/// sees only the user's own processes. It needs a handle for reading, and must happen before bough
/// itself opens the file for writing.
#[cfg(target_os = "linux")]
pub(crate) fn open_for_writing(file: &File) -> Option<bool> {
    let fd = file.as_raw_fd();
    // If a program opens the file while the lease is held, the system sends a signal. The default,
    // SIGIO, would end this process; SIGURG is ignored. SAFETY: `fd` is open while `file` lives;
    // these commands take an integer and touch no memory of ours.
    let lease = unsafe {
        if libc::fcntl(fd, F_SETSIG, libc::SIGURG) == -1 {
            return None;
        }
        libc::fcntl(fd, libc::F_SETLEASE, libc::F_RDLCK)
    };
    if lease == 0 {
        // SAFETY: as above.
        unsafe { libc::fcntl(fd, libc::F_SETLEASE, libc::F_UNLCK) };
        return Some(false);
    }
    // Other errors: not our file, or a file system without leases.
    (io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN)).then_some(true)
}

/// Returns whether a file is open for writing anywhere, or `None` if the system does not say.
#[cfg(not(target_os = "linux"))]
pub(crate) fn open_for_writing(file: &File) -> Option<bool> {
    let _ = (file.as_raw_fd(), io::ErrorKind::Unsupported);
    None
}

/// Keeps others from opening the file as long as this lives: they wait.
pub(super) struct Lease<'f>(#[cfg_attr(not(target_os = "linux"), allow(dead_code))] &'f File);

/// Keeps others from opening a file. Returns `None` if someone else has it open, or if the system
/// can't do that.
///
/// `file` must be the only handle of this process on the file. Linux lets others wait for 45
/// seconds before it revokes the lease.
#[cfg(target_os = "linux")]
pub(super) fn shut_out(file: &File) -> Option<Lease<'_>> {
    let fd = file.as_raw_fd();
    // SAFETY: as in `open_for_writing`.
    let lease = unsafe {
        if libc::fcntl(fd, F_SETSIG, libc::SIGURG) == -1 {
            return None;
        }
        libc::fcntl(fd, libc::F_SETLEASE, libc::F_WRLCK)
    };
    (lease == 0).then_some(Lease(file))
}

/// Keeps others from opening a file. Returns `None`, because this system can't do that.
#[cfg(not(target_os = "linux"))]
pub(super) fn shut_out(_file: &File) -> Option<Lease<'_>> {
    None
}

#[cfg(target_os = "linux")]
impl Drop for Lease<'_> {
    fn drop(&mut self) {
        // SAFETY: as in `open_for_writing`.
        unsafe { libc::fcntl(self.0.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK) };
    }
}

/// Returns whether there is a process with this number.
pub(crate) fn process_lives(pid: i32) -> bool {
    // SAFETY: signal 0 is not sent; it only asks whether it could be.
    let answer = unsafe { libc::kill(pid, 0) };
    answer == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

/// Asks a process that was started here to end, as SIGTERM does.
pub(crate) fn ask_to_end(child: &std::process::Child) {
    // SAFETY: as long as nobody waited for it, the number is that of the child, even if it has ended.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
}

/// Returns whether nobody reads a stream any more: the reader of a pipe is gone, or a terminal is.
pub(crate) fn nobody_reads(stream: &impl AsRawFd) -> bool {
    is_gone(stream, 0)
}

/// Waits until a terminal is gone, or until it can't be asked.
pub(crate) fn wait_until_gone(terminal: &impl AsRawFd) {
    // A signal ends a wait early.
    while !is_gone(terminal, -1) {}
}

/// Returns whether the other end of a stream is gone, after at most so many milliseconds; -1 is for ever.
fn is_gone(stream: &impl AsRawFd, milliseconds: i32) -> bool {
    let mut asked = libc::pollfd { fd: stream.as_raw_fd(), events: 0, revents: 0 };
    // SAFETY: `asked` is one such struct, as the number says, and lives until the call returns.
    let answer = unsafe { libc::poll(&raw mut asked, 1, milliseconds) };
    answer > 0 && asked.revents & (libc::POLLERR | libc::POLLHUP) != 0
}

/// Returns the user whose rights this process has.
pub(crate) fn user() -> u32 {
    // SAFETY: asks for a number, and can't fail.
    unsafe { libc::geteuid() }
}

/// Returns whether files can be created in a folder, or a file can be written.
pub(crate) fn may_write(path: &Path) -> bool {
    let Ok(name) = c_name(path) else { return false };
    // SAFETY: `name` is a string that ends in a NUL and lives until the call returns.
    unsafe { libc::access(name.as_ptr(), libc::W_OK) == 0 }
}

fn c_name(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn checked(answer: impl Into<i64>) -> io::Result<i64> {
    let answer = answer.into();
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// Returns whether an error means that the system or the file system does not support a call.
pub(crate) fn is_unknown_call(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported
        || matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL | libc::EOPNOTSUPP | libc::ENOTTY))
}

/// The ways to rename a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Renaming {
    /// The new name must be free.
    ToFree,
    /// Two files swap their names.
    Swap,
}

fn rename_as(from: &Path, to: &Path, how: Renaming) -> io::Result<()> {
    let (from, to) = (c_name(from)?, c_name(to)?);
    #[cfg(target_os = "linux")]
    {
        let flags = match how {
            Renaming::ToFree => libc::RENAME_NOREPLACE,
            Renaming::Swap => libc::RENAME_EXCHANGE,
        };
        // SAFETY: both names end in a NUL and live until the call returns.
        let answer = unsafe {
            let here = libc::c_long::from(libc::AT_FDCWD);
            let flags = libc::c_long::from(flags);
            libc::syscall(libc::SYS_renameat2, here, from.as_ptr(), here, to.as_ptr(), flags)
        };
        checked(answer).map(drop)
    }
    #[cfg(target_vendor = "apple")]
    {
        let flags = match how {
            Renaming::ToFree => libc::RENAME_EXCL,
            Renaming::Swap => libc::RENAME_SWAP,
        };
        // SAFETY: both names end in a NUL and live until the call returns.
        checked(unsafe { libc::renamex_np(from.as_ptr(), to.as_ptr(), flags) }).map(drop)
    }
    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    {
        let _ = (from, to, how);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Gives a file a name that must be free, in one step.
pub(super) fn rename_to_free(from: &Path, to: &Path) -> io::Result<()> {
    rename_as(from, to, Renaming::ToFree)
}

/// Swaps the names of two files, in one step: neither name is ever without a file.
pub(super) fn swap(one: &Path, other: &Path) -> io::Result<()> {
    rename_as(one, other, Renaming::Swap)
}

/// Reserves room on the disk for bytes that will be appended; the file keeps its length.
#[cfg(target_os = "linux")]
pub(super) fn reserve(file: &File, at: u64, len: u64) -> io::Result<()> {
    let (Ok(at), Ok(len)) = (i64::try_from(at), i64::try_from(len)) else { return Ok(()) };
    // SAFETY: `file` is open; the call takes numbers.
    checked(unsafe { libc::fallocate(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, at, len) }).map(drop)
}

/// Reserves room on the disk for bytes that will be appended; the file keeps its length.
#[cfg(not(target_os = "linux"))]
pub(super) fn reserve(_file: &File, _at: u64, _len: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Syncs all pending writes of the file system of a file.
#[cfg(target_os = "linux")]
pub(super) fn sync_all_of(file: &File) -> io::Result<()> {
    // SAFETY: `file` is open; the call takes a number.
    checked(unsafe { libc::syncfs(file.as_raw_fd()) }).map(drop)
}

/// Syncs all pending writes of the file system of a file.
#[cfg(not(target_os = "linux"))]
pub(super) fn sync_all_of(_file: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Has the disk begin to write a file, and does not wait for it: a later sync takes less time.
#[cfg(target_os = "linux")]
pub(super) fn begin_writeback(file: &File) {
    // SAFETY: `file` is open; the call takes numbers. Whether it works does not matter.
    let _ = unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
}

/// Has the disk begin to write a file, and does not wait for it: a later sync takes less time.
#[cfg(not(target_os = "linux"))]
pub(super) fn begin_writeback(_file: &File) {}

/// Copies the extended attributes of a file to another, including access control lists on Linux.
///
/// Attributes that only the system or its administrator may set are not copied.
pub(super) fn copy_attributes(from: &File, to: &File) -> io::Result<()> {
    let names = match attribute_names(from) {
        Err(error) if is_unknown_call(&error) => return Ok(()),
        other => other?,
    };
    for name in names.split_inclusive(|byte| *byte == 0) {
        let Ok(name) = CStr::from_bytes_with_nul(name) else { continue };
        let is_the_systems = |prefix: &[u8]| name.to_bytes().starts_with(prefix);
        let value = attribute(from, name)?;
        match set_attribute(to, name, &value) {
            Err(_) if [&b"security."[..], b"trusted.", b"com.apple."].into_iter().any(is_the_systems) => {}
            other => other?,
        }
    }
    Ok(())
}

/// Asks for the length of an answer, then for the answer.
fn answer_of(ask: impl Fn(*mut libc::c_void, usize) -> isize) -> io::Result<Vec<u8>> {
    loop {
        let len = checked(ask(std::ptr::null_mut(), 0) as i64)? as usize;
        let mut bytes = vec![0_u8; len];
        match checked(ask(bytes.as_mut_ptr().cast(), len) as i64) {
            Ok(len) => {
                bytes.truncate(len as usize);
                return Ok(bytes);
            }
            // It grew in the meantime.
            Err(error) if error.raw_os_error() == Some(libc::ERANGE) => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(target_os = "linux")]
fn attribute_names(file: &File) -> io::Result<Vec<u8>> {
    // SAFETY: the buffer is as long as its length says, or there is none and the length is 0.
    answer_of(|at, len| unsafe { libc::flistxattr(file.as_raw_fd(), at.cast(), len) })
}

#[cfg(target_os = "linux")]
pub(super) fn attribute(file: &File, name: &CStr) -> io::Result<Vec<u8>> {
    // SAFETY: as above, and the name ends in a NUL.
    answer_of(|at, len| unsafe { libc::fgetxattr(file.as_raw_fd(), name.as_ptr(), at, len) })
}

#[cfg(target_os = "linux")]
pub(super) fn set_attribute(file: &File, name: &CStr, value: &[u8]) -> io::Result<()> {
    // SAFETY: the buffer is as long as its length says, and the name ends in a NUL.
    let answer =
        unsafe { libc::fsetxattr(file.as_raw_fd(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) };
    checked(answer).map(drop)
}

#[cfg(target_vendor = "apple")]
fn attribute_names(file: &File) -> io::Result<Vec<u8>> {
    // SAFETY: the buffer is as long as its length says, or there is none and the length is 0.
    answer_of(|at, len| unsafe { libc::flistxattr(file.as_raw_fd(), at.cast(), len, 0) })
}

#[cfg(target_vendor = "apple")]
pub(super) fn attribute(file: &File, name: &CStr) -> io::Result<Vec<u8>> {
    // SAFETY: as above, and the name ends in a NUL.
    answer_of(|at, len| unsafe { libc::fgetxattr(file.as_raw_fd(), name.as_ptr(), at, len, 0, 0) })
}

#[cfg(target_vendor = "apple")]
pub(super) fn set_attribute(file: &File, name: &CStr, value: &[u8]) -> io::Result<()> {
    // SAFETY: the buffer is as long as its length says, and the name ends in a NUL.
    let answer =
        unsafe { libc::fsetxattr(file.as_raw_fd(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0, 0) };
    checked(answer).map(drop)
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn attribute_names(_file: &File) -> io::Result<Vec<u8>> {
    Ok(Vec::new())
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(super) fn attribute(_file: &File, _name: &CStr) -> io::Result<Vec<u8>> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(super) fn set_attribute(_file: &File, _name: &CStr, _value: &[u8]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The signals with which a user or the system ends a program.
const ENDING: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// The writing end of the pipe with which the signal handler wakes the thread that cleans up.
static WAKE: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(-1);

extern "C" fn wake(signal: libc::c_int) {
    let byte = signal as u8;
    // SAFETY: `write` may be called in a handler; the buffer is one byte long.
    unsafe { libc::write(WAKE.load(std::sync::atomic::Ordering::Relaxed), (&raw const byte).cast(), 1) };
}

/// Calls `clean_up` if a signal ends the program, and then lets the signal end it. An ignored
/// signal stays ignored.
///
/// `clean_up` runs in a separate thread.
pub(super) fn before_the_end(clean_up: impl FnOnce() + Send + 'static) -> io::Result<()> {
    use std::io::Read;
    use std::os::fd::IntoRawFd;
    let (mut reader, writer) = io::pipe()?;
    WAKE.store(writer.into_raw_fd(), std::sync::atomic::Ordering::Relaxed);
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        let mut signal = [0];
        if reader.read_exact(&mut signal).is_err() {
            return;
        }
        clean_up();
        let signal = libc::c_int::from(signal[0]);
        // SAFETY: sets the usual handler and sends a signal; both take numbers.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::kill(libc::getpid(), signal);
        }
    })?;
    for signal in ENDING {
        // SAFETY: `wake` calls nothing that must not be called in a handler.
        unsafe {
            let handler = wake as extern "C" fn(libc::c_int) as libc::sighandler_t;
            if libc::signal(signal, handler) == libc::SIG_IGN {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
    }
    Ok(())
}
