//! A session with a hostile end that has a valid certificate: the first byte says which end, then come actions, each
//! with a kind (a byte), a length (a byte), and bytes. It ends when the other side has disconnected.

use std::sync::LazyLock;

use tunnel::fuzzing::{Action, MaliciousPeer};

static HOSTILE: LazyLock<MaliciousPeer> = LazyLock::new(crate::tunnel::hostile);

pub(crate) fn run(input: &[u8]) {
    let Some((end, mut rest)) = input.split_first() else { return };
    let mut acts = Vec::new();
    while let [what, length, behind @ ..] = rest {
        let (bytes, more) = behind.split_at(usize::from(*length).min(behind.len()));
        rest = more;
        acts.push(match what % 4 {
            0 => Action::Sealed(bytes),
            1 => Action::Raw(bytes),
            2 => Action::Local(bytes),
            _ => Action::LocalEnds,
        });
    }
    HOSTILE.session(end % 2 == 0, &acts);
}
