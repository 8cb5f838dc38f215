//! Server processes that cannot outlive the tests.
//!
//! The kernel kills a server when the thread that started it ends (`PR_SET_PDEATHSIG`, set by `setpriv`). A test's
//! thread may end long before a server that other tests share. Therefore one thread, which lives as long as the
//! process, starts all servers.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};

use crate::command::wait;
use crate::within;

type Request = (Command, Sender<io::Result<Child>>);

static STARTER: LazyLock<Mutex<Sender<Request>>> = LazyLock::new(|| {
    let (sender, requests) = channel::<Request>();
    thread::spawn(move || {
        for (mut command, reply) in requests {
            let _ = reply.send(command.spawn());
        }
    });
    Mutex::new(sender)
});

/// A running server: leader of a process group that is killed on drop.
#[derive(Debug)]
pub(crate) struct Daemon {
    child: Child,
}

impl Daemon {
    /// A command that runs `program` so that it is killed with the thread that starts it.
    pub(crate) fn command(program: &Path) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(program).process_group(0);
        command
    }

    /// Like [`Self::command`], but as another user, who may read everything and has no other privileges.
    pub(crate) fn command_of(id: u32, program: &Path) -> Command {
        let mut command = Command::new("setpriv");
        command.args([&format!("--reuid={id}"), &format!("--regid={id}"), "--clear-groups"]);
        command.args(["--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"]);
        command.args(["--bounding-set=-all,+dac_read_search", "--no-new-privs"]);
        command.args(["--pdeathsig", "KILL", "--"]).arg(program).process_group(0);
        command
    }

    /// The same command in a network namespace.
    pub(crate) fn within_namespace(name: &str, command: &Command) -> Command {
        let mut inside = Command::new("nsenter");
        inside.arg(format!("--net=/run/netns/{name}")).arg("--").arg(command.get_program()).args(command.get_args());
        inside.process_group(0);
        inside
    }

    pub(crate) fn spawn(command: Command) -> io::Result<Self> {
        let gone = || io::Error::other("the thread that starts servers is gone");
        let (reply, answer) = channel();
        let starter = STARTER.lock().unwrap_or_else(PoisonError::into_inner);
        starter.send((command, reply)).map_err(|_| gone())?;
        let child = answer.recv().map_err(|_| gone())??;
        Ok(Self { child })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The exit status, once the process has ended.
    pub(crate) fn ended(&mut self) -> Option<String> {
        self.child.try_wait().ok().flatten().map(|status| status.to_string())
    }

    /// Requests a clean shutdown; returns whether it completed within `limit`.
    pub(crate) fn terminate(&mut self, limit: Duration) -> bool {
        if let Some(pid) = self.pid() {
            let _ = kill_process(pid, Signal::TERM);
        }
        matches!(wait(&mut self.child, limit), Ok(Some(_)))
    }

    /// Waits until the rest of the process group has ended, too: children of a server that has ended may still write
    /// messages.
    pub(crate) fn wait_for_group(&self, limit: Duration) {
        let _ = within(limit, || self.pid().is_none_or(|pid| test_kill_process_group(pid).is_err()));
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }
}

impl Drop for Daemon {
    /// Kills the whole process group, because a state transfer has child processes.
    fn drop(&mut self) {
        if let Some(pid) = self.pid() {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}
