pub(super) mod file;
pub(super) mod keys;
pub(super) mod payload;
