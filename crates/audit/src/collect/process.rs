//! Finds the server's process, and reads facts about it from `/proc`.
//!
//! A wrong process would mean judging another server's files, so a candidate must be proven to be the one we are
//! connected to: its working directory or command line names the server's data directory, or the `auto.cnf` that it
//! sees has the server's UUID. A host name proves nothing.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};

use server::program;

use super::secret::without_secrets;
use super::view::{Host, View};
use crate::facts::host::Process;

/// Maximum size of a small file of `/proc`.
const PROC_LIMIT: usize = 1 << 20;

/// What is known of the server from its variables and from our connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerTraits {
    /// The peer process of our connection, if it is a Unix socket.
    pub(crate) peer_pid: Option<i32>,
    /// The address of our connection, if it belongs to this host.
    pub(crate) local_address: Option<SocketAddr>,
    /// `@@pid_file`, absolute.
    pub(crate) pid_file: Option<PathBuf>,
    /// `@@datadir`.
    pub(crate) datadir: PathBuf,
    /// `@@server_uuid`.
    pub(crate) server_uuid: Option<String>,
}

/// A candidate, and whether the kernel confirms that our connection ends there.
struct Candidate {
    pid: i32,
    found_by: &'static str,
    kernel_confirms: bool,
}

/// The server's process.
///
/// # Errors
/// Why no process was found, for a report.
pub(crate) fn find(host: &Host, traits: &ServerTraits) -> Result<Process, String> {
    let mut rejected = Vec::new();
    for candidate in candidates(host, traits) {
        match proof(host, traits, &candidate) {
            Ok(()) => return Ok(describe(host, candidate.pid, candidate.found_by)),
            Err(why) => rejected.push(format!("process {} ({}) {why}", candidate.pid, candidate.found_by)),
        }
    }
    if rejected.is_empty() {
        return Err("no process of this host could be found that serves the connection".to_owned());
    }
    Err(rejected.join("; "))
}

fn candidates(host: &Host, traits: &ServerTraits) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    let mut add = |pid: Option<i32>, found_by, kernel_confirms| {
        let new = |pid: &i32| *pid > 0 && !found.iter().any(|c: &Candidate| c.pid == *pid);
        if let Some(pid) = pid.filter(new) {
            found.push(Candidate { pid, found_by, kernel_confirms });
        }
    };
    add(traits.peer_pid, "socket peer", true);
    let owners = traits.local_address.map(|address| owners_of_listener(host, address)).unwrap_or_default();
    owners.into_iter().for_each(|pid| add(Some(pid), "listening socket", true));
    add(traits.pid_file.as_deref().and_then(pid_in), "pid file", false);
    found
}

fn pid_in(path: &Path) -> Option<i32> {
    let bytes = View::ours().read(path, 64).ok()?;
    std::str::from_utf8(&bytes).ok()?.trim().parse().ok()
}

/// The address of `host:port`, if it belongs to this host.
///
/// Connecting a datagram socket sends nothing. The kernel chooses the same address as source if and only if the address
/// is local, regardless of `ip_nonlocal_bind`.
pub(crate) fn local_address(host: &str, port: u16) -> Option<SocketAddr> {
    use std::net::ToSocketAddrs;
    let is_local = |address: &SocketAddr| {
        let any: IpAddr = if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = UdpSocket::bind((any, 0)).ok()?;
        socket.connect(address).ok()?;
        (socket.local_addr().ok()?.ip() == address.ip()).then_some(())
    };
    (host, port).to_socket_addrs().ok()?.find(|address| is_local(address).is_some())
}

/// Processes with a listening socket that accepts connections to `address`.
fn owners_of_listener(host: &Host, address: SocketAddr) -> Vec<i32> {
    let net = host.proc.join("self/net");
    let listening = listeners(&net);
    let arrives = |l: &&Listening| {
        l.address.port() == address.port() && (same_ip(l.address.ip(), address.ip()) || l.address.ip().is_unspecified())
    };
    let inodes: BTreeSet<u64> = listening.iter().filter(arrives).map(|l| l.inode).collect();
    if inodes.is_empty() {
        return Vec::new();
    }
    pids(host)
        .into_iter()
        .filter(|pid| sockets_of(host, *pid).is_ok_and(|current| !current.is_disjoint(&inodes)))
        .collect()
}

fn same_ip(a: IpAddr, b: IpAddr) -> bool {
    a.to_canonical() == b.to_canonical()
}

fn proof(host: &Host, traits: &ServerTraits, candidate: &Candidate) -> Result<(), String> {
    let pid = candidate.pid;
    let view = View::of_process(host, pid);
    if let Some(wanted_uuid) = &traits.server_uuid {
        match server_uuid(&view, &traits.datadir) {
            Some(found) if found == *wanted_uuid => return Ok(()),
            Some(_) => return Err("has another server's uuid in its data directory".to_owned()),
            None => {}
        }
    }
    // Without a UUID to compare, equal paths prove something only for the process that the kernel names: two containers
    // on one host may have the same data directory.
    if !candidate.kernel_confirms {
        return Err("cannot be proved to be the server that answers".to_owned());
    }
    let datadir = view.resolve(&traits.datadir);
    let cwd = fs::read_link(host.of_process(pid, "cwd"));
    if cwd.as_ref().is_ok_and(|cwd| view.resolve(cwd) == datadir) {
        return Ok(());
    }
    // Another user's working directory is hidden; the owner of the data directory is not.
    let hidden = cwd.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied);
    let uid = read_proc(&host.of_process(pid, "status")).ok().and_then(|status| effective_uid(&status));
    if hidden && view.stat(&traits.datadir).is_ok_and(|stat| Some(stat.st_uid) == uid) {
        return Ok(());
    }
    let named = datadir_of(&command_line(host, pid)).map(|path| view.resolve(Path::new(&path)));
    if named.is_some_and(|path| path == datadir) {
        return Ok(());
    }
    Err("does not have the server's data directory".to_owned())
}

/// The last `--datadir` on a command line, which is the one a server uses.
fn datadir_of(arguments: &[String]) -> Option<String> {
    let mut found = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let option = argument.trim_start_matches('-');
        if let Some(value) = option.strip_prefix("datadir=") {
            found = Some(value.to_owned());
        } else if argument == "--datadir" || argument == "-h" {
            found = rest.next().cloned();
        }
    }
    found
}

/// The UUID in the `auto.cnf` of a data directory.
pub(crate) fn server_uuid(view: &View, datadir: &Path) -> Option<String> {
    let bytes = view.read(&datadir.join(server::auto_cnf::NAME), 4096).ok()?;
    server::auto_cnf::server_uuid(&String::from_utf8_lossy(&bytes)).map(str::to_ascii_lowercase)
}

fn describe(host: &Host, pid: i32, found_by: &str) -> Process {
    let mut unreadable = Vec::new();
    let mut read = |what: &str| {
        let path = host.of_process(pid, what);
        read_proc(&path).map_err(|e| unreadable.push(format!("{}: {e}", path.display()))).unwrap_or_default()
    };
    let status = read("status");
    let limits = read("limits");
    let listeners = listeners_of(host, pid).map_err(|e| unreadable.push(e)).unwrap_or_default();
    Process {
        pid,
        found_by: found_by.to_owned(),
        uid: effective_uid(&status).unwrap_or(u32::MAX),
        command_line: without_secrets(&command_line(host, pid)).0,
        core_limit: core_limit(&limits),
        locked_kib: kib(&status, "VmLck:"),
        swapped_kib: kib(&status, "VmSwap:"),
        listeners,
        unreadable,
    }
}

fn effective_uid(status: &str) -> Option<u32> {
    field(status, "Uid:")?.split_whitespace().nth(1)?.parse().ok()
}

fn kib(status: &str, name: &str) -> Option<u64> {
    field(status, name)?.split_whitespace().next()?.parse().ok()
}

fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(name))
}

/// The soft limit of `Max core file size`, in bytes.
fn core_limit(limits: &str) -> Option<u64> {
    let soft = field(limits, "Max core file size")?.split_whitespace().next()?;
    if soft == "unlimited" { Some(u64::MAX) } else { soft.parse().ok() }
}

/// The arguments of a process, including secrets: they must not be kept.
pub(super) fn command_line(host: &Host, pid: i32) -> Vec<String> {
    let bytes = fs::read(host.of_process(pid, "cmdline")).unwrap_or_default();
    let bytes = bytes.get(..bytes.len().min(PROC_LIMIT)).unwrap_or_default();
    let parts = bytes.split(|byte| *byte == 0).filter(|part| !part.is_empty());
    parts.map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}

/// Names of other programs that run as `uid`, except scripts that start the server or transfer its state; `None` if
/// processes cannot be listed.
pub(super) fn same_user(host: &Host, server: i32, uid: u32) -> Option<Vec<String>> {
    let mut names = BTreeSet::new();
    let mut seen = false;
    let ours = i32::try_from(std::process::id()).ok();
    for pid in pids(host) {
        let Ok(status) = read_proc(&host.of_process(pid, "status")) else { continue };
        seen = true;
        let name = field(&status, "Name:").unwrap_or_default().trim().to_owned();
        // A kernel thread has no memory of its own.
        let thread_of_kernel = field(&status, "VmSize:").is_none();
        let of_server = program::is_launcher(&name);
        if pid != server && Some(pid) != ours && !of_server && !thread_of_kernel && effective_uid(&status) == Some(uid)
        {
            names.insert(name);
        }
    }
    seen.then(|| names.into_iter().collect())
}

/// The processes of this host.
pub(super) fn pids(host: &Host) -> Vec<i32> {
    let Ok(entries) = fs::read_dir(&host.proc) else { return Vec::new() };
    let mut pids: Vec<i32> = entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    pids
}

fn read_proc(path: &Path) -> std::io::Result<String> {
    let bytes = fs::read(path)?;
    Ok(String::from_utf8_lossy(bytes.get(..bytes.len().min(PROC_LIMIT)).unwrap_or_default()).into_owned())
}

/// Inodes of a process's sockets.
fn sockets_of(host: &Host, pid: i32) -> std::io::Result<BTreeSet<u64>> {
    let inode = |entry: fs::DirEntry| {
        let target = fs::read_link(entry.path()).ok()?;
        target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    Ok(fs::read_dir(host.of_process(pid, "fd"))?.flatten().filter_map(inode).collect())
}

/// Addresses that a process listens on.
fn listeners_of(host: &Host, pid: i32) -> Result<Vec<String>, String> {
    let current = sockets_of(host, pid).map_err(|e| format!("{}: {e}", host.of_process(pid, "fd").display()))?;
    let listening = listeners(&host.of_process(pid, "net"));
    let addresses: BTreeSet<String> =
        listening.iter().filter(|l| current.contains(&l.inode)).map(|l| l.address.to_string()).collect();
    Ok(addresses.into_iter().collect())
}

/// A listening TCP socket.
struct Listening {
    address: SocketAddr,
    inode: u64,
}

/// Listening sockets in `tcp` and `tcp6` of a `/proc/PID/net`.
fn listeners(net: &Path) -> Vec<Listening> {
    let tables = ["tcp", "tcp6"].map(|name| fs::read_to_string(net.join(name)).unwrap_or_default());
    tables.iter().flat_map(|table| table.lines().skip(1).filter_map(listening)).collect()
}

/// One line of `/proc/net/tcp`: number, local address, remote address, state (0A is LISTEN), …,
/// inode as the tenth field. Source: Linux `Documentation/networking/proc_net_tcp.rst`.
fn listening(line: &str) -> Option<Listening> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    if *fields.get(3)? != "0A" {
        return None;
    }
    let (ip, port) = fields.get(1)?.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    Some(Listening { address: SocketAddr::new(hex_ip(ip)?, port), inode: fields.get(9)?.parse().ok()? })
}

/// The kernel prints an address as 32-bit words in host byte order.
fn hex_ip(hex: &str) -> Option<IpAddr> {
    let message: Option<Vec<[u8; 4]>> = (0..hex.len())
        .step_by(8)
        .map(|at| Some(u32::from_str_radix(hex.get(at..at.saturating_add(8))?, 16).ok()?.to_ne_bytes()))
        .collect();
    let bytes = message?.concat();
    if let Ok(v4) = <[u8; 4]>::try_from(bytes.as_slice()) {
        return Some(Ipv4Addr::from(v4).into());
    }
    <[u8; 16]>::try_from(bytes.as_slice()).ok().map(|v6| Ipv6Addr::from(v6).into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const UUID: &str = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";

    /// A `/proc` with one server, pid 42, that listens on 127.0.0.1:3306 with inode 777.
    fn fake(datadir: &Path) -> (tempfile::TempDir, Host) {
        let dir = tempfile::tempdir().unwrap();
        let current = dir.path().join("42");
        fs::create_dir_all(current.join("fd")).unwrap();
        fs::create_dir_all(current.join("ns")).unwrap();
        fs::create_dir_all(dir.path().join("self/ns")).unwrap();
        let tcp = "  sl  local_address rem_address   st tx_queue\n   0: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000   999        0 777 1 0\n";
        for net in [current.join("net"), dir.path().join("self/net")] {
            fs::create_dir_all(&net).unwrap();
            fs::write(net.join("tcp"), tcp).unwrap();
        }
        symlink("socket:[777]", current.join("fd/5")).unwrap();
        symlink(datadir, current.join("cwd")).unwrap();
        symlink("/", current.join("root")).unwrap();
        symlink("mnt:[1]", current.join("ns/mnt")).unwrap();
        symlink("mnt:[1]", dir.path().join("self/ns/mnt")).unwrap();
        fs::write(current.join("cmdline"), "/usr/sbin/mysqld\0--wsrep-sst-auth=a:geheim\0").unwrap();
        fs::write(
            current.join("status"),
            "Name:\tmysqld\nUid:\t0\t999\t999\t999\nVmLck:\t      12 kB\nVmSwap:\t       0 kB\n",
        )
        .unwrap();
        let limits = "Limit                     Soft Limit           Hard Limit           Units\nMax core file size        0                    unlimited            bytes\n";
        fs::write(current.join("limits"), limits).unwrap();
        let host = Host { proc: dir.path().to_owned(), sys: dir.path().to_owned() };
        (dir, host)
    }

    fn traits(datadir: &Path) -> ServerTraits {
        ServerTraits {
            local_address: Some("127.0.0.1:3306".parse().unwrap()),
            datadir: datadir.to_owned(),
            ..ServerTraits::default()
        }
    }

    #[test]
    fn the_listener_in_the_data_directory_is_the_server() {
        let data = tempfile::tempdir().unwrap();
        let (_dir, host) = fake(data.path());
        let process = find(&host, &traits(data.path())).unwrap();
        assert_eq!((process.pid, process.uid, process.core_limit, process.locked_kib), (42, 999, Some(0), Some(12)));
        assert_eq!(process.listeners, ["127.0.0.1:3306"]);
        assert!(!process.command_line.join(" ").contains("geheim"));
    }

    #[test]
    fn a_process_of_another_data_directory_is_not() {
        let (data, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (_dir, host) = fake(other.path());
        assert!(find(&host, &traits(data.path())).unwrap_err().contains("process 42"));
    }

    #[test]
    fn another_uuid_disproves_an_equal_path() {
        let data = tempfile::tempdir().unwrap();
        fs::write(data.path().join("auto.cnf"), format!("[auto]\nserver-uuid={UUID}\n")).unwrap();
        let (_dir, host) = fake(data.path());
        let with = |uuid: &str| ServerTraits { server_uuid: Some(uuid.to_owned()), ..traits(data.path()) };
        assert!(find(&host, &with("11111111-4b5a-6978-8796-a5b4c3d2e1f0")).is_err());
        assert!(find(&host, &with(UUID)).is_ok());
    }

    #[test]
    fn a_pid_file_alone_proves_nothing() {
        let data = tempfile::tempdir().unwrap();
        let (_dir, host) = fake(data.path());
        let pid_file = data.path().join("pid");
        fs::write(&pid_file, "42\n").unwrap();
        let traits = ServerTraits { local_address: None, pid_file: Some(pid_file), ..traits(data.path()) };
        assert!(find(&host, &traits).is_err());
    }

    #[test]
    fn the_command_line_names_the_data_directory() {
        let arguments = ["mysqld", "--datadir=/a", "--datadir=/b"].map(str::to_owned);
        assert_eq!(datadir_of(&arguments).as_deref(), Some("/b"));
        let arguments = ["mysqld", "--datadir", "/c"].map(str::to_owned);
        assert_eq!(datadir_of(&arguments).as_deref(), Some("/c"));
    }

    #[test]
    fn addresses_are_read_in_both_families() {
        let line = "0: 00000000000000000000000001000000:814A 0:0 0A 0 0 0 999 0 5 1";
        assert_eq!(listening(line).unwrap().address.to_string(), "[::1]:33098");
        assert!(listening("0: zz:0 0 0A").is_none());
        assert!(local_address("127.0.0.1", 3306).is_some());
        assert!(local_address("192.0.2.1", 3306).is_none());
    }
}
