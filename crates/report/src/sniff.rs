//! What was seen on the wire.

use std::{io::Write, time::Duration};

use sniff::{Evidence, Origin, Outcome, State, Traffic, Verdict};

use crate::labels::second;
use crate::text::{count, visible};
use crate::{Error, Message, json, size};

/// Message that packets are watched from now on, for at most this time.
#[must_use]
pub fn sniff_begun_message(time: Duration) -> Message {
    Message::info(format!("watching for {} s; Ctrl-C ends it", time.as_secs_f64()))
}

/// Writes the JSON for scripts, schema `sealant.sniff/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_sniff_json(outcome: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
    json::pretty(outcome, out)
}

/// Writes a line for each kind of connection between two hosts, and below it the bytes that show it.
///
/// # Errors
/// [`Error::Write`].
pub fn write_sniff_table(outcome: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
    if !outcome.traffic.is_empty() {
        let client =
            outcome.traffic.iter().map(|row| row.client.to_string().len()).max().unwrap_or(0).max("CLIENT".len());
        let server =
            outcome.traffic.iter().map(|row| row.server.to_string().len()).max().unwrap_or(0).max("SERVER".len());
        writeln!(
            out,
            "STATE         {:client$}  {:server$}  CONN  TO SERVER   TO CLIENT   PROTOCOL",
            "CLIENT", "SERVER"
        )?;
        for row in &outcome.traffic {
            write_row(row, client, server, out)?;
        }
        writeln!(out)?;
    }
    writeln!(out, "{}", conclusion(outcome))?;
    Ok(())
}

fn write_row(row: &Traffic, client: usize, server: usize, out: &mut dyn Write) -> Result<(), Error> {
    let (mark, state) = (mark(row.state), row.state.name());
    let (to_server, to_client) = (size(row.bytes_to_server), size(row.bytes_to_client));
    let peers = format!("{:client$}  {:server$}", row.client.to_string(), row.server.to_string());
    let connections = row.connections;
    writeln!(out, "{mark} {state:<12}{peers}  {connections:>4}  {to_server:>9}  {to_client:>10}   {}", protocol(row))?;
    for seen in &row.evidence {
        writeln!(out, "    {}", evidence(seen))?;
    }
    if let Some(entropy) = &row.entropy {
        let (bits, sample) = (entropy.bits_per_byte, entropy.sample_bytes);
        writeln!(
            out,
            "    {bits} bits of entropy a byte, in {sample} bytes: encrypted and compressed data have nearly 8"
        )?;
    }
    Ok(())
}

const fn mark(state: State) -> &'static str {
    match state {
        State::Clear => "○",
        State::Unknown => "?",
        State::Opening => "·",
        State::Encrypted => "●",
    }
}

/// Protocol, TLS, and what the port is for.
fn protocol(row: &Traffic) -> String {
    let tls = row.tls.as_ref().map(|tls| {
        let version = tls.version.map_or("TLS", server::tls::TlsVersion::standard_name);
        tls.suite.as_ref().map_or_else(|| version.to_owned(), |suite| format!("{version} {suite}"))
    });
    let name = row.protocol.name();
    let said = match tls {
        Some(tls) if name == "TLS" => tls,
        Some(tls) => format!("{name} over {tls}"),
        None => name.to_owned(),
    };
    format!("{said} (port of {})", row.service.name())
}

fn evidence(seen: &Evidence) -> String {
    format!("{} at byte {}: {}  {}", seen.direction.name(), seen.offset, seen.bytes, visible(&seen.meaning))
}

/// The outcome in one sentence.
fn conclusion(outcome: &Outcome) -> String {
    let of = &outcome.connections;
    let counts = format!(
        "{} in clear, {} encrypted, {} unknown, {} only opened",
        count(of.clear, "connection"),
        of.encrypted,
        of.unknown,
        of.opening
    );
    match outcome.verdict {
        Verdict::Clear => format!("CLEAR: {counts}"),
        Verdict::Unknown => format!("unknown: {counts}"),
        Verdict::Encrypted => format!("encrypted: {counts}"),
        Verdict::Nothing => format!("nothing to judge: {counts}"),
    }
}

/// Messages about where, when and how much traffic was watched.
#[must_use]
pub fn sniff_messages(outcome: &Outcome) -> Vec<Message> {
    let origin = match &outcome.origin {
        Origin::Interface(name) => visible(name).into_owned(),
        Origin::AllInterfaces => "all interfaces".to_owned(),
        Origin::File(path) => visible(&path.to_string_lossy()).into_owned(),
    };
    let (from, to) = (second(outcome.from), second(outcome.to));
    let seen = match outcome.origin {
        // A file without a packet has no time.
        Origin::File(_) if outcome.packets == 0 => format!("{origin}: 0 packets"),
        _ => format!("{origin}: {} from {from} to {to}", count(outcome.packets, "packet")),
    };
    let mut messages = vec![Message::info(seen)];
    if outcome.skipped > 0 {
        let skipped = count(outcome.skipped, "packet");
        messages.push(Message::warning(format!(
            "{skipped} could not be read: of other link types or interfaces, or IP fragments; they may be in clear"
        )));
    }
    if outcome.is_cut {
        messages.push(Message::warning(format!("{origin} ends within a packet")));
    }
    if outcome.left_out > 0 {
        messages
            .push(Message::warning(format!("{} are counted, but not listed", count(outcome.left_out, "connection"))));
    }
    messages
}
