//! What a layer changes besides the throughput, in two reports.

use serde::Serialize;

use super::MedianDifference;
use crate::{FigureRatios, Interval};

/// A figure of a layer in both reports.
#[derive(Clone, Debug, Serialize)]
pub struct FigureComparison {
    /// Which figure.
    pub figure: LayerFigure,
    /// The figure with the layer, in units of that without it, in the first report.
    pub before: Interval,
    /// The same in the second report.
    pub after: Interval,
    /// Whether they differ.
    pub shift: MedianDifference,
}

/// A figure that layers change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayerFigure {
    /// 95th percentile of the latency of a transaction.
    P95Latency,
    /// CPU time of the server for a transaction.
    ServerCpu,
    /// Bytes written to the disk for a transaction.
    WrittenBytes,
}

impl LayerFigure {
    const ALL: [Self; 3] = [Self::P95Latency, Self::ServerCpu, Self::WrittenBytes];

    const fn of(self, ratios: &FigureRatios) -> Option<Interval> {
        match self {
            Self::P95Latency => ratios.p95_seconds,
            Self::ServerCpu => ratios.server_cpu_seconds,
            Self::WrittenBytes => ratios.written_bytes,
        }
    }
}

/// The figures of a layer that both reports have. `equal` is what two equal servers of each report have instead of it, if
/// they were measured.
pub(super) fn compare(
    before: &FigureRatios,
    after: &FigureRatios,
    equal: [Option<&FigureRatios>; 2],
) -> Vec<FigureComparison> {
    let compared = |figure: LayerFigure| {
        let (before, after) = (figure.of(before)?, figure.of(after)?);
        let spreads = equal.iter().flatten().filter_map(|ratios| Some(figure.of(ratios)?.spread_percent()));
        let shift = MedianDifference::beyond(&before, &after, spreads.fold(0.0, f64::max));
        Some(FigureComparison { figure, before, after, shift })
    };
    LayerFigure::ALL.into_iter().filter_map(compared).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratios(p95: f64) -> FigureRatios {
        let interval = Interval { estimate: p95, low: p95 - 0.01, high: p95 + 0.01 };
        FigureRatios { p95_seconds: Some(interval), ..FigureRatios::default() }
    }

    #[test]
    fn what_equal_servers_differ_by_is_no_difference() {
        let shifts = |equal: [Option<&FigureRatios>; 2]| -> Vec<(LayerFigure, MedianDifference)> {
            let compared = compare(&ratios(1.1), &ratios(1.2), equal);
            compared.iter().map(|one| (one.figure, one.shift)).collect()
        };
        assert_eq!(shifts([None, None]), [(LayerFigure::P95Latency, MedianDifference::Higher)]);
        let (quiet, noisy) = (ratios(1.01), ratios(1.2));
        assert_eq!(shifts([Some(&quiet), None]), [(LayerFigure::P95Latency, MedianDifference::Higher)]);
        assert_eq!(shifts([Some(&quiet), Some(&noisy)]), [(LayerFigure::P95Latency, MedianDifference::NotSeen)]);
    }
}
