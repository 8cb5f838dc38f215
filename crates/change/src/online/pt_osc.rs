//! How pt-online-schema-change is called. It copies rows in small parts and takes what is written
//! meanwhile from triggers; making them, and the swap of the tables, takes a lock for a moment.

use server::Endpoint;

use super::{Job, Table, account, process::Call};

pub(super) fn call(job: &Job<'_>, table: &Table, account: &account::File, endpoint: &Endpoint) -> Call {
    let Endpoint::Tcp { host, port } = endpoint else { return Call::default() };
    let mut call = Call::new(job.tool.tool.program());
    call.tell("--alter", "ENCRYPTION='Y'");
    for flag in ["--execute", "--no-version-check"] {
        call.flag(flag);
    }
    call.tell("--set-vars", format!("lock_wait_timeout={}", job.lock_wait.as_secs().max(1)));
    call.quietly("--recursion-method", "none");
    call.quietly("--pause-file", account.inside(Call::PAUSE).display());
    let limits: Vec<String> = job.throttle.limits.iter().map(|l| format!("{}={}", l.name, l.most)).collect();
    if !limits.is_empty() {
        call.tell("--max-load", limits.join(","));
        // Its own default would end the run at a load at which it is to wait.
        let ends: Vec<String> = job.throttle.limits.iter().map(|l| format!("{}={}", l.name, ENDS_AT)).collect();
        call.tell("--critical-load", ends.join(","));
    }
    let (schema, name, file) = (escaped(&table.schema), escaped(&table.name), account.path());
    call.last(&format!("F={},h={host},P={port},D={schema},t={name}", file.display()), &format!("D={schema},t={name}"));
    call.progress = "Copying ";
    call.pause = Some(account.inside(Call::PAUSE));
    call
}

/// A load that no server has.
const ENDS_AT: u64 = 1_000_000_000;

/// A comma ends a value.
fn escaped(name: &str) -> String {
    name.replace(',', "\\,")
}
