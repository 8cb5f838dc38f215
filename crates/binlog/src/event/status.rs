//! The variables of a session that a statement depends on.

use crate::{Fault, bytes::Bytes};

/// Variables of the session that executed a statement.
///
/// Source: `Query_event` in `statement_events.h` of MySQL, `Q_*_CODE` in `log_event.h` of MariaDB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusVariables<'e> {
    /// Options: 0x4000 `sql_auto_is_null=0`, 0x80000 `autocommit=0`, 0x4000000 `foreign_key_checks=0`,
    /// 0x8000000 `unique_checks=0`.
    pub options: Option<u32>,
    /// `sql_mode`, as the bits of the server that wrote it.
    pub sql_mode: Option<u64>,
    /// `auto_increment_increment` and `auto_increment_offset`, if they are not 1.
    pub auto_increment: Option<[u16; 2]>,
    /// Collations: `character_set_client`, `collation_connection`, `collation_server`.
    pub collations: Option<[u16; 3]>,
    /// `time_zone`.
    pub time_zone: Option<&'e [u8]>,
    /// Account of `CURRENT_USER`: user and host.
    pub invoker: Option<[&'e [u8]; 2]>,
    /// Microseconds of the time in the header.
    pub microseconds: Option<u32>,
    /// Transaction number of DDL.
    pub definition_xid: Option<u64>,
    /// `default_collation_for_utf8mb4`.
    pub default_collation_for_utf8mb4: Option<u16>,
    /// `default_table_encryption`.
    pub default_table_encryption: Option<bool>,
    /// Whether all variables were known.
    pub complete: bool,
}

impl<'e> StatusVariables<'e> {
    /// Reads up to the first unknown variable, whose length is unknown.
    pub(crate) fn parse(status: &'e [u8]) -> Self {
        let mut variables = Self::default();
        let mut bytes = Bytes::new(status, "variables of a statement");
        while !bytes.is_empty() {
            match variables.read(&mut bytes) {
                Ok(true) => {}
                Ok(false) | Err(_) => return variables,
            }
        }
        variables.complete = true;
        variables
    }

    /// Reads one variable. Returns `false` if it is unknown.
    fn read(&mut self, bytes: &mut Bytes<'e>) -> Result<bool, Fault> {
        match bytes.u8()? {
            0 => self.options = Some(bytes.u32()?),
            1 => self.sql_mode = Some(bytes.u64()?),
            2 => {
                // Catalogue of MySQL 5.0.0 to 5.0.3, with a NUL after it.
                bytes.prefixed(1)?;
                bytes.take(1)?;
            }
            3 => self.auto_increment = Some([bytes.u16()?, bytes.u16()?]),
            4 => self.collations = Some([bytes.u16()?, bytes.u16()?, bytes.u16()?]),
            5 => self.time_zone = Some(bytes.prefixed(1)?),
            // Catalogue.
            6 => drop(bytes.prefixed(1)?),
            // Names of months and days; collation of the database.
            7 | 8 => drop(bytes.take(2)?),
            // Tables of a multi-table update.
            9 => drop(bytes.take(8)?),
            10 => drop(bytes.take(4)?),
            11 => self.invoker = Some([bytes.prefixed(1)?, bytes.prefixed(1)?]),
            12 => updated_databases(bytes)?,
            13 => self.microseconds = Some(u32::try_from(bytes.little(3)?).unwrap_or(0)),
            16 => drop(bytes.take(1)?),
            17 => self.definition_xid = Some(bytes.u64()?),
            18 => self.default_collation_for_utf8mb4 = Some(bytes.u16()?),
            19 => drop(bytes.take(1)?),
            20 => self.default_table_encryption = Some(bytes.u8()? != 0),
            // MariaDB.
            128 => self.microseconds = Some(u32::try_from(bytes.little(3)?).unwrap_or(0)),
            129 => self.definition_xid = Some(bytes.u64()?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Skips the databases that the statement changed; 254 means that there are too many to list.
fn updated_databases(bytes: &mut Bytes<'_>) -> Result<(), Fault> {
    const TOO_MANY: u8 = 254;
    let count = bytes.u8()?;
    if count != TOO_MANY {
        for _ in 0..count {
            bytes.until_nul()?;
        }
    }
    Ok(())
}
