//! The command line of pt-online-schema-change. It copies rows in chunks and captures concurrent writes with triggers;
//! creating these and swapping the tables takes a short lock.

use server::Endpoint;
use server::dialect::encryption::MYSQL_ENCRYPTED;

use super::{Job, Table, account, process::Call};

pub(super) fn call(job: &Job<'_>, table: &Table, account: &account::File, endpoint: &Endpoint) -> Call {
    let Endpoint::Tcp { host, port } = endpoint else { return Call::default() };
    let mut call = Call::new(job.tool.tool.program());
    call.logged_option("--alter", MYSQL_ENCRYPTED);
    for flag in ["--execute", "--no-version-check"] {
        call.flag(flag);
    }
    call.logged_option("--set-vars", format!("lock_wait_timeout={}", job.lock_wait.as_secs().max(1)));
    call.option("--recursion-method", "none");
    call.option("--pause-file", account.inside(Call::PAUSE).display());
    let limits: Vec<String> = job.throttle.limits.iter().map(|l| format!("{}={}", l.name, l.max)).collect();
    if !limits.is_empty() {
        call.logged_option("--max-load", limits.join(","));
        // By default it would abort the run at a load at which it should pause.
        let ends: Vec<String> = job.throttle.limits.iter().map(|l| format!("{}={}", l.name, ENDS_AT)).collect();
        call.logged_option("--critical-load", ends.join(","));
    }
    let (schema, name, file) = (escaped(&table.schema), escaped(&table.name), account.path());
    call.last(&format!("F={},h={host},P={port},D={schema},t={name}", file.display()), &format!("D={schema},t={name}"));
    call.progress = "Copying ";
    call.pause = Some(account.inside(Call::PAUSE));
    call
}

/// A load that no server reaches.
const ENDS_AT: u64 = 1_000_000_000;

/// Escapes commas, which would end the value.
fn escaped(name: &str) -> String {
    name.replace(',', "\\,")
}
