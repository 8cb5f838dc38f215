//! The node that gives. It works on while nearly everything is copied, and stands still for what changed
//! meanwhile.

use std::{
    net::ToSocketAddrs,
    path::Path,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use transfer::{
    codec::effort::Compression,
    pairing::{PairingCode, Token},
    plan::Plan,
    progress::Progress,
    sender::{Destination, SendSettings, Session, Source},
};

use crate::{
    BYPASS, FULL, POSITION, TAKEN,
    arguments::Arguments,
    error::SstError,
    layout::Layout,
    marker,
    options::Options,
    position::Position,
    report::{Report, size},
    speech::Speech,
    trust,
};

/// Data connections.
const STREAMS: u16 = 4;
/// How long the joiner may be silent.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked whether the server has stopped writing.
const TICK: Duration = Duration::from_millis(2);
/// Rounds while the server writes: each has what changed in the one before.
const MOST_ROUNDS: usize = 8;
/// Less than this is not worth another round.
const LITTLE_BYTES: u64 = 4 << 20;

/// Does what the server asks for.
///
/// # Errors
/// [`SstError`]. The server learns of it by the end of this process without its last line; it gives its
/// lock back then.
pub fn run(
    arguments: &Arguments,
    options: &Options,
    auth: Option<&str>,
    speech: &Speech,
    report: &Report<'_>,
) -> Result<(), SstError> {
    let destination = destination(arguments, options, auth)?;
    let ordered = arguments.gtid.as_deref().and_then(Position::parse);
    let domain = arguments.gtid_domain_id.as_deref().and_then(|domain| domain.parse().ok());
    let settings = SendSettings {
        streams: STREAMS,
        compression: Compression::Auto,
        bandwidth: rate(options)?,
        suite: None,
        patience: PATIENCE,
    };
    transfer::tls::speed::prepare();
    let progress = Progress::default();
    let mut session = Session::open(&destination, &settings, &progress)?;
    report.line(format!("connected to {}", arguments.address));
    if arguments.bypass {
        let position = ordered.ok_or(SstError::Position { from: "the server" })?.with_domain(domain);
        speech.go_on()?;
        session.say(&format!("{BYPASS} {position}"))?;
        if session.hear()? != TAKEN {
            return Err(SstError::OtherRelease);
        }
        report.line(format!("the joiner's data is good up to the write-sets it misses; position {position}"));
        return speech.done(&position);
    }
    session.say(FULL)?;
    let layout = Layout::of(arguments, options)?;
    let outcome = full(&layout, session, &progress, speech, report);
    // Its rest must not be taken for the marker of another try.
    let cleared = marker::clear(layout.datadir());
    let position = outcome?;
    cleared?;
    speech.done(&position)
}

/// Sends everything.
fn full(
    layout: &Layout,
    mut session: Session<'_>,
    progress: &Progress,
    speech: &Speech,
    report: &Report<'_>,
) -> Result<Position, SstError> {
    let began = Instant::now();
    match while_it_works(layout, &mut session, progress, speech, report).and_then(|()| {
        let position = while_it_stands_still(layout, &mut session, speech, report)?;
        session.say(&format!("{POSITION} {position}"))?;
        speech.go_on()?;
        Ok(position)
    }) {
        Ok(position) => {
            let sent = session.finish()?;
            report.line(format!(
                "the joiner has everything, {} over the network in {:.1} s, {}; position {position}",
                size(progress.wire_bytes.load(Ordering::Relaxed)),
                began.elapsed().as_secs_f64(),
                sent.suite,
            ));
            Ok(position)
        }
        Err(error) => {
            session.give_up(&error.to_string());
            Err(error)
        }
    }
}

/// Sends everything, and then what changed meanwhile, until little is left.
fn while_it_works(
    layout: &Layout,
    session: &mut Session<'_>,
    progress: &Progress,
    speech: &Speech,
    report: &Report<'_>,
) -> Result<(), SstError> {
    let mut before = u64::MAX;
    for number in 1..=MOST_ROUNDS {
        let (plan, began) = (layout.plan()?, Instant::now());
        // A file system of its own may hold more than the memory: then the disk is read twice.
        let small = number > 1 && session.bytes_to_read(&plan) < free_memory() / 2;
        let round = session.round(&plan, None, if small { Source::InUseAndSmall } else { Source::InUse })?;
        report.line(format!(
            "while the server works, round {number}: {} of {} looked at, {} sent, {:.1} s",
            size(round.read_bytes),
            size(plan.bytes),
            size(round.sent_bytes),
            began.elapsed().as_secs_f64(),
        ));
        speech.far(progress.bytes.load(Ordering::Relaxed), progress.total_bytes.load(Ordering::Relaxed));
        let settled = round.sent_bytes <= LITTLE_BYTES || round.sent_bytes > before / 2;
        if number > 1 && settled {
            break;
        }
        before = round.sent_bytes;
    }
    Ok(())
}

/// Asks the server to stop writing, and sends what is left.
fn while_it_stands_still(
    layout: &Layout,
    session: &mut Session<'_>,
    speech: &Speech,
    report: &Report<'_>,
) -> Result<Position, SstError> {
    marker::clear(layout.datadir())?;
    let asked = Instant::now();
    speech.flush_tables()?;
    let position = loop {
        session.rest(TICK)?;
        if let Some(position) = marker::take(layout.datadir())? {
            break position;
        }
    };
    let still = Instant::now();
    let plan: Plan = layout.plan()?;
    let round = session.round(&plan, None, Source::Still)?;
    report.line(format!(
        "while the server stands still: {} looked at, {} sent; {} ms, and {} ms until it stood still",
        size(round.read_bytes),
        size(round.sent_bytes),
        still.elapsed().as_millis(),
        (still - asked).as_millis(),
    ));
    Ok(position)
}

/// `rlimit`, as `pv` and so the servers' own methods have it: bytes a second, with k, m, g or t behind.
fn rate(options: &Options) -> Result<Option<u64>, SstError> {
    let Some(text) = options.sst("rlimit") else { return Ok(None) };
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..).unwrap_or_default().to_ascii_lowercase().as_str() {
        "" => Some(1),
        "k" => Some(1 << 10),
        "m" => Some(1 << 20),
        "g" => Some(1 << 30),
        "t" => Some(1_u64 << 40),
        _ => None,
    };
    let rate = digits.parse::<u64>().ok().zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
    let reason = || "not a number of bytes with k, m, g or t behind it".to_owned();
    rate.filter(|rate| *rate > 0).map(Some).ok_or_else(|| SstError::Option { option: "rlimit", reason: reason() })
}

/// Where the joiner is, and how it is known.
fn destination(arguments: &Arguments, options: &Options, auth: Option<&str>) -> Result<Destination, SstError> {
    let token: Token = auth.and_then(|auth| auth.parse().ok()).ok_or(SstError::NoSecret)?;
    let address = arguments.address.split('/').next().unwrap_or_default();
    let (host, port) = crate::joiner::split(address);
    match (trust::certificates(options)?, token.pin) {
        (Some((identity, authorities)), None) => {
            let (host, secret) = (host.to_owned(), Some(token.secret));
            Ok(Destination::Certified { host, port, identity, authorities, secret })
        }
        (None, Some(pin)) => {
            let failed = |source| SstError::Address { address: address.to_owned(), source };
            let addresses = (host, port).to_socket_addrs().map_err(failed)?.map(|address| address.ip()).collect();
            Ok(Destination::Paired(PairingCode { addresses, port, pin, secret: token.secret }))
        }
        (Some(_), Some(_)) => Err(SstError::TrustDiffers {
            ours: "this node has certificates for state transfers",
            theirs: "the joiner shows none",
        }),
        (None, None) => Err(SstError::TrustDiffers {
            ours: "this node has no certificates for state transfers",
            theirs: "the joiner asks for them",
        }),
    }
}

/// Memory that files may be kept in.
fn free_memory() -> u64 {
    let text = std::fs::read_to_string(Path::new("/proc/meminfo")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default().saturating_mul(1024)
}
