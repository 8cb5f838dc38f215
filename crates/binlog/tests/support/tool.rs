//! `mysqlbinlog -v` and `mariadb-binlog -v`.

use std::{path::Path, process::Command};

use harness::{Kind, Server};

/// The program of a server series; if it has none, that of a newer series.
fn program(kind: Kind) -> Option<std::path::PathBuf> {
    let with_tool = match kind {
        Kind::MySql56 | Kind::MySql57 => Kind::MySql80,
        Kind::MariaDb114 => Kind::MariaDb118,
        other => other,
    };
    let binaries = with_tool.locate().ok()?;
    binaries.tool("mariadb-binlog").or_else(|| binaries.tool("mysqlbinlog"))
}

/// The rows of a log as the server's own tool prints them: all lines that begin with `###`.
pub(crate) fn rows(kind: Kind, log: &Path) -> Option<Vec<Vec<u8>>> {
    let mut command = Command::new(program(kind)?);
    command.arg("--no-defaults").arg(log);
    Some(printed(command))
}

/// The same of a log that only the server can read, because it is encrypted.
pub(crate) fn remote_rows(server: &Server, log: &Path) -> Option<Vec<Vec<u8>>> {
    let mut command = Command::new(program(server.kind())?);
    command.args(["--no-defaults", "--read-from-remote-server", "--user=root"]);
    command.arg(format!("--socket={}", server.socket().display()));
    command.arg(log.file_name().unwrap());
    Some(printed(command))
}

fn printed(mut command: Command) -> Vec<Vec<u8>> {
    command.args(["--verbose", "--base64-output=DECODE-ROWS"]);
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"###"));
    lines.map(<[u8]>::to_vec).collect()
}
