//! Which program runs the transactions of an experiment, and why.

use std::path::Path;

use super::OltpSuite;
use crate::{
    Certificates, Error, Pace, Security,
    oltp::{BenchServer, Driver, Load, SysbenchLoad, Wire},
    perf::Perf,
    sysbench::Sysbench,
};

const NOT_IN_SLICES: &str = "the arm rotation needs the throughput of each tenth of a second";

/// The clients of a measurement.
pub(super) struct Drivers {
    /// sysbench, or the reason why it runs no experiment.
    sysbench: Result<SysbenchLoad, String>,
    /// Why loads go without it.
    obstacles: Vec<(LoadOf, String)>,
    /// Samples the servers meanwhile.
    pub(super) perf: Option<Perf>,
}

/// What a load is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadOf {
    /// The experiment with encryption at rest and two equal servers.
    AtRest,
    /// The experiment with connections.
    Wires,
    /// The prediction, over TCP in clear text.
    Prediction,
}

impl OltpSuite<'_> {
    /// Why sysbench cannot run this load.
    fn obstacle(&self) -> Option<&'static str> {
        match self.pace {
            Pace::Open(_) => Some("with --rate its transactions arrive at random times, and too many end it"),
            Pace::Closed if self.scale.span.subsec_nanos() > 0 => Some("it runs for whole seconds only"),
            Pace::Closed => None,
        }
    }

    /// Refuses a requested sysbench that is not installed or cannot run this load.
    pub(super) fn check_driver(&self) -> Result<(), Error> {
        if self.driver != Driver::Sysbench {
            return Ok(());
        }
        Sysbench::find()?;
        let rotates = self.arms.servers.iter().any(|arm| arm.rotates).then_some(NOT_IN_SLICES);
        self.obstacle().or(rotates).map_or(Ok(()), |reason| Err(Error::SysbenchLoad { reason }))
    }

    /// Chooses the clients, and lets sysbench connect in every way that is measured. `directory` is private.
    pub(super) fn drivers(
        &self,
        clear: &BenchServer<'_>,
        directory: &Path,
        certificates: &Certificates,
        wires: &[Wire],
    ) -> Result<Drivers, Error> {
        let sysbench = match (self.driver, self.obstacle()) {
            (Driver::Own, _) => Err("as --driver own says".to_owned()),
            (_, Some(obstacle)) => Err(format!("as sysbench cannot run this load: {obstacle}")),
            (_, None) => Sysbench::find().map_err(|error| format!("as {error}")),
        };
        let prepared = sysbench.map(|sysbench| {
            SysbenchLoad::new(sysbench, directory.join("sysbench"), &certificates.ca, &certificates.near)
        });
        let sysbench = match prepared {
            Ok(sysbench) => Ok(sysbench?),
            Err(reason) => Err(reason),
        };
        let mut drivers = Drivers { sysbench, obstacles: Vec::new(), perf: None };
        let (socket, tcp) = (clear.socket(), clear.tcp(Security::Plain));
        let wires = wires.iter().map(|wire| (LoadOf::Wires, wire));
        let probed = [(LoadOf::AtRest, &socket)].into_iter().chain(wires).chain([(LoadOf::Prediction, &tcp)]);
        for (of, wire) in probed {
            let refusal = drivers.refusal(wire, self.load(None))?;
            drivers.obstacles.extend(refusal.map(|reason| (of, reason)));
        }
        let measured = drivers.obstacles.iter().find(|(of, _)| *of != LoadOf::Prediction);
        if let (Driver::Sysbench, Some((_, reason))) = (self.driver, measured) {
            return Err(Error::Sysbench { reason: reason.clone() });
        }
        if self.arms.servers.iter().any(|arm| arm.rotates) {
            drivers.obstacles.insert(0, (LoadOf::AtRest, NOT_IN_SLICES.to_owned()));
        }
        Ok(drivers)
    }
}

impl Drivers {
    /// Why sysbench cannot connect like this.
    fn refusal(&self, wire: &Wire, load: Load<'_>) -> Result<Option<String>, Error> {
        let Ok(sysbench) = &self.sysbench else { return Ok(None) };
        match sysbench.probe(&load, wire) {
            Ok(()) => Ok(None),
            Err(Error::Interrupted) => Err(Error::Interrupted),
            Err(error) => Ok(Some(format!("it cannot connect {}: {error}", wire.title()))),
        }
    }

    /// sysbench, if nothing keeps this load from it.
    pub(super) fn sysbench(&self, of: LoadOf) -> Option<&SysbenchLoad> {
        self.sysbench.as_ref().ok().filter(|_| self.obstacle(of).is_none())
    }

    fn obstacle(&self, to: LoadOf) -> Option<&str> {
        self.obstacles.iter().find(|(of, _)| *of == to).map(|(_, reason)| reason.as_str())
    }

    /// The installed sysbench.
    pub(super) fn installed(&self) -> Option<&Sysbench> {
        self.sysbench.as_ref().ok().map(SysbenchLoad::sysbench)
    }

    /// A note on who ran the transactions.
    pub(super) fn note(&self) -> String {
        let own = "clients of this program, with sysbench's statements, ran";
        let title = match &self.sysbench {
            Ok(sysbench) => sysbench.sysbench().title(),
            Err(reason) => return format!("{own} all transactions, {reason}"),
        };
        let except = [("data at rest", LoadOf::AtRest), ("connections", LoadOf::Wires)];
        let except = except.into_iter().filter_map(|(what, of)| {
            Some(format!("; {own} those of the experiments on {what}: {}", self.obstacle(of)?))
        });
        let except: String = except.collect();
        format!("{title} ran the transactions, and rounds latencies to about 2 %{except}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_says_who_ran_the_transactions_and_why() {
        let sysbench = Err("as sysbench is not in PATH".to_owned());
        let none = Drivers { sysbench, obstacles: Vec::new(), perf: None };
        assert_eq!(
            none.note(),
            "clients of this program, with sysbench's statements, ran all transactions, as sysbench is not in PATH"
        );
        assert!(none.sysbench(LoadOf::AtRest).is_none() && none.installed().is_none());
    }
}
