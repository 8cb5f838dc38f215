//! Both ends of a tunnel as processes, and helpers between them and the test.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use harness::{Server, limit, within};
use rustix::net::{AddressFamily, SocketType};
use tempfile::TempDir;

use super::sealant;

/// Time limit in seconds for an expected state.
const SECONDS: u64 = 60;

/// A directory with certificates and sockets; its path is short enough for a socket.
pub(crate) struct Setup(pub(crate) TempDir);

impl Setup {
    /// Creates an authority, and certificates of a near and a far end.
    pub(crate) fn new() -> Self {
        let setup = Self(tempfile::Builder::new().prefix("st").tempdir_in("/tmp").expect("a directory"));
        setup.cert(&["init", "--dir", setup.dir()]);
        setup.cert(&["issue", "--dir", setup.dir(), "--name", "far", "--san", "localhost"]);
        setup.cert(&["issue", "--dir", setup.dir(), "--name", "app"]);
        setup
    }

    pub(crate) fn cert(&self, args: &[&str]) {
        let output = sealant().arg("cert").args(args).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    pub(crate) fn dir(&self) -> &str {
        self.0.path().to_str().expect("ASCII")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The command `sealant tunnel END …`, with the certificate named `name`.
    pub(crate) fn command(&self, end: &str, name: &str, args: &[&str]) -> Command {
        let mut command = sealant();
        command.args(["tunnel", end]);
        command.arg("--tls-cert").arg(self.path(&format!("{name}.pem")));
        command.arg("--tls-key").arg(self.path(&format!("{name}.key")));
        command.arg("--tls-ca").arg(self.path("ca.pem")).args(args);
        command
    }

    /// Starts a far end for a server's socket.
    pub(crate) fn far(&self, server: &Server, port: u16, more: &[&str]) -> End {
        self.far_of(server.socket().to_str().expect("ASCII"), port, more)
    }

    /// Starts a far end for a server at any address.
    pub(crate) fn far_of(&self, server: &str, port: u16, more: &[&str]) -> End {
        let listen = format!("127.0.0.1:{port}");
        self.end("far", "far", &[&["--listen", &listen, "--server", server][..], more].concat())
    }

    /// Starts an end with the certificate named `name`.
    pub(crate) fn end(&self, end: &str, name: &str, args: &[&str]) -> End {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        End::start(self, &format!("{end}{number}"), self.command(end, name, args))
    }

    /// Starts an end with this command, and waits until it reports that it is ready.
    pub(crate) fn start(&self, name: &str, command: Command) -> End {
        End::start(self, name, command)
    }

    /// Starts a near end with a socket and a port.
    pub(crate) fn near(&self, fars: &[u16], more: &[&str]) -> Near {
        let fars: Vec<String> = fars.iter().map(|port| format!("localhost:{port}")).collect();
        self.near_of(&fars.join(","), more)
    }

    /// Starts a near end for far ends at any addresses.
    pub(crate) fn near_of(&self, fars: &str, more: &[&str]) -> Near {
        let (port, metrics) = (free_port(), free_port());
        let socket = self.path(&format!("near{port}"));
        let listen = format!("{},127.0.0.1:{port}", socket.display());
        let at = format!("127.0.0.1:{metrics}");
        let args = [&["--listen", &listen, "--far", fars, "--metrics", &at][..], more].concat();
        let end = self.end("near", "app", &args);
        Near { end, socket, port, metrics }
    }
}

/// A port that no process uses.
pub(crate) fn free_port() -> u16 {
    harness::free_port().expect("a port")
}

/// Forwards connections to a port of this host, so that they come from `source`. Returns the address to connect to.
pub(crate) fn relay_from(source: Ipv4Addr, port: u16) -> SocketAddr {
    // A different address than the one from which the server accepts any account.
    let listener = TcpListener::bind(("127.0.0.3", 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for client in listener.incoming() {
            let (Ok(client), Ok(server)) = (client, connect_from(source, port)) else { continue };
            let (from, to) = (client.try_clone().expect("a copy"), server.try_clone().expect("a copy"));
            thread::spawn(move || pass(from, to));
            thread::spawn(move || pass(server, client));
        }
    });
    address
}

fn connect_from(source: Ipv4Addr, port: u16) -> std::io::Result<TcpStream> {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
    rustix::net::bind(&socket, &SocketAddrV4::new(source, 0))?;
    rustix::net::connect(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
    Ok(socket.into())
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

/// A running end; stopped on drop.
pub(crate) struct End {
    child: Child,
    log: PathBuf,
}

impl End {
    /// Waits until it reports that it is ready.
    #[track_caller]
    fn start(setup: &Setup, name: &str, mut command: Command) -> Self {
        let log = setup.path(&format!("{name}.log"));
        let file = File::options().create(true).append(true).open(&log).expect("a log");
        let before = fs::read_to_string(&log).expect("a log").matches("ready:").count();
        let child = command.stderr(file).stdout(Stdio::null()).spawn().expect("it starts");
        let end = Self { child, log };
        end.wait_for(&|log| log.matches("ready:").count() > before);
        end
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("a log")
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, condition: &dyn Fn(&str) -> bool) {
        let log = || self.log();
        assert!(eventually(|| condition(&log())), "{}", log());
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a process id")
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.pid()).expect("a process id");
        rustix::process::kill_process(pid, signal).expect("it is there");
    }

    /// Requests a shutdown, and waits for the end of the process.
    pub(crate) fn stop(mut self) -> ExitStatus {
        self.signal(rustix::process::Signal::TERM);
        self.ended().expect("it stops")
    }

    /// The exit status, if the process ends in time.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        within(limit(SECONDS), || self.child.try_wait().expect("it is ours")).ok()
    }

    /// Whether the process has ended.
    pub(crate) fn is_over(&mut self) -> bool {
        self.child.try_wait().expect("it is ours").is_some()
    }

    /// Number of open descriptors of the process.
    pub(crate) fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid())).expect("it runs").count()
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A near end, and where it listens.
pub(crate) struct Near {
    pub(crate) end: End,
    pub(crate) socket: PathBuf,
    pub(crate) port: u16,
    metrics: u16,
}

impl Near {
    /// The port of its metrics.
    pub(crate) fn metrics_port(&self) -> u16 {
        self.metrics
    }

    /// The server's own client, which connects through the tunnel's socket as this account.
    pub(crate) fn client(&self, server: &Server, user: &str, password: &str) -> Command {
        let mut command = Command::new(&server.binaries().client);
        command.args(["--no-defaults", "--batch", "--skip-column-names", "--local-infile=1"]);
        command.arg(format!("--user={user}")).arg(format!("--socket={}", self.socket.display()));
        command.env("MYSQL_PWD", password);
        command
    }

    /// Result of a statement that root executes.
    #[track_caller]
    pub(crate) fn value(&self, server: &Server, sql: &str) -> String {
        let said = self.said(server, sql);
        assert!(said.0, "{sql}: {}\n{}", said.1, self.end.log());
        said.1.trim_end().to_owned()
    }

    /// Whether a statement succeeds, and its output.
    pub(crate) fn said(&self, server: &Server, sql: &str) -> (bool, String) {
        let output = self.client(server, "root", "").args(["-e", sql]).output().expect("the client starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.success(), text)
    }

    /// The value of a counter.
    pub(crate) fn counted(&self, name: &str) -> u64 {
        let mut stream = TcpStream::connect(("127.0.0.1", self.metrics)).expect("metrics");
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("asked");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("answered");
        let name = format!("sealant_tunnel_{name}{{");
        let line = text.lines().find(|line| line.starts_with(&name)).unwrap_or_else(|| panic!("{name}: {text}"));
        line.rsplit(' ').next().and_then(|value| value.parse().ok()).expect("a number")
    }
}

/// The first byte of the first packet: 10 for a greeting, 255 for an error.
pub(crate) fn first_byte(stream: &mut UnixStream) -> Option<u8> {
    let _ = stream.set_read_timeout(Some(limit(SECONDS)));
    let mut head = [0; 5];
    stream.read_exact(&mut head).ok().map(|()| head[4])
}

/// Whether a condition becomes true in time.
pub(crate) fn eventually(condition: impl FnMut() -> bool) -> bool {
    within(limit(SECONDS), condition).is_ok()
}

/// A program of `tests/harness/drivers`; `None` if `install-servers drivers` has not been run.
pub(crate) fn driver(name: &str) -> Option<Command> {
    let installed = harness::cache().join("servers/drivers");
    if !installed.join("VERSION").exists() {
        harness::skip("the drivers are missing; run tests/harness/bin/install-servers drivers");
        return None;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/harness/drivers");
    Some(match name {
        "python" => {
            let mut command = Command::new("python3");
            command.env("PYTHONPATH", installed.join("python")).env("PYTHONDONTWRITEBYTECODE", "1");
            command.arg(source.join("smoke.py"));
            command
        }
        "node" => {
            // Node looks for modules beside the program. Other tests run the same program at the same time.
            let (program, copy) = ("smoke.mjs", format!(".smoke-{}.mjs", std::process::id()));
            let [program, copy] = [program, &copy].map(|name| installed.join("node").join(name));
            fs::copy(source.join("smoke.mjs"), &copy).expect("copied");
            fs::rename(copy, &program).expect("renamed");
            let mut command = Command::new("node");
            command.arg(program);
            command
        }
        _ => Command::new(installed.join("go/smoke")),
    })
}
