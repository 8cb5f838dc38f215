//! Metrics of other processes of this host, which the monitor passes on: tunnels serve theirs on loopback only, and
//! backups and transfers write theirs into files. A reader of the monitor has proven who it is.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use files::regular::{self, Links};
use serde::Deserialize;

use crate::exposition::{Family, parse};

/// Where metrics of another process are.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Source {
    /// Value of the label that is added.
    pub(crate) name: String,
    /// Loopback address at which they are served.
    pub(crate) address: Option<SocketAddr>,
    /// File that contains them.
    pub(crate) file: Option<PathBuf>,
}

/// What a source said last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceView {
    /// Its name.
    pub name: String,
    /// Its metrics; `None` if they could not be read.
    pub families: Option<Vec<Family>>,
}

/// Time limit for one source.
const TIME_LIMIT: Duration = Duration::from_secs(2);
/// Maximum length of its metrics, in bytes. A tunnel's have 4 KiB.
const MOST_BYTES: u64 = 256 << 10;

impl Source {
    /// Why it cannot be used.
    pub(crate) fn mistake(&self) -> Option<String> {
        let name = &self.name;
        match (self.address, &self.file) {
            _ if name.is_empty() => Some("metrics: a name is empty".to_owned()),
            (Some(address), None) if !address.ip().is_loopback() => {
                Some(format!("metrics {name:?}: {address} is on another host: let Prometheus read it there"))
            }
            (Some(_), None) | (None, Some(_)) => None,
            _ => Some(format!("metrics {name:?}: give either address or file")),
        }
    }

    /// Reads its metrics.
    ///
    /// # Errors
    /// Why they could not be read, in one clause.
    pub(crate) fn read(&self) -> Result<Vec<Family>, String> {
        let text = match (self.address, &self.file) {
            (Some(address), _) => fetch(address).map_err(|error| format!("{address}: {error}"))?,
            (None, Some(path)) => of_file(path).map_err(|error| format!("{}: {error}", path.display()))?,
            (None, None) => return Ok(Vec::new()),
        };
        parse(&text).map_err(|line| format!("line {line} of its metrics is not in Prometheus' text format"))
    }
}

fn of_file(path: &Path) -> io::Result<String> {
    let bytes = regular::read(path, Links::Followed, MOST_BYTES)?;
    String::from_utf8(bytes).map_err(|_| io::Error::new(ErrorKind::InvalidData, "is not text"))
}

fn fetch(address: SocketAddr) -> io::Result<String> {
    let invalid = |what: &str| io::Error::new(ErrorKind::InvalidData, what.to_owned());
    let deadline = Instant::now().checked_add(TIME_LIMIT);
    let mut stream = TcpStream::connect_timeout(&address, TIME_LIMIT)?;
    stream.set_read_timeout(Some(TIME_LIMIT))?;
    stream.set_write_timeout(Some(TIME_LIMIT))?;
    write!(stream, "GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let count = stream.read(&mut piece)?;
        if count == 0 {
            break;
        }
        answer.extend_from_slice(piece.get(..count).unwrap_or_default());
        if answer.len() as u64 > MOST_BYTES || deadline.is_none_or(|deadline| Instant::now() > deadline) {
            return Err(invalid("the answer is too long, or comes too slowly"));
        }
    }
    let answer = String::from_utf8(answer).map_err(|_| invalid("the answer is not text"))?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(|| invalid("the answer is not HTTP"))?;
    let is_ok = head.starts_with("HTTP/1.") && head.split(' ').nth(1) == Some("200");
    if is_ok { Ok(body.to_owned()) } else { Err(invalid("the answer is not metrics")) }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    fn source(address: Option<SocketAddr>, file: Option<PathBuf>) -> Source {
        Source { name: "near".to_owned(), address, file }
    }

    /// What is read from a listener that answers so.
    fn answered(answer: &'static [u8]) -> Result<Vec<Family>, String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 256];
            let count = stream.read(&mut request).unwrap();
            assert!(request[..count].starts_with(b"GET /metrics HTTP/1.0\r\n"));
            let _ = stream.write_all(answer);
        });
        let read = source(Some(address), None).read();
        server.join().unwrap();
        read
    }

    #[test]
    fn only_an_answer_with_metrics_counts() {
        let families = answered(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nsealant_tunnel_sessions{end=\"near\"} 4\n").unwrap();
        assert_eq!(families.len(), 1);
        for answer in [
            &b"HTTP/1.1 404 Not Found\r\n\r\nsealant_x 1\n"[..],
            b"SSH-2.0-OpenSSH\r\n",
            b"HTTP/1.1 200 OK\r\n\r\n<html>\n",
            b"HTTP/1.1 200 OK\r\n\r\n\xff\n",
        ] {
            assert!(answered(answer).is_err(), "{}", String::from_utf8_lossy(answer));
        }
        let long: &'static [u8] = vec![b'a'; 300 << 10].leak();
        assert!(answered(long).unwrap_err().contains("too long"));
    }

    #[test]
    fn a_file_is_a_regular_one_of_text() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("backup.prom");
        let of_path = || source(None, Some(path.clone())).read();
        assert!(of_path().unwrap_err().starts_with(&path.display().to_string()));
        std::fs::write(&path, "sealant_backup_number{host=\"db1\"} 7\n").unwrap();
        assert_eq!(of_path().unwrap()[0].samples[0].value, "7");
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(of_path().is_err());
    }

    #[test]
    fn mistakes_are_named() {
        let (loopback, other) = (Some("127.0.0.1:9108".parse().unwrap()), Some("192.0.2.1:9108".parse().unwrap()));
        assert_eq!(source(loopback, None).mistake(), None);
        assert!(source(other, None).mistake().unwrap().contains("on another host"));
        assert!(source(None, None).mistake().unwrap().contains("either"));
        assert!(source(loopback, Some("f".into())).mistake().unwrap().contains("either"));
        assert!(Source { name: String::new(), ..source(loopback, None) }.mistake().unwrap().contains("empty"));
    }
}
