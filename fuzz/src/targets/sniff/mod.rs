pub(super) mod connection;
pub(super) mod packet;
