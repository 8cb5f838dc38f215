//! The command line of gh-ost. It copies rows in chunks and reads concurrent writes from the binary log; only the swap
//! of the two tables takes a lock.

use server::dialect::encryption::MYSQL_ENCRYPTED;
use server::{Endpoint, TlsMode};

use super::{Job, Table, account, process::Call};

/// Size of a chunk; a writer to one of its rows waits some ten milliseconds.
const CHUNK_BYTES: u64 = 4 << 20;
/// gh-ost permits 10 to 100,000 rows; the lower limit here is its default.
const CHUNK_ROWS: (u64, u64) = (1_000, 10_000);

/// `row_bytes`: the mean length of a row, 0 if unknown.
pub(super) fn call(job: &Job<'_>, table: &Table, row_bytes: u64, account: &account::File, endpoint: &Endpoint) -> Call {
    let Endpoint::Tcp { host, port } = endpoint else { return Call::default() };
    let file = |name: &str| account.inside(name).display().to_string();
    let mut call = Call::new(job.tool.tool.program());
    call.logged_option("--database", &table.schema);
    call.logged_option("--table", &table.name);
    call.logged_option("--alter", MYSQL_ENCRYPTED);
    call.option("--conf", account.path().display());
    call.option("--host", host);
    call.option("--port", port);
    for flag in ["--execute", "--allow-on-master", "--ok-to-drop-table", "--exact-rowcount"] {
        call.flag(flag);
    }
    // gh-ost copies a chunk only after all concurrent writes are applied. With small chunks, or a commit for every 10
    // events (the default; this is the maximum), clients that write continuously leave it hardly any time.
    call.logged_option(
        "--chunk-size",
        CHUNK_BYTES.checked_div(row_bytes).unwrap_or(0).clamp(CHUNK_ROWS.0, CHUNK_ROWS.1),
    );
    call.logged_option("--dml-batch-size", 100);
    call.option("--cut-over-lock-timeout-seconds", job.lock_wait.as_secs().clamp(1, 10));
    call.option("--serve-socket-file", file("gh-ost.sock"));
    call.option("--throttle-flag-file", file(Call::PAUSE));
    // The default path could be created by any user.
    call.option("--throttle-additional-flag-file", file("never"));
    call.option("--panic-flag-file", file(Call::CANCEL));
    if let Some(lag) = job.throttle.max_lag {
        call.logged_option("--max-lag-millis", lag.as_millis().max(100));
    }
    let limits: Vec<String> = job.throttle.limits.iter().map(|l| format!("{}={}", l.name, l.max)).collect();
    if !limits.is_empty() {
        call.logged_option("--max-load", limits.join(","));
    }
    tls(job, endpoint, &mut call);
    call.progress = "Copy: ";
    call.pause = Some(account.inside(Call::PAUSE));
    call.cancel = Some(account.inside(Call::CANCEL));
    call
}

fn tls(job: &Job<'_>, endpoint: &Endpoint, call: &mut Call) {
    if !account::demanded(job, endpoint) {
        return;
    }
    call.flag("--ssl");
    let tls = &job.connect.tls;
    let trusts = matches!(tls.mode_for(endpoint), TlsMode::VerifyCa | TlsMode::VerifyIdentity);
    match (&tls.ca_file, trusts) {
        (Some(ca), true) => call.option("--ssl-ca", ca.display()),
        _ => call.flag("--ssl-allow-insecure"),
    }
    if let (Some(cert), Some(key)) = (&tls.cert_file, &tls.key_file) {
        call.option("--ssl-cert", cert.display());
        call.option("--ssl-key", key.display());
    }
}
