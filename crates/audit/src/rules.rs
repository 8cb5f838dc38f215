//! Rules of a site for judging facts.

use crate::facts::Facts;
use crate::policy::Policy;
use crate::waiver::Waivers;

/// Input of a judgement besides the facts.
#[derive(Debug, Default)]
pub struct Rules {
    /// Limits of the site.
    pub policy: Policy,
    /// Waivers of the site.
    pub waivers: Waivers,
    /// Earlier facts to compare with.
    pub baseline: Option<Facts>,
    /// Runs only these checks; all if empty.
    pub only: Vec<String>,
}
