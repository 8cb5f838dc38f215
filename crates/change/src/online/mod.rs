//! Tools that copy a table while it is written to, driven as the programs that are installed: gh-ost
//! and pt-online-schema-change.

mod account;
mod fit;
mod gh_ost;
mod process;
mod pt_osc;
mod remains;
mod tool;

use std::time::Duration;

use server::{Endpoint, Options, Target};

pub(crate) use self::{
    fit::unfit,
    remains::{note, tidy_up},
    tool::{Installed, Tool},
};
use crate::{Error, Outcome, Session, control::Requests, quote::text, throttle::Throttle};

/// One table to be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// Its schema.
    pub(crate) schema: String,
    /// Its name.
    pub(crate) name: String,
}

/// What a tool needs to know besides the table.
pub(crate) struct Job<'j> {
    pub(crate) tool: &'j Installed,
    pub(crate) target: &'j Target,
    pub(crate) connect: &'j Options,
    pub(crate) throttle: &'j Throttle,
    /// Whether replicas have keyrings.
    pub(crate) replicated: bool,
    /// How long the swap of tables may hold locks.
    pub(crate) lock_wait: Duration,
    pub(crate) requests: Requests,
    pub(crate) progress: &'j dyn Fn(&str),
}

/// Encrypts that table by that tool. What the tool leaves when it is killed is noted on the server first.
pub(crate) fn encrypt(
    session: &mut Session<'_>,
    job: &Job<'_>,
    table: &Table,
    ran: &mut Vec<String>,
) -> Result<Outcome, Error> {
    // Since the plan was made somebody may have put a table of the same name there.
    if let Some(reason) = unfit(session, job.tool.tool, table, job.connect, job.replicated)? {
        return Ok(Outcome::Skipped { reason });
    }
    let endpoint = tcp_of(session, job)?;
    let account = account::File::write(job, &endpoint)?;
    let call = match job.tool.tool {
        Tool::GhOst => gh_ost::call(job, table, row_bytes(session, table)?, &account, &endpoint),
        Tool::PtOsc => pt_osc::call(job, table, &account, &endpoint),
    };
    note(session, ran, job.tool.tool, table)?;
    ran.push(call.shown.clone());
    let mut watcher = session.beside(job.target, job.connect)?;
    let outcome = session.outside(&call.shown, || process::run(&call, job, &mut watcher))?;
    if outcome != Outcome::Done {
        tidy_up(session, ran)?;
    }
    remains::forget(session, ran, table)?;
    Ok(outcome)
}

/// The mean length of a row, as the server knows it; 0 if it does not.
fn row_bytes(session: &mut Session<'_>, table: &Table) -> Result<u64, Error> {
    let known = session.value(&format!(
        "SELECT AVG_ROW_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        text(&table.schema),
        text(&table.name)
    ))?;
    Ok(known.and_then(|length| length.parse().ok()).unwrap_or(0))
}

/// These tools speak TCP alone.
fn tcp_of(session: &mut Session<'_>, job: &Job<'_>) -> Result<Endpoint, Error> {
    if let Endpoint::Tcp { .. } = &job.target.endpoint {
        return Ok(job.target.endpoint.clone());
    }
    let port = session.value("SELECT IF(@@skip_networking, NULL, @@port)")?.and_then(|port| port.parse().ok());
    // Where it does not listen somebody else may, and would get the account.
    let bound = session.value("SELECT @@bind_address")?.is_none_or(|bound| is_bound_here(&bound));
    let port = port.filter(|port| *port != 0 && bound).ok_or_else(|| Error::Unsupported {
        server: job.target.to_string(),
        reason: format!(
            "{} needs TCP on 127.0.0.1, and this server does not listen there; come by its address, with --tls-ca",
            job.tool.tool.program()
        ),
    })?;
    Ok(Endpoint::Tcp { host: "127.0.0.1".to_owned(), port })
}

/// Whether a server with that `bind_address` has 127.0.0.1 for itself.
fn is_bound_here(bind_address: &str) -> bool {
    let here = ["", "*", "0.0.0.0", "::", "127.0.0.1", "localhost"];
    bind_address.split(',').any(|address| here.contains(&address.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_goes_to_a_port_of_the_server_alone() {
        assert!(["*", "::", "10.0.0.5, 127.0.0.1"].into_iter().all(is_bound_here));
        assert!(!["10.0.0.5", "::1", "127.0.0.2/space"].into_iter().any(is_bound_here));
    }
}
