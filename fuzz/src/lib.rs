//! Code that the targets share.

pub mod innodb;
pub mod luks;
pub mod tunnel;
