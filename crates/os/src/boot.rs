/// Who starts services when a machine boots or its user logs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitSystem {
    Systemd,
    Launchd,
}
