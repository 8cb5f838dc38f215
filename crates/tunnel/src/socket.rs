//! Options of the sockets between the two ends.

use std::time::Duration;

use rustix::net::sockopt;
use tokio::net::TcpStream;

/// A host that lost its power is noticed after about so long.
const DEAD_AFTER: Duration = Duration::from_secs(20);

/// Has a dead peer noticed, whether or not anything is under way. What cannot be set is left as it is.
pub(crate) fn watch_peer(stream: &TcpStream) {
    let _ = sockopt::set_socket_keepalive(stream, true);
    let _ = sockopt::set_tcp_keepidle(stream, DEAD_AFTER / 2);
    let _ = sockopt::set_tcp_keepintvl(stream, DEAD_AFTER / 4);
    // No time limit for data that waits: a peer whose client reads slowly closes its window for as long as it likes.
    let _ = sockopt::set_tcp_keepcnt(stream, 2);
}
