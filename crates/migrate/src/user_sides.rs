//! On the way back source and target are swapped: what is found there, by the names that the user has given the servers.

use crate::{Divergence, DivergenceKind};

/// A difference, with the names of the sides that the user has given them.
pub(crate) fn of_the_user(found: Divergence) -> Divergence {
    let kind = match found.kind {
        DivergenceKind::Missing => DivergenceKind::Extra,
        DivergenceKind::Extra => DivergenceKind::Missing,
        DivergenceKind::Different => DivergenceKind::Different,
    };
    Divergence { kind, ..found }
}
