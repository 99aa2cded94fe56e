//! The program `bough`; all of it is in the library.

#![cfg_attr(all(target_os = "linux", target_env = "gnu", not(test)), no_main)]

/// Runs the command line; gives the exit code.
fn run() -> i32 {
    bough::cmd::tell_bugs();
    bough::cmd::run(std::env::args_os()) as i32
}

#[cfg(not(all(target_os = "linux", target_env = "gnu", not(test))))]
fn main() {
    std::process::exit(run());
}

/// How the program starts where the C library hands the arguments to the standard library by itself.
///
/// Before `main`, the standard library reads and parses `/proc/self/maps`, to tell overflows of the stack from other faults. That takes a
/// tenth of the time of a small command. What else it does there is done here.
#[cfg(all(target_os = "linux", target_env = "gnu", not(test)))]
mod start {
    #![allow(unsafe_code, reason = "the C library calls it, and the system is asked by C functions")]

    use libc::{c_char, c_int};

    // SAFETY: the name is that of the function which the C library calls, and no other code has it.
    #[unsafe(no_mangle)]
    extern "C" fn main(_count: c_int, _arguments: *const *const c_char) -> c_int {
        open_handles();
        // A reader that ends early is told to us as an error, not as a signal.
        // SAFETY: a disposition without a handler is set, and no other code of ours sets one.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
        // Not by returning: what the standard library still holds of the output is to be written.
        std::process::exit(super::run());
    }

    /// Sees to it that the three standard handles are open: else a session that is opened would become one of them, and be written to.
    fn open_handles() {
        let mut handles = [0, 1, 2].map(|fd| libc::pollfd { fd, events: 0, revents: 0 });
        // SAFETY: the list has three items, and lives until the call returns.
        while unsafe { libc::poll(handles.as_mut_ptr(), 3, 0) } == -1 {
            match std::io::Error::last_os_error().raw_os_error() {
                Some(libc::EINTR) => {}
                // Where it can't be asked in one go, it is taken that they are open.
                _ => return,
            }
        }
        for handle in handles.iter().filter(|handle| handle.revents & libc::POLLNVAL != 0) {
            // The lowest free number is given, which is this one.
            // SAFETY: the path is a string of C.
            if unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) } != handle.fd {
                std::process::abort();
            }
        }
    }
}
