pub(super) mod binlog_receipt;
pub(super) mod manifest;
pub(super) mod pack;
pub(super) mod receipt;
pub(super) mod sshsig;
