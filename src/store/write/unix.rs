//! Questions that only the system can answer, and that the standard library does not ask.

#![allow(
    unsafe_code,
    reason = "calls of the C library that take numbers, a name or one struct, and give a number"
)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Which signal a lease sends (linux/fcntl.h); the crate `libc` does not name it.
#[cfg(target_os = "linux")]
const F_SETSIG: libc::c_int = 10;

/// Whether a file is open for writing anywhere; `None` where the system does not say.
///
/// Linux refuses a read lease exactly when the file is open for writing by anybody, in whatever container or by
/// whatever user: 22 µs, where a walk over `/proc/*/fd` takes milliseconds and sees our own processes alone.
/// It is asked with a handle for reading, and before bough itself opens the file for writing.
#[cfg(target_os = "linux")]
pub(crate) fn open_for_writing(file: &File) -> Option<bool> {
    let fd = file.as_raw_fd();
    // Who opens the file while we have the lease makes the system send a signal. The usual one, SIGIO, would end
    // us; SIGURG is passed over.
    // SAFETY: `fd` is open while `file` lives; these commands take an integer and touch no memory of ours.
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

/// Whether a file is open for writing anywhere; `None` where the system does not say.
#[cfg(not(target_os = "linux"))]
pub(crate) fn open_for_writing(file: &File) -> Option<bool> {
    let _ = (file.as_raw_fd(), io::ErrorKind::Unsupported);
    None
}

/// Whether there is a process of this number.
pub(crate) fn process_lives(pid: i32) -> bool {
    // SAFETY: signal 0 is not sent; it only asks whether it could be.
    let answer = unsafe { libc::kill(pid, 0) };
    answer == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

/// Whether nobody reads any more what is written to a stream: a pipe's reader went away, or a terminal is gone.
pub(crate) fn nobody_reads(stream: &impl AsRawFd) -> bool {
    let mut asked = libc::pollfd { fd: stream.as_raw_fd(), events: 0, revents: 0 };
    // SAFETY: `asked` is one such struct, as the number says, and lives until the call returns, which is at once.
    let answer = unsafe { libc::poll(&raw mut asked, 1, 0) };
    answer > 0 && asked.revents & (libc::POLLERR | libc::POLLHUP) != 0
}

/// Whose rights we have.
pub(crate) fn user() -> u32 {
    // SAFETY: asks for a number, and can't fail.
    unsafe { libc::geteuid() }
}

/// Whether files can be made in a folder, or a file be written.
pub(crate) fn may_write(path: &std::path::Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let Ok(name) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: `name` is a string that ends in a NUL and lives until the call returns.
    unsafe { libc::access(name.as_ptr(), libc::W_OK) == 0 }
}
