pub(super) mod greeting;
pub(super) mod login;
pub(super) mod password;
pub(super) mod server;
pub(super) mod session;
