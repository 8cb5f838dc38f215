//! Socket options of links.

use std::time::Duration;

use rustix::net::sockopt;
use tokio::net::TcpStream;

/// Approximate time until a peer without power is detected.
const DEAD_AFTER: Duration = Duration::from_secs(20);

/// Enables the detection of dead peers, even without traffic. Options that cannot be set are
/// skipped.
pub(crate) fn enable_keepalive(stream: &TcpStream) {
    let _ = sockopt::set_socket_keepalive(stream, true);
    let _ = sockopt::set_tcp_keepidle(stream, DEAD_AFTER / 2);
    let _ = sockopt::set_tcp_keepintvl(stream, DEAD_AFTER / 4);
    // No time limit for unacknowledged data: a peer whose client reads slowly may keep its window closed for any time.
    let _ = sockopt::set_tcp_keepcnt(stream, 2);
}
