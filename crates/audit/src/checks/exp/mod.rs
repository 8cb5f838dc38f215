//! Exposure: what the server lets in and out besides its tables.

pub(super) mod bind_all;
pub(super) mod eol_or_vulnerable;
pub(super) mod file_priv;
pub(super) mod local_infile;
pub(super) mod log_raw;
