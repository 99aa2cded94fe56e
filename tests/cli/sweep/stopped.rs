//! Runs a program that is stopped before each of its system calls on certain files, so that a test
//! can act there.
//!
//! The kernel asks this process before each call (seccomp with user notification): the call is let
//! through, fails, or is made in part.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// How a call names its file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// By an open file, its first argument.
    File,
    /// By a path, its first argument.
    #[cfg(target_arch = "x86_64")]
    First,
    /// By a path, its second argument; by the first one if that is not given.
    Second,
}

/// The calls that are stopped.
#[rustfmt::skip] // a table
const CALLS: &[(libc::c_long, &str, Names)] = &[
    (libc::SYS_read, "read", Names::File), (libc::SYS_pread64, "pread", Names::File),
    (libc::SYS_write, "write", Names::File), (libc::SYS_pwrite64, "pwrite", Names::File), (libc::SYS_writev, "writev", Names::File),
    (libc::SYS_openat, "open", Names::Second), (libc::SYS_close, "close", Names::File),
    (libc::SYS_fsync, "fsync", Names::File), (libc::SYS_fdatasync, "fdatasync", Names::File), (libc::SYS_syncfs, "syncfs", Names::File),
    (libc::SYS_renameat2, "rename", Names::Second), (libc::SYS_linkat, "link", Names::Second), (libc::SYS_unlinkat, "unlink", Names::Second),
    (libc::SYS_mkdirat, "mkdir", Names::Second), (libc::SYS_ftruncate, "truncate", Names::File), (libc::SYS_fallocate, "fallocate", Names::File),
    (libc::SYS_fchmod, "chmod", Names::File), (libc::SYS_fchown, "chown", Names::File), (libc::SYS_utimensat, "utimens", Names::Second),
    (libc::SYS_fsetxattr, "setxattr", Names::File), (libc::SYS_flistxattr, "listxattr", Names::File), (libc::SYS_fgetxattr, "getxattr", Names::File),
    (libc::SYS_flock, "flock", Names::File), (libc::SYS_fcntl, "fcntl", Names::File), (libc::SYS_lseek, "lseek", Names::File),
    (libc::SYS_statx, "stat", Names::Second), (libc::SYS_getdents64, "getdents", Names::File), (libc::SYS_readlinkat, "readlink", Names::Second),
    (libc::SYS_copy_file_range, "copy", Names::File),
    #[cfg(target_arch = "x86_64")] (libc::SYS_rename, "rename", Names::First),
    #[cfg(target_arch = "x86_64")] (libc::SYS_unlink, "unlink", Names::First),
    #[cfg(target_arch = "x86_64")] (libc::SYS_mkdir, "mkdir", Names::First),
    #[cfg(target_arch = "x86_64")] (libc::SYS_rmdir, "rmdir", Names::First),
    #[cfg(target_arch = "x86_64")] (libc::SYS_readlink, "readlink", Names::First),
];

/// A call that is about to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// What it does.
    pub name: &'static str,
    /// The file.
    pub path: PathBuf,
    /// The third argument: how many bytes a `write` has, how an `open` opens.
    pub third: u64,
}

impl Call {
    /// Returns whether the disk may differ after it.
    pub fn changes(&self) -> bool {
        match self.name {
            "open" => self.third & libc::O_CREAT as u64 != 0,
            "write" | "pwrite" | "writev" | "rename" | "link" | "unlink" | "mkdir" | "rmdir" | "truncate"
            | "fallocate" | "chmod" | "chown" | "utimens" | "setxattr" | "copy" => true,
            _ => false,
        }
    }

    /// Returns whether it may find that the disk is full.
    pub fn needs_room(&self) -> bool {
        [
            "write",
            "pwrite",
            "writev",
            "open",
            "rename",
            "link",
            "mkdir",
            "fsync",
            "fdatasync",
            "syncfs",
            "fallocate",
            "setxattr",
            "copy",
        ]
        .contains(&self.name)
    }
}

/// The reaction to a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// It is let through.
    Pass,
    /// It fails with this error.
    Fail(i32),
    /// A `write` writes only that many bytes.
    Short(usize),
    /// The program is killed before the call.
    Kill,
    /// The program receives a signal, and the call is let through.
    Signal(i32),
}

/// The parts of a notification that are used; see `struct seccomp_notif` in linux/seccomp.h.
type Asked = libc::seccomp_notif;

/// `SECCOMP_IOCTL_NOTIF_RECV` and `SECCOMP_IOCTL_NOTIF_SEND` of linux/seccomp.h, which the crate
/// `libc` does not define.
const RECEIVE: libc::c_ulong = 0xC000_2100 | ((size_of::<Asked>() as libc::c_ulong) << 16);
const SEND: libc::c_ulong = 0xC000_2101 | ((size_of::<libc::seccomp_notif_resp>() as libc::c_ulong) << 16);

/// Runs a program; `act` is called before each call on a file in `folder`, with the number of the
/// call, counted from 0.
///
/// Returns the output of the program, and how many calls there were, or `None` if the system does
/// not support this.
pub fn run(
    mut command: Command,
    folder: &Path,
    mut act: impl FnMut(usize, &Call) -> Act,
) -> Option<(Output, usize)> {
    let (ours, theirs) = pair().ok()?;
    let sender = theirs.as_raw_fd();
    let filter = filter();
    let (out, err) = (tempfile::tempfile().ok()?, tempfile::tempfile().ok()?);
    command.stdin(Stdio::null()).stdout(out.try_clone().ok()?).stderr(err.try_clone().ok()?);
    // SAFETY: between `fork` and `exec`, only system calls are made, on memory that was made ready
    // before.
    unsafe { command.pre_exec(move || ask_before_calls(&filter, sender)) };
    let mut child = command.spawn().ok()?;
    drop((command, theirs));
    let listener = received(&ours).ok()?;
    let mut count = 0;
    while let Some(asked) = next(&listener) {
        let call = call_of(&asked, &child).filter(|call| concerns(call, folder));
        let answer = call.map_or(Act::Pass, |call| {
            count += 1;
            act(count - 1, &call)
        });
        carry_out(answer, &asked, &child, &listener);
    }
    let status = child.wait().ok()?;
    Some((Output { status, stdout: all_of(&out), stderr: all_of(&err) }, count))
}

/// Returns the status of a program that may have been ended by a signal: then 128 plus the signal,
/// as in a shell.
pub fn status(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap_or(0))
}

fn concerns(call: &Call, folder: &Path) -> bool {
    call.path.is_relative() || call.path.starts_with(folder)
}

fn all_of(file: &File) -> Vec<u8> {
    let len = file.metadata().map_or(0, |facts| facts.len() as usize);
    let mut bytes = vec![0; len];
    let count = file.read_at(&mut bytes, 0).unwrap_or(0);
    bytes.truncate(count);
    bytes
}

/// Returns a program for the kernel that asks this process before the calls of the table.
fn filter() -> Vec<libc::sock_filter> {
    const ASK: u32 = 0x7fc0_0000;
    const PASS: u32 = 0x7fff_0000;
    let op = |code: u32, k: u32, jt: u8| libc::sock_filter { code: code as u16, jt, jf: 0, k };
    // Loads the number of the call, which is the first field.
    let mut out = vec![op(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0)];
    for (at, (number, ..)) in CALLS.iter().enumerate() {
        // On a match, to the last instruction, past the others of the table and the one that lets
        // through.
        out.push(op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, *number as u32, (CALLS.len() - at) as u8));
    }
    out.push(op(libc::BPF_RET | libc::BPF_K, PASS, 0));
    out.push(op(libc::BPF_RET | libc::BPF_K, ASK, 0));
    out
}

/// Makes the kernel ask before the calls of this process, and sends the handle on which it asks.
fn ask_before_calls(filter: &[libc::sock_filter], sender: RawFd) -> io::Result<()> {
    /// `SECCOMP_FILTER_FLAG_NEW_LISTENER`, and `…_WAIT_KILLABLE_RECV`: only a fatal signal ends a
    /// call about which this process was asked.
    const FLAGS: libc::c_ulong = 1 << 3 | 1 << 5;
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the program lives until the call returns; the others take numbers.
    let listener = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::syscall(libc::SYS_seccomp, 1, FLAGS, &raw const program)
    };
    if listener < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut byte = 0u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let mut room = [0u64; 4];
    let mut message = message(&mut part, &mut room);
    // SAFETY: `room` is larger than a header and one handle, which is what is written into it.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(4) as _;
        libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(listener as RawFd);
        message.msg_controllen = libc::CMSG_SPACE(4) as _;
        match libc::sendmsg(sender, &raw const message, 0) {
            1 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

fn message(part: &mut libc::iovec, room: &mut [u64; 4]) -> libc::msghdr {
    // SAFETY: a message of zeros is an empty one.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = part;
    message.msg_iovlen = 1;
    message.msg_control = room.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(room) as _;
    message
}

fn received(from: &OwnedFd) -> io::Result<OwnedFd> {
    let mut byte = 0u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let mut room = [0u64; 4];
    let mut message = message(&mut part, &mut room);
    // SAFETY: the message has room for a byte and a handle; the handle is ours alone once it was
    // received.
    unsafe {
        if libc::recvmsg(from.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) != 1 {
            return Err(io::Error::last_os_error());
        }
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned()))
    }
}

fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: both handles are written by the call, and belong to nobody else.
    unsafe {
        match libc::socketpair(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0, fds.as_mut_ptr()) {
            0 => Ok((OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1]))),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Waits for the next call; returns `None` once the program has ended.
fn next(listener: &OwnedFd) -> Option<Asked> {
    loop {
        let mut ready = libc::pollfd { fd: listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one struct, as the number says; a notification of zeros is what the kernel wants
        // to fill in.
        unsafe {
            if libc::poll(&raw mut ready, 1, -1) < 0 {
                continue;
            }
            if ready.revents & libc::POLLIN == 0 {
                return None;
            }
            let mut asked: Asked = std::mem::zeroed();
            if libc::ioctl(listener.as_raw_fd(), RECEIVE, &raw mut asked) == 0 {
                return Some(asked);
            }
        }
    }
}

fn call_of(asked: &Asked, child: &Child) -> Option<Call> {
    let (_, name, names) = CALLS.iter().find(|(number, ..)| *number == libc::c_long::from(asked.data.nr))?;
    let pid = asked.pid;
    let args = asked.data.args;
    let of_file = || std::fs::read_link(format!("/proc/{}/fd/{}", child.id(), args[0] as i32)).ok();
    let path = match names {
        Names::File => of_file()?,
        #[cfg(target_arch = "x86_64")]
        Names::First => text_at(pid, args[0])?,
        Names::Second if args[1] == 0 => of_file()?,
        Names::Second => match text_at(pid, args[1])? {
            empty if empty.as_os_str().is_empty() => of_file()?,
            path => path,
        },
    };
    Some(Call { name, path, third: args[2] })
}

fn text_at(pid: u32, address: u64) -> Option<PathBuf> {
    let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
    let mut bytes = vec![0; 4096];
    let mut have = 0;
    // The next page may not exist.
    while have < bytes.len() && !bytes[..have].contains(&0) {
        let end = (have + 4096 - ((address as usize + have) & 4095)).min(bytes.len());
        have +=
            memory.read_at(&mut bytes[have..end], address + have as u64).ok().filter(|count| *count > 0)?;
    }
    bytes.truncate(bytes.iter().position(|byte| *byte == 0)?);
    Some(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
}

fn carry_out(act: Act, asked: &Asked, child: &Child, listener: &OwnedFd) {
    /// `SECCOMP_USER_NOTIF_FLAG_CONTINUE`
    const CONTINUE: u32 = 1;
    let mut answer = libc::seccomp_notif_resp { id: asked.id, val: 0, error: 0, flags: CONTINUE };
    // SAFETY: takes two numbers; the child was not waited for, so that the number is still its own.
    let send = |signal: i32| unsafe { libc::kill(child.id() as i32, signal) };
    match act {
        Act::Pass => {}
        Act::Fail(error) => (answer.flags, answer.error) = (0, -error),
        Act::Short(len) => match written(asked, child, len) {
            Ok(count) => (answer.flags, answer.val) = (0, count as i64),
            Err(error) => (answer.flags, answer.error) = (0, -error.raw_os_error().unwrap_or(libc::EIO)),
        },
        Act::Kill => {
            send(libc::SIGKILL);
            return;
        }
        Act::Signal(signal) => {
            send(signal);
        }
    }
    // SAFETY: the answer is as large as the number of the call says. That the program has ended
    // meanwhile is no matter.
    unsafe { libc::ioctl(listener.as_raw_fd(), SEND, &raw mut answer) };
}

/// Writes the first bytes of a `write` in place of the program.
fn written(asked: &Asked, child: &Child, len: usize) -> io::Result<usize> {
    let args = asked.data.args;
    let mut bytes = vec![0; len.min(args[2] as usize)];
    File::open(format!("/proc/{}/mem", asked.pid))?.read_exact_at(&mut bytes, args[1])?;
    // SAFETY: the calls take numbers, and the handles that they return are ours alone; the bytes
    // are as long as is said.
    unsafe {
        let process = libc::syscall(libc::SYS_pidfd_open, child.id(), 0);
        if process < 0 {
            return Err(io::Error::last_os_error());
        }
        let process = OwnedFd::from_raw_fd(process as RawFd);
        let file = libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), args[0] as RawFd, 0);
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        let file = OwnedFd::from_raw_fd(file as RawFd);
        match libc::write(file.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) {
            count if count >= 0 => Ok(count as usize),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
