//! Proxies that encrypt a client's clear-text connection to the server: Sealant's tunnel, `ssh -L`, a pair of stunnels.

use std::{
    fs::{self, File},
    net::{Ipv4Addr, SocketAddr},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use process::{Program, Running};

use crate::{
    Error,
    copy::listens,
    program::{ended_with_parent, output},
    tls::{relay::Relay, temporary_server::KeyPairFiles},
};

const START_LIMIT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A running proxy; killed on drop.
pub struct Proxy {
    /// Address for clients.
    pub address: SocketAddr,
    /// Near end first, because it is killed first.
    _ends: Vec<Running>,
    _relay: Option<Relay>,
}

/// Certificates by which both ends authenticate each other.
#[derive(Clone, Debug)]
pub struct Certificates {
    /// The authority.
    pub ca: PathBuf,
    /// The far end, next to the server; named `localhost`.
    pub far: KeyPairFiles,
    /// The near end, next to the client.
    pub near: KeyPairFiles,
}

/// Starts the two ends with the simulated network between them.
struct Starting<'d> {
    directory: &'d Path,
    ends: Vec<Running>,
}

impl Starting<'_> {
    /// Starts a program, and waits until it listens on `port`.
    fn start(&mut self, name: &str, path: &Path, program: &Program<'_>, port: u16) -> Result<(), Error> {
        let log = self.directory.join(format!("{name}.log"));
        let file = File::create(&log).map_err(Error::file(&log))?;
        let mut end = program.start(Stdio::null(), file).map_err(|error| Error::program(path, error.to_string()))?;
        let begin = Instant::now();
        while !listens(end.id(), port) {
            if !matches!(end.status(), Ok(None)) || begin.elapsed() > START_LIMIT {
                let message = fs::read(&log).unwrap_or_default();
                let message = String::from_utf8_lossy(&message);
                return Err(Error::program(path, message.lines().last().unwrap_or("does not listen")));
            }
            thread::sleep(POLL_INTERVAL);
        }
        self.ends.insert(0, end);
        Ok(())
    }

    fn finish(self, address: SocketAddr, relay: Option<Relay>) -> Proxy {
        Proxy { address, _ends: self.ends, _relay: relay }
    }
}

/// Starts `sealant tunnel`, with its far end on the server's socket.
///
/// # Errors
/// [`Error::Program`] with the last output of the end that did not start, [`Error::File`].
pub fn tunnel_pair(
    sealant: &Path,
    directory: &Path,
    certificates: &Certificates,
    server: &Path,
    round_trip: Duration,
) -> Result<Proxy, Error> {
    let mut starting = Starting { directory, ends: Vec::new() };
    let (far, near) = (port()?, port()?);
    let end = |end: &str, listen: u16, pair: &KeyPairFiles| {
        let program = ended_with_parent(sealant).args(["tunnel", end, "--listen", &local(listen).to_string()]);
        let program = program.arg("--tls-cert").arg(&pair.certificate).arg("--tls-key").arg(&pair.key);
        program.arg("--tls-ca").arg(&certificates.ca)
    };
    let far_end = end("far", far, &certificates.far).arg("--server").arg(server);
    starting.start("tunnel-far", sealant, &far_end, far)?;
    let (through, relay) = network(far, round_trip)?;
    let near_end = end("near", near, &certificates.near).args(["--far", &format!("localhost:{through}")]);
    starting.start("tunnel-near", sealant, &near_end, near)?;
    Ok(starting.finish(local(near), relay))
}

/// Starts a pair of stunnels that authenticate each other by certificate.
///
/// # Errors
/// Those of [`tunnel_pair`].
pub fn stunnel_pair(
    directory: &Path,
    certificates: &Certificates,
    server: SocketAddr,
    round_trip: Duration,
) -> Result<Proxy, Error> {
    let program = process::find("stunnel").or_else(|| process::find("stunnel4"));
    let program = program.ok_or_else(|| not_installed("stunnel"))?;
    let mut starting = Starting { directory, ends: Vec::new() };
    let (far, near) = (port()?, port()?);
    let mut start = |name: &str, pair: &KeyPairFiles, listen: u16, to: SocketAddr, more: &str| {
        let configuration = format!(
            "foreground = yes\npid =\nsyslog = no\ndebug = err\n[mysql]\naccept = {}\nconnect = {to}\ncert = {}\n\
             key = {}\nCAfile = {}\nverifyChain = yes\nTIMEOUTclose = 0\n{more}",
            local(listen),
            pair.certificate.display(),
            pair.key.display(),
            certificates.ca.display(),
        );
        let path = directory.join(format!("{name}.conf"));
        fs::write(&path, configuration).map_err(Error::file(&path))?;
        starting.start(name, &program, &ended_with_parent(&program).arg(&path), listen)
    };
    start("stunnel-far", &certificates.far, far, server, "")?;
    let (through, relay) = network(far, round_trip)?;
    start("stunnel-near", &certificates.near, near, local(through), "client = yes\ncheckHost = localhost\n")?;
    Ok(starting.finish(local(near), relay))
}

/// Starts `ssh -L` and a private `sshd`, with new keys.
///
/// # Errors
/// Those of [`tunnel_pair`].
pub fn ssh_forward(directory: &Path, server: SocketAddr, round_trip: Duration) -> Result<Proxy, Error> {
    let found = |name: &str| process::find(name).ok_or_else(|| not_installed(name));
    let (ssh, keygen) = (found("ssh")?, found("ssh-keygen")?);
    let sshd = process::find_admin("sshd").ok_or_else(|| not_installed("sshd"))?;
    let location = |name: &str| directory.join(name);
    for name in ["ssh-host", "ssh-user"] {
        if !location(name).exists() {
            output(Command::new(&keygen).args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(location(name)))?;
        }
    }
    let mut starting = Starting { directory, ends: Vec::new() };
    let (far, near) = (port()?, port()?);
    let configuration = format!(
        "Port {far}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\n\
         PidFile none\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nAllowTcpForwarding local\n",
        location("ssh-host").display(),
        location("ssh-user.pub").display(),
    );
    fs::write(location("sshd.conf"), configuration).map_err(Error::file(location("sshd.conf")))?;
    let far_end = ended_with_parent(&sshd).args(["-D", "-e", "-f"]).arg(location("sshd.conf"));
    starting.start("sshd", &sshd, &far_end, far)?;
    let (through, relay) = network(far, round_trip)?;
    let host = location("ssh-host.pub");
    let host = fs::read_to_string(&host).map_err(Error::file(&host))?;
    fs::write(location("ssh-known"), format!("[127.0.0.1]:{through} {host}"))
        .map_err(Error::file(location("ssh-known")))?;
    fs::set_permissions(location("ssh-user"), fs::Permissions::from_mode(0o600))
        .map_err(Error::file(location("ssh-user")))?;
    let user = output(Command::new("id").arg("-un"))?;
    let user = String::from_utf8_lossy(&user.stdout).trim().to_owned();
    let known = format!("UserKnownHostsFile={}", location("ssh-known").display());
    let near_end = ended_with_parent(&ssh)
        .args(["-F", "none", "-N", "-o", "BatchMode=yes", "-o", "ExitOnForwardFailure=yes"])
        .args(["-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=yes", "-o", &known])
        .arg("-i")
        .arg(location("ssh-user"))
        .args(["-L", &format!("{}:{server}", local(near)), "-p", &through.to_string()])
        .arg(format!("{user}@127.0.0.1"));
    starting.start("ssh", &ssh, &near_end, near)?;
    Ok(starting.finish(local(near), relay))
}

/// A port that leads to `far` over a network with this round trip.
fn network(far: u16, round_trip: Duration) -> Result<(u16, Option<Relay>), Error> {
    if round_trip.is_zero() {
        return Ok((far, None));
    }
    let relay = Relay::start(local(far), round_trip).map_err(Error::file("relay"))?;
    Ok((relay.address().port(), Some(relay)))
}

fn local(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

fn port() -> Result<u16, Error> {
    ports::free_port().map_err(Error::file("a port of the loopback interface"))
}

fn not_installed(program: &str) -> Error {
    Error::Program { program: program.to_owned(), reason: "not in PATH".to_owned() }
}
