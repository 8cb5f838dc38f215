//! How gh-ost is called. It copies rows in small parts and takes what is written meanwhile from the
//! binary log; only the swap of the two tables takes a lock.

use server::{Endpoint, TlsMode};

use super::{Job, Table, account, process::Call};

/// What it copies at once, and what a writer to one of these rows waits for: some ten milliseconds.
const CHUNK_BYTES: u64 = 4 << 20;
/// Its limits are 10 and 100,000; its default is the lower one of ours.
const CHUNK_ROWS: (u64, u64) = (1_000, 10_000);

/// `row_bytes`: the mean length of a row, 0 if it is not known.
pub(super) fn call(job: &Job<'_>, table: &Table, row_bytes: u64, account: &account::File, endpoint: &Endpoint) -> Call {
    let Endpoint::Tcp { host, port } = endpoint else { return Call::default() };
    let file = |name: &str| account.inside(name).display().to_string();
    let mut call = Call::new(job.tool.tool.program());
    call.tell("--database", &table.schema);
    call.tell("--table", &table.name);
    call.tell("--alter", "ENCRYPTION='Y'");
    call.quietly("--conf", account.path().display());
    call.quietly("--host", host);
    call.quietly("--port", port);
    for flag in ["--execute", "--allow-on-master", "--ok-to-drop-table", "--exact-rowcount"] {
        call.flag(flag);
    }
    // It copies a chunk only when it has applied all that was written meanwhile: with small chunks, or a commit for each
    // 10 events (its default, this is the most it takes), clients that write without pause leave it next to no time.
    call.tell("--chunk-size", CHUNK_BYTES.checked_div(row_bytes).unwrap_or(0).clamp(CHUNK_ROWS.0, CHUNK_ROWS.1));
    call.tell("--dml-batch-size", 100);
    call.quietly("--cut-over-lock-timeout-seconds", job.lock_wait.as_secs().clamp(1, 10));
    call.quietly("--serve-socket-file", file("gh-ost.sock"));
    call.quietly("--throttle-flag-file", file(Call::PAUSE));
    // Its default is a file that everybody can make.
    call.quietly("--throttle-additional-flag-file", file("never"));
    call.quietly("--panic-flag-file", file(Call::CANCEL));
    if let Some(lag) = job.throttle.max_lag {
        call.tell("--max-lag-millis", lag.as_millis().max(100));
    }
    let limits: Vec<String> = job.throttle.limits.iter().map(|l| format!("{}={}", l.name, l.most)).collect();
    if !limits.is_empty() {
        call.tell("--max-load", limits.join(","));
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
        (Some(ca), true) => call.quietly("--ssl-ca", ca.display()),
        _ => call.flag("--ssl-allow-insecure"),
    }
    if let (Some(cert), Some(key)) = (&tls.cert_file, &tls.key_file) {
        call.quietly("--ssl-cert", cert.display());
        call.quietly("--ssl-key", key.display());
    }
}
