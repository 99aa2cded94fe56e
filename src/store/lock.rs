//! A lock on a file that a dropped value releases, whoever else has the handle.

use std::fs::{File, TryLockError};
use std::io;

/// An advisory lock of `flock(2)`, held until the value is dropped.
///
/// Closing the file would not be enough: a process that is just being started has a copy of each
/// handle until it runs its program, and the lock would last as long as that copy.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// Locks a file for this process alone. Returns `None` if another process has a lock on it.
    /// On a file system without locks, the file counts as locked.
    pub(super) fn try_alone(file: File) -> io::Result<Option<Lock>> {
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                Ok(Some(Lock(file)))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Locks a file together with others that do the same. Waits while one has it alone.
    pub(super) fn shared(file: File) -> io::Result<Lock> {
        file.lock_shared()?;
        Ok(Lock(file))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_ends_with_its_holder_although_a_copy_of_the_handle_is_left() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = || File::open(file.path()).unwrap();
        let first = open();
        let copy = first.try_clone().unwrap();
        let lock = Lock::try_alone(first).unwrap().unwrap();
        assert!(Lock::try_alone(open()).unwrap().is_none());
        drop(lock);
        let (one, two) = (Lock::shared(open()).unwrap(), Lock::shared(open()).unwrap());
        assert!(Lock::try_alone(open()).unwrap().is_none());
        drop((one, two));
        assert!(Lock::try_alone(open()).unwrap().is_some());
        drop(copy);
    }
}
