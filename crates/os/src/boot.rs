/// What starts services when the machine boots or the user logs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitSystem {
    Systemd,
    Launchd,
}
