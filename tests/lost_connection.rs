//! Audits whose connection to the server is cut.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;

use harness::{Kind, Server, require};

use crate::support::{Audit, run};

/// As many bytes of a server as it sends between its greeting and its last answer.
const SOME_ANSWERS: u64 = 20_000;

/// A socket that leads to the server's. The first connection is cut after [`SOME_ANSWERS`]; then there are as many others
/// as `more` says, which are whole.
fn relay(server: &Server, directory: &Path, more: usize) -> PathBuf {
    let (socket, upstream) = (directory.join("s"), server.socket().to_owned());
    let listener = UnixListener::bind(&socket).expect("a socket");
    thread::spawn(move || {
        for (number, client) in listener.incoming().take(more + 1).enumerate() {
            let limit = if number == 0 { SOME_ANSWERS } else { u64::MAX };
            let client = client.expect("a connection");
            let upstream = UnixStream::connect(&upstream).expect("the server is there");
            thread::spawn(move || forward(&client, &upstream, limit));
        }
    });
    socket
}

/// Forwards both ways until one side ends, or the server has sent `limit` bytes.
fn forward(client: &UnixStream, server: &UnixStream, limit: u64) {
    thread::scope(|scope| {
        scope.spawn(|| {
            let _ = copy(client, server);
            let _ = server.shutdown(Shutdown::Both);
        });
        let _ = copy(server.take(limit), client);
        for side in [client, server] {
            let _ = side.shutdown(Shutdown::Both);
        }
    });
}

fn copy(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut buffer = [0; 4096];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(()),
            bytes => to.write_all(&buffer[..bytes])?,
        }
    }
}

#[test]
fn an_audit_connects_again_or_ends_with_an_error() {
    let Some(_) = require(Kind::MySql97) else { return };
    let server = Server::builder(Kind::MySql97).start().expect("MySQL 9.7 starts");
    let directory = tempfile::tempdir().expect("a directory");
    let options = |socket: &Path| {
        let socket = socket.to_str().expect("ASCII").to_owned();
        ["--no-files", "--no-host", "--no-wire", "--user", "root", "--socket"]
            .map(str::to_owned)
            .into_iter()
            .chain([socket])
    };
    let whole = Audit::run(options(server.socket()));

    let socket = relay(&server, directory.path(), 1);
    let again = Audit::run(options(&socket));
    let missing = |audit: &Audit| audit.findings("ev-incomplete").len();
    assert_eq!((again.code, missing(&again)), (whole.code, missing(&whole)), "{}", again.stderr);

    std::fs::remove_file(&socket).expect("removed");
    let socket = relay(&server, directory.path(), 0);
    let ended = run(["audit".to_owned()].into_iter().chain(options(&socket)));
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains(&*socket.to_string_lossy()), "{said}");
    assert!(ended.stdout.is_empty(), "{}", String::from_utf8_lossy(&ended.stdout));
}
