//! Named sizes of a measurement of transactions.

use std::time::Duration;

use super::{TableSet, Workload};

/// A named combination of data, clients and durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// The tables of [`Self::Webinar`], 2 s a run.
    Quick,
    /// The settings of a published comparison: 5 tables of 100,000 rows in memory, 2 clients, 60 s a run.
    Webinar,
    /// Data of four times the buffer pool, all rows accessed equally often.
    LargerThanMemory,
    /// Updates of 4 clients, bound by commits.
    Commits,
}

/// What the clients do, on which data, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Operations of the clients.
    pub workload: Workload,
    /// The data.
    pub tables: TableSet,
    /// Number of clients.
    pub clients: u32,
    /// Duration of a run.
    pub span: Duration,
    /// Size of each server's buffer pool.
    pub pool_bytes: u64,
}

/// Values that replace those of a preset.
#[derive(Clone, Copy, Debug, Default)]
pub struct Changes {
    /// Operations of the clients.
    pub workload: Option<Workload>,
    /// Number of tables.
    pub tables: Option<u32>,
    /// Rows in each table.
    pub rows: Option<u32>,
    /// Access all rows equally often, whatever the preset says.
    pub uniform: bool,
    /// Number of clients.
    pub clients: Option<u32>,
    /// Duration of a run.
    pub span: Option<Duration>,
    /// Size of each server's buffer pool.
    pub pool_bytes: Option<u64>,
}

impl Preset {
    /// The preset's values.
    #[must_use]
    pub fn scale(self) -> Scale {
        let webinar = Scale {
            workload: Workload::ReadWrite,
            tables: TableSet { tables: 5, rows: 100_000, uniform: false, filler_bytes: 0 },
            clients: 2,
            span: Duration::from_secs(60),
            pool_bytes: 256 << 20,
        };
        match self {
            Self::Quick => Scale { span: Duration::from_secs(2), ..webinar },
            Self::Webinar => webinar,
            Self::LargerThanMemory => Scale {
                tables: TableSet { rows: 400_000, uniform: true, ..webinar.tables },
                span: Duration::from_secs(20),
                pool_bytes: 128 << 20,
                ..webinar
            },
            Self::Commits => {
                Scale { workload: Workload::UpdateIndex, clients: 4, span: Duration::from_secs(10), ..webinar }
            }
        }
    }
}

impl Scale {
    /// These values, with some of them replaced.
    #[must_use]
    pub fn with(self, changes: &Changes) -> Self {
        Self {
            workload: changes.workload.unwrap_or(self.workload),
            tables: TableSet {
                tables: changes.tables.unwrap_or(self.tables.tables),
                rows: changes.rows.unwrap_or(self.tables.rows),
                uniform: changes.uniform || self.tables.uniform,
                ..self.tables
            },
            clients: changes.clients.unwrap_or(self.clients),
            span: changes.span.unwrap_or(self.span),
            pool_bytes: changes.pool_bytes.unwrap_or(self.pool_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_values_of_a_preset_are_replaced() {
        let webinar = Preset::Webinar.scale();
        assert_eq!(webinar.with(&Changes::default()), webinar);
        let changes = Changes { rows: Some(10), clients: Some(8), uniform: true, ..Changes::default() };
        let tables = TableSet { rows: 10, uniform: true, ..webinar.tables };
        assert_eq!(webinar.with(&changes), Scale { tables, clients: 8, ..webinar });
    }

    #[test]
    fn the_data_larger_than_memory_is() {
        let Scale { tables, pool_bytes, .. } = Preset::LargerThanMemory.scale();
        assert!(tables.bytes() > 3 * pool_bytes);
        let Scale { tables, pool_bytes, .. } = Preset::Webinar.scale();
        assert!(tables.bytes() < pool_bytes);
    }
}
