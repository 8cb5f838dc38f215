//! Online tools, which copy a table while clients write to it: runs the installed gh-ost or pt-online-schema-change.

mod account;
mod gh_ost;
mod process;
mod pt_osc;
mod remains;
mod support;
mod tool;

use std::time::Duration;

use server::{
    Endpoint, Options, Target,
    address::{BindAddress, bind_addresses},
    quote::text_in_any_mode,
};

pub(crate) use self::{
    remains::{clean_up, note},
    support::unsupported_reason,
    tool::{Installed, Tool},
};
use crate::{Error, Outcome, Session, control::Requests, throttle::Throttle};

/// A table to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) schema: String,
    pub(crate) name: String,
}

/// Parameters of a tool's run.
pub(crate) struct Job<'j> {
    pub(crate) tool: &'j Installed,
    pub(crate) target: &'j Target,
    pub(crate) connect: &'j Options,
    pub(crate) throttle: &'j Throttle,
    /// Whether replicas have keyrings.
    pub(crate) replicated: bool,
    /// How long the swap of the tables may wait for locks.
    pub(crate) lock_wait: Duration,
    pub(crate) requests: Requests,
    pub(crate) progress: &'j dyn Fn(&str),
}

/// Encrypts a table with a tool. First records on the server what the tool would leave if it is killed.
pub(crate) fn encrypt(
    session: &mut Session<'_>,
    job: &Job<'_>,
    table: &Table,
    executed: &mut Vec<String>,
) -> Result<Outcome, Error> {
    // Since the plan was made, a table with the tool's table name may have been created.
    if let Some(reason) = unsupported_reason(session, job.tool.tool, table, job.connect, job.replicated)? {
        return Ok(Outcome::Skipped { reason });
    }
    let endpoint = tcp_of(session, job)?;
    let account = account::File::write(job, &endpoint)?;
    let call = match job.tool.tool {
        Tool::GhOst => gh_ost::call(job, table, row_bytes(session, table)?, &account, &endpoint),
        Tool::PtOsc => pt_osc::call(job, table, &account, &endpoint),
    };
    note(session, executed, job.tool.tool, table)?;
    executed.push(call.shown.clone());
    let mut watcher = session.connect_to(job.target, job.connect)?;
    let outcome = session.log_and_run(&call.shown, || process::run(&call, job, &mut watcher))?;
    if outcome != Outcome::Done {
        clean_up(session, executed)?;
    }
    remains::forget(session, executed, table)?;
    Ok(outcome)
}

/// The mean length of a row, according to the server; 0 if unknown.
fn row_bytes(session: &mut Session<'_>, table: &Table) -> Result<u64, Error> {
    let known = session.value(&format!(
        "SELECT AVG_ROW_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        text_in_any_mode(&table.schema),
        text_in_any_mode(&table.name)
    ))?;
    Ok(known.and_then(|length| length.parse().ok()).unwrap_or(0))
}

/// The TCP endpoint of the server; the tools do not support sockets.
fn tcp_of(session: &mut Session<'_>, job: &Job<'_>) -> Result<Endpoint, Error> {
    if let Endpoint::Tcp { .. } = &job.target.endpoint {
        return Ok(job.target.endpoint.clone());
    }
    let port = session.value("SELECT IF(@@skip_networking, NULL, @@port)")?.and_then(|port| port.parse().ok());
    // If the server does not listen there, another process may, and would receive the account.
    let bound = session.value("SELECT @@bind_address")?.is_none_or(|bound| is_bound_here(&bound));
    let port = port.filter(|port| *port != 0 && bound).ok_or_else(|| Error::Unsupported {
        server: job.target.to_string(),
        reason: format!(
            "{} needs TCP on 127.0.0.1, and this server does not listen there; connect to its address, with --tls-ca",
            job.tool.tool.program()
        ),
    })?;
    Ok(Endpoint::Tcp { host: "127.0.0.1".to_owned(), port })
}

/// Whether a server with this `bind_address` listens on 127.0.0.1.
fn is_bound_here(bind_address: &str) -> bool {
    let here = |bound: BindAddress<'_>| {
        let reachable = bound.reachable();
        reachable.is_some_and(|host| ["127.0.0.1", "localhost"].contains(&host.as_str()))
    };
    bind_addresses(bind_address).any(here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_goes_to_a_port_of_the_server_alone() {
        assert!(["*", "::", "", "localhost", "10.0.0.5, 127.0.0.1"].into_iter().all(is_bound_here));
        assert!(!["10.0.0.5", "::1", "127.0.0.2/space", "*/space"].into_iter().any(is_bound_here));
    }
}
