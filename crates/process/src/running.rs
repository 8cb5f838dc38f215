//! A program that was started and whose pipes the caller reads.

use std::{
    io,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rustix::process::Signal;

use crate::child::{kill_group, poll, signal};

/// A started program. If it has not ended when this is dropped, it is killed.
#[derive(Debug)]
pub struct Running {
    stopper: Stopper,
    /// Its standard input, if that is a pipe.
    pub stdin: Option<ChildStdin>,
    /// Its standard output, if that is a pipe.
    pub stdout: Option<ChildStdout>,
    /// Its standard error, if that is a pipe.
    pub stderr: Option<ChildStderr>,
}

/// Ends a program from another thread.
#[derive(Clone, Debug)]
pub struct Stopper {
    child: Arc<Mutex<Child>>,
    leads_group: bool,
}

impl Running {
    pub(crate) fn new(mut child: Child, leads_group: bool) -> Self {
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        Self { stopper: Stopper { child: Arc::new(Mutex::new(child)), leads_group }, stdin, stdout, stderr }
    }

    /// A handle to end the program from another thread.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.stopper.child().id()
    }

    /// Exit status of the program, if it has ended.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn status(&mut self) -> io::Result<Option<ExitStatus>> {
        self.stopper.child().try_wait()
    }

    /// Waits until the program ends. `None` if it is still running after `limit`.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn wait(&mut self, limit: Duration) -> io::Result<Option<ExitStatus>> {
        poll(limit, || self.status())
    }

    /// Sends a signal to the program. Does nothing if it has ended.
    pub fn signal(&self, number: Signal) {
        let mut child = self.stopper.child();
        // After a wait, the process id may belong to another process.
        if matches!(child.try_wait(), Ok(None)) {
            signal(&child, number);
        }
    }

    /// Kills the program, with its children if [`Program::with_children`](crate::Program::with_children) was set.
    pub fn kill(&self) {
        self.stopper.stop();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
        let _ = self.stopper.child().wait();
    }
}

impl Stopper {
    /// Kills the program if it is still running.
    pub fn stop(&self) {
        let mut child = self.child();
        // An error means that it has ended.
        let _ = child.kill();
        if self.leads_group {
            kill_group(&child);
        }
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
