//! How a program is run: where it is, its arguments, environment, input, limits, and what ends it.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    io::{self, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc::channel,
    time::Duration,
};

use rustix::process::geteuid;

use crate::{
    Output, Running,
    find::{find, find_admin, find_in},
    output::{collect, text},
    wait,
};

/// Output that is kept unless [`Program::keep`] says otherwise.
const KEPT_BYTES: usize = 1 << 16;

/// A program to be run.
///
/// Without further settings it gets no input, has no time limit, has the environment and the directory of this process,
/// and runs on if this process ends before it.
#[derive(Clone)]
pub struct Program<'a> {
    path: PathBuf,
    arguments: Vec<OsString>,
    /// Variables that are set, or removed if there is no value.
    environment: Vec<(OsString, Option<OsString>)>,
    directory: Option<PathBuf>,
    user: Option<(u32, u32)>,
    leads_group: bool,
    guard: Option<(EndSignal, Unguarded)>,
    input: Option<&'a [u8]>,
    limit: Duration,
    kept_bytes: usize,
}

/// Without input, arguments and environment, which may hold secrets.
impl fmt::Debug for Program<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The signal that a program receives when this process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndSignal {
    /// SIGTERM.
    Term,
    /// SIGKILL.
    Kill,
}

/// What to do with a program that cannot be ended with this process, because `setpriv` is not installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unguarded {
    /// Run it; if this process is killed, it runs on.
    Run,
    /// Do not run it.
    Refuse,
}

impl<'a> Program<'a> {
    /// The program at this path, or of this name in `PATH` if there is no slash.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: None,
            user: None,
            leads_group: false,
            guard: None,
            input: None,
            limit: Duration::MAX,
            kept_bytes: KEPT_BYTES,
        }
    }

    /// The program of this name in `PATH` and in the directories of administrators' programs.
    #[must_use]
    pub fn find_admin(name: impl AsRef<OsStr>) -> Option<Self> {
        find_admin(name).map(Self::at)
    }

    /// The program of this name in a search path in the format of `PATH`. The program gets this search path as its
    /// `PATH`.
    #[must_use]
    pub fn find_in(name: impl AsRef<OsStr>, search_path: &OsStr) -> Option<Self> {
        Some(Self::at(find_in(name.as_ref(), search_path)?).env("PATH", search_path))
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(self, argument: impl AsRef<OsStr>) -> Self {
        self.args([argument])
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), Some(value.as_ref().to_owned())));
        self
    }

    /// Removes a variable from its environment.
    #[must_use]
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), None));
        self
    }

    /// Starts it in this directory.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Runs it as this user and group, without supplementary groups.
    #[must_use]
    pub fn user(mut self, uid: u32, gid: u32) -> Self {
        self.user = Some((uid, gid));
        self
    }

    /// Whether it will run as root.
    #[must_use]
    pub fn runs_as_root(&self) -> bool {
        self.user.map_or_else(|| geteuid().is_root(), |(uid, _)| uid == 0)
    }

    /// Runs it in a process group of its own, so that signals from the terminal do not reach it. When this crate ends
    /// the program, its children are ended too.
    #[must_use]
    pub fn with_children(mut self) -> Self {
        self.leads_group = true;
        self
    }

    /// Makes the kernel send it a signal when this process ends in any way, as requested by `setpriv` of util-linux.
    /// The signal is sent when the thread that started the program ends.
    #[must_use]
    pub fn ended_with_parent(mut self, signal: EndSignal, otherwise: Unguarded) -> Self {
        self.guard = Some((signal, otherwise));
        self
    }

    /// Writes this to its standard input, for [`Self::output`]. It has to fit into a pipe's buffer (64 KiB).
    #[must_use]
    pub fn input(mut self, input: &'a [u8]) -> Self {
        self.input = Some(input);
        self
    }

    /// Kills it after this time, in [`Self::output`].
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Keeps this many bytes each of standard output and standard error, in [`Self::output`], instead of 64 KiB. The
    /// rest is read and discarded.
    #[must_use]
    pub fn keep(mut self, bytes: usize) -> Self {
        self.kept_bytes = bytes;
        self
    }

    /// Runs it to its end. `None` if it was killed after the limit.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn output(&self) -> io::Result<Option<Output>> {
        self.run(None)
    }

    /// As [`Self::output`]; also calls `on_line` with each line of standard output as it arrives.
    ///
    /// # Errors
    /// As [`Self::output`].
    pub fn output_with_lines(&self, on_line: &mut dyn FnMut(&str)) -> io::Result<Option<Output>> {
        self.run(Some(on_line))
    }

    fn run(&self, mut on_line: Option<&mut dyn FnMut(&str)>) -> io::Result<Option<Output>> {
        let stdin = if self.input.is_some() { Stdio::piped() } else { Stdio::null() };
        let mut command = self.command()?;
        let mut child =
            command.env("LC_ALL", "C").stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        if let (Some(mut pipe), Some(input)) = (child.stdin.take(), self.input) {
            // The error is ignored: the input fits into the pipe's buffer, and a program that ended early reports the
            // reason.
            let _ = pipe.write_all(input);
        }
        let (lines, received) = channel();
        let stdout = collect(child.stdout.take(), self.kept_bytes, on_line.is_some().then_some(lines));
        let stderr = collect(child.stderr.take(), self.kept_bytes, None);
        let mut pass_on = || {
            if let Some(on_line) = &mut on_line {
                received.try_iter().for_each(|line: String| on_line(&line));
            }
        };
        let Some(status) = wait(&mut child, self.limit, &mut pass_on)? else {
            drop(Running::new(child, self.leads_group));
            return Ok(None);
        };
        let output = Output { code: status.code(), stdout: text(stdout), stderr: text(stderr) };
        pass_on();
        Ok(Some(output))
    }

    /// Starts it without input, and with these outputs, which the caller reads if they are pipes.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(&self, stdout: impl Into<Stdio>, stderr: impl Into<Stdio>) -> io::Result<Running> {
        let child = self.command()?.stdin(Stdio::null()).stdout(stdout).stderr(stderr).spawn()?;
        Ok(Running::new(child, self.leads_group))
    }

    /// The command, for callers that connect it to other programs.
    ///
    /// # Errors
    /// It cannot be ended with this process, and [`Unguarded::Refuse`] was chosen.
    pub fn command(&self) -> io::Result<Command> {
        let mut command = match self.guard {
            Some((signal, otherwise)) => guarded(&self.path, signal, otherwise)?,
            None => Command::new(&self.path),
        };
        command.args(&self.arguments);
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        if let Some((uid, gid)) = self.user {
            // Also drops the supplementary groups.
            command.uid(uid).gid(gid);
        }
        if self.leads_group {
            command.process_group(0);
        }
        Ok(command)
    }
}

/// Standard output of a program that is asked for its version. A program that does not answer is killed.
///
/// # Errors
/// The program cannot be started, or does not answer.
pub fn version_text(program: &Path, options: &[&str]) -> io::Result<String> {
    const LIMIT: Duration = Duration::from_secs(30);
    let output = Program::at(program).args(options).limit(LIMIT).output()?;
    output.map(|output| output.stdout).ok_or_else(|| io::ErrorKind::TimedOut.into())
}

fn guarded(program: &Path, signal: EndSignal, otherwise: Unguarded) -> io::Result<Command> {
    let Some(setpriv) = find("setpriv") else {
        return match otherwise {
            Unguarded::Run => Ok(Command::new(program)),
            Unguarded::Refuse => Err(io::Error::new(io::ErrorKind::NotFound, "setpriv is not installed")),
        };
    };
    let signal = match signal {
        EndSignal::Term => "TERM",
        EndSignal::Kill => "KILL",
    };
    let mut command = Command::new(setpriv);
    command.args(["--pdeathsig", signal, "--"]).arg(program);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn shell(script: &str) -> Program<'static> {
        Program::at("/bin/sh").args(["-c", script]).limit(Duration::from_secs(10))
    }

    #[test]
    fn input_output_and_exit_code_are_passed_on() {
        let output = shell("cat; echo no >&2; exit 4").input(b"key").output().unwrap().unwrap();
        assert_eq!((output.code, output.stdout.as_str(), output.error_output()), (Some(4), "key", "no".to_owned()));
    }

    #[test]
    fn input_and_environment_are_not_shown() {
        let shown = format!("{:?}", shell("cat").input(b"key").env("PASSWORD", "secret"));
        assert_eq!(shown, r#"Program { path: "/bin/sh", .. }"#);
    }

    #[test]
    fn environment_and_directory_are_set() {
        let program = shell("echo $GIVEN $PWD $TAKEN").env("GIVEN", "a").env("TAKEN", "b").env_remove("TAKEN");
        assert_eq!(program.directory("/").output().unwrap().unwrap().stdout, "a /\n");
        assert_eq!(
            Program::find_in("sh", "/bin".as_ref())
                .unwrap()
                .args(["-c", "echo $PATH"])
                .output()
                .unwrap()
                .unwrap()
                .stdout,
            "/bin\n"
        );
    }

    #[test]
    fn a_program_that_hangs_is_killed() {
        assert!(shell("exec sleep 60").limit(Duration::from_millis(50)).output().unwrap().is_none());
    }

    #[test]
    fn a_program_is_killed_with_its_children() {
        let mut running =
            shell("sleep 600 & echo started; wait").with_children().start(Stdio::piped(), Stdio::null()).unwrap();
        let mut stdout = running.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 8]).unwrap();
        assert_eq!(running.wait(Duration::ZERO).unwrap(), None);
        drop(running);
        assert_eq!(stdout.read(&mut [0]).unwrap(), 0, "the sleep would hold it open");
    }

    #[test]
    fn a_guarded_program_ends_with_the_thread_that_started_it() {
        let program = shell("echo started; exec sleep 600").ended_with_parent(EndSignal::Kill, Unguarded::Refuse);
        let start = move || {
            let mut running = program.start(Stdio::piped(), Stdio::null()).unwrap();
            // Once the program writes, `setpriv` has made its request to the kernel.
            running.stdout.take().unwrap().read_exact(&mut [0; 8]).unwrap();
            running
        };
        let mut running = std::thread::spawn(start).join().unwrap();
        let status = running.wait(Duration::from_secs(60)).unwrap();
        assert!(status.is_some_and(|status| status.code().is_none()), "{status:?}");
    }

    #[test]
    fn lines_are_passed_on_as_they_arrive() {
        let mut lines = Vec::new();
        shell("echo one; echo two").output_with_lines(&mut |line| lines.push(line.to_owned())).unwrap();
        assert_eq!(lines, ["one", "two"]);
    }

    #[test]
    fn endless_output_is_bounded() {
        let program = shell("head -c 1000000 /dev/zero");
        assert_eq!(program.output().unwrap().unwrap().stdout.len(), KEPT_BYTES);
        assert_eq!(program.keep(1 << 20).output().unwrap().unwrap().stdout.len(), 1_000_000);
    }
}
