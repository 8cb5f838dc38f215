//! Rules that pause a run: replicas lag, the server is busy, or it is outside the time window.

use std::{str::FromStr, time::Duration};

use jiff::{Zoned, civil::Time};
use replication::status::ChannelStatus;
use server::{Options, Target};

use crate::{Error, Session};

/// A time span of each day in local time, which may include midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    from: Time,
    to: Time,
}

/// Upper limit of a status variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Name in `SHOW GLOBAL STATUS`.
    pub name: String,
    /// Maximum value.
    pub max: u64,
}

/// Rules by which a run pauses before each step.
#[derive(Clone, Debug, Default)]
pub struct Throttle {
    /// Maximum replication lag of this server, if it is a replica, and of the given replicas.
    pub max_lag: Option<Duration>,
    /// Replicas to monitor.
    pub replicas: Vec<(Target, Options)>,
    /// Limits of status variables of this server.
    pub limits: Vec<Limit>,
    /// Time window.
    pub window: Option<Window>,
}

impl Throttle {
    /// Why a step of duration `takes` must not start now; `None` if it may start.
    pub(crate) fn reason(&self, session: &mut Session<'_>, takes: Duration) -> Result<Option<String>, Error> {
        if let Some(why) = self.window.and_then(|window| window.closed_reason(Zoned::now().time(), takes)) {
            return Ok(Some(why));
        }
        for limit in &self.limits {
            let Some(value) = session.status(&limit.name)?.and_then(|value| value.parse::<u64>().ok()) else {
                return Err(Error::NoSuchStatus { name: limit.name.clone() });
            };
            if value > limit.max {
                return Ok(Some(format!("{} is {value}, more than {}", limit.name, limit.max)));
            }
        }
        self.behind(session)
    }

    fn behind(&self, session: &mut Session<'_>) -> Result<Option<String>, Error> {
        let Some(max) = self.max_lag else { return Ok(None) };
        if let Some(why) = lag(session)?.and_then(|lag| exceeds(lag, max)) {
            return Ok(Some(format!("this server {why}")));
        }
        for (target, options) in &self.replicas {
            // The lag of an unreachable replica is unknown.
            let why = match session.connect_to(target, options) {
                Ok(mut replica) => match lag(&mut replica) {
                    Ok(Some(lag)) => exceeds(lag, max),
                    Ok(None) => Some("is not a replica".to_owned()),
                    Err(error) => Some(format!("cannot be queried: {error}")),
                },
                Err(error) => Some(format!("cannot be queried: {error}")),
            };
            if let Some(why) = why {
                return Ok(Some(format!("{target} {why}")));
            }
        }
        Ok(None)
    }
}

/// Replication lag in seconds; `None` if a replica does not replicate.
type Lag = Option<u64>;

/// The lag of the slowest channel; `None` if the server is not a replica.
fn lag(session: &mut Session<'_>) -> Result<Option<Lag>, Error> {
    let status = session.query(session.replica_status())?;
    let channels = ChannelStatus::all(&session.identity().version, &status);
    // `None` sorts below every number: a stopped channel would be hidden by a running one.
    let lags: Vec<Lag> = channels.iter().map(|channel| channel.seconds_behind).collect();
    Ok(if lags.contains(&None) { Some(None) } else { lags.into_iter().max() })
}

fn exceeds(lag: Lag, max: Duration) -> Option<String> {
    match lag {
        None => Some("is a replica, but its replication is stopped".to_owned()),
        Some(seconds) if seconds > max.as_secs() => {
            Some(format!("is {seconds} s behind, more than {} s", max.as_secs()))
        }
        Some(_) => None,
    }
}

impl Window {
    /// Why a step of duration `takes` must not start now. A step longer than the whole window may start in the first
    /// tenth of it.
    fn closed_reason(self, now: Time, takes: Duration) -> Option<String> {
        let (from, to) = (seconds(self.from), seconds(self.to));
        let whole = (to + DAY - from) % DAY;
        let since = (seconds(now) + DAY - from) % DAY;
        if since >= whole {
            return Some(format!("it is {}, outside of {self}", now.strftime("%H:%M")));
        }
        let takes = takes.as_secs();
        let fits = since + takes <= whole || (takes > whole && since < whole / 10);
        (!fits).then(|| format!("the next step takes about {takes} s, longer than the rest of {self}"))
    }
}

const DAY: u64 = 24 * 3600;

fn seconds(time: Time) -> u64 {
    let part = |value: i8| u64::from(value.unsigned_abs());
    part(time.hour()) * 3600 + part(time.minute()) * 60 + part(time.second())
}

impl std::fmt::Display for Window {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.from.strftime("%H:%M"), self.to.strftime("%H:%M"))
    }
}

impl FromStr for Window {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("{text:?} is not a time range; write it as 01:00-05:00");
        let (from, to) = text.split_once('-').ok_or_else(wrong)?;
        let time = |text: &str| Time::strptime("%H:%M", text.trim()).map_err(|_| wrong());
        let window = Self { from: time(from)?, to: time(to)? };
        if window.from == window.to { Err(wrong()) } else { Ok(window) }
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("{text:?} is not a limit; write it as Threads_running=50");
        let (name, max) = text.split_once('=').ok_or_else(wrong)?;
        let max = max.trim().parse().map_err(|_| wrong())?;
        if name.trim().is_empty() { Err(wrong()) } else { Ok(Self { name: name.trim().to_owned(), max }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hour: i8, minute: i8) -> Time {
        Time::constant(hour, minute, 0, 0)
    }

    #[test]
    fn a_window_may_go_over_midnight() {
        let night: Window = "23:00-01:30".parse().unwrap();
        let open = |time| night.closed_reason(time, Duration::ZERO).is_none();
        assert!(open(at(23, 0)) && open(at(0, 10)) && open(at(1, 29)));
        assert!(!open(at(1, 30)) && !open(at(12, 0)) && !open(at(22, 59)));
        assert_eq!(night.to_string(), "23:00-01:30");
    }

    #[test]
    fn what_does_not_fit_any_more_waits_for_the_next() {
        let window: Window = "01:00-02:00".parse().unwrap();
        assert_eq!(window.closed_reason(at(1, 30), Duration::from_secs(1800)), None);
        assert!(window.closed_reason(at(1, 31), Duration::from_secs(1800)).unwrap().contains("1800 s"));
        let longer_than_all = Duration::from_secs(7200);
        assert_eq!(window.closed_reason(at(1, 5), longer_than_all), None);
        assert!(window.closed_reason(at(1, 30), longer_than_all).is_some());
    }

    #[test]
    fn limits_and_windows_are_parsed_strictly() {
        let limit: Limit = "Threads_running = 50".parse().unwrap();
        assert_eq!((limit.name.as_str(), limit.max), ("Threads_running", 50));
        for wrong in ["", "x", "=1", "a=b", "a=-1"] {
            assert!(wrong.parse::<Limit>().is_err(), "{wrong:?}");
        }
        for wrong in ["", "01:00", "01:00-01:00", "25:00-01:00", "a-b"] {
            assert!(wrong.parse::<Window>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_stopped_replica_is_too_far_behind() {
        let max = Duration::from_secs(5);
        assert_eq!(exceeds(Some(5), max), None);
        assert!(exceeds(Some(6), max).unwrap().contains("6 s behind"));
        assert!(exceeds(None, max).unwrap().contains("its replication is stopped"));
    }
}
